"""Files placed on the host: not over anything, not by a name that something acts on, not where a link leads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import InputError, Job, MountError, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import Attack, assert_contained, run_promptly
from tests.attacks.canary import Canary
from tests.cli.command import ringfence
from tests.conftest import require

# What git obeys: `git status` runs the command. A folder with HEAD, objects and refs in it is a repository, too.
GIT = '''
import os
config = f"""[core]
repositoryformatversion = 0
bare = false
worktree = .
fsmonitor = "touch {owned}; false"
"""
for place in (".git", ".", "sub", "sub/.git", "GIT~1", ".GIT", ".git ", ".g\\u200cit"):
    for name, text in (("config", config), ("HEAD", "ref: refs/heads/main\\n"), ("head", "ref: refs/heads/main\\n"),
                       ("objects/x", ""), ("refs/x", ""), ("hooks/post-index-change", f"#!/bin/sh\\ntouch {owned}\\n")):
        path = os.path.join(place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
open(".gitattributes", "w").write("* filter=x")
open("report.csv", "w").write("a,b")
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    require("git")
    place = tmp_path / "checkout"
    place.mkdir()
    git(place, "init", "-q")
    (place / "strategy.py").write_text("x = 1")
    git(place, "add", "strategy.py")
    return place


def git(place: Path, *words: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(["git", *words], cwd=place, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_git_obeys_nobody(checkout: Path, config: bytes, canary: Canary) -> None:
    assert (checkout / ".git/config").read_bytes() == config
    for folder in (checkout, *(p for p in checkout.rglob("*") if p.is_dir() and ".git" not in p.parts)):
        git(folder, "status")
    canary.untouched()


@pytest.mark.backends("native", "docker", why="files are placed by the one who opened the sandbox, here root")
def test_a_checkout_is_not_taken_over(
    sandbox: Sandbox, canary: Canary, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (checkout / ".git/config").read_bytes()
    monkeypatch.chdir(checkout)
    attack = Attack(name="git", code=GIT)
    inputs = {"owned": str(canary.writable / "owned")}
    outcome = run_promptly(sandbox, replace(attack.job(canary), inputs=inputs, artifacts_dir=Path(".")))
    assert_contained(outcome, attack, canary)
    assert {"report.csv", "config", "sub/config"} <= {a.name for a in outcome.artifacts}
    assert {".git", "HEAD", "sub/.git", "sub/HEAD"} <= {r.name for r in outcome.rejected_artifacts}
    assert_git_obeys_nobody(checkout, config, canary)


@pytest.mark.backends("native", why="the same command line calls either")
def test_a_checkout_is_not_taken_over_from_the_command_line(backend: str, canary: Canary, checkout: Path) -> None:
    config = (checkout / ".git/config").read_bytes()
    (checkout / "report.csv").write_text("mine")
    (checkout / "evil.py").write_text(f"owned = {str(canary.writable / 'owned')!r}\n{GIT}")
    done = ringfence("run", "evil.py", "--artifacts", ".", cwd=checkout)
    assert done.code == 0, done.err
    assert "artifact '.git' was refused: its name begins with '.'" in done.err
    (place,) = [p for p in checkout.iterdir() if p.is_dir() and p.name != ".git"]
    assert f" in {place.name}\n" in done.err, "nobody is told where the files are"
    assert (place / "report.csv").read_text() == "a,b"
    assert (checkout / "report.csv").read_text() == "mine"
    assert_git_obeys_nobody(checkout, config, canary)


FIT = (
    *("EURUSD=X.csv", "^GSPC.csv", "BRK.B.png", "equity (1).png", "a+b,c@1.5.csv", "_x", "Report.csv", "plot.html"),
    *("a.svg", "\u00fcber \u20ac.txt", "\u56fe\u8868.csv", "HEAD.csv", "console.txt", "2024/01/a..b"),
)
UNFIT = (
    *(".bashrc", ".git", "...", "..hidden", "sub/.ssh/authorized_keys", "-rf", "--help", "~", "~root", "+so x", "=ls"),
    *(
        "@list",
        " lead",
        "trail ",
        "dot.",
        "a$HOME",
        "$(id)",
        "`id`",
        "a;b",
        "a&b",
        "a|b",
        "a<b",
        "a>b",
        "*",
        "a?",
        "[a]",
    ),
    *("{a,b}", "a!b", 'a"b', "a'b", "a\\b", "#a", "a%20b", "..%2f..%2fetc", "javascript:alert(1)", "C:evil", "a:b"),
    *("CON", "nul.csv", "COM1", "lpt9.txt", "com\u00b9", "HEAD", "desktop.ini", "x.lnk", "x.desktop", "x.url"),
    *("new\nline", "tab\tname", "bell\x07", "\x1b[31mred", "\x7f", "\x9b31m", "\u202egnp.exe", "a\u200bb", "a\u2028b"),
    *("a\u00a0b", "a\u3164", "a\ufe0f", "\u0301a", "\uff04x", "a\uff1cb", "\u2013rf", "\u2488", "report.csv"),
)


def test_only_names_that_nothing_acts_on_are_placed(sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    code = f"""
import os
for name in {(*FIT, *UNFIT)!r}:
    path = os.path.join("/job", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write("x")
"""
    attack = Attack(name="names", code=code)
    outcome = run_promptly(sandbox, replace(attack.job(canary), artifacts_dir=tmp_path))
    assert_contained(outcome, attack, canary)
    place = tmp_path / outcome.run_id
    placed = {str(p.relative_to(place)) for p in tmp_path.rglob("*") if not p.is_dir()}
    named = {a.name for a in outcome.artifacts}
    wrong = [f"not placed: {name!r}" for name in FIT if name not in placed or name not in named]
    wrong += [f"placed: {name!r}" for name in {*placed, *named} - {*FIT}]
    told = {r.name for r in outcome.rejected_artifacts if ":" in r.reason}
    wrong += [f"not told: {name!r}" for name in UNFIT if not told & {_shown(name), _shown(name.rpartition("/")[0])}]
    assert not wrong, "\n".join(wrong)
    shell = subprocess.run(["sh", "-c", "cat *.* && ls *"], cwd=place, capture_output=True, text=True, check=False)
    assert (shell.returncode, shell.stderr) == (0, ""), "a shell takes a name for something else"


def _shown(name: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def test_nothing_is_written_over(sandbox: Sandbox, canary: Canary, tmp_path: Path) -> None:
    """The job knows every name in the directory, and where a link of the host's lies in wait."""
    (tmp_path / "out.txt").symlink_to(canary.secret)
    (tmp_path / "sub").symlink_to(canary.writable)
    (tmp_path / "mine.csv").write_text("mine")
    before = {p: p.lstat().st_ino for p in tmp_path.iterdir()}
    code = (
        "import os\nos.mkdir('sub')\nfor name in ('out.txt', 'sub/new.txt', 'mine.csv'): open(name, 'w').write('owned')"
    )
    attack = Attack(name="over", code=code)
    outcome = run_promptly(sandbox, replace(attack.job(canary), artifacts_dir=tmp_path))
    assert_contained(outcome, attack, canary)
    assert {p: p.lstat().st_ino for p in tmp_path.iterdir() if p.name != outcome.run_id} == before
    assert (tmp_path / "mine.csv").read_text() == "mine"
    assert (tmp_path / outcome.run_id / "sub/new.txt").read_text() == "owned"


SWAPS: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda folder, victim: folder.symlink_to(victim),
    "folder": lambda folder, victim: folder.mkdir(),
    "nothing": lambda folder, victim: None,
}


@pytest.mark.container_sample("link", why="the host places them in the same way")
@pytest.mark.parametrize("how", SWAPS)
def test_the_directory_is_swapped_while_the_job_runs(
    sandbox: Sandbox, canary: Canary, tmp_path: Path, how: str
) -> None:
    folder, moved = tmp_path / "out", tmp_path / "moved"

    def swap(stream: str, chunk: bytes) -> None:
        if folder.is_dir() and not moved.exists():
            folder.rename(moved)
            SWAPS[how](folder, canary.writable)

    code = "import time\nprint('now', flush=True)\ntime.sleep(0.3)\nopen('a.txt', 'w').write('owned')"
    outcome = sandbox.run(Job(code=code, artifacts_dir=folder), on_output=swap)
    assert moved.is_dir(), "nothing was swapped"
    _nothing_placed(outcome, "replaced while")
    assert list(moved.iterdir()) == []
    assert how != "folder" or list(folder.iterdir()) == []
    canary.untouched()


@pytest.mark.backends("native", "docker", why="files are placed by the one who opened the sandbox, here root")
@pytest.mark.container_sample("link", why="the host places them in the same way")
@pytest.mark.parametrize("kind", ["link", "folder", "file"])
def test_the_directory_of_the_run_was_there_before_it(
    sandbox: Sandbox, canary: Canary, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringfence.sandbox.placing.make_run_id", lambda: "guessed")
    place = tmp_path / "guessed"
    match kind:
        case "link":
            place.symlink_to(canary.writable)
        case "folder":
            place.mkdir()
        case _:
            place.touch()
    outcome = sandbox.run(Job(code="open('a.txt', 'w').write('owned')", artifacts_dir=tmp_path))
    _nothing_placed(outcome, "was there already")
    assert kind != "folder" or list(place.iterdir()) == []
    canary.untouched()


def _nothing_placed(outcome: Outcome, why: str) -> None:
    assert (outcome.status, outcome.artifacts) == ("ok", ())
    assert [r.name for r in outcome.rejected_artifacts] == ["a.txt"]
    assert why in outcome.rejected_artifacts[0].reason


def test_places_that_a_job_could_turn_into_a_link_are_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.mkdir()
    (shared / "out").mkdir(parents=True)
    (tmp_path / "link").symlink_to(shared / "out")
    (tmp_path / "dangling").symlink_to(victim / "new")
    (tmp_path / "way").symlink_to(shared)
    code = f"import os\nos.rmdir('/data/out')\nos.symlink({str(victim)!r}, '/data/out')\nopen('evil', 'w').write('x')"
    for place, refused in (("shared/out", MountError), ("way/out", MountError), ("link", InputError)):
        with pytest.raises(refused):
            sandbox.run(Job(code=code, mounts=[f"{shared}:/data:rw"], artifacts_dir=tmp_path / place))
    with pytest.raises(InputError):
        sandbox.run(Job(code=code, artifacts_dir=tmp_path / "dangling"))
    assert list(victim.iterdir()) == []
