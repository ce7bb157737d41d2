"""The gaps themselves: each names a test that is there, and says why it cannot hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.attacks.backends import BACKENDS
from tests.attacks.conftest import KNOWN_GAPS


def test_gaps_are_of_known_backends() -> None:
    assert set(KNOWN_GAPS) <= set(BACKENDS)


@pytest.mark.parametrize("name", [name for gaps in KNOWN_GAPS.values() for name in gaps])
def test_a_gap_names_a_test_and_gives_a_reason(name: str) -> None:
    files = Path(__file__).parent.glob("test_*.py")
    tests = {found for file in files for found in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)}
    assert name.partition("[")[0] in tests
    assert all(gaps.get(name, "reason").strip() for gaps in KNOWN_GAPS.values())
