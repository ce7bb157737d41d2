"""The documentation says what the program has, no less and no more, and the README's commands run."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from ringfence.base.config import Settings
from ringfence.cli import build_app

from tests.conftest import ROOT

README = ROOT / "README.md"
COMMAND_SECONDS = 280  # for one command of the README; the suite's own limit for a test is a little more

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")


def commands() -> dict[str, set[str]]:
    """Each command as it is typed, with the long spelling of its options (or the short one where there is no other)."""

    def walk(command: object, words: str) -> Iterator[tuple[str, set[str]]]:
        params = getattr(command, "params", [])
        shown = [p for p in params if p.param_type_name == "option" and not p.hidden]
        spellings = [names for p in shown for names in (p.opts, p.secondary_opts) if names]
        yield words, {max(names, key=len) for names in spellings} - {"--help"}
        for name, child in getattr(command, "commands", {}).items():
            yield from walk(child, f"{words} {name}")

    return dict(walk(typer.main.get_command(build_app()), "ringfence"))


def sections(text: str) -> dict[str, str]:
    """Markdown by heading, backticks left out of the heading; a section holds its sub-sections too."""
    found = {}
    headings = list(re.finditer(r"^(#+) +(.+?) *#*$", FENCE.sub(_blank, text), re.MULTILINE))
    for n, heading in enumerate(headings):
        after = [h.start() for h in headings[n + 1 :] if len(h[1]) <= len(heading[1])]
        found[heading[2].replace("`", "").strip()] = text[heading.end() : after[0] if after else len(text)]
    return found


def _blank(block: re.Match[str]) -> str:
    """As long as the block, and without anything that looks like a heading."""
    return re.sub(r"[^\n]", " ", block[0])


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def shell_commands(text: str) -> list[str]:
    """The `ringfence` commands of the sh blocks, lines that end in a backslash joined to the next."""
    found = []
    for language, body in FENCE.findall(text):
        if language in ("sh", "bash", "shell", "console"):
            for line in body.replace("\\\n", " ").splitlines():
                words = line.strip().removeprefix("$ ")
                if re.match(r"(\w+=\S* +)*ringfence( |$)", words):
                    found.append(words)
    return found


def broken_links(page: Path) -> list[str]:
    text = FENCE.sub(_blank, page.read_text(encoding="utf-8"))
    targets = [t.partition("#")[0] for t in LINK.findall(text) if not re.match(r"[a-z]+:", t)]
    return [target for target in targets if target and not (page.parent / target).exists()]


@pytest.mark.parametrize("command", [c for c in commands() if c != "ringfence"])
def test_command_is_documented(command: str) -> None:
    documented = sections((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))
    assert command in documented, f"docs/cli.md needs a section with the heading `{command}`"
    missing = commands()[command] - options_in(documented[command])
    assert not missing, f"docs/cli.md does not explain these options of `{command}`: {sorted(missing)}"


def test_options_of_the_program_itself_are_documented() -> None:
    assert commands()["ringfence"] <= options_in((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))


def test_no_option_is_documented_that_is_gone() -> None:
    known = set().union(*commands().values()) | {"--help"}
    stale = options_in((ROOT / "docs" / "cli.md").read_text(encoding="utf-8")) - known
    assert not stale, f"docs/cli.md speaks of options that no command has: {sorted(stale)}"


def test_settings_are_documented() -> None:
    documented = set(re.findall(r"\bRINGFENCE_[A-Z0-9_]+", (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")))
    settings = {f"RINGFENCE_{field.name.upper()}" for field in dataclasses.fields(Settings)}
    assert settings - documented == set(), "docs/settings.md does not explain these"
    assert documented - settings == set(), "docs/settings.md speaks of settings that are gone"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A place like a fresh clone, as far as the README's commands can see."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def test_the_readme_shows_commands() -> None:
    assert shell_commands(README.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", shell_commands(README.read_text(encoding="utf-8")))
def test_readme_command_runs(command: str, desk: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=desk,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("design/*.md")]), ids=str
)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_targets_named_in_the_readme_exist() -> None:
    wanted = {
        target
        for language, body in FENCE.findall(README.read_text(encoding="utf-8"))
        if language in ("sh", "bash", "shell", "console")
        for target in re.findall(r"^(?:\$ )?make ([a-z]+)", body, re.MULTILINE)
    }
    there = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert wanted <= there


PAGE = """# Commands
Not `--mine`.
## `ringfence run`
Takes `--timeout S`.
```sh
# ringfence fake
$ ringfence run x.py \\
    --timeout 1   # why
MODE=1 ringfence doctor
make test
```
### More
`--seed`
## `ringfence doctor`
[there](there.md) [gone](gone.md#part) [far](https://example.org/x)
"""


def test_a_page_is_read_as_it_is_meant(tmp_path: Path) -> None:
    found = sections(PAGE)
    assert set(found) == {"Commands", "ringfence run", "More", "ringfence doctor"}
    assert options_in(found["ringfence run"]) == {"--timeout", "--seed"}
    assert options_in(found["ringfence doctor"]) == set()
    assert shell_commands(PAGE) == ["ringfence run x.py      --timeout 1   # why", "MODE=1 ringfence doctor"]
    (tmp_path / "there.md").write_text("")
    (tmp_path / "page.md").write_text(PAGE)
    assert broken_links(tmp_path / "page.md") == ["gone.md"]
