"""The first process of a job's pid namespace: a program of some hundred bytes that reaps and waits.

With it the job's own program is an ordinary process, whose signals mean what they mean everywhere (as pid 1
it would ignore them), and killing this one process ends everything in the namespace. It is assembled here
because a Python process in its place would cost as much as the job itself. It ignores SIGCHLD, so the
kernel reaps orphans for it, gives up root, and pauses until it is killed.
"""

from __future__ import annotations

import struct

_BASE = 0x400000
_HEADERS = 64 + 56
_SIGCHLD, _SIG_IGN, _NOBODY = 17, 1, 65534
_MACHINES = {"x86_64": 62, "aarch64": 183}
_IGNORE_ACTION = struct.pack("<QQQQ", _SIG_IGN, 0, 0, 0)  # the kernel's struct sigaction


def elf(machine: str) -> bytes:
    """The program as an ELF file for `machine`."""
    code = {"x86_64": _x86_64, "aarch64": _aarch64}[machine]() + _IGNORE_ACTION
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
        return struct.pack("<BI", 0xB8 + register, value)

    eax, edx, esi, edi = 0, 2, 6, 7
    syscall = b"\x0f\x05"
    give_up_root = mov(edi, _NOBODY) + mov(esi, _NOBODY) + mov(edx, _NOBODY)
    pause = mov(eax, 34) + syscall
    after = (
        mov(edx, 0) + b"\x41\xba\x08\0\0\0" + mov(eax, 13) + syscall  # r10 = 8; rt_sigaction
        + give_up_root + mov(eax, 119) + syscall  # setresgid
        + mov(eax, 117) + syscall  # setresuid
        + pause + struct.pack("<Bb", 0xEB, -(len(pause) + 2))
    )  # fmt: skip
    load_action = b"\x48\x8d\x35" + struct.pack("<i", len(after))  # lea rsi, [rip + to the action]
    return mov(edi, _SIGCHLD) + load_action + after


def _aarch64() -> bytes:
    def mov(register: int, value: int) -> int:  # movz xd, #imm16
        return 0xD2800000 | value << 5 | register

    svc = 0xD4000001
    nobody = [mov(0, _NOBODY), mov(1, _NOBODY), mov(2, _NOBODY)]
    wait = [mov(0, 0), mov(1, 0), mov(2, 0), mov(3, 0), mov(8, 73), svc]  # ppoll(NULL, 0, NULL, NULL)
    after = [
        mov(2, 0), mov(3, 8), mov(8, 134), svc,  # rt_sigaction
        *nobody, mov(8, 149), svc,  # setresgid
        *nobody, mov(8, 147), svc,  # setresuid
        *wait, 0x14000000 | (-len(wait) & 0x3FFFFFF),
    ]  # fmt: skip
    distance = 4 * (len(after) + 1)
    address = 0x10000000 | (distance & 3) << 29 | (distance >> 2) << 5 | 1  # adr x1, to the action
    return b"".join(struct.pack("<I", word) for word in [mov(0, _SIGCHLD), address, *after])
