"""Serve one client over standard input and output, and end with it.

The server ends when its input ends, when its parent process ends (a client that was killed may leave a copy of the
pipe open elsewhere), and when it is told to by a signal. Each way the sandbox is closed and nothing is left.
Input is read by a daemon thread: the library's own reader could not be stopped while it waits for a line.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from ringfence.mcp.desk import Desk
from ringfence.mcp.json_shape import MOST_DEPTH, MOST_VALUES, find_excess

_LOG = logging.getLogger(__name__)
_MOST_LINE_BYTES = 32 << 20
_CHUNK = 1 << 16
_TIDY_SECONDS = 60.0


def serve_stdio(desk: Desk, server: Server[Any]) -> int:
    """Until the client is gone; the exit code is 128 + n after signal n."""
    try:
        return anyio.run(_serve, desk, server)
    finally:
        desk.close()


async def _serve(desk: Desk, server: Server[Any]) -> int:
    ended: list[int] = [0]
    wire = os.dup(0)  # a private copy: no child and no stray read may touch the client's end
    os.set_inheritable(wire, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    async with anyio.create_task_group() as group:
        stop = group.cancel_scope.cancel
        group.start_soon(_obey_signals, ended, stop)
        group.start_soon(tidy, desk)
        watch_parent(asyncio.get_running_loop(), stop)
        lines = Lines(wire, asyncio.get_running_loop())
        # The library asks of its input only that lines come from it.
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
            stop()
    return ended[0]


async def _obey_signals(ended: list[int], stop: Callable[[], None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            ended[0] = 128 + number
            stop()


async def tidy(desk: Desk) -> None:
    """Expired artifacts go away even when nobody asks for any."""
    while True:
        await anyio.sleep(_TIDY_SECONDS)
        await asyncio.to_thread(desk.shelf.tidy)


class Lines:
    """The lines of a descriptor, read by a thread that nobody has to wait for."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd, self._loop = fd, loop
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(64)  # a client that floods us waits
        threading.Thread(target=self._read, name="ringfence-stdin", daemon=True).start()

    def _read(self) -> None:
        held = bytearray()
        while True:
            try:
                piece = os.read(self._fd, _CHUNK)
            except OSError:
                piece = b""
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line, held = bytes(held + end), bytearray()
                if line.strip() and _is_small(line):
                    self._room.acquire()
                    self._put(line.decode("utf-8", "replace"))
            held += rest
            if not piece or len(held) > _MOST_LINE_BYTES:  # the end, or a line that is no message
                self._put(None)
                return

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._queue.get()) is not None:
            self._room.release()
            yield line


def _is_small(line: bytes) -> bool:
    """Whether it is small once it is read. What is not gets no answer, like any line that is no message."""
    wrong = find_excess(line, depth=MOST_DEPTH, values=MOST_VALUES)
    if wrong is not None:
        _LOG.warning("a line of %d bytes was not taken: %s", len(line), wrong)
    return wrong is None


def watch_parent(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Call `stop` when the parent process ends.

    Not by PR_SET_PDEATHSIG: that signal comes when the *thread* that started us ends, and clients start servers from
    threads that they do not keep.
    """
    parent = os.getppid()
    try:
        fd = os.pidfd_open(parent)
    except (OSError, AttributeError):
        return  # it is gone already or this is no Linux: the end of the input tells us

    def wait() -> None:
        select.select([fd], [], [])
        os.close(fd)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stop)

    threading.Thread(target=wait, name="ringfence-parent", daemon=True).start()
