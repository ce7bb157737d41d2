"""The kernel calls that a guest must not reach, and a guest program that makes them raw.

The arguments are chosen so that a kernel that is reached says so: it succeeds, or answers EFAULT, EINVAL or EBADF,
none of which counts as a refusal. They are also chosen to do no harm should a call succeed.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS}
COLUMN = {"x86_64": 0, "aarch64": 1}[platform.machine()]
HIGH = 1 << 32  # the kernel drops this half of an int argument; a filter that looks at it can be fooled

# `call(number, *args)` makes the raw call and gives its errno, or 0 if it succeeded.
PROBE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    me = os.getpid()
    ready = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    got = libc.syscall(ctypes.c_long(number), *ready)
    if os.getpid() != me:
        os._exit(0)  # the child of a clone that should not have been possible
    return ctypes.get_errno() if got == -1 else 0
"""


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    numbers: tuple[int, int | None]  # on x86_64 and aarch64; those from 424 up are the same
    args: tuple[int | bytes, ...] = ()

    @property
    def number(self) -> int | None:
        return self.numbers[COLUMN]


def new(name: str, number: int, *args: int | bytes) -> Call:
    return Call(name, (number, number), args)


NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "user and mount": 0x10020000,
    "all at once": 0x7E020000,
}
UNSHARE, CLONE, SOCKET, SOCKETPAIR, IOCTL = (272, 97), (56, 220), (41, 198), (53, 199), (16, 29)
SIGCHLD, TIOCSTI, TIOCLINUX, TIOCSETD = 17, 0x5412, 0x541C, 0x5423
CHAR_DEVICE, BLOCK_DEVICE = 0o020600, 0o060600
HANDLE = struct.pack("Ii", 128, 0) + bytes(128)
ALL_CAPABILITIES = struct.pack("6I", *[0xFFFFFFFF] * 6)

CALLS = (
    *(Call(f"unshare {name}", UNSHARE, (flags,)) for name, flags in NAMESPACES.items()),
    *(Call(f"clone into {name}", CLONE, (flags | SIGCHLD, 0, 0, 0, 0)) for name, flags in NAMESPACES.items()),
    Call("unshare time", UNSHARE, (0x80,)),
    Call("unshare user, high bits set", UNSHARE, (0x10000000 | HIGH,)),
    Call("clone into user, high bits set", CLONE, (0x10000000 | SIGCHLD | HIGH, 0, 0, 0, 0)),
    new("clone3", 435, struct.pack("11Q", 0x10000000, 0, 0, 0, SIGCHLD, *[0] * 6), 88),
    Call("setns", (308, 268), (0, 0)),
    Call("mount", (165, 40), (b"none", b"/job", b"tmpfs", 0, 0)),
    Call("mount with bad pointers", (165, 40), (0, 0, 0, 0, 0)),
    Call("umount2", (166, 39), (b"/job", 2)),
    Call("pivot_root", (155, 41), (b".", b".")),
    Call("chroot", (161, 51), (b"/job",)),
    new("open_tree", 428, -100, b"/", 0),
    new("move_mount", 429, -100, b"/job", -100, b"/tmp", 0),
    new("fsopen", 430, b"tmpfs", 0),
    new("fsconfig", 431, 0, 6, 0, 0, 0),
    new("fsmount", 432, 0, 0, 0),
    new("fspick", 433, -100, b"/", 0),
    new("mount_setattr", 442, -100, b"/", 0, bytes(32), 32),
    new("open_tree_attr", 467, -100, b"/", 0, 0, 0),
    new("statmount", 457, 0, 0, 0, 0),
    new("listmount", 458, 0, 0, 0, 0),
    Call("bpf", (321, 280), (0, 0, 0)),
    Call("keyctl", (250, 219), (0, -3, 0)),
    Call("add_key", (248, 217), (b"user", b"name", b"x", 1, -4)),
    Call("request_key", (249, 218), (b"user", b"name", 0, -4)),
    new("io_uring_setup", 425, 8, bytes(120)),
    new("io_uring_enter", 426, 0, 1, 0, 0, 0, 0),
    new("io_uring_register", 427, 0, 0, 0, 0),
    Call("userfaultfd", (323, 282), (1,)),
    Call("perf_event_open", (298, 241), (0, 0, -1, -1, 0)),
    Call("ptrace traceme", (101, 117), (0, 0, 0, 0)),
    Call("ptrace attach", (101, 117), (16, 1, 0, 0)),
    Call("process_vm_readv", (310, 270), (1, 0, 0, 0, 0, 0)),
    Call("process_vm_writev", (311, 271), (1, 0, 0, 0, 0, 0)),
    new("process_madvise", 440, 0, 0, 0, 0, 0),
    new("process_mrelease", 448, 0, 0),
    new("pidfd_getfd", 438, 0, 0, 0),
    Call("kcmp", (312, 272), (2, 2, 1, 0, 0)),
    Call("vmsplice", (278, 75), (1, 0, 0, 0)),
    Call("move_pages", (279, 239), (0, 0, 0, 0, 0, 0)),
    Call("migrate_pages", (256, 238), (0, 0, 0, 0)),
    Call("mbind", (237, 235), (0, 0, 0, 0, 0, 0)),
    Call("set_mempolicy", (238, 237), (0, 0, 0)),
    new("memfd_secret", 447, 0),
    Call("init_module", (175, 105), (0, 0, 0)),
    Call("finit_module", (313, 273), (0, 0, 0)),
    Call("delete_module", (176, 106), (b"x", 0)),
    Call("create_module", (174, None), (b"x", 1)),
    Call("kexec_load", (246, 104), (0, 0, 0, 0)),
    Call("kexec_file_load", (320, 294), (0, 0, 0, 0, 0)),
    Call("reboot", (169, 142), (0xFEE1DEAD, 672274793, 0, 0)),
    Call("swapon", (167, 224), (b"/job/none", 0)),
    Call("swapoff", (168, 225), (b"/job/none",)),
    Call("name_to_handle_at", (303, 264), (-100, b"/job", HANDLE, bytes(8), 0)),
    Call("open_by_handle_at", (304, 265), (-100, HANDLE, 0)),
    Call("personality without randomised addresses", (135, 92), (0x0040000,)),
    Call("personality with executable data", (135, 92), (0x0400000,)),
    Call("acct", (163, 89), (0,)),
    Call("quotactl", (179, 60), (0x80000100, 0, 0, 0)),
    new("quotactl_fd", 443, 0, 0x80000100, 0, 0),
    Call("syslog", (103, 116), (10, 0, 0)),
    Call("settimeofday", (164, 170), (0, 0)),
    Call("clock_settime", (227, 112), (0, 0)),
    Call("adjtimex", (159, 171), (bytes(256),)),
    Call("clock_adjtime", (305, 266), (0, bytes(256))),
    Call("sethostname", (170, 161), (b"x", 1)),
    Call("setdomainname", (171, 162), (b"x", 1)),
    Call("iopl", (172, None), (3,)),
    Call("ioperm", (173, None), (0x80, 1, 1)),
    Call("modify_ldt", (154, None), (0, bytes(16), 16)),
    Call("uselib", (134, None), (b"/job/none",)),
    Call("sysfs", (139, None), (3, 0, 0)),
    Call("vhangup", (153, 58), ()),
    Call("lookup_dcookie", (212, 18), (0, 0, 0)),
    Call("nfsservctl", (180, 42), (0, 0, 0)),
    Call("fanotify_init", (300, 262), (0x200, 0)),
    Call("mknodat of /dev/mem", (259, 33), (-100, b"/job/mem", CHAR_DEVICE, 0x101)),
    Call("mknodat of a disk", (259, 33), (-100, b"/job/disk", BLOCK_DEVICE, 0xFE00)),
    Call("mknodat of a whiteout", (259, 33), (-100, b"/job/white", CHAR_DEVICE, 0)),
    Call("setuid to root", (105, 146), (0,)),
    Call("setgid to root", (106, 144), (0,)),
    Call("setresuid to root", (117, 147), (0, 0, 0)),
    Call("setresgid to root", (119, 149), (0, 0, 0)),
    Call("setgroups", (116, 159), (1, bytes(4))),
    Call("capset", (126, 91), (struct.pack("Ii", 0x20080522, 0), ALL_CAPABILITIES)),
    Call("shmget", (29, 194), (0, 4096, 0o1666)),
    Call("semget", (64, 190), (0, 1, 0o1666)),
    Call("msgget", (68, 186), (0, 0o1666)),
    Call("mq_open", (240, 180), (b"queue", 0o102, 0o666, 0)),
    Call("mq_unlink", (241, 181), (b"queue",)),
    Call("TIOCSTI", IOCTL, (0, TIOCSTI, b"x")),
    Call("TIOCSTI, high bits set", IOCTL, (0, TIOCSTI | HIGH, b"x")),
    Call("TIOCLINUX", IOCTL, (0, TIOCLINUX, b"\x03")),
    Call("TIOCSETD", IOCTL, (0, TIOCSETD, bytes(4))),
    Call("socket of the internet, high bits set", SOCKET, (2 | HIGH, 1, 0)),
    Call("prctl SET_MM", (157, 167), (35, 1, 0, 0, 0)),
    Call("prctl SET_SECUREBITS", (157, 167), (28, 0, 0, 0, 0)),
    Call("prctl raise an ambient capability", (157, 167), (47, 2, 21, 0, 0)),
    Call("prctl let anyone trace us", (157, 167), (0x59616D61, -1, 0, 0, 0)),
    new("a number no kernel has", 999),
)
