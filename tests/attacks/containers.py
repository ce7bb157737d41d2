"""What a container engine holds of ours, seen from the host: containers, their processes, networks, volumes, folders.

Nothing here asks the sandbox. A container is ours when its label names an owner whose lock this process, or one below
it, holds or once held: other sessions of tests use the same engine. Without an engine under watch there is nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob  # which does not mind a group that goes while it looks
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.config import Settings
from ringfence.sandbox.native import blocks

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "ringfence.owner"
PROCESSES = 2  # in a container that is at rest: the keeper and the one job it has forked
UIDS = 1024  # that one owner gives to its containers, from its own first one on
FIRST_RANGE = 1 << 23


@dataclass
class _Watched:
    client: APIClient
    root: Path
    at_rest: int = 0  # containers that are there when no attack runs: the parked ones, and the neighbours' sessions
    owners: set[str] = field(default_factory=set)
    containers: set[str] = field(default_factory=set)


_engine: _Watched | None = None


@contextmanager
def watched_engine() -> Iterator[None]:
    """Look at the engine that DOCKER_HOST names, as long as the block runs."""
    global _engine
    import docker

    client = docker.from_env(version="auto", timeout=60)
    _engine = _Watched(client.api, Path(client.api.info()["DockerRootDir"]))
    try:
        yield
    finally:
        client.close()
        _engine = None


@contextmanager
def unwatched() -> Iterator[None]:
    """For the block, only the machine itself is looked at: containers that other tests have open come and go."""
    global _engine
    before, _engine = _engine, None
    try:
        yield
    finally:
        _engine = before


@contextmanager
def at_rest(count: int) -> Iterator[None]:
    """For the block, `count` more containers belong to the machine at rest."""
    assert _engine is not None
    _engine.at_rest += count
    try:
        yield
    finally:
        _engine.at_rest -= count


def expected() -> int:
    return _engine.at_rest if _engine is not None else 0


def is_watched() -> bool:
    return _engine is not None


def uids(pids: set[int]) -> list[range]:
    """The user ids of the containers that one of `pids` owns, or whoever was asked for before has owned."""
    if _engine is None:
        return []
    _engine.owners |= set(_held_by(pids))
    return _ranges(_engine.owners)


def uids_of(pid: int) -> list[range]:
    """The user ids of the containers that this process owns now."""
    return _ranges(set(_held_by({pid}))) if _engine is not None else []


def _ranges(owners: set[str]) -> list[range]:
    base = Settings.from_env(os.environ).uid_base + FIRST_RANGE
    firsts = [base + int(token[:4], 16) * UIDS for token in owners]
    return [range(first, first + UIDS) for first in firsts]


def _held_by(pids: set[int]) -> Iterator[str]:
    """The owners among `pids`, by their locks."""
    settings = Settings.from_env(os.environ)
    folder = blocks.runtime_dir(settings.runtime_dir, os.getuid(), os.environ.get("XDG_RUNTIME_DIR"))
    holders: dict[int, int] = {}
    for line in Path("/proc/locks").read_text().splitlines():
        found = re.search(r"FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)", line)
        if found:
            holders[int(found[2])] = int(found[1])
    for path in folder.glob("docker-*.lock"):
        try:
            holder = holders.get(path.stat().st_ino)
        except FileNotFoundError:
            continue  # its owner has just closed
        if holder in pids:
            yield path.stem.removeprefix("docker-")


def present() -> dict[str, str]:
    """Our containers, running or not, as id -> name and state."""
    if _engine is None:
        return {}
    rows = _engine.client.containers(all=True, filters={"label": LABEL})
    found = {
        row["Id"]: f"{row['Names'][0] if row['Names'] else '?'} {row['State']}"
        for row in rows
        if row["Labels"].get(LABEL) in _engine.owners
    }
    _engine.containers |= set(found)
    return found


def belongings(containers: dict[str, str]) -> Iterator[str]:
    """Networks and volumes of the engine, and folders and control groups of containers that are gone."""
    if _engine is None:
        return
    yield from (f"network {row['Name']}" for row in _engine.client.networks())
    yield from (f"volume {row['Name']}" for row in _engine.client.volumes()["Volumes"] or ())
    gone = _engine.containers - set(containers)
    folder = _engine.root / "containers"
    if os.access(folder, os.R_OK):
        yield from (f"folder {name}" for name in os.listdir(folder) if name in gone)
    if gone:
        for depth in ("*/*", "*/*/*"):
            named = ((re.search("[0-9a-f]{64}", group), group) for group in glob(f"/sys/fs/cgroup/{depth}"))
            yield from (f"cgroup {group}" for name, group in named if name and name[0] in gone)
