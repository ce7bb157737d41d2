"""A missing component is a skip at home and a failure on the build machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest
from tests.conftest import ROOT, require

SKIPPING = """
import pytest
from tests.conftest import require

def test_component(): require("no-such-command")
def test_plain_skip(): pytest.skip("not today")
@pytest.mark.skip(reason="marked")
def test_marked(): pass
@pytest.mark.xfail(reason="a declared gap")
def test_gap(): assert False
def test_fine(): require("pytest")
"""
NOT_COLLECTED = "import pytest\npytest.importorskip('no_such_module')\n"


def closing_line(tmp_path: Path, source: str, require_all: str) -> str:
    """The last line of a pytest run of its own."""
    (tmp_path / "test_it.py").write_text(source)
    argv = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    environment = {**os.environ, "RINGFENCE_REQUIRE_ALL": require_all, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.splitlines()[-1]


def test_at_home_skips_are_skips(tmp_path: Path) -> None:
    assert closing_line(tmp_path, SKIPPING, "").startswith("1 passed, 3 skipped, 1 xfailed")


def test_on_the_build_machine_skips_are_failures(tmp_path: Path) -> None:
    assert closing_line(tmp_path, SKIPPING, "1").startswith(
        "2 failed, 1 passed, 1 xfailed, 1 error"
    )  # a marked skip ends in set-up


def test_on_the_build_machine_every_file_is_collected(tmp_path: Path) -> None:
    assert "1 error" in closing_line(tmp_path, NOT_COLLECTED, "1")


@pytest.mark.parametrize("component", ["sh", "pytest", "linux"])
def test_what_is_here_passes(component: str) -> None:
    require(component)


def test_what_the_caller_found_missing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "REQUIRE_ALL", False)
    with pytest.raises(pytest.skip.Exception, match="a kernel with Landlock is missing"):
        require("a kernel with Landlock", present=False)
    monkeypatch.setattr(conftest, "REQUIRE_ALL", True)
    with pytest.raises(pytest.fail.Exception, match="a kernel with Landlock is missing"):
        require("a kernel with Landlock", present=False)
