"""What sessions of every backend share, with a backend that does nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox import OnOutput
from ringfence.sandbox.held import HeldSession
from ringfence.sandbox.job import Cancel, Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.testing.fake import outcome


class Still(HeldSession):
    """`cell` is what a cell does; `over` is why the session has ended by itself."""

    def __init__(self, idle_seconds: float) -> None:
        super().__init__(Limits(), check=lambda limits: None, idle_seconds=idle_seconds)
        self.cell: Callable[[], None] = lambda: None
        self.over: str | None = None
        self._rest()

    def _over(self) -> str | None:
        return self.over

    def _apply(self, limits: Limits) -> None:
        pass

    def _run_cell(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        self.cell()
        self._rest()
        return outcome()

    def _pause(self) -> bool:
        return True

    def _discard(self) -> None:
        pass


class Gate:
    """A lock that tells when somebody stands before it."""

    def __init__(self, inner: threading.Lock) -> None:
        self._inner, self.waited_for = inner, threading.Event()

    def __enter__(self) -> None:
        if not self._inner.acquire(blocking=False):
            self.waited_for.set()
            self._inner.acquire()

    def __exit__(self, *exc: object) -> None:
        self._inner.release()


def test_a_timer_that_fired_before_a_cell_does_not_end_the_session_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fires, waits for the cell that has just begun, and finds another rest than its own."""
    held: list[tuple[Callable[..., None], tuple[object, ...]]] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, call: Callable[..., None], args: tuple[object, ...] = ()) -> None:
            held.append((call, args))

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            pass  # too late: it has fired

    monkeypatch.setattr(threading, "Timer", Timer)
    session = Still(idle_seconds=60)
    gate = Gate(threading.Lock())
    monkeypatch.setattr(session, "_lock", gate)
    fired = threading.Thread(target=held[0][0], args=held[0][1])

    def fire() -> None:
        fired.start()
        assert gate.waited_for.wait(60)

    session.cell = fire
    session.run("1")
    fired.join(60)
    assert session.alive
    held[1][0](*held[1][1])  # the timer of this rest
    assert not session.alive
    with pytest.raises(SandboxError, match=r"ended \(idle for 60 s\): open another"):
        session.run("1")


def test_one_that_ended_by_itself_says_why_and_runs_no_cell() -> None:
    session = Still(idle_seconds=60)
    session.over = "its program ended"
    session.cell = lambda: pytest.fail("a cell was run")
    for _ in range(2):
        with pytest.raises(SandboxError, match=r"^this session has ended \(its program ended\): open another$"):
            session.run("1")
    assert not session.alive
