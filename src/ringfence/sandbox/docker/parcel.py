"""Files on their way into a container, and artifacts on their way out. The first half runs inside, the second outside.

The archive API of container engines does not see the memory file systems that a job may write in, so the keeper carries
them. Inside they are collected by the rules of `artifacts`; outside, every name and size is judged again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping

from ringfence.base.errors import SandboxError
from ringfence.sandbox import artifacts
from ringfence.sandbox.artifacts import Collected, Stamp
from ringfence.sandbox.docker import frames
from ringfence.sandbox.frames import FrameError, parse_json
from ringfence.sandbox.keeping import Copy, Keep, Unfit, Write
from ringfence.sandbox.names import MOST_CHARACTERS, Names, shown
from ringfence.sandbox.outcome import Artifact, RejectedArtifact

Say = Callable[[bytes, bytes], None]
_MOST_COUNT, _MOST_BYTES = 100, 64 << 20


def pack_file(name: str, content: bytes) -> bytes:
    return name.encode() + b"\0" + content


# Inside


def put_file(work: int, payload: bytes) -> None:
    """Write a file of the job's into its working directory, before it starts."""
    name, _, content = payload.partition(b"\0")
    *folders, last = name.split(b"/")
    here = os.dup(work)
    try:
        for folder in folders:
            if not os.access(folder, os.F_OK, dir_fd=here):
                os.mkdir(folder, 0o700, dir_fd=here)
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = inner
        fd = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=here)
        with os.fdopen(fd, "wb") as f:
            f.write(content)
            f.flush()
            os.utime(fd, ns=(1, 1))  # old, so that a rewrite within one clock tick is seen as one
    finally:
        os.close(here)


def send_artifacts(work: int, baseline: Mapping[str, Stamp], say: Say) -> None:
    def carry(name: str, size: int, copy: Copy) -> Artifact:
        say(frames.KEPT, json.dumps({"name": name, "bytes": size}).encode())
        digest = copy(lambda chunk: say(frames.CHUNK, chunk))
        say(frames.TAKEN, b"")
        return Artifact(name=name, bytes=size, sha256=digest, mime="", data=b"")

    collected = artifacts.collect(work, keep=carry, baseline=baseline)
    rejected = [[r.name, r.reason] for r in collected.rejected]
    say(frames.DONE, json.dumps({"rejected": rejected, "truncated": collected.truncated}).encode())


# Outside


def receive_artifacts(arriving: Iterator[tuple[bytes, bytes]], keep: Keep) -> Collected:
    """Take what a keeper sends, as it comes; what no keeper of ours sends is refused."""
    taken: list[Artifact] = []
    rejected: list[RejectedArtifact] = []
    names, offered, room = Names(), 0, _MOST_BYTES
    for kind, payload in arriving:
        if kind == frames.DONE:
            found, truncated = _read_rejected(payload)
            told = [r.name for r in rejected]
            rejected += [r for r in found if r.name not in told]
            return Collected(
                artifacts=tuple(sorted(taken, key=lambda a: a.name)),
                rejected=tuple(sorted(rejected, key=lambda r: r.name)),
                truncated=truncated,
            )
        if kind != frames.KEPT or offered >= _MOST_COUNT:
            raise SandboxError("the container sent something other than its artifacts: run the job again")
        name, size = _read_head(payload, room)
        offered, room = offered + 1, room - size
        incoming = _Incoming(arriving, size)
        try:
            if wrong := names.claim(name):
                raise Unfit(wrong)
            taken.append(keep(name, size, incoming))
        except Unfit as e:
            incoming.skip()
            rejected.append(RejectedArtifact(shown(name), str(e)))
    raise SandboxError("the container ended before it had sent its artifacts: run the job again")


class _Incoming:
    """The bytes of one artifact, as `Copy` wants them."""

    def __init__(self, arriving: Iterator[tuple[bytes, bytes]], size: int) -> None:
        self._arriving, self._size = arriving, size
        self._begun = False

    def skip(self) -> None:
        """Pass over what nobody has asked for."""
        if not self._begun:
            self(lambda chunk: None)

    def __call__(self, write: Write) -> str:
        self._begun = True
        digest, left = hashlib.sha256(), self._size
        for kind, payload in self._arriving:
            if kind == frames.TAKEN and left == 0:
                return digest.hexdigest()
            left -= len(payload)
            if kind != frames.CHUNK or left < 0:
                break
            digest.update(payload)
            write(payload)
        raise SandboxError("the container sent an artifact that is not what it said: run the job again")


def _read_head(payload: bytes, room: int) -> tuple[str, int]:
    head = _object(payload)
    name, size = head.get("name"), head.get("bytes")
    if not isinstance(name, str) or len(name) > MOST_CHARACTERS or type(size) is not int or not 0 <= size <= room:
        raise SandboxError("the container sent an artifact without a name or with too many bytes: run the job again")
    return name, size


def _read_rejected(payload: bytes) -> tuple[list[RejectedArtifact], bool]:
    end = _object(payload)
    rows = end.get("rejected")
    if not isinstance(rows, list) or len(rows) > artifacts.MAX_REJECTED:
        raise SandboxError("the container sent a damaged list of artifacts: run the job again")
    found = [
        RejectedArtifact(shown(str(row[0])), shown(str(row[1]))) for row in rows if isinstance(row, list) and row[1:]
    ]
    return found, end.get("truncated") is True


def _object(payload: bytes) -> Mapping[str, object]:
    try:
        value = parse_json(payload)
    except FrameError as e:
        raise SandboxError(f"the container sent a damaged frame ({e}): run the job again") from e
    if not isinstance(value, dict):
        raise SandboxError("the container sent a damaged frame: run the job again")
    return value
