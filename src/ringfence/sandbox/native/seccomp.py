"""The system-call filter: a list of what ordinary Python needs, everything else is refused.

The program is assembled here, as a binary search over the numbers, so that it needs no library in the
jail and costs the same for every call. Four answers: allowed; EPERM for what the kernel has and we
refuse; ENOSYS for what newer kernels may add and for calls whose arguments lie behind a pointer
(clone3, openat2), so that the C library falls back to the form we can check; and done, without a call,
for flushes and advice. A call made through a foreign ABI (i386, x32) kills the process: its numbers
mean other calls.

Flushes and advice are answered so because a filter sees a descriptor's number and not its file. For the
scratch space, which is memory, that is just what the kernel would do; for the runtime, which all jobs
and the host share, it keeps one program from flushing the host's disk or moving its page cache.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from dataclasses import dataclass

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_LAST_KNOWN = 450  # numbers above this came after the calls we judged one by one

_RET_ALLOW = 0x7FFF0000
_RET_KILL = 0x80000000
_RET_EPERM = 0x00050000 | errno.EPERM
_RET_ENOSYS = 0x00050000 | errno.ENOSYS
_RET_DONE = 0x00050000  # error number 0: the call is not made, and its caller is told that it succeeded

_LD_ABS, _AND, _JMP, _JEQ, _JGE, _JSET, _RET = 0x20, 0x54, 0x05, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARG0 = 0, 4, 16

# name:x86_64:aarch64, "-" where the architecture has no such call.
_TABLE = """
    read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 mmap:9:222
    mprotect:10:226 munmap:11:215 brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
    ioctl:16:29 pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:-
    sched_yield:24:124 mremap:25:216 msync:26:227 madvise:28:233 dup:32:23 dup2:33:- pause:34:-
    nanosleep:35:101 getitimer:36:102 alarm:37:- setitimer:38:103 getpid:39:172 sendfile:40:71 socket:41:198
    connect:42:203 accept:43:202 sendto:44:206 recvfrom:45:207 sendmsg:46:211 recvmsg:47:212 shutdown:48:210
    bind:49:200 listen:50:201 getsockname:51:204 getpeername:52:205 socketpair:53:199 setsockopt:54:208
    getsockopt:55:209 clone:56:220 fork:57:- vfork:58:- execve:59:221 exit:60:93 wait4:61:260 kill:62:129
    uname:63:160 fcntl:72:25 flock:73:32 fsync:74:82 fdatasync:75:83 truncate:76:45 ftruncate:77:46 getdents:78:-
    getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:- mkdir:83:- rmdir:84:- creat:85:- link:86:- unlink:87:-
    symlink:88:- readlink:89:- chmod:90:- fchmod:91:52 chown:92:- fchown:93:55 lchown:94:- umask:95:166
    gettimeofday:96:169 getrlimit:97:163 getrusage:98:165 sysinfo:99:179 times:100:153 getuid:102:174 getgid:104:176
    geteuid:107:175 getegid:108:177 setpgid:109:154 getppid:110:173 getpgrp:111:-
    setsid:112:157 getgroups:115:158 getresuid:118:148
    getresgid:120:150 getpgid:121:155 getsid:124:156
    capget:125:90 rt_sigpending:127:136 rt_sigtimedwait:128:137 rt_sigqueueinfo:129:138 rt_sigsuspend:130:133
    sigaltstack:131:132 utime:132:- mknod:133:- statfs:137:43 fstatfs:138:44 getpriority:140:141 setpriority:141:140
    sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125 sched_get_priority_min:147:126
    sched_rr_get_interval:148:127 mlock:149:228 munlock:150:229 mlockall:151:230 munlockall:152:231 prctl:157:167
    arch_prctl:158:- setrlimit:160:164 gettid:186:178 readahead:187:213 getxattr:191:8 lgetxattr:192:9
    fgetxattr:193:10 listxattr:194:11 llistxattr:195:12 flistxattr:196:13 tkill:200:130 time:201:- futex:202:98
    sched_getaffinity:204:123 epoll_create:213:- getdents64:217:61 set_tid_address:218:96 restart_syscall:219:128
    fadvise64:221:223 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115 exit_group:231:94
    epoll_wait:232:- epoll_ctl:233:21 tgkill:234:131 utimes:235:- waitid:247:95 ioprio_get:252:31
    openat:257:56 mkdirat:258:34 mknodat:259:33 fchownat:260:54
    futimesat:261:- newfstatat:262:79 unlinkat:263:35 renameat:264:38 linkat:265:37 symlinkat:266:36
    readlinkat:267:78 fchmodat:268:53 faccessat:269:48 pselect6:270:72 ppoll:271:73 set_robust_list:273:99
    get_robust_list:274:100 splice:275:76 tee:276:77 sync_file_range:277:84 utimensat:280:88 epoll_pwait:281:22
    signalfd:282:- timerfd_create:283:85 eventfd:284:- fallocate:285:47 timerfd_settime:286:86 timerfd_gettime:287:87
    accept4:288:242 signalfd4:289:74 eventfd2:290:19 epoll_create1:291:20 dup3:292:24 pipe2:293:59
    preadv:295:69 pwritev:296:70 rt_tgsigqueueinfo:297:240 recvmmsg:299:243 prlimit64:302:261
    sendmmsg:307:269 getcpu:309:168 sched_getattr:315:275 renameat2:316:276 getrandom:318:278 memfd_create:319:279
    execveat:322:281 membarrier:324:283 mlock2:325:284 copy_file_range:326:285 preadv2:327:286 pwritev2:328:287
    pkey_mprotect:329:288 pkey_alloc:330:289 pkey_free:331:290 statx:332:291 rseq:334:293 pidfd_send_signal:424:424
    pidfd_open:434:434 clone3:435:435 close_range:436:436 openat2:437:437 faccessat2:439:439 epoll_pwait2:441:441
    futex_waitv:449:449
"""

_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
_CLONE_PARENT = 0x8000  # a child of the zygote's, which whoever counts the job's own tree would miss
_HUGE_PAGES = 0x40000  # a pool of the host's that no memory limit counts
_SETFL = 4
# fcntl commands that hold up, or spy on, others who open a file; that choose the signal a descriptor sends, so that a
# SIGCONT wakes what was stopped; and that ask who holds a lock. What jobs can only read they can lock only against
# writers, so nobody learns of a lock there but by asking.
_SPIED = (1024, 1026, 10)  # F_SETLEASE, F_NOTIFY, F_SETSIG
_GETLK, _OFD_GETLK = 5, 36
_SETID = 0o6000
_DEVICE_NODE = 0o020000  # set in the type bits of character and block devices only
_FLUSHING = 0o4010000  # O_SYNC and O_DSYNC: each write would wait for the host's disk
_DIRECT = {
    "x86_64": 0o40000,
    "aarch64": 0o200000,
}  # past the page cache; on a pipe, packets of which a reader may lose some
_TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x5412, 0x541C, 0x5423  # typing for, or changing, somebody else's terminal
_TYPE_OF_IOCTL, _FILE_SYSTEM_IOCTLS = 0xFF00, (0x5800, 0x6600, 0x9400)  # flags, extents, verity, freezing
_CORE_LIMIT = 4
# Advice that moves pages of files in or out of the cache, or merges pages with those of others.
_WILLNEED, _MERGEABLE, _COLD, _PAGEOUT = 3, 12, 20, 21

# PDEATHSIG, DUMPABLE, KEEPCAPS (get), NAME, SECCOMP (get), CAPBSET (read), TIMERSLACK, SUBREAPER, NO_NEW_PRIVS,
# THP_DISABLE, and naming anonymous memory, which glibc does.
_SET_DUMPABLE = 4
_PRCTL = (1, 2, 3, _SET_DUMPABLE, 7, 15, 16, 21, 23, 29, 30, 36, 37, 38, 39, 41, 42, 0x53564D41)


@dataclass(frozen=True, slots=True)
class _Check:
    """Look at one argument: `jump` against each of `values`; a hit gives `hit`, otherwise `miss`."""

    arg: int
    jump: int
    values: tuple[int, ...]
    hit: int | _Check
    miss: int | _Check
    mask: int | None = None
    high: bool = False  # the upper half of a pointer; all else that is looked at is 32 bits wide


_Verdict = int | _Check

_UNIX_ONLY = _Check(0, _JEQ, (_AF_UNIX,), _RET_ALLOW, _RET_EPERM)
_UNIX_STREAMS = _Check(1, _JSET, (2,), _RET_EPERM, _UNIX_ONLY)  # SOCK_DGRAM is 2, and SOCK_RAW, 3, means the same


_SOCKET_BUFFERS = _Check(2, _JEQ, (7, 8, 32, 33), _RET_EPERM, _RET_ALLOW)  # SO_SNDBUF, SO_RCVBUF and forced


def _no_bits(arg: int, bits: int, miss: int | _Check = _RET_ALLOW) -> _Check:
    return _Check(arg, _JSET, (bits,), _RET_EPERM, miss)


def _only(arg: int, *values: int, then: int | _Check = _RET_ALLOW) -> _Check:
    return _Check(arg, _JEQ, values, then, _RET_EPERM)


def _null(arg: int) -> _Check:
    return _Check(arg, _JEQ, (0,), _Check(arg, _JEQ, (0,), _RET_ALLOW, _RET_EPERM, high=True), _RET_EPERM)


# A limit of 0 on core files would not keep the kernel from starting the host's core handler as root; the 1 that the
# jail has does, and so it stays. Limits and priorities of oneself only: pid 0.
_LIMITS = _only(0, 0, then=_Check(1, _JEQ, (_CORE_LIMIT,), _null(2), _RET_ALLOW))
_IOCTL = _Check(
    1, _JEQ, (_TIOCSTI, _TIOCLINUX, _TIOCSETD), _RET_EPERM,
    _Check(1, _JEQ, _FILE_SYSTEM_IOCTLS, _RET_EPERM, _RET_ALLOW, mask=_TYPE_OF_IOCTL),
)  # fmt: skip


def _special(machine: str, refused_commands: tuple[int, ...]) -> dict[str, _Verdict]:
    """The calls whose arguments matter, or that are answered without being made; `refused_commands` are fcntl's."""
    direct = _DIRECT[machine]
    commands = _Check(1, _JEQ, refused_commands, _RET_EPERM, _RET_ALLOW)
    return {
        "socket": _UNIX_ONLY,
        "socketpair": _UNIX_ONLY,
        "clone": _no_bits(0, _NEW_NAMESPACES | _CLONE_PARENT),
        "mmap": _no_bits(3, _HUGE_PAGES),
        "memfd_create": _no_bits(1, 4),  # MFD_HUGETLB
        "fcntl": _Check(1, _JEQ, (_SETFL,), _no_bits(2, direct), commands),
        "clone3": _RET_ENOSYS,
        # A lock on a file of the view would be seen by other jobs, and by programs of the host that lock it too.
        # ENOSYS is what a file system without such locks says, and libraries know it. fcntl locks work.
        "flock": _RET_ENOSYS,
        "openat2": _RET_ENOSYS,
        "fsync": _RET_DONE,
        "fdatasync": _RET_DONE,
        "msync": _RET_DONE,
        "sync_file_range": _RET_DONE,
        "fadvise64": _RET_DONE,
        "readahead": _RET_DONE,
        "madvise": _Check(2, _JEQ, (_WILLNEED, _MERGEABLE, _COLD, _PAGEOUT), _RET_DONE, _RET_ALLOW),
        "preadv2": _only(5, 0),  # RWF_NOWAIT asks whether a page is in the cache
        "pwritev2": _only(5, 0),
        "setrlimit": _Check(0, _JEQ, (_CORE_LIMIT,), _RET_EPERM, _RET_ALLOW),
        "prlimit64": _LIMITS,
        "setpriority": _only(1, 0),
        "ioctl": _IOCTL,
        "prctl": _only(0, *_PRCTL),
        "chmod": _no_bits(1, _SETID),
        "fchmod": _no_bits(1, _SETID),
        "fchmodat": _no_bits(2, _SETID),
        "open": _no_bits(2, _SETID, _no_bits(1, _FLUSHING | direct)),
        "openat": _no_bits(3, _SETID, _no_bits(2, _FLUSHING | direct)),
        "creat": _no_bits(1, _SETID),
        "mkdir": _no_bits(1, _SETID),
        "mkdirat": _no_bits(2, _SETID),
        "mknod": _no_bits(1, _SETID | _DEVICE_NODE),
        "mknodat": _no_bits(2, _SETID | _DEVICE_NODE),
    }


def numbers(machine: str) -> dict[str, int]:
    """The calls this module judges, by their numbers on `machine`."""
    column = 1 if machine == "x86_64" else 2
    rows = (word.split(":") for word in _TABLE.split())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def assemble(machine: str, *, counted: bool, connect: bool, private: bool = False) -> bytes:
    """The filter for `machine`.

    Where nothing counts the memory of the kernel (`counted` is false), files in memory, large socket buffers and
    processes that nobody may look into are refused. Without `connect` no unix socket can be reached, for a job with
    mounts, which may hold a host's socket. Where the files of the runtime are the job's own (`private`), as on the
    overlay of a container, it may ask who holds a lock; elsewhere the answer would tell of other jobs.
    """
    known = numbers(machine)
    special = _special(machine, _SPIED if private else (*_SPIED, _GETLK, _OFD_GETLK))
    verdicts: dict[int, _Verdict] = {nr: special.get(name, _RET_ALLOW) for name, nr in known.items()}
    if not counted:
        verdicts[known["prctl"]] = _only(0, *(option for option in _PRCTL if option != _SET_DUMPABLE))
        verdicts[known["memfd_create"]] = _RET_EPERM
        verdicts[known["setsockopt"]] = _SOCKET_BUFFERS
    if not connect:
        # A datagram socket needs no connection: it sends to an address, which sendmsg has behind a pointer.
        verdicts[known["connect"]] = _RET_EPERM
        verdicts[known["socket"]] = verdicts[known["socketpair"]] = _UNIX_STREAMS
    head = [
        (_LD_ABS, 0, 0, _ARCH),
        (_JEQ, 1, 0, _ARCHES[machine]),
        (_RET, 0, 0, _RET_KILL),
        (_LD_ABS, 0, 0, _NR),
    ]
    if machine == "x86_64":
        head += [(_JGE, 0, 1, _X32), (_RET, 0, 0, _RET_KILL)]
    code = head + _search(_ranges(verdicts))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _ranges(verdicts: dict[int, _Verdict]) -> list[tuple[int, _Verdict]]:
    """Runs of numbers with one verdict, as (first number, verdict), covering every number from 0 up."""
    runs: list[tuple[int, _Verdict]] = []
    for nr in range(_LAST_KNOWN + 2):
        default = _RET_EPERM if nr <= _LAST_KNOWN else _RET_ENOSYS
        verdict = verdicts.get(nr, default)
        if not runs or runs[-1][1] != verdict:
            runs.append((nr, verdict))
    return runs


_Code = list[tuple[int, int, int, int]]


def _search(runs: list[tuple[int, _Verdict]]) -> _Code:
    if len(runs) == 1:
        return list(_leaf(runs[0][1]))
    middle = len(runs) // 2
    low, high = _search(runs[:middle]), _search(runs[middle:])
    # A conditional jump reaches 255 instructions only, so it skips a plain jump that reaches anywhere.
    return [(_JGE, 0, 1, runs[middle][0]), (_JMP, 0, 0, len(low)), *low, *high]


def _leaf(verdict: _Verdict) -> Iterable[tuple[int, int, int, int]]:
    if isinstance(verdict, int):
        yield (_RET, 0, 0, verdict)
        return
    yield (_LD_ABS, 0, 0, _ARG0 + 8 * verdict.arg + 4 * verdict.high)
    if verdict.mask is not None:
        yield (_AND, 0, 0, verdict.mask)
    miss = list(_leaf(verdict.miss))
    for others, value in zip(reversed(range(len(verdict.values))), verdict.values, strict=True):
        yield (verdict.jump, others + len(miss), 0, value)
    yield from miss
    yield from _leaf(verdict.hit)
