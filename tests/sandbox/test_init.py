"""The first process of a job's namespace: run for real, and read instruction by instruction for the other machine."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ringfence.sandbox.native import init, syscalls as sc

from tests.conftest import require
from tests.patience import PATIENCE_SECONDS

BASE = 0x400000
NOBODY = 65534
SIGCHLD_ONLY = struct.pack("<Q", 1 << 16)  # a set of signals, from 1 on


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 62), ("aarch64", 183)])
def test_the_file_is_one_loadable_segment(machine: str, number: int) -> None:
    elf = init.elf(machine)
    identity, kind, arch, version, entry, segments, sections, _, size, entry_size, count = struct.unpack_from(
        "<16sHHIQQQIHHH", elf
    )
    assert identity == b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    assert (kind, arch, version, segments, sections, size, entry_size, count) == (2, number, 1, 64, 0, 64, 56, 1)
    load, flags, offset, address, _, in_file, in_memory, align = struct.unpack_from("<IIQQQQQQ", elf, 64)
    assert (load, flags, offset, address) == (1, 5, 0, BASE)  # readable, executable and not writable
    assert in_file == in_memory == len(elf) < 4096
    assert address % align == offset % align
    assert entry == BASE + 64 + 56
    assert elf.endswith(SIGCHLD_ONLY)


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(KeyError):
        init.elf("riscv64")


@dataclass
class Arm:
    """Runs the few instructions that the program is made of, and notes its system calls."""

    elf: bytes
    answers: list[int] = field(default_factory=list)  # what system calls return, 0 when there are no more
    registers: dict[int, int] = field(default_factory=dict)
    calls: list[tuple[int, ...]] = field(default_factory=list)
    at: int = BASE + 64 + 56
    greater: bool = False  # the outcome of the last comparison

    def run(self, calls: int) -> list[tuple[int, ...]]:
        """Until so many system calls were made; each as its number and four arguments."""
        for _ in range(100 * calls):
            if len(self.calls) >= calls:
                return self.calls
            self.step()
        raise AssertionError(f"only {self.calls}")

    def step(self) -> None:
        assert self.at % 4 == 0
        (word,) = struct.unpack_from("<I", self.elf, self.at - BASE)
        here, self.at = self.at, self.at + 4
        target = word & 31
        if word & 0xFFE00000 == 0xD2800000:  # movz xd, #imm16
            self.registers[target] = word >> 5 & 0xFFFF
        elif word & 0xFFE00000 == 0x92800000:  # movn xd, #imm16
            self.registers[target] = ~(word >> 5 & 0xFFFF)
        elif word & 0xFFE0FFE0 == 0xAA0003E0:  # mov xd, xm
            self.registers[target] = self.registers[word >> 16 & 31]
        elif word & 0x9F000000 == 0x10000000:  # adr xd, here + immhi:immlo
            self.registers[target] = here + signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)
        elif word & 0xFFC0001F == 0xF100001F:  # cmp xn, #imm12
            self.greater = self.registers[word >> 5 & 31] > word >> 10 & 0xFFF
        elif word & 0xFF00001F == 0x5400000C:  # b.gt
            self.at = here + 4 * signed(word >> 5 & 0x7FFFF, 19) if self.greater else self.at
        elif word & 0xFC000000 == 0x14000000:  # b
            self.at = here + 4 * signed(word & 0x3FFFFFF, 26)
        elif word == 0xD4000001:  # svc #0
            self.calls.append((self.registers[8], *(self.registers.get(n, -1) for n in range(4))))
            self.registers[0] = self.answers.pop(0) if self.answers else 0
        else:
            raise AssertionError(f"{word:#010x} at {here:#x} is none of ours")


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


BLOCK, SETRESGID, SETRESUID, WAIT, REAP = 135, 149, 147, 137, 260


class TestAarch64:
    def test_it_blocks_sigchld_and_gives_up_root_groups_first(self) -> None:
        arm = Arm(init.elf("aarch64"))
        block, setresgid, setresuid = arm.run(3)
        number, how, signals, old, size = block
        assert (number, how, old, size) == (BLOCK, 0, 0, 8)
        assert arm.elf[signals - BASE :] == SIGCHLD_ONLY
        assert setresgid[:4] == (SETRESGID, NOBODY, NOBODY, NOBODY)
        assert setresuid[:4] == (SETRESUID, NOBODY, NOBODY, NOBODY)

    @pytest.mark.parametrize("nothing_more", [0, -10], ids=["others live", "ECHILD"])
    def test_at_each_signal_it_reaps_all_there_is_and_waits_again(self, nothing_more: int) -> None:
        set_up, first, second = [0, 0, 0], [17, 5, 6, 7, nothing_more], [17, 4_194_304, nothing_more]
        arm = Arm(init.elf("aarch64"), answers=[*set_up, *first, *second])
        calls = arm.run(13)[3:]
        assert [call[0] for call in calls] == [WAIT, *[REAP] * 4, WAIT, *[REAP] * 2, WAIT, REAP]
        signals = arm.calls[0][2]
        assert {call for call in calls if call[0] == WAIT} == {(WAIT, signals, 0, 0, 8)}
        assert {call for call in calls if call[0] == REAP} == {(REAP, -1, 0, 1, 0)}  # any child, WNOHANG

    def test_a_wait_that_is_interrupted_does_no_harm(self) -> None:
        arm = Arm(init.elf("aarch64"), answers=[0, 0, 0, -4, -10])
        assert [call[0] for call in arm.run(8)[3:]] == [WAIT, REAP, WAIT, REAP, WAIT]

    def test_the_code_ends_where_the_data_begins(self) -> None:
        arm = Arm(init.elf("aarch64"))
        furthest = arm.at
        for _ in range(100):
            furthest = max(furthest, arm.at)
            arm.step()
        assert furthest - BASE == len(arm.elf) - len(SIGCHLD_ONLY) - 4  # the last word of code is the jump back

    def test_the_numbers_are_those_of_the_kernel_header(self) -> None:
        path = Path("/usr/include/asm-generic/unistd.h")
        require(f"the kernel header {path}", present=path.exists())
        named = {
            "rt_sigprocmask": BLOCK, "setresgid": SETRESGID, "setresuid": SETRESUID, "rt_sigtimedwait": WAIT,
            "wait4": REAP,
        }  # fmt: skip
        for name, number in named.items():
            assert f"#define __NR_{name} {number}\n" in path.read_text()


# Spawns the program as pid 1 of a namespace, then a process beside it that leaves orphans behind, and looks.
REAL = """
import json, os, signal, sys, time
from ringfence.sandbox.native import syscalls as sc
sc.unshare(sc.CLONE_NEWPID | (0 if os.geteuid() == 0 else sc.CLONE_NEWUSER))
first = os.posix_spawn(sys.argv[1], [sys.argv[1]], {})
read, write = os.pipe()
second = os.fork()
if second == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for turn in range(20):
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(0.05)  # by now its parent is gone and pid 1 has it
                os._exit(os.getppid() != 1)
            os._exit(0)
    for _ in range(20):
        os.wait()
    if os.fork() == 0:
        if os.fork() == 0:
            os.write(write, b"x")
            time.sleep(60)
        os._exit(0)
    os.wait()
    os.write(write, str(os.getpid()).encode())
    time.sleep(60)
os.read(read, 1)
def field(pid, name):
    rows = open(f"/proc/{pid}/status").read().splitlines()
    return next(row.split(":", 1)[1].split() for row in rows if row.startswith(name + ":"))
deadline = time.monotonic() + 60
def children():
    return open(f"/proc/{first}/task/{first}/children").read().split()
while len(children()) != 1 and time.monotonic() < deadline:
    time.sleep(0.01)
seen = {
    "nspid": field(first, "NSpid")[-1], "uid": field(first, "Uid"), "gid": field(first, "Gid"),
    "orphans": len(children()), "state": field(first, "State")[0], "threads": field(first, "Threads")[0],
    "kb": int(field(first, "VmRSS")[0]),
}
os.kill(first, signal.SIGTERM)  # pid 1 without a handler: only a kill from outside counts
time.sleep(0.05)
seen["survives"] = os.waitpid(first, os.WNOHANG)[0] == 0
orphan = int(children()[0]) if seen["survives"] and children() else 0
os.kill(first, signal.SIGKILL)
seen["ends"] = [os.waitpid(pid, 0)[1] for pid in (second, first)]
seen["orphan_left"] = bool(orphan) and os.path.exists(f"/proc/{orphan}")
sys.stdout.write(json.dumps(seen))
"""


def test_it_reaps_orphans_and_takes_all_with_it(tmp_path: Path) -> None:
    require("linux")
    program = tmp_path / "init"
    program.write_bytes(init.elf(sc.machine()))
    program.chmod(0o755)
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", REAL, str(program)],
        capture_output=True,
        text=True,
        env=env,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["nspid"] == "1"
    assert seen["orphans"] == 1  # the one that sleeps; the twenty that ended are gone, and no zombie stays
    assert (seen["state"], seen["threads"]) == ("S", "1")
    assert seen["kb"] < 100
    if os.geteuid() == 0:
        assert seen["uid"] == seen["gid"] == [str(NOBODY)] * 4
    assert seen["survives"]
    assert seen["ends"] == [9, 9]
    assert not seen["orphan_left"]
