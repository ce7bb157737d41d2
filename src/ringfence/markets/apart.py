"""Files of prices are read by another process, which a file may fill, block or crash without hurting ours."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.files import Bounds
from ringfence.markets.packed import unpack
from ringfence.markets.reader import MOST_ORDER_BYTES, WHOLE, Order
from ringfence.trade.bars import Bars

_SECONDS = 300  # for one file; ten million rows take a tenth of it
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from ringfence.markets.reader import main; main(int(sys.argv[2]))"


def read_apart(source: str, options: Mapping[str, str], request: Request) -> Bars:
    """What `read` of that source says to the file; DataError also where reading it took too much."""
    bounds = Bounds.of(options)
    order = Order(
        source=source,
        # The other process may have another folder: a relative path is ours.
        options={**options, "path": os.path.abspath(options["path"])},
        symbols=list(request.symbols),
        start=request.start,
        end=request.end,
        timeframe=request.timeframe,
        asked=dict(request.options),
        repair=request.repair,
        memory_mb=bounds.memory_mb,
        seconds=_SECONDS,
    )
    payload = json.dumps(order).encode()
    if len(payload) > MOST_ORDER_BYTES:
        raise DataError("the path and its options are longer than 64 KB: shorten them")
    name = Path(options["path"]).name
    with _open_answer() as answer:
        began = time.monotonic()
        if not _ask(payload, answer.fileno()):
            if time.monotonic() - began >= _SECONDS:
                raise DataError(f"reading {name} took more than {_SECONDS} s: keep only the rows you need")
            raise bounds.too_much_memory(name)
        try:
            told = unpack(answer, source=f"{source}:{options['path']}")
        except (ValueError, TypeError, RecursionError) as e:  # DataError is a ValueError
            raise DataError(f"{name} could not be read, its reader gave no sensible answer ({e}): check it") from e
    if isinstance(told, str):
        raise DataError(told)
    return told


def _open_answer() -> BinaryIO:
    """A file that has no name: in memory where there is such a thing."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("bars"), "w+b")
    return tempfile.TemporaryFile()


class _Line:
    """The connection to the process that forks readers. It ends when this end of the line is closed, so with us."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-c", _BOOT, _PACKAGE_PARENT, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # Threads of a library would not live on in a fork; and nothing of our environment is for a reader.
                env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")},
                start_new_session=True,
            )
        self.socket = ours
        atexit.register(self.close)

    def close(self) -> None:
        self.socket.close()
        if self.pid == os.getpid():  # a fork of ours has no children
            self.process.wait()
        self.process.returncode = self.process.returncode or 0


_lock = threading.Lock()
_line: _Line | None = None


def _ask(payload: bytes, answer: int) -> bool:
    """Whether the answer is whole."""
    global _line
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        with _lock:
            if _line is not None and (_line.pid != os.getpid() or _line.process.poll() is not None):
                _line.close()
                _line = None
            _line = _line or _Line()
            with contextlib.suppress(OSError):  # it is gone: the pipe will be closed without a word
                socket.send_fds(_line.socket, [payload], [answer, writing])
        os.close(writing)
        writing = -1
        return os.read(reading, 1) == WHOLE
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
