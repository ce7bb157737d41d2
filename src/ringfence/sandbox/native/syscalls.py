"""The kernel calls that Python does not offer, one thin function each; OSError names the call that failed."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE = 4096, 16384, 1 << 18, 1 << 19
MNT_DETACH = 2

MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
MOUNT_ATTR_IDMAP = 0x00100000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 4
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

MADV_COLLAPSE = 25

# Numbers that differ between the two architectures we run on; those from 424 up are the same on both.
_NUMBERS = {"x86_64": {"pivot_root": 155, "seccomp": 317}, "aarch64": {"pivot_root": 41, "seccomp": 277}}
_OPEN_TREE, _MOVE_MOUNT, _CLOSE_RANGE, _MOUNT_SETATTR = 428, 429, 436, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446


def machine() -> str:
    return os.uname().machine


def _check(result: int, call: str, *what: object) -> int:
    if result < 0:
        number = ctypes.get_errno()
        about = " ".join(str(w) for w in what if w is not None)
        raise OSError(number, f"{call}({about}): {os.strerror(number)}")
    return result


def _raw(number: int, name: str, *args: object) -> int:
    return _check(int(_libc.syscall(ctypes.c_long(number), *args)), name)


def _bytes(text: str | bytes | None) -> bytes | None:
    return os.fsencode(text) if text is not None else None


def unshare(flags: int) -> None:
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare", hex(flags))


def setns(fd: int, flags: int) -> None:
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(flags)), "setns", hex(flags))


def mount(source: str, target: str, fstype: str | None = None, flags: int = 0, data: str | None = None) -> None:
    result = _libc.mount(_bytes(source), _bytes(target), _bytes(fstype), ctypes.c_ulong(flags), _bytes(data))
    _check(result, "mount", source, target, fstype)


def umount(target: str, flags: int = 0) -> None:
    _check(_libc.umount2(_bytes(target), ctypes.c_int(flags)), "umount", target)


def pivot_root(new: str, old: str) -> None:
    _raw(_NUMBERS[machine()]["pivot_root"], "pivot_root", _bytes(new), _bytes(old))


class _MountAttr(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def mount_setattr(path: str, attributes: int, *, recursive: bool) -> None:
    attr = _MountAttr(attr_set=attributes)
    _raw(
        _MOUNT_SETATTR, "mount_setattr", ctypes.c_int(_AT_FDCWD), _bytes(path),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0), ctypes.byref(attr), ctypes.c_size_t(ctypes.sizeof(attr)),
    )  # fmt: skip


def idmap_mount(tree_fd: int, userns_fd: int) -> None:
    """Make a detached mount translate owners through a user namespace."""
    attr = _MountAttr(attr_set=MOUNT_ATTR_IDMAP, userns_fd=userns_fd)
    _raw(
        _MOUNT_SETATTR, "mount_setattr", ctypes.c_int(tree_fd), b"", ctypes.c_uint(_AT_EMPTY_PATH),
        ctypes.byref(attr), ctypes.c_size_t(ctypes.sizeof(attr)),
    )  # fmt: skip


def open_tree(path: str) -> int:
    """A detached copy of the mount tree at `path`, as a descriptor."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return _raw(_OPEN_TREE, "open_tree", ctypes.c_int(_AT_FDCWD), _bytes(path), ctypes.c_uint(flags))


def move_mount(tree_fd: int, target: str) -> None:
    _raw(
        _MOVE_MOUNT, "move_mount", ctypes.c_int(tree_fd), b"", ctypes.c_int(_AT_FDCWD), _bytes(target),
        ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH),
    )  # fmt: skip


def prctl(option: int, *args: int) -> None:
    padded = [ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(ctypes.c_int(option), *padded), "prctl", option)


def clear_bounding_set() -> None:
    """Take every capability out of the bounding and ambient sets, as far as the kernel knows them."""
    for capability in range(64):
        if _libc.prctl(ctypes.c_int(PR_CAPBSET_DROP), ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


_NO_CAPS = (ctypes.c_uint32 * 6)()
_CAP_HEADER = _CapHeader(0x20080522, 0)


def drop_capabilities() -> None:
    _check(_libc.capset(ctypes.byref(_CAP_HEADER), _NO_CAPS), "capset")


def close_range(first: int, last: int) -> None:
    _raw(_CLOSE_RANGE, "close_range", ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(0))


def madvise(address: int, length: int, advice: int) -> bool:
    """Advice is only advice: False where the kernel does not take it."""
    return bool(_libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(advice)) == 0)


def landlock_abi() -> int:
    """The Landlock version of this kernel, 0 where there is none."""
    found = _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, int(found))


def landlock_create(ruleset: ctypes.Structure) -> int:
    size = ctypes.c_size_t(ctypes.sizeof(ruleset))
    return _raw(_LANDLOCK_CREATE, "landlock_create_ruleset", ctypes.byref(ruleset), size, ctypes.c_uint32(0))


def landlock_add_path(ruleset_fd: int, rule: ctypes.Structure) -> None:
    _raw(
        _LANDLOCK_ADD, "landlock_add_rule", ctypes.c_int(ruleset_fd), ctypes.c_int(1), ctypes.byref(rule),
        ctypes.c_uint32(0),
    )  # fmt: skip


def landlock_restrict(ruleset_fd: int) -> None:
    _raw(_LANDLOCK_RESTRICT, "landlock_restrict_self", ctypes.c_int(ruleset_fd), ctypes.c_uint32(0))


class _FilterProgram(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def seccomp_filter(program: bytes) -> None:
    """Install a BPF program (8 bytes an instruction) for good; no_new_privs must be set."""
    buffer = ctypes.create_string_buffer(program, len(program))
    prog = _FilterProgram(len(program) // 8, ctypes.addressof(buffer))
    mode_filter = 1
    _raw(_NUMBERS[machine()]["seccomp"], "seccomp", ctypes.c_uint(mode_filter), ctypes.c_uint(0), ctypes.byref(prog))
