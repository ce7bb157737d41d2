"""Whose containers are removed: those of owners who are dead for certain, and nobody else's on a shared engine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import Job, open_sandbox
from ringfence.sandbox.docker.owner import Found, Owner
from ringfence.sandbox.docker.place import Place

from tests.conftest import require
from tests.sandbox.busy import environment
from tests.sandbox.engines import Left, own_runtime_of_module

HERE = Place(boot="boot-1", machine="machine", root="mnt:[1]:2:3", booted_at=1000.0)
runtime = pytest.fixture(scope="module")(own_runtime_of_module)

# An owner in a mount namespace of its own, with another directory at the same path, as in another container.
ELSEWHERE = """
import sys
from ringfence import Job, open_sandbox
with open_sandbox("docker:profile=plain,park=0") as sandbox, sandbox.open_session() as session:
    session.run("x = 1")
    print("open", flush=True)
    for line in sys.stdin:
        print(session.run("x + 1").result, flush=True)
"""


class Case:
    """An owner's container, and what the next owner thinks of it."""

    def __init__(self, folder: Path, place: Place = HERE, lock: str | None = None) -> None:
        self.owner = Owner(folder, 0, place)
        self._folder, self._labels = folder, dict(self.owner.labels)
        self._labels["ringfence.lock"] = lock or self._labels["ringfence.lock"]

    @classmethod
    def gone(cls, folder: Path, place: Place = HERE) -> Case:
        case = cls(folder, place)
        case.owner.release()
        return case

    def is_orphan(self, place: Place = HERE, *, running: bool = False, made_at: float = 2000.0) -> bool:
        judge = Owner(self._folder, 0, place)
        try:
            return judge.is_orphan(Found(self._labels, running, made_at))
        finally:
            judge.release()


def test_only_what_a_dead_owner_left_is_an_orphan(tmp_path: Path) -> None:
    alive = Case(tmp_path)
    dead = Case(tmp_path)
    dead.owner.disown()  # as its death does
    gone = Case.gone(tmp_path)
    replaced = Case(tmp_path)
    (tmp_path / "new").touch()
    (tmp_path / "new").rename(replaced.owner.labels["ringfence.lock"])
    replaced.owner.disown()
    unsaid = Case(tmp_path, replace(HERE, boot="", machine="", root=""))
    unsaid.owner.disown()
    foreign = Case(tmp_path, lock="/dev/null")
    later = replace(HERE, boot="boot-2", booted_at=3000.0)
    nameless = replace(HERE, machine="")
    elsewhere = replace(HERE, root="mnt:[2]:2:3")
    rows = [
        ("its owner lives", alive.is_orphan(), False),
        ("its owner is dead", dead.is_orphan(running=True), True),
        ("its owner is dead, and its machine has no name", dead.is_orphan(nameless), True),
        ("its owner is dead, seen from another namespace that has the file", dead.is_orphan(elsewhere), True),
        ("the lock is gone", gone.is_orphan(), True),
        ("the lock is gone, but it runs", gone.is_orphan(running=True), False),
        ("the lock is not to be seen from here", gone.is_orphan(elsewhere), False),
        ("nor is there a machine id", Case.gone(tmp_path, nameless).is_orphan(replace(nameless, root="other")), False),
        ("a file of the same path", replaced.is_orphan(), False),
        ("the owner's system said nothing", unsaid.is_orphan(), False),
        ("our system says nothing", dead.is_orphan(replace(HERE, boot="")), False),
        ("a lock that is not an owner's", foreign.is_orphan(), False),
        ("of an earlier boot", gone.is_orphan(later), True),
        ("of an earlier boot, and runs", gone.is_orphan(later, running=True), False),
        ("of a copy that runs now", gone.is_orphan(later, made_at=4000.0), False),
        ("of a copy, the lock of which is a file here", dead.is_orphan(later), False),
        (
            "of another boot, and neither says of what",
            Case.gone(tmp_path, nameless).is_orphan(replace(later, machine="")),
            False,
        ),
    ]
    assert [(name, found) for name, found, wanted in rows if found is not wanted] == []
    alive.owner.release()


def test_this_system_says_where_we_are() -> None:
    require("linux")
    here, again = Place.here(), Place.here()
    assert (here.boot, here.root, here.machine) == (again.boot, again.root, again.machine)
    assert here.boot and here.root
    assert 0 < here.booted_at <= again.booted_at + 60


def test_owners_on_one_engine_spare_each_other(docker_engine: str, runtime: Path) -> None:
    """Two containers made from one image have one machine id, and the same paths."""
    require("linux")
    require("root")
    before = Left.now(runtime)
    cover = f"mount -t tmpfs tmpfs {runtime} && chmod 700 {runtime}"
    other = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f'{cover} && exec "$@"', "sh", sys.executable, "-c", ELSEWHERE],
        env=environment(runtime), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdin is not None and other.stdout is not None
    with other, other.stdout, other.stdin:
        with open_sandbox("docker:profile=plain,park=0") as mine, mine.open_session() as session:
            session.run("y = 3")
            assert other.stdout.readline() == "open\n"  # it may have begun before us, or after
            with open_sandbox("docker:profile=plain,park=0") as later:
                assert later.run(Job(code="result = 1")).result == 1
            other.stdin.write("go on\n")
            other.stdin.flush()
            assert other.stdout.readline() == "2\n"
            assert session.run("y + 1").result == 4
        other.stdin.close()
        assert other.wait(120) == 0
    assert Left.now(runtime) == before
    assert os.listdir(runtime) == []
