"""What programs left, kept for a while: a private directory, bounded in bytes, emptied by age and at the end.

A name that a program chose never becomes a path: files are numbered, and the names are keys of a table in memory.
The directory is locked while its server lives; what a killed server left is removed by the next one that starts.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from ringfence.base.errors import InputError, StoreError
from ringfence.mcp.clients import Client
from ringfence.sandbox.outcome import Artifact

URI = "ringfence://artifacts/"
_MOST_RUNS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    run_id: str
    name: str
    bytes: int
    sha256: str
    mime: str
    place: Path = field(repr=False)

    @property
    def uri(self) -> str:
        return f"{URI}{self.run_id}/{quote(self.name, safe='')}"


@dataclass(slots=True)
class _Run:
    client: Client
    kept: dict[str, Kept]
    expires: float
    folder: Path

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.kept.values())


class Shelf:
    """Safe from many threads."""

    def __init__(
        self, folder: Path, *, most_bytes: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._parent, self._most, self._seconds, self._clock = folder, most_bytes, seconds, clock
        self._runs: OrderedDict[str, _Run] = OrderedDict()  # the oldest first
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._held: int | None = None

    def put(self, client: Client, run_id: str, artifacts: Iterable[Artifact]) -> tuple[Kept, ...]:
        """Keep what a run left. The oldest run of the client that has the most makes room for it.

        Nothing is kept of a run that is larger than the shelf.
        """
        left = [artifact for artifact in artifacts if artifact.data is not None]
        size = sum(artifact.bytes for artifact in left)
        if not left or size > self._most:
            return ()
        with self._lock:
            self._expire()
            while self._runs and (size + self._bytes() > self._most or len(self._runs) >= _MOST_RUNS):
                self._drop(self._find_victim())
            folder = self._open() / secrets.token_hex(8)
            run = _Run(client, {}, self._clock() + self._seconds, folder)
            self._runs[run_id] = run
            try:
                folder.mkdir(mode=0o700)
                for number, artifact in enumerate(left):
                    run.kept[artifact.name] = _write(folder / str(number), run_id, artifact)
            except OSError as e:
                self._drop(run_id)
                raise StoreError(f"artifacts cannot be kept ({e.strerror}): make room under {self._parent}") from e
            return tuple(run.kept.values())

    def list(self, client: Client, run_id: str | None = None) -> tuple[Kept, ...]:
        """The client's own: those of one run, or all, the newest run first."""
        with self._lock:
            self._expire()
            if run_id is not None:
                return tuple(self._run(client, run_id).kept.values())
            mine = [run for run in self._runs.values() if run.client == client]
            return tuple(item for run in reversed(mine) for item in run.kept.values())

    def find(self, client: Client, run_id: str, name: str) -> Kept:
        with self._lock:
            self._expire()
            kept = self._run(client, run_id).kept
            if name not in kept:
                raise InputError(f"run {run_id!r} left no artifact {name!r}: it left {', '.join(kept)}")
            return kept[name]

    def read(self, item: Kept, offset: int, count: int) -> bytes:
        try:
            with open(item.place, "rb") as file:
                file.seek(offset)
                return file.read(count)
        except FileNotFoundError:
            raise InputError(f"artifact {item.name!r} has just expired: run the program again") from None

    def find_uri(self, client: Client, uri: str) -> Kept:
        run_id, slash, name = uri.removeprefix(URI).partition("/")
        if not uri.startswith(URI) or not slash:
            raise InputError(f"{uri!r} is no resource of this server: use {URI}RUN_ID/NAME as a run's answer gives it")
        return self.find(client, unquote(run_id), unquote(name))

    def tidy(self) -> None:
        with self._lock:
            self._expire()

    def forget(self, client: Client) -> None:
        """It is gone for good: nobody can ask for its files any more."""
        with self._lock:
            for run_id in [run_id for run_id, run in self._runs.items() if run.client == client]:
                self._drop(run_id)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder that is gone afterwards, and swept like the rest where this server is killed before that."""
        with self._lock:
            folder = self._open() / secrets.token_hex(8)
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            self._runs.clear()
            if self._folder is not None and self._held is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                os.close(self._held)
                self._folder = self._held = None

    def _run(self, client: Client, run_id: str) -> _Run:
        """Another client's gets the answer of one that there is not."""
        run = self._runs.get(run_id)
        if run is None or run.client != client:
            raise InputError(
                f"no artifacts of run {run_id!r} are kept: it left none, they expired after {self._seconds:g} s, "
                "or the id is wrong; artifact_list shows those there are"
            )
        return run

    def _find_victim(self) -> str:
        held: Counter[Client] = Counter()
        for run in self._runs.values():
            held[run.client] += run.bytes
        [(most, _)] = held.most_common(1)
        return next(run_id for run_id, run in self._runs.items() if run.client == most)

    def _bytes(self) -> int:
        return sum(run.bytes for run in self._runs.values())

    def _expire(self) -> None:
        now = self._clock()
        for run_id in [run_id for run_id, run in self._runs.items() if run.expires <= now]:
            self._drop(run_id)

    def _drop(self, run_id: str) -> None:
        shutil.rmtree(self._runs.pop(run_id).folder, ignore_errors=True)

    def _open(self) -> Path:
        if self._folder is None:
            try:
                self._parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._folder, self._held = _make_folder(self._parent)
            except OSError as e:
                raise StoreError(f"{str(self._parent)!r} cannot be made ({e.strerror}): set RINGFENCE_HOME") from e
        return self._folder


def _write(place: Path, run_id: str, artifact: Artifact) -> Kept:
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(artifact.data or b"")
    return Kept(
        run_id=run_id,
        name=artifact.name,
        bytes=artifact.bytes,
        sha256=artifact.sha256,
        mime=artifact.mime,
        place=place,
    )


def _make_folder(parent: Path) -> tuple[Path, int]:
    """A directory of our own, and the descriptor that holds it locked."""
    with _gate(parent):  # or another server might sweep ours before we have locked it
        folder = parent / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_EX)
        return folder, held


@contextmanager
def _gate(parent: Path) -> Iterator[None]:
    """Within, no other server makes or sweeps a directory there."""
    gate = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield
    finally:
        os.close(gate)


def sweep(parent: Path) -> None:
    """Remove what servers that are gone have left: theirs are the directories that nobody holds locked."""
    if not parent.is_dir():
        return
    with _gate(parent):
        for folder in parent.iterdir():
            _remove_unheld(folder)


def _remove_unheld(folder: Path) -> None:
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # not ours, or just removed
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its server lives
    finally:
        os.close(fd)
