"""Replies are read behind a fence; here it is one for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ringfence.agents.reading import behind
from ringfence.sandbox import Sandbox, open_sandbox


@pytest.fixture(scope="session")
def reading_sandbox() -> Iterator[Sandbox]:
    with open_sandbox("native:profile=strategy,park=1") as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def _lend(reading_sandbox: Sandbox) -> Iterator[None]:
    with behind(reading_sandbox):
        yield
