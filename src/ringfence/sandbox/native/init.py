"""The first process of a job's pid namespace: a program of some hundred bytes that reaps and waits.

With it the job's own program is an ordinary process, whose signals mean what they mean everywhere (as pid 1
it would ignore them), and killing this one process ends everything in the namespace. It is assembled here
because a Python process in its place would cost as much as the job itself. It gives up root, then waits for
SIGCHLD and reaps, which also keeps the CPU time of orphans counted, until it is killed.
"""

from __future__ import annotations

import struct

_BASE = 0x400000
_HEADERS = 64 + 56
_SIGCHLD, _NOBODY, _WNOHANG = 17, 65534, 1
_MACHINES = {"x86_64": 62, "aarch64": 183}
_SIGNAL_SET = struct.pack("<Q", 1 << (_SIGCHLD - 1))


def elf(machine: str) -> bytes:
    """The program as an ELF file for `machine`."""
    code = {"x86_64": _x86_64, "aarch64": _aarch64}[machine]() + _SIGNAL_SET
    sizes = (64, 56, 1, 0, 0, 0)  # of the header, of a segment's, how many; no sections
    identity, executable, version = b"\x7fELF\x02\x01\x01", 2, 1
    start = (executable, _MACHINES[machine], version, _BASE + _HEADERS, 64, 0, 0)
    header = struct.pack("<16sHHIQQQIHHHHHH", identity, *start, *sizes)
    size = _HEADERS + len(code)
    readable_executable = 5
    segment = struct.pack("<IIQQQQQQ", 1, readable_executable, 0, _BASE, _BASE, size, size, 0x1000)
    return header + segment + code


def _x86_64() -> bytes:
    def mov(register: int, value: int) -> bytes:  # mov r32, imm32
        return struct.pack("<Bi", 0xB8 + register, value)

    def call(number: int) -> bytes:
        return mov(eax, number) + b"\x0f\x05"

    eax, edx, esi, edi = 0, 2, 6, 7
    r10_8, r10_0 = b"\x41\xba\x08\0\0\0", b"\x41\xba\0\0\0\0"
    nobody = mov(edi, _NOBODY) + mov(esi, _NOBODY) + mov(edx, _NOBODY)
    keep_set, restore_set = b"\x49\x89\xf4", b"\x4c\x89\xe7"  # mov r12, rsi; mov rdi, r12
    block = mov(edx, 0) + r10_8 + call(14)  # rt_sigprocmask(SIG_BLOCK, set, NULL, 8)
    give_up_root = nobody + call(119) + nobody + call(117)  # setresgid, setresuid
    wait = restore_set + mov(esi, 0) + mov(edx, 0) + r10_8 + call(128)  # rt_sigtimedwait(set, NULL, NULL, 8)
    reap = mov(edi, -1) + mov(esi, 0) + mov(edx, _WNOHANG) + r10_0 + call(61)  # wait4
    again = b"\x85\xc0" + struct.pack("<Bb", 0x7F, -(len(reap) + 4))  # test eax, eax; jg reap
    back = struct.pack("<Bb", 0xEB, -(len(wait) + len(reap) + len(again) + 2))
    rest = keep_set + block + give_up_root + wait + reap + again + back
    return mov(edi, 0) + b"\x48\x8d\x35" + struct.pack("<i", len(rest)) + rest  # lea rsi, [rip + to the set]


def _aarch64() -> bytes:
    def mov(register: int, value: int) -> int:  # movz xd, #imm16
        return 0xD2800000 | value << 5 | register

    def call(number: int) -> list[int]:
        return [mov(8, number), 0xD4000001]  # svc #0

    nobody = [mov(0, _NOBODY), mov(1, _NOBODY), mov(2, _NOBODY)]
    block = [mov(0, 0), 0xAA1303E1, mov(2, 0), mov(3, 8), *call(135)]  # mov x1, x19; rt_sigprocmask
    give_up_root = [*nobody, *call(149), *nobody, *call(147)]  # setresgid, setresuid
    wait = [0xAA1303E0, mov(1, 0), mov(2, 0), mov(3, 8), *call(137)]  # mov x0, x19; rt_sigtimedwait
    reap = [0x92800000, mov(1, 0), mov(2, _WNOHANG), mov(3, 0), *call(260)]  # mov x0, #-1; wait4
    again = [0xF100001F, 0x5400000C | (-(len(reap) + 1) & 0x7FFFF) << 5]  # cmp x0, #0; b.gt reap
    back = [0x14000000 | (-(len(wait) + len(reap) + len(again)) & 0x3FFFFFF)]
    after = [*block, *give_up_root, *wait, *reap, *again, *back]
    distance = 4 * (len(after) + 1)
    address = 0x10000000 | (distance & 3) << 29 | (distance >> 2) << 5 | 19  # adr x19, to the set
    return b"".join(struct.pack("<I", word) for word in [address, *after])
