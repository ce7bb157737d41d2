"""`doctor` and `bench` render what they are given, for people and as JSON; the reports here are made up."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import pytest

from ringfence.base.config import Settings
from ringfence.base.errors import SandboxError
from ringfence.cli import main

LONG = "enable unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 " + "x" * 150


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    how: str
    remedy: str | None


@dataclass(frozen=True)
class Report:
    checks: tuple[Check, ...]
    isolation: dict[str, str]
    usable: bool


@dataclass(frozen=True)
class Bench:
    asked: tuple[int, bool]

    def to_json(self) -> dict[str, object]:
        return {"asked": list(self.asked)}

    def rows(self) -> list[tuple[str, str, str, str]]:
        return [("parked [trivial]", "0.40 ms", "1.1 ms", "fine")]


def put(monkeypatch: pytest.MonkeyPatch, name: str, function: str, value: Callable[..., object]) -> None:
    module = ModuleType(name)
    setattr(module, function, value)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("usable", [True, False])
def test_doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], usable: bool) -> None:
    checks = (Check("memory", True, "cgroup v2 [memory.max]", None), Check("user namespaces", usable, "refused", LONG))
    report = Report(checks, {"memory": "cgroup v2"}, usable)
    put(monkeypatch, "ringfence.sandbox.doctor", "examine", lambda settings: report)
    assert main(["doctor", "--json"]) == (0 if usable else 1)
    assert json.loads(capsys.readouterr().out) == {
        "usable": usable,
        "checks": [
            {"name": "memory", "ok": True, "how": "cgroup v2 [memory.max]", "remedy": None},
            {"name": "user namespaces", "ok": usable, "how": "refused", "remedy": LONG},
        ],
        "isolation": {"memory": "cgroup v2"},
    }
    assert main(["doctor"]) == (0 if usable else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["memory", "yes", "cgroup", "v2", "[memory.max]"]
    assert lines[2].startswith("user namespaces")
    assert LONG in lines[2]
    assert lines[-1].startswith("Programs can be run here." if usable else "Programs cannot be run here")


def test_bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def bench(*, rounds: int, quick: bool, on_progress: Callable[[str], None]) -> Bench:
        on_progress("round 1")
        return Bench((rounds, quick))

    put(monkeypatch, "ringfence.verbs.bench", "bench_sandbox", bench)
    assert main(["bench", "sandbox", "--json", "--rounds", "7", "--quick"]) == 0
    assert capsys.readouterr() == ('{"asked": [7, true]}\n', "")
    assert main(["bench", "sandbox"]) == 0
    assert "parked [trivial]  0.40 ms  1.1 ms  fine" in capsys.readouterr().out


def test_what_a_verb_raises_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def examine(settings: Settings) -> Report:
        raise SandboxError("no: try again")

    put(monkeypatch, "ringfence.sandbox.doctor", "examine", examine)
    assert main(["doctor"]) == 125
    assert capsys.readouterr() == ("", "ringfence: no: try again\n")
