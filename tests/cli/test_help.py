"""The help that is printed without typer says what typer would say, and costs next to nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import get_args

import pytest
import typer.main
from typer.testing import CliRunner

import ringfence
from ringfence.cli import ABOUT, COMMANDS, OPTIONS, build_app, help_text
from ringfence.cli.options import Preset
from ringfence.sandbox.job import PRESETS

from tests.cli.command import environment, ringfence as call

HEAVY = {"typer", "rich", "json", "dataclasses", "ringfence.sandbox", "ringfence.cli.dispatch", "ringfence.cli.run"}


def squeezed(text: str) -> str:
    """Words only: no frames, no line breaks, no runs of spaces."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_fast_help_and_typers_agree() -> None:
    group = typer.main.get_command(build_app())
    commands = getattr(group, "commands", {})
    assert [(name, command.help) for name, command in commands.items()] == [(n, line) for n, _, line in COMMANDS]
    ours = {spelling for names, _ in OPTIONS for spelling in names.split(", ")}
    theirs = {spelling for p in group.params for spelling in p.opts} | {"-h", "--help"}
    assert ours == theirs
    slow = CliRunner().invoke(build_app(), ["--help"], prog_name="ringfence", env={"COLUMNS": "200"})
    assert slow.exit_code == 0
    fast = help_text()
    for text in (
        ABOUT,
        "Usage: ringfence [OPTIONS] COMMAND [ARGS]...",
        OPTIONS[0][1],
        *(f"{name} {line}" for name, _, line in COMMANDS),
    ):
        assert text in squeezed(fast)
        assert text in squeezed(slow.output)


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help(words: list[str]) -> None:
    done = call(*words)
    assert (done.code, done.out, done.err) == (0, help_text() + "\n", "")


def test_no_words_is_a_usage_error_with_the_help() -> None:
    done = call()
    assert (done.code, done.out, done.err) == (2, "", help_text() + "\n")


def test_version() -> None:
    assert call("--version").out == f"ringfence {ringfence.__version__}\n"


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_nothing_heavy_is_imported(word: str) -> None:
    code = f"import sys; sys.argv[1:] = [{word!r}]; from ringfence.cli import main; main(); print(*sys.modules)"
    # -I -S: without site, so that what is loaded is what the command loads.
    program = f"import sys; sys.path[:0] = {[str(p) for p in environment()['PYTHONPATH'].split(':')]!r}; {code}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & HEAVY


@pytest.mark.parametrize("name", [name for name, *_ in COMMANDS])
def test_each_command_explains_itself(name: str) -> None:
    done = call(name, "--help")
    assert done.code == 0
    assert f"Usage: ringfence {name}" in done.out
    assert next(line for n, _, line in COMMANDS if n == name) in squeezed(done.out)


@pytest.mark.parametrize("words", [("simulate", "cleanse"), ("bench",), ("run",)], ids=" ".join)
def test_a_flag_takes_no_value(words: tuple[str, ...]) -> None:
    text = squeezed(call(*words, "--help", env=environment(COLUMNS="200")).out)
    assert "<bool>" not in text and "--help -h Show this message and exit." in text


def test_a_command_imports_only_itself() -> None:
    code = "import sys; from ringfence.cli import main; main(['bench', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert not {"ringfence.cli.run", "ringfence.cli.session", "ringfence.cli.doctor"} & set(done.stdout.split())


def test_presets_are_those_that_there_are() -> None:
    assert set(get_args(Preset)) == set(PRESETS)
