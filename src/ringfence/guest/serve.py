"""The guest's first lines: say that the jail is ready, wait for the order, make good the limits, run it.

The order comes from the supervisor and is trusted; from the moment the program's own code runs, nothing in this
process is, and whatever it says is checked on the host.
"""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import secrets
import socket
import sys
from typing import TypedDict

from ringfence.guest import drivers, program, script, seeds, session, wire


class Order(TypedDict):
    """What the supervisor sends first. `cpu_seconds`, `data_bytes` and `processes` are None where something
    better than an rlimit bounds them."""

    kind: str  # session, script, or another driver of drivers.py
    code: str | None
    name: str
    argv: list[str]
    inputs: dict[str, object]
    seed: int | None  # None: the child's own
    task: dict[str, object]
    result_bytes: int
    cpu_seconds: int | None
    file_bytes: int
    data_bytes: int | None
    descriptors: int
    processes: int | None


def main(channel: int, scratch: int) -> None:
    rehearse()  # again, in the child: the pages it touches are copied now and not while a job waits
    seeds.reseed(secrets.randbits(64))  # or all children of one zygote would draw the same numbers
    _open_streams()
    with socket.socket(fileno=os.dup(channel)) as sock:
        socket.send_fds(sock, [b"R"], [scratch])
    os.close(scratch)
    frame = wire.read_frame(channel)
    if frame is None:
        return
    order: Order = json.loads(frame)
    _limit(order)
    if order["seed"] is not None:
        seeds.reseed(order["seed"])
    gc.enable()
    if order["kind"] == "session":
        session.serve(channel, order["inputs"])
    elif order["code"] is None:
        script.execute(channel, order["argv"])
    else:
        drive = drivers.find(order["kind"], order["task"])
        script.run(channel, order["code"], order["name"], order["argv"], order["inputs"], drive, order["result_bytes"])


def _limit(order: Order) -> None:
    """Lower the limits that depend on the job; they can never be raised again."""
    wanted = {
        resource.RLIMIT_CPU: order["cpu_seconds"],
        resource.RLIMIT_FSIZE: order["file_bytes"],
        resource.RLIMIT_NPROC: order["processes"],
        # Not before this process has sent its scratch space: the kernel holds the number of descriptors that one user
        # has in flight against this limit, and another job of the same user may have many.
        resource.RLIMIT_NOFILE: order["descriptors"],
    }
    if order["data_bytes"] is not None:
        wanted[resource.RLIMIT_DATA] = _data_in_use() + order["data_bytes"]
    for kind, value in wanted.items():
        if value is not None:
            _, hard = resource.getrlimit(kind)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def _data_in_use() -> int:
    """What the zygote's own heap already counts against RLIMIT_DATA."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 256 << 20


def _open_streams() -> None:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = sys.__stdout__ = _writer(1)  # type: ignore[misc]  # the zygote's own must not be reached
    sys.stderr = sys.__stderr__ = _writer(2)  # type: ignore[misc]


def _writer(fd: int) -> io.TextIOWrapper:
    """Lines leave at once, so that what a program printed before it was killed is not lost with it."""
    raw = io.FileIO(fd, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)


def rehearse() -> None:
    """Walk the path of a job once, with a program of ours."""
    text = json.dumps({"kind": "script", "code": "result = {'a': [1.5, 'x']}\nfor _ in range(3): pass\n", "inputs": {}})
    code: str = json.loads(text)["code"]
    seeds.reseed(0)
    module, box = script.make_main("rehearsal", {})
    ending = program.attempt(lambda: script.execute_text(code, "rehearsal", module), "rehearsal")
    program.finish(ending, box.value if box.filled else module.__dict__["result"])
