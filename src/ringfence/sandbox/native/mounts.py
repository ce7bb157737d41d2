"""The file system a job sees: a read-only view of just the runtime, and one private scratch space.

The view is a plan, a list of entries, laid out twice: once by the zygote from the host's own files
(`enter_view`), and again, from within, only for a job that brings mounts of its own (`relay_view`), because
their mount points must not appear in the view that other jobs share. Directories are bound. Single files are copied
when the plan is made: the system replaces them (ldconfig does), and what is gone cannot be bound a second time.
"""

from __future__ import annotations

import os
import site
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringfence.sandbox.native import syscalls as sc

SCRATCH = "/box"
WORK = "/job"
INIT = "/init"
# Parts of the one scratch tmpfs and where the job sees them.
SCRATCH_PARTS = {"job": WORK, "tmp": "/tmp", "shm": "/dev/shm"}
DEVICES = ("null", "zero", "full", "random", "urandom")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}

_SYSTEM_DIRS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
                "/usr/share/fonts", "/usr/share/fontconfig", "/bin", "/lib", "/lib32", "/lib64",
                "/etc/alternatives", "/etc/fonts")  # fmt: skip
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/mime.types")
# No name service but files, and no hosts but ourselves: a lookup fails at once instead of waiting for a server.
_OWN_FILES = {
    "/etc/passwd": "root:x:0:0::/:/usr/sbin/nologin\nguest:x:65534:65534::/job:/bin/sh\n",
    "/etc/group": "root:x:0:\nguest:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_MOST_COPIED = 2 << 20
_STAGING = "/tmp"  # any directory that always exists; covered only in our own mount namespace

Kind = Literal["dir", "file", "link", "copy", "device"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the view: a bound directory, file or device, a link, or a file with a content of its own."""

    kind: Kind
    path: str
    target: str = ""  # of a link
    content: bytes = b""  # of a copy


class MountPointError(OSError):
    """A job's own mount cannot be put where the job wants it."""


@dataclass(frozen=True, slots=True)
class JobMount:
    """A mount a job asked for: a detached tree, and where it goes."""

    tree_fd: int
    guest: str
    writable: bool


def runtime_plan(package: Path) -> list[Entry]:
    """What this interpreter, with its libraries and our guest code under `package`, needs to see."""
    plan = [Entry("copy", path, content=text.encode()) for path, text in _OWN_FILES.items()]
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    wanted = [*_SYSTEM_DIRS, *_SYSTEM_FILES, *_prefix_parts(prefixes), *site.getsitepackages()]
    for part in ("__init__.py", "guest", "trade", "base"):
        wanted.append(str(package / part))
    plan += _bind_entries(dict.fromkeys(wanted))
    plan += [Entry("device", f"/dev/{name}") for name in DEVICES]
    plan += [Entry("link", f"/dev/{name}", target) for name, target in _DEVICE_LINKS.items()]
    return plan


def _prefix_parts(prefixes: Iterable[str]) -> Iterable[str]:
    for prefix in prefixes:
        for part in ("bin", "lib", "lib64", "pyvenv.cfg"):
            yield os.path.join(prefix, part)


def _bind_entries(wanted: Iterable[str]) -> Iterable[Entry]:
    """Entries for the paths that exist, links kept as links, nothing twice and nothing inside another."""
    bound: list[str] = []
    for path in sorted(_with_link_targets(wanted), key=len):
        if os.path.islink(path):
            if not any(path.startswith(b + "/") for b in bound):
                yield Entry("link", path, os.readlink(path))
        elif not any(path == b or path.startswith(b + "/") for b in bound):
            bound.append(path)
            yield _entry(path)


def _entry(path: str) -> Entry:
    if os.path.isdir(path):
        return Entry("dir", path)
    if os.path.getsize(path) > _MOST_COPIED:
        return Entry("file", path)
    return Entry("copy", path, content=Path(path).read_bytes())


def _with_link_targets(wanted: Iterable[str]) -> set[str]:
    """The existing paths, their real places, and the interpreter behind a virtual environment's links."""
    found: set[str] = set()
    for path in wanted:
        for _ in range(8):  # a chain of links longer than this is a loop
            if not os.path.lexists(path):
                break
            found.add(path)
            if not os.path.islink(path):
                break
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    return {p for p in found if os.path.exists(p)}


def enter_view(plan: Sequence[Entry], init: bytes) -> None:
    """Replace the calling process's root by the view, with `init` in it as /init.

    The process must be alone in a fresh mount namespace.
    """
    sc.mount("none", "/", None, sc.MS_REC | sc.MS_PRIVATE)
    # Sources are held open because the staging mount may cover them.
    sources = {e.path: os.open(e.path, os.O_PATH | os.O_CLOEXEC) for e in plan if e.kind in ("dir", "file", "device")}
    _mount_root(_STAGING)
    for entry in plan:
        source = f"/proc/self/fd/{sources[entry.path]}" if entry.path in sources else None
        _lay(entry, source, _STAGING)
    _make_places(_STAGING)
    Path(_STAGING + INIT).write_bytes(init)
    os.chmod(_STAGING + INIT, 0o555)
    # A fresh proc must be mounted while the old root is still there: in a user namespace the kernel
    # allows it only to those who can see all of proc already.
    has_proc = mount_proc(_STAGING + "/proc", whole=True)
    for fd in sources.values():
        os.close(fd)
    for entry in plan:
        if entry.kind in ("dir", "file"):
            sc.mount_setattr(_STAGING + entry.path, _HARDENED, recursive=True)
        elif entry.kind == "device":
            sc.mount_setattr(_STAGING + entry.path, sc.MOUNT_ATTR_NOSUID | sc.MOUNT_ATTR_NOEXEC, recursive=False)
    _pivot(_STAGING)
    if not has_proc:
        os.rmdir("/proc")
    seal_root()


_HARDENED = sc.MOUNT_ATTR_RDONLY | sc.MOUNT_ATTR_NOSUID | sc.MOUNT_ATTR_NODEV


def _mount_root(place: str) -> None:
    sc.mount("ringfence", place, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=16m,nr_inodes=4096,mode=755")


def seal_root() -> None:
    sc.mount_setattr("/", _HARDENED, recursive=False)


def _make_places(root: str) -> None:
    for place in ("/proc", SCRATCH, *SCRATCH_PARTS.values()):
        os.makedirs(root + place, exist_ok=True)


def _lay(entry: Entry, source: str | None, root: str) -> None:
    target = root + entry.path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if entry.kind == "link":
        if not os.path.lexists(target):
            os.symlink(entry.target, target)
    elif entry.kind == "copy":
        Path(target).write_bytes(entry.content)
    else:
        assert source is not None
        _make_mount_point(target, directory=entry.kind == "dir")
        sc.mount(source, target, None, sc.MS_BIND | sc.MS_REC)


def _make_mount_point(target: str, *, directory: bool) -> None:
    if directory:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444))


def _pivot(new_root: str) -> None:
    os.chdir(new_root)
    sc.pivot_root(".", ".")
    sc.umount(".", sc.MNT_DETACH)
    os.chdir("/")


def relay_view(plan: Sequence[Entry], mounts: Sequence[JobMount]) -> None:
    """Lay the view out anew, from within it, with mount points for this job's own mounts (but those under /job)."""
    root = SCRATCH  # empty still, and unlike /tmp it never holds a part of the runtime
    _mount_root(root)
    for entry in plan:
        _lay(entry, entry.path, root)
    _make_places(root)
    for mount in mounts:
        if not mount.guest.startswith(WORK + "/"):
            attach(mount, root)
    if os.path.isdir("/proc"):
        sc.mount("/proc", root + "/proc", None, sc.MS_BIND | sc.MS_REC)
    _pivot(root)
    seal_root()


def attach(mount: JobMount, root: str = "") -> None:
    target = root + mount.guest
    try:
        _make_mount_point(target, directory=stat.S_ISDIR(os.fstat(mount.tree_fd).st_mode))
        sc.move_mount(mount.tree_fd, target)
    except OSError as e:
        raise MountPointError(e.errno, f"mount target {mount.guest!r}: {e.strerror}") from e
    hardened = _HARDENED if not mount.writable else _HARDENED & ~sc.MOUNT_ATTR_RDONLY
    sc.mount_setattr(target, hardened, recursive=True)


def mount_proc(place: str = "/proc", *, whole: bool = False) -> bool:
    """Mount proc for this pid namespace; False where this machine does not let us.

    A job gets only the part about processes: no /proc/sys, no keys, no kernel memory map.
    """
    options = None if whole else "hidepid=2,subset=pid"
    try:
        sc.mount("proc", place, "proc", sc.MS_NOSUID | sc.MS_NODEV | sc.MS_NOEXEC, options)
    except OSError:
        return False
    return True


def hide_proc() -> None:
    """Take away the zygote's proc where the job could not get its own: it shows other jobs' processes."""
    if os.path.isdir("/proc"):
        sc.umount("/proc", sc.MNT_DETACH)


def mount_scratch(plan: Sequence[Entry], *, disk_mb: int, uid: int, gid: int) -> int:
    """Mount the job's private scratch space and return a descriptor of it, which outlives the job's namespace."""
    covered = [(entry.path, sc.open_tree(entry.path)) for entry in plan if _is_covered(entry.path)]
    inodes = min(disk_mb * 256, 1 << 20)
    sc.mount("ringfence", SCRATCH, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, f"size={disk_mb}m,nr_inodes={inodes},mode=755")
    for part, place in SCRATCH_PARTS.items():
        inside = f"{SCRATCH}/{part}"
        os.mkdir(inside)
        os.chmod(inside, 0o700 if part == "job" else 0o1777)
        os.chown(inside, uid, gid)
        sc.mount(inside, place, None, sc.MS_BIND)
    os.chown(SCRATCH, uid, gid)
    for path, tree in covered:
        _make_mount_point(path, directory=stat.S_ISDIR(os.fstat(tree).st_mode))
        sc.move_mount(tree, path)
        os.close(tree)
    return os.open(SCRATCH, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_covered(path: str) -> bool:
    """Whether the scratch space would hide this part of the runtime: an interpreter under /tmp, for one."""
    return any(path.startswith(place + "/") for place in SCRATCH_PARTS.values())
