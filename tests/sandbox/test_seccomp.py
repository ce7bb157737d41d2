"""The system-call filter, run by an interpreter of its own over every number and the edges of the arguments."""

from __future__ import annotations

import errno
import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from ringfence.sandbox.native import seccomp, syscalls as sc

from tests.conftest import require
from tests.patience import PATIENCE_SECONDS

MACHINES = ("x86_64", "aarch64")
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003, "arm": 0x40000028}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}

ALLOW, KILL = "allow", "kill"
DONE = 0  # not made, and its caller is told that it succeeded
EPERM, ENOSYS = errno.EPERM, errno.ENOSYS
Answer = str | int

# What must never work, whatever else the table says.
NEVER = """
    mount umount2 pivot_root chroot setns unshare ptrace process_vm_readv process_vm_writev bpf perf_event_open
    io_uring_setup io_uring_enter io_uring_register userfaultfd keyctl add_key request_key init_module finit_module
    delete_module kexec_load reboot swapon swapoff sethostname setdomainname settimeofday clock_settime clock_adjtime
    adjtimex acct quotactl syslog open_by_handle_at name_to_handle_at fanotify_init open_tree move_mount fsopen fsmount
    fsconfig mount_setattr setuid setgid setresuid setresgid setgroups capset personality kcmp pidfd_getfd
    process_madvise landlock_create_ruleset seccomp sched_setaffinity sched_setscheduler ioprio_set nfsservctl
    lookup_dcookie move_pages migrate_pages mbind set_mempolicy shmget semget msgget mq_open setxattr mincore
    timer_create sync syncfs removexattr
"""
# What is answered without being made: the files of the runtime are everybody's, and the scratch space is memory.
FLUSHES_AND_ADVICE = ("fsync", "fdatasync", "msync", "sync_file_range", "fadvise64", "readahead")
# What no program can do without.
ALWAYS = "read write close mmap munmap brk rt_sigaction futex exit_group execve wait4 getrandom openat"


class Bpf:
    """The part of the classic BPF machine that filters of ours use; anything else is an error of theirs."""

    def __init__(self, program: bytes) -> None:
        assert len(program) % 8 == 0
        self.code = list(struct.iter_unpack("HBBI", program))
        assert 0 < len(self.code) <= 4096, "the kernel takes no longer ones"

    def run(self, arch: int, number: int, *args: int) -> Answer:
        padded = [arg & (1 << 64) - 1 for arg in (*args, *[0] * (6 - len(args)))]
        data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
        at = accumulator = 0
        while True:
            operation, if_true, if_false, k = self.code[at]
            at += 1
            if operation == 0x20:  # load a word of the data
                assert k % 4 == 0 and k + 4 <= len(data)
                (accumulator,) = struct.unpack_from("<I", data, k)
            elif operation == 0x54:  # and
                accumulator &= k
            elif operation == 0x05:  # jump
                at += k
            elif operation in (0x15, 0x35, 0x45):
                hit = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: accumulator & k != 0}[operation]
                at += if_true if hit else if_false
            elif operation == 0x06:
                return self._answer(k)
            else:
                raise AssertionError(f"operation {operation:#x} at {at - 1}")

    @staticmethod
    def _answer(value: int) -> Answer:
        if value == 0x7FFF0000:
            return ALLOW
        if value == 0x80000000:
            return KILL
        assert value & 0xFFFF0000 == 0x00050000, hex(value)
        return value & 0xFFFF


@cache
def bpf(machine: str, counted: bool = True, connect: bool = True, private: bool = False) -> Bpf:
    return Bpf(seccomp.assemble(machine, counted=counted, connect=connect, private=private))


def answer(machine: str, name: str, *args: int) -> Answer:
    return bpf(machine).run(AUDIT[machine], seccomp.numbers(machine)[name], *args)


@cache
def header(machine: str) -> Mapping[str, int]:
    """The numbers that the installed kernel headers give; those with two forms, in their 64-bit one."""
    path = HEADERS[machine]
    require(f"the kernel header {path}", present=path.exists())
    defined = dict(re.findall(r"#define\s+__NR(\w+)\s+(\w+)", path.read_text()))
    found: dict[str, int] = {}
    for name, value in defined.items():
        if value.startswith("__NR"):
            value = defined.get(value.removeprefix("__NR"), "")
        if name.startswith("_") and value.isdecimal():
            found[name[1:]] = int(value)
    assert len(found) > 250
    return found


@pytest.mark.parametrize("machine", MACHINES)
class TestNumbers:
    def test_they_are_those_of_the_kernel_headers(self, machine: str) -> None:
        known = header(machine)
        wrong = {name: (number, known.get(name)) for name, number in seccomp.numbers(machine).items()
                 if known.get(name) != number}  # fmt: skip
        assert not wrong

    def test_a_name_left_out_for_a_machine_is_not_on_it(self, machine: str) -> None:
        other = MACHINES[1 - MACHINES.index(machine)]
        missing = set(seccomp.numbers(other)) - set(seccomp.numbers(machine))
        assert not missing & set(header(machine))

    def test_no_number_is_given_twice(self, machine: str) -> None:
        numbers = seccomp.numbers(machine)
        assert len(set(numbers.values())) == len(numbers)

    def test_what_must_never_work_is_refused(self, machine: str) -> None:
        known = header(machine)
        there = [name for name in NEVER.split() if name in known]
        assert len(there) > 60
        got = {name: bpf(machine).run(AUDIT[machine], known[name]) for name in there}
        assert set(got.values()) == {EPERM}, {name: a for name, a in got.items() if a != EPERM}

    def test_every_call_that_the_table_does_not_name_is_refused(self, machine: str) -> None:
        ours = seccomp.numbers(machine)
        for name, number in header(machine).items():
            if number not in ours.values():
                assert bpf(machine).run(AUDIT[machine], number) in (EPERM, ENOSYS), name


@pytest.mark.parametrize("machine", MACHINES)
class TestEveryNumber:
    def test_the_answer_is_the_tables(self, machine: str) -> None:
        """With all arguments 0, which only `socket` and its like refuse (they want AF_UNIX), and prctl."""
        names = {number: name for name, number in seccomp.numbers(machine).items()}
        refused = {"socket": EPERM, "socketpair": EPERM, "prctl": EPERM}
        refused |= {"clone3": ENOSYS, "openat2": ENOSYS, "flock": ENOSYS}
        refused |= dict.fromkeys(FLUSHES_AND_ADVICE, DONE)
        for number in range(1001):
            if number in names:
                expected: Answer = refused.get(names[number], ALLOW)
            else:
                expected = EPERM if number <= 450 else ENOSYS
            assert bpf(machine).run(AUDIT[machine], number) == expected, (number, names.get(number))

    def test_ordinary_calls_are_allowed(self, machine: str) -> None:
        assert {answer(machine, name) for name in ALWAYS.split()} == {ALLOW}

    @pytest.mark.parametrize("number", [0, 1, 59, 221, 450, 451, 1000, 0x3FFFFFFF])
    def test_a_foreign_machine_is_killed(self, machine: str, number: int) -> None:
        foreign = [arch for name, arch in AUDIT.items() if name != machine]
        assert {bpf(machine).run(arch, number) for arch in (*foreign, 0, 0xFFFFFFFF)} == {KILL}

    @pytest.mark.parametrize("number", [-1, 0x7FFFFFFF, 0x80000000])
    def test_a_number_out_of_all_bounds_does_nothing(self, machine: str, number: int) -> None:
        assert bpf(machine).run(AUDIT[machine], number) in (KILL, ENOSYS)

    def test_what_nothing_counts_is_refused(self, machine: str) -> None:
        """Files in memory, and large socket buffers: SO_SNDBUF, SO_RCVBUF and the forced forms of them."""
        numbers = seccomp.numbers(machine)
        uncounted = bpf(machine, counted=False)
        assert uncounted.run(AUDIT[machine], numbers["memfd_create"]) == EPERM
        for option in range(64):
            expected = EPERM if option in (7, 8, 32, 33) else ALLOW
            assert uncounted.run(AUDIT[machine], numbers["setsockopt"], 3, 1, option) == expected, option
        assert self.differing(machine, uncounted) == {numbers["memfd_create"]}

    def test_nothing_can_be_connected_to_where_mounts_may_hold_sockets(self, machine: str) -> None:
        numbers = seccomp.numbers(machine)
        refused = self.differing(machine, bpf(machine, connect=False))
        assert numbers["connect"] in refused
        assert refused <= {
            numbers[name] for name in ("connect", "socket", "socketpair", "sendto", "sendmsg", "sendmmsg")
        }

    @staticmethod
    def differing(machine: str, other: Bpf) -> set[int]:
        """The numbers for which `other`, called with arguments of 0, refuses what the usual filter allows."""
        arch, usual = AUDIT[machine], bpf(machine)
        changed = {n for n in range(1001) if usual.run(arch, n) != other.run(arch, n)}
        assert all((usual.run(arch, n), other.run(arch, n)) == (ALLOW, EPERM) for n in changed)
        return changed


def test_calls_of_x32_are_killed() -> None:
    for number in (*range(1001), 0x3FFFFFFF):
        assert bpf("x86_64").run(AUDIT["x86_64"], 0x40000000 | number) == KILL


HIGH = 0xDEADBEEF << 32  # in the half that the kernel does not look at, because these arguments are 32 bits wide


@pytest.mark.parametrize("machine", MACHINES)
class TestArguments:
    @pytest.mark.parametrize("name", ["socket", "socketpair"])
    def test_only_unix_sockets(self, machine: str, name: str) -> None:
        assert answer(machine, name, 1) == ALLOW
        assert answer(machine, name, HIGH | 1) == ALLOW
        for family in (0, *range(2, 64), 0x80000001, 0xFFFFFFFF, HIGH | 2):
            assert answer(machine, name, family) == EPERM, family

    def test_no_new_namespaces(self, machine: str) -> None:
        namespaces = {
            "mnt": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000,
            "pid": 0x20000000, "net": 0x40000000,
        }  # fmt: skip
        thread, fork, vfork = 0x3D0F00, 0x01200011, 0x4111
        for flags in (thread, fork, vfork, 17, 0, HIGH | 17):
            assert answer(machine, "clone", flags) == ALLOW, hex(flags)
        for bit in namespaces.values():
            for flags in (bit, bit | fork, bit | thread, HIGH | bit):
                assert answer(machine, "clone", flags) == EPERM, hex(flags)

    MODES: Mapping[str, int] = {
        "chmod": 1, "fchmod": 1, "fchmodat": 2, "open": 2, "openat": 3, "creat": 1, "mkdir": 1, "mkdirat": 2,
        "mknod": 1, "mknodat": 2,
    }  # fmt: skip

    @pytest.mark.parametrize("name", MODES)
    def test_no_set_id_bits(self, machine: str, name: str) -> None:
        if name not in seccomp.numbers(machine):
            assert machine == "aarch64"  # which has only the forms with a directory
            return
        before = [0o2] * self.MODES[name]
        for mode in (0, 0o644, 0o777, 0o1777, 0o100644, HIGH | 0o755):
            assert answer(machine, name, *before, mode) == ALLOW, oct(mode)
        for mode in (0o2000, 0o4000, 0o6000, 0o4755, 0o2755, 0o102644, HIGH | 0o4000):
            assert answer(machine, name, *before, mode) == EPERM, oct(mode)

    @pytest.mark.parametrize("name", ["mknod", "mknodat"])
    def test_no_device_nodes(self, machine: str, name: str) -> None:
        if name not in seccomp.numbers(machine):
            return
        before = [0] * self.MODES[name]
        fifo, sock, regular, character, block = 0o010000, 0o140000, 0o100000, 0o020000, 0o060000
        assert {answer(machine, name, *before, kind | 0o600) for kind in (fifo, sock, regular)} == {ALLOW}
        assert {answer(machine, name, *before, kind | 0o600) for kind in (character, block)} == {EPERM}

    @pytest.mark.parametrize(("name", "place"), [("prlimit64", 0), ("setpriority", 1)])
    def test_limits_and_priorities_of_oneself_only(self, machine: str, name: str, place: int) -> None:
        before = [7] * place
        assert answer(machine, name, *before, 0) == ALLOW
        assert {answer(machine, name, *before, pid) for pid in (1, 2, 4_000_000, 0xFFFFFFFF)} == {EPERM}

    def test_no_typing_into_terminals(self, machine: str) -> None:
        for request in (0x5412, 0x541C, 0x5423, HIGH | 0x5412):
            assert answer(machine, "ioctl", 0, request) == EPERM, hex(request)
        for request in (0x5401, 0x5411, 0x5413, 0x541B, 0x5421, 0x5451, 0):
            assert answer(machine, "ioctl", 0, request) == ALLOW, hex(request)

    def test_no_ioctl_of_a_file_system(self, machine: str) -> None:
        requests = {
            "FS_IOC_SETFLAGS": 0x40086602, "FS_IOC_FIEMAP": 0xC020660B, "FS_IOC_ENABLE_VERITY": 0x40806685,
            "FS_IOC_FSSETXATTR": 0x401C5820, "FIFREEZE": 0xC0045877, "FITRIM": 0xC0185879, "FICLONE": 0x40049409,
        }  # fmt: skip
        assert {answer(machine, "ioctl", 3, request) for request in requests.values()} == {EPERM}

    def test_no_way_to_move_or_ask_for_the_page_cache_or_the_locks_of_others(self, machine: str) -> None:
        direct, sync, dsync = 0o40000 if machine == "x86_64" else 0o200000, 0o4010000, 0o10000
        rows: list[tuple[str, tuple[int, ...], Answer]] = [
            ("preadv2", (3, 0, 1, 0, 0, 0), ALLOW), ("preadv2", (3, 0, 1, 0, 0, 8), EPERM),
            ("pwritev2", (3, 0, 1, 0, 0, 0), ALLOW), ("pwritev2", (3, 0, 1, 0, 0, 4), EPERM),
            ("openat", (-100, 0, direct), EPERM), ("openat", (-100, 0, sync | 1), EPERM),
            ("openat", (-100, 0, dsync), EPERM),
            ("openat", (-100, 0, 0o2102001, 0o644), ALLOW),
            ("fcntl", (3, 4, direct), EPERM), ("fcntl", (3, 4, 0o4002), ALLOW),
            *(("fcntl", (3, command, 0), EPERM) for command in (5, 36, 10, 1024, 1026)),
            *(("fcntl", (3, command, 0), ALLOW) for command in (0, 1, 2, 3, 6, 7, 37, 38, 1030, 1031, 1032)),
            *(("madvise", (0, 0, advice), DONE) for advice in (3, 12, 20, 21)),
            *(("madvise", (0, 0, advice), ALLOW) for advice in (0, 1, 2, 4, 8, 9, 14, 15, 22, 23, 25)),
        ]  # fmt: skip
        wrong = [(name, args, expected) for name, args, expected in rows if answer(machine, name, *args) != expected]
        assert not wrong

    def test_who_holds_a_lock_may_be_asked_only_of_files_that_no_other_job_sees(self, machine: str) -> None:
        number, commands = seccomp.numbers(machine)["fcntl"], (5, 36)
        assert {bpf(machine, private=True).run(AUDIT[machine], number, 3, c) for c in commands} == {ALLOW}
        assert {bpf(machine).run(AUDIT[machine], number, 3, c) for c in commands} == {EPERM}

    def test_the_limit_on_core_files_stays(self, machine: str) -> None:
        """It is 1, which keeps a core handler of the host's from being started; 0 would not."""
        pointer, high_only = 0x7FFF12345678, 0x100000000
        rows: list[tuple[str, tuple[int, ...], Answer]] = [
            ("setrlimit", (4, pointer), EPERM), ("setrlimit", (7, pointer), ALLOW),
            ("prlimit64", (0, 4, pointer, 0), EPERM), ("prlimit64", (0, 4, high_only, 0), EPERM),
            ("prlimit64", (0, 4, 0, pointer), ALLOW), ("prlimit64", (0, 7, pointer, 0), ALLOW),
            ("prlimit64", (9, 7, 0, pointer), EPERM),
        ]  # fmt: skip
        assert not [row for row in rows if answer(machine, row[0], *row[1]) != row[2]]

    def test_no_process_hides_its_memory_where_it_is_counted_by_reading(self, machine: str) -> None:
        number = seccomp.numbers(machine)["prctl"]
        assert bpf(machine, counted=True).run(AUDIT[machine], number, 4, 0) == ALLOW
        assert bpf(machine, counted=False).run(AUDIT[machine], number, 4, 0) == EPERM
        assert bpf(machine, counted=False).run(AUDIT[machine], number, 15, 0) == ALLOW

    def test_prctl_only_as_listed(self, machine: str) -> None:
        dangerous = {
            "SET_KEEPCAPS": 8, "SET_UNALIGN": 6, "SET_TSC": 26, "SET_SECUREBITS": 28, "CAPBSET_DROP": 24, "SET_MM": 35,
            "SET_SECCOMP": 22, "CAP_AMBIENT": 47, "SET_PTRACER": 0x59616D61, "SCHED_CORE": 62, "SET_IO_FLUSHER": 57,
            "SYSCALL_USER_DISPATCH": 59, "SPECULATION": 53,
        }  # fmt: skip
        assert {answer(machine, "prctl", option) for option in dangerous.values()} == {EPERM}
        useful = {"SET_NAME": 15, "GET_NAME": 16, "SET_PDEATHSIG": 1, "GET_DUMPABLE": 3, "GET_NO_NEW_PRIVS": 39}
        assert {answer(machine, "prctl", option) for option in useful.values()} == {ALLOW}

    def test_calls_with_arguments_behind_a_pointer_fall_back(self, machine: str) -> None:
        assert {answer(machine, name, 1, 2, 3) for name in ("clone3", "openat2")} == {ENOSYS}


REAL = """
import ctypes, os, sys
from ringfence.sandbox.native import seccomp, syscalls as sc
libc = ctypes.CDLL(None, use_errno=True)
sc.prctl(sc.PR_SET_NO_NEW_PRIVS, 1)
sc.seccomp_filter(seccomp.assemble(sc.machine(), counted=False, connect=True))
def call(*args):
    return "ok" if libc.syscall(*map(ctypes.c_long, args)) >= 0 else ctypes.get_errno()
sys.stdout.write(repr([call(int(a)) for a in sys.argv[1:]]))
sys.stdout.flush()
if os.fork() == 0:
    os._exit(0)
assert os.wait()[1] == 0
"""


def test_the_kernel_takes_it_and_agrees() -> None:
    require("linux")
    known = header(sc.machine())
    names = ("getpid", "unshare", "keyctl", "io_uring_setup", "memfd_create", "flock", "clone3")
    # The last is a number that no kernel has.
    numbers = [str(known[name]) for name in names] + ["999"]
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", REAL, *numbers],
        capture_output=True,
        text=True,
        env=env,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == repr(["ok", EPERM, EPERM, EPERM, EPERM, ENOSYS, ENOSYS, ENOSYS])
