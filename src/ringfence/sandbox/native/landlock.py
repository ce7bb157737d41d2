"""Landlock: a second wall behind the mounts. Read and execute anywhere in the view, write only in the scratch space."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

from ringfence.sandbox.native import syscalls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FIRST_VERSION = (1 << 13) - 1
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE  # the rights that a single file can have
_WRITE = (_FIRST_VERSION | _REFER | _TRUNCATE) & ~(_MAKE_CHAR | _MAKE_BLOCK)


class _Ruleset(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("handled_fs", "handled_net", "scoped")]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def handled_rights(abi: int) -> int:
    """Every file-system right that this version can refuse."""
    rights = _FIRST_VERSION
    rights |= _REFER if abi >= 2 else 0
    rights |= _TRUNCATE if abi >= 3 else 0
    rights |= _IOCTL_DEV if abi >= 5 else 0
    return rights


def restrict(abi: int, writable: Sequence[str], devices: Sequence[str]) -> None:
    """Confine the calling process: all of / for reading, `writable` for everything but device nodes."""
    handled = handled_rights(abi)
    ruleset = syscalls.landlock_create(_ruleset(abi, handled))
    try:
        _allow(ruleset, "/", _READ & handled)
        for path in writable:
            _allow(ruleset, path, handled & (_WRITE if os.path.isdir(path) else _FILE))
        for path in devices:
            _allow(ruleset, path, handled & _FILE & ~_EXECUTE)
        syscalls.landlock_restrict(ruleset)
    finally:
        os.close(ruleset)


def _ruleset(abi: int, handled: int) -> _Ruleset:
    network = 3 if abi >= 4 else 0  # TCP bind and connect
    scoped = 3 if abi >= 6 else 0  # abstract unix sockets, signals
    return _Ruleset(handled, network, scoped)


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        syscalls.landlock_add_path(ruleset, _PathRule(rights, fd))
    finally:
        os.close(fd)
