"""How a call runs: in its turn, in a thread, with progress, and stopped when nobody waits for it any more.

Blocking work has a daemon thread of its own: one that hangs on a network must keep neither the server from ending
nor the next call from running. A caller that cancels or goes away sets the job's Cancel, and the sandbox is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import anyio

from ringfence.mcp.clients import STDIO, Client
from ringfence.mcp.turns import Turns
from ringfence.sandbox.job import Cancel

T = TypeVar("T")

_TICK_SECONDS = 2.0  # between two reports of progress
_GRACE_SECONDS = 10.0  # for a cancelled job to end: a sandbox that is killed needs far less

Report = Callable[[float, float | None, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whom a call is for. `gone` is set when the connection it came on is lost."""

    report: Report
    client: Client = STDIO
    gone: asyncio.Event | None = None


class Doing:
    """What a call does, said by the thread that does it. Its seconds count from when it began with that.

    A sandbox does not tell when a program starts: from outside one only knows that the answer is waited for.
    """

    def __init__(self, what: str) -> None:
        self.becomes(what)

    def becomes(self, what: str, then: str = "") -> None:
        """`then` stands behind the seconds."""
        self._said = (what, then, time.monotonic())

    def waits_for(self, what: str, seconds: float) -> None:
        """A job was given to the sandbox, which may have to find a place for it first."""
        self.becomes(f"waiting for the {what}'s answer", f"; it has {seconds:g} s once it runs")

    def __str__(self) -> str:
        what, then, began = self._said
        return f"{what}, {time.monotonic() - began:.0f} s{then}"


class CallerGone(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the thread of a call has: whose it is, whether anybody still waits for it, and what it says it does."""

    client: Client
    cancel: Cancel
    doing: Doing


class Calls:
    """At most `most` calls run at once, and `waiting` more wait."""

    def __init__(self, *, most: int, waiting: int) -> None:
        self._turns = Turns(most=most, waiting=waiting)

    async def run(self, caller: Caller, work: Callable[[Call], T], *, first: str) -> T:
        """`first` is what it does at first, for the report of progress; `work` says what comes then.

        `work` makes the whole answer: the event loop, which all clients share, only sends it.
        """
        self._turns.check_room(caller.client)
        task, doing = _Task(work, caller.client), Doing("waiting for other calls")
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, caller, doing)
            if caller.gone is not None:
                group.start_soon(_leave, caller.gone, group.cancel_scope)
            async with self._turns.taken(caller.client):
                doing.becomes(first)
                await task.run(doing)
            group.cancel_scope.cancel()
        return task.result()


class _Task(Generic[T]):
    def __init__(self, work: Callable[[Call], T], client: Client) -> None:
        self._work, self._client = work, client
        self._answer: list[T] = []
        self._error: BaseException | None = None

    async def run(self, doing: Doing) -> None:
        done, cancel = asyncio.Event(), Cancel()
        loop = asyncio.get_running_loop()
        words = (cancel, doing, done, loop)
        threading.Thread(target=self._body, args=words, name="ringfence-call", daemon=True).start()
        try:
            await done.wait()
        except asyncio.CancelledError:
            cancel.set()
            with anyio.move_on_after(_GRACE_SECONDS, shield=True):
                await done.wait()
            raise
        finally:
            if done.is_set():  # else the thread may still look at it
                cancel.close()

    def _body(self, cancel: Cancel, doing: Doing, done: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
        with self:
            self._answer.append(self._work(Call(self._client, cancel, doing)))
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(done.set)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> Literal[True]:
        """Whatever is raised in the thread is kept, and raised again by `result` where the caller is."""
        self._error = error
        return True

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        if not self._answer:
            raise CallerGone
        return self._answer[0]


async def _tell(caller: Caller, doing: Doing) -> None:
    began = time.monotonic()
    while True:
        await anyio.sleep(_TICK_SECONDS)
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await caller.report(time.monotonic() - began, None, str(doing))


async def _leave(gone: asyncio.Event, scope: anyio.CancelScope) -> None:
    await gone.wait()
    scope.cancel()
