"""`ringfence session` on a sandbox that does as it is told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ringfence.cli.cells import is_complete, piped_cells
from ringfence.sandbox.source import MAX_SOURCE_BYTES

from tests.cli.command import Done, environment, on_terminal, ringfence
from tests.cli.scripted import script


def cells(plugins: Path, *programs: str, words: tuple[str, ...] = ()) -> Done:
    text = "\n# %%\n".join(programs)
    return ringfence("session", "--backend", "scripted", *words, stdin=text, env=environment(plugins))


def test_each_cell_is_run_in_turn(plugins: Path) -> None:
    done = cells(plugins, script(writes=[["stdout", "a\n"]], result=1), "", script(writes=[["stderr", "b\n"]]))
    assert (done.code, done.out, done.err) == (0, "a\n1\n", "b\n")


def test_json_lines(plugins: Path) -> None:
    done = cells(plugins, script(result=1), script("timeout", writes=[["stdout", "x"]]), words=("--json",))
    outcomes = [json.loads(line) for line in done.out.splitlines()]
    assert [o["status"] for o in outcomes] == ["ok", "timeout"]
    assert outcomes[1]["stdout"] == "x"
    assert (done.code, done.err) == (124, "")


def test_exit_code_is_that_of_the_last_cell_that_failed(plugins: Path) -> None:
    failing = [script("exit", exit_code=3), script("memory_limit"), script()]
    assert cells(plugins, *failing).code == 137
    assert cells(plugins, script()).code == 0
    assert cells(plugins).code == 0


def test_a_session_that_ended_runs_no_more_cells(plugins: Path) -> None:
    done = cells(plugins, script("memory_limit", ends=True), script(result=1))
    assert (done.code, done.out) == (137, "")
    assert "because of memory_limit" in done.err
    assert "cell 2" in done.err


@pytest.mark.parametrize(("cell", "code"), [("\0", 65), ("#" * (MAX_SOURCE_BYTES + 1), 68)], ids=["nul", "large"])
def test_a_cell_that_is_refused_ends_it(plugins: Path, cell: str, code: int) -> None:
    done = cells(plugins, script(result=1), cell)
    assert (done.code, done.out) == (code, "1\n")
    assert done.err.startswith("ringfence: ")
    assert done.err.count("\n") == 1


def test_cells_of_a_pipe() -> None:
    text = b"# %% first\na\nb\n# %%\n\n  \n# %%\nc = '# %%'\n    # %%\n"
    assert list(piped_cells(io.BytesIO(text))) == [b"a\nb\n", b"c = '# %%'\n    # %%\n"]
    assert list(piped_cells(io.BytesIO(b""))) == []


@pytest.mark.parametrize(
    ("cell", "complete"),
    [
        ("x = 1", True),
        ("", True),
        ("if x:", False),
        ("if x:\n    y", False),
        ("if x:\n    y\n", True),
        ("f(1,", False),
        ("'''a", False),
        ("x = = 1", True),
        ("'a", True),
        ("9" * 5000, True),
    ],
)
def test_when_a_typed_cell_is_complete(cell: str, complete: bool) -> None:
    assert is_complete(cell) is complete


def test_the_prompt(plugins: Path, tmp_path: Path) -> None:
    typed = ["\n", ":help\n", ":nope\n", script(result=41) + "\n", script("timeout", ends=True) + "\n"]
    typed += [script(result=42) + "\n", ":reset\n", ":quit\n"]
    env = environment(plugins, XDG_STATE_HOME=str(tmp_path), NO_COLOR="1")
    done = on_terminal("session", "--backend", "scripted", env=env, typed=typed)
    assert done.code == 0
    for text in (":reset", ":nope is no command", "\n41\n", "timeout: because of timeout", "fresh", "\n42\n"):
        assert text in done.out
    assert ":help" in (tmp_path / "ringfence" / "session_history").read_text()


def test_exit_at_the_prompt_leaves(plugins: Path, tmp_path: Path) -> None:
    env = environment(plugins, XDG_STATE_HOME=str(tmp_path))
    cell = script("exit", exit_code=0, ends=True)
    assert on_terminal("session", "--backend", "scripted", env=env, typed=[cell + "\n"]).code == 0
    assert on_terminal("session", "--backend", "scripted", env=env, typed=["\x04"]).code == 0
