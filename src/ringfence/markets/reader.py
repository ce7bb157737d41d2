"""The process that reads files of prices: `python -m ringfence.markets.reader FD`, started by `apart`.

It has imported what reading takes, and forks a child for each file. The child may take so much memory and so much time,
counted by the kernel, and whatever the file does to it ends with it. It answers into a file that it is handed, and says
with one byte that the answer is whole; when it dies instead, the pipe just closes.

This process never reads a file itself and starts no thread, so that it can always be forked.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
from importlib import import_module
from types import MappingProxyType
from typing import TypedDict

WHOLE = b"\1"
MOST_ORDER_BYTES = 1 << 16
_MB = 1 << 20


class Order(TypedDict):
    source: str  # csv | parquet
    options: dict[str, str]
    symbols: list[str]
    start: int | None
    end: int | None
    timeframe: str | None
    asked: dict[str, str]  # the options of the request
    repair: bool
    memory_mb: int
    seconds: int


def main(fd: int) -> None:
    for name in ("csv", "parquet"):
        import_module(f"ringfence.markets.{name}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key pressed is meant for who started us
    with socket.socket(fileno=fd) as line:
        while True:
            packet, fds, _, _ = socket.recv_fds(line, MOST_ORDER_BYTES, 2)
            if not packet:
                return  # whoever started us is gone, or is done
            if os.fork() == 0:
                try:
                    line.close()
                    _serve(json.loads(packet), *fds)
                finally:
                    os._exit(0)
            for held in fds:
                os.close(held)


def _serve(order: Order, answer: int, done: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(order["seconds"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _bound_memory(order["memory_mb"])
    with open(answer, "wb") as sink:
        try:
            _read(order, sink.fileno())
        except MemoryError:  # also pyarrow's
            return
    os.write(done, WHOLE)


def _read(order: Order, answer: int) -> None:
    from ringfence.base.errors import DataError
    from ringfence.markets import Request
    from ringfence.markets.packed import pack_bars, pack_error

    request = Request(
        symbols=tuple(order["symbols"]),
        start=order["start"],
        end=order["end"],
        timeframe=order["timeframe"],
        source=order["source"],
        options=MappingProxyType(order["asked"]),
        repair=order["repair"],
    )
    with os.fdopen(os.dup(answer), "wb") as sink:
        try:
            bars = import_module(f"ringfence.markets.{order['source']}").read(order["options"], request)
        except DataError as e:
            pack_error(str(e), sink)
        else:
            pack_bars(bars, sink)


def _bound_memory(megabytes: int) -> None:
    """What can be written to counts, beyond what is there already: the files of libraries that are mapped do not.
    Nor does the answer, which has the same bound of its own."""
    taken = 0
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        taken = next((int(row.split()[1]) << 10 for row in status if row.startswith("VmData:")), 0)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + megabytes * _MB, taken + megabytes * _MB))
    resource.setrlimit(resource.RLIMIT_FSIZE, (megabytes * _MB, megabytes * _MB))


if __name__ == "__main__":
    main(int(sys.argv[1]))
