"""Texts that cost whoever parses them: the host never does, and what the guest pays is in proportion to the text."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ringfence.base.errors import DraftError
from ringfence.sandbox import Sandbox, open_sandbox, texts
from ringfence.sandbox.job import Limits
from ringfence.trade.checked import check_text
from ringfence.trade.checked_wire import read_checked, read_reply, write_checked

from tests.conftest import ROOT

LIBRARY = "from backtesting import Backtest, Strategy\n"
OURS = "from ringfence import Strategy\nclass A(Strategy):\n    def next(self):\n        self.buy()\n"
SETUP = f"{LIBRARY}class A(Strategy):\n    def next(self): pass\n    def init(self):\n"
Shape = Callable[[int], str]
TraceFunction = Callable[[FrameType, str, Any], Any]


def _lines(head: str, line: Callable[[int], str], tail: str = "") -> Shape:
    """A text of about so many characters."""

    def make(size: int) -> str:
        return head + "".join(line(n) for n in range(size // len(line(100)))) + tail

    return make


def _wide(size: int) -> str:
    """One class with all others as its bases, and as many that derive from it."""
    count = size // 45
    bases = "".join(f"class B{n}: p = 1\n" for n in range(count))
    heirs = "".join(f"class D{n}(M): p = 1\n" for n in range(count))
    return f"{OURS}{bases}class M({', '.join(f'B{n}' for n in range(count))}): pass\n{heirs}"


def _named_runs(size: int) -> str:
    """Many classes, and many blocks in which one of them could be run."""
    classes = "".join(f"class C{n}(Strategy): x = 1\n" for n in range(size // 50))
    blocks = "".join(f"```python\nBacktest({'x' * (size // 400)})\n```\n" for _ in range(150))
    return f"```python\n{LIBRARY}{classes}```\n{blocks}"


SHAPES: dict[str, Shape] = {
    "classes": _lines(LIBRARY, lambda n: f"class C{n}(Strategy):\n    p = 1\n"),
    "classes that share bases": _wide,
    "classes and blocks": _named_runs,
    "parameters": _lines(f"{LIBRARY}class A(Strategy):\n", lambda n: f"    p{n} = 1\n"),
    "imports in one try": _lines(f"{OURS}try:\n", lambda n: f"    import m{n}\n", "except E: pass\n"),
    "dots": _lines(f"{OURS}", lambda n: f"        x = self.data{'.b' * 800}\n"),
    "calls in calls": _lines(f"{OURS}", lambda n: f"        x = {'f(' * 80}1{')' * 80}\n"),
    "resampled in one line": _lines(f"{SETUP}        x = [", lambda n: "y.resample(), ", "]\n"),
    "indicators": _lines(SETUP, lambda n: f"        self.I(f{n})\n"),
    "findings in one line": _lines(f"{OURS}        é = 1", lambda n: "; x.shift(-1)"),
    "names of names": _lines(f"{OURS}", lambda n: f"        a = f({', '.join(['a'] * 60)})\n"),
    "a word without an end": lambda size: "class " + "a" * size + "\n```\n",
    "fences": lambda size: "```\n" * (size // 4),
}
_SMALL, _LARGE = 2_000, 8_000


def test_the_work_is_in_proportion_to_the_text() -> None:
    """Four times the text takes four times the steps; with the square of it, sixteen times."""
    wrong = []
    for name, make in SHAPES.items():
        small, large = _steps(make(_SMALL)), _steps(make(_LARGE))
        if large > 6 * small:
            wrong.append(f"{name}: {small} steps, and {large} for four times as much")
    assert wrong == []


def _steps(text: str) -> int:
    """The bytecode instructions that reading it takes: the same number on a busy machine."""
    taken = 0

    def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal taken
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        taken += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        check_text(text, name="x")
    finally:
        sys.settrace(before)
    return taken


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("native:profile=plain,park=0") as opened:
        yield opened


HOSTILE = {
    "deep": "x = " + "(" * 90 + "-" * 50_000 + "1" + ")" * 90,
    "deep names": "x = a" + ".b" * 100_000,
    "long sum": "x = " + "1 + " * 100_000 + "1",
    "many branches": "if x: pass\n" + "elif x: pass\n" * 20_000,
    "large": "x = [" + "1, " * 300_000 + "]",
    "too large": "# " + "x" * (1 << 20),
    "half a character": "x = '\ud800'",
    "nul": "x = 1\0",
    "another encoding": "# -*- coding: utf-7 -*-\nx = 1\n",
    "nothing": "",
}


def test_a_hostile_text_is_a_refusal_and_the_next_is_read(sandbox: Sandbox) -> None:
    wrong = []
    for name, text in HOSTILE.items():
        seen = texts.check(text, name=name, sandbox=sandbox)
        if seen.draft is not None or not isinstance(seen.error, DraftError) or len(str(seen.error)) > 300:
            wrong.append(f"{name}: {seen.error}")
    assert wrong == []
    assert texts.read_draft(OURS, name="a", sandbox=sandbox).class_name == "A"


def test_what_reading_may_take_is_bounded(sandbox: Sandbox) -> None:
    """The kernel ends it, and the refusal says what was too much."""
    text = f"{OURS}x = [{'1, ' * 300_000}]\n"
    small = texts.check(text, name="x", sandbox=sandbox, limits=Limits(memory_mb=32))
    short = texts.check(text, name="x", sandbox=sandbox, limits=Limits(wall_seconds=0.05))
    assert "memory" in str(small.error) or "too large" in str(small.error)
    assert "longer to read" in str(short.error)


def test_the_front_door_parses_nothing(tmp_path: Path) -> None:
    """A parser that is broken on the host is not missed: `check` and `backtest` come to their end without it."""
    file = tmp_path / "a.py"
    file.write_text(OURS)
    broken = tmp_path / "broken"
    broken.mkdir()
    # Code of ours is compiled as it is imported; a text that somebody gave is compiled under this name.
    (broken / "sitecustomize.py").write_text(
        "import builtins, os\nreal = builtins.compile\n"
        f"host = {os.getpid()}\n"
        "def compile(source, filename, *rest, **more):\n"
        "    if 'self.buy()' in str(source) and os.getppid() == host: os._exit(99)\n"
        "    return real(source, filename, *rest, **more)\n"
        "builtins.compile = compile\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(broken), "RINGFENCE_HOME": str(tmp_path / "home")}
    for words in (["check", str(file), "--json"], ["backtest", str(file), "--data", "sample:GOOG", "--json"]):
        done = subprocess.run([sys.executable, "-m", "ringfence", *words], capture_output=True, env=environ, text=True)
        assert done.returncode in (0, 1), done.stderr[-2000:]
        assert json.loads(done.stdout)


# Who may parse on the host, and why.
_PARSERS = {
    "verbs/simulate/filling.py": "the programs that it fills in are files of ours",
    "cli/research_wish.py": "the program is a line of ours, for a request that is only checked",
    "verbs/bench/warm.py": "the peer that a benchmark measures: a plain interpreter that runs the benchmark's job",
}
_PARSING_MODULES = ("syntax", "extract", "endings", "classes", "fingerprint", "lint.findings", "lint.program", "reply")
_PARSING_NAMES = {"check_text", "read_draft", "read_program"}
_NOT_PARSING = {"MOST_CHARACTERS", "ProgramReply", "Ending", "given_line"}


def test_no_module_of_the_host_parses_a_program() -> None:
    found = {}
    for path in sorted((ROOT / "src" / "ringfence").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "ringfence").as_posix()
        if name.split("/")[0] in ("trade", "guest", "testing"):
            continue
        wrong = list(_parsing(ast.parse(path.read_text(encoding="utf-8"))))
        if wrong:
            found[name] = wrong
    assert {name: wrong for name, wrong in found.items() if name not in _PARSERS} == {}
    assert set(found) == set(_PARSERS), "an exception is no longer needed"


def _parsing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="ast"), attr="parse" | "literal_eval")):
                yield f"line {node.lineno}: parses"
            case ast.Call(func=ast.Name(id="compile" | "exec" | "eval")):
                yield f"line {node.lineno}: compiles"
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("ringfence.trade"):
                part = module.removeprefix("ringfence.trade").removeprefix(".")
                taken = {alias.name for alias in names} - _NOT_PARSING
                if (
                    taken & _PARSING_NAMES
                    or (part in _PARSING_MODULES and taken)
                    or (not part and taken & set(_PARSING_MODULES))
                ):
                    yield f"line {node.lineno}: imports {', '.join(sorted(taken))}"


def test_a_forged_answer_is_refused() -> None:
    good = json.loads(json.dumps(write_checked(check_text(OURS, name="a"))))
    assert read_checked(good, name="a").draft == check_text(OURS, name="a").draft
    draft = good["draft"]
    forged: list[object] = [
        None, [], "x", {}, {**good, "error": {"message": "m"}}, {**good, "error": {"message": 1, "verdict": "failed",
        "line": None, "several": False}}, {**good, "draft": None}, {**good, "draft": {**draft, "dialect": "mine"}},
        {**good, "draft": {**draft, "text": "x" * (3 << 20)}}, {**good, "draft": {**draft, "text": "\ud800"}},
        {**good, "draft": {**draft, "class_name": "A; import os"}}, {**good, "draft": {**draft, "origin": [[1]]}},
        {**good, "draft": {**draft, "parameters": [{"name": "p"}]}}, {**good, "findings": [{"code": "RF001"}]},
        {**good, "findings": [1] * 30_000}, {**good, "written": {**good["written"], "numbers": [1e400]}},
        {**good, "fingerprint": "f" * 1000},
    ]  # fmt: skip
    wrong = []
    for answer in forged:
        try:
            read_checked(answer, name="a")  # type: ignore[arg-type]  # it is not what it should be
        except ValueError:
            continue
        wrong.append(str(answer)[:200])
    for reply in (None, {}, {"code": 1, "ending": "end", "notices": []}, {"code": "x", "ending": "x", "notices": []}):
        try:
            read_reply(reply)  # type: ignore[arg-type]  # as above
        except ValueError:
            continue
        wrong.append(str(reply))
    assert wrong == []
