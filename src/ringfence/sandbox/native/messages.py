"""What the supervisor, the warden and the zygote say to each other: one JSON packet each, with descriptors.

All of them are ours; a job never holds one of these sockets.
"""

from __future__ import annotations

import array
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from ringfence.sandbox.evidence import Exit

# How a child that could not be jailed begins its complaint: a mount of the job's own is to blame, or it is not.
BAD_MOUNT, NO_JAIL = b"?", b"!"
_MOST_FDS = 200
_MOST_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a warden and its zygote are to be made."""

    package_parent: str
    lock_path: str
    preload: Sequence[str]
    privileged: bool
    count_memory: bool  # control groups count a job's memory, so files in memory are counted too
    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOrder:
    """Ask the zygote for a child. Descriptors: channel, stdout, stderr, status, then groups, then mount trees."""

    uid: int
    gid: int
    disk_mb: int
    groups: int
    mounts: Sequence[tuple[str, bool]] = field(default_factory=list)  # place in the jail, writable


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOrder:
    """Ask the warden for a detached mount tree of a host path; `uid` is set where the job's user must own it.

    The descriptor that comes with it is where the answer goes.
    """

    path: str
    uid: int | None


_EXIT = struct.Struct("=iddq")


def encode_exit(exit_: Exit) -> bytes:
    return _EXIT.pack(exit_.status, exit_.user_seconds, exit_.system_seconds, exit_.peak_memory_bytes)


def decode_exit(raw: bytes) -> Exit:
    return Exit(*_EXIT.unpack(raw))


def encode(order: Setup | ForkOrder | TreeOrder) -> bytes:
    return json.dumps(asdict(order)).encode()


def decode_fork(raw: bytes) -> ForkOrder:
    return ForkOrder(**json.loads(raw))


def decode_tree(raw: bytes) -> TreeOrder:
    return TreeOrder(**json.loads(raw))


def decode_setup(raw: bytes) -> Setup:
    return Setup(**json.loads(raw))


def fits(payload: bytes, fds: Sequence[int]) -> bool:
    """Whether the other side can take it whole."""
    return len(payload) <= _MOST_BYTES and len(fds) <= _MOST_FDS


def send(sock: socket.socket, payload: bytes, fds: Sequence[int] = ()) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([payload], ancillary)


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """One packet and its descriptors; an empty packet means that the other side is gone."""
    room = socket.CMSG_SPACE(_MOST_FDS * array.array("i").itemsize)
    payload, ancillary, _, _ = sock.recvmsg(_MOST_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return payload, list(fds)
