"""What a user installs: everything that runs, and little that they did not ask for."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXTRAS = {
    "guest", "backtesting", "trade", "postgres", "yahoo", "alpaca", "docker", "service", "mcp", "llm", "research",
    "ray", "live", "dev", "all",
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    [path] = place.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_whole_package(wheel: zipfile.ZipFile) -> None:
    here = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "ringfence").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == here
    assert "ringfence/py.typed" in packed
    assert any(name.startswith("ringfence/guest/") for name in packed)


def test_the_base_install_is_light(metadata: Message) -> None:
    needed = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert {re.split(r"[^\w.-]", r)[0] for r in needed} == {"typer", "rich"}


def test_extras_are_there(metadata: Message) -> None:
    assert set(metadata.get_all("Provides-Extra", [])) == EXTRAS


def test_the_agpl_engine_comes_only_when_asked_for(metadata: Message) -> None:
    pulling = {
        extra[1]
        for r in metadata.get_all("Requires-Dist", [])
        if r.startswith("backtesting") and (extra := re.search(r"extra == ['\"](\w+)", r))
    }
    assert pulling <= {"backtesting", "dev", "all"}


def test_the_command_and_the_licence_are_there(wheel: zipfile.ZipFile, metadata: Message) -> None:
    [entry_points] = [n for n in wheel.namelist() if n.endswith("entry_points.txt")]
    assert "ringfence = ringfence.cli:main" in wheel.read(entry_points).decode()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(Path(n).name == "LICENSE" for n in wheel.namelist())
    assert metadata["Requires-Python"] == ">=3.11"
