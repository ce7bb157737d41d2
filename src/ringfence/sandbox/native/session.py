"""A session: one child that stays, and runs cell after cell."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from ringfence.base.errors import JobError, LimitError, SandboxError
from ringfence.sandbox import OnOutput, artifacts
from ringfence.sandbox.answer import answer
from ringfence.sandbox.job import Cancel, Limits
from ringfence.sandbox.native import dispatch
from ringfence.sandbox.native.child import Child
from ringfence.sandbox.native.isolation import Means
from ringfence.sandbox.native.watch import Watch
from ringfence.sandbox.order import session_order
from ringfence.sandbox.outcome import Outcome
from ringfence.sandbox.source import check_source
from ringfence.sandbox.verdict import judge

_GRACE_SECONDS = 2.0


class NativeSession:
    """Safe from many threads: cells wait for each other."""

    def __init__(
        self,
        child: Child,
        limits: Limits,
        *,
        check: Callable[[Limits], None],
        means: Means,
        idle_seconds: float,
        seed: int | None,
    ) -> None:
        self._child, self._limits, self._check, self._means = child, limits, check, means
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._ended: str | None = None
        self._stamps = artifacts.stamps(child.work)
        self._timer: threading.Timer | None = None
        dispatch.send_order(child, limits, session_order(limits, seed, counted=child.group is not None))
        self._rest()

    @property
    def alive(self) -> bool:
        return self._ended is None and self._child.alive

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        check_source(code)
        limits = limits or self._limits
        self._check(limits)
        if limits.disk_mb != self._limits.disk_mb:
            raise JobError("disk_mb cannot change within a session: set it when you open one")
        with self._lock:
            if self._ended is not None:
                raise SandboxError(f"this session has ended ({self._ended}): open another")
            self._stop_timer()
            try:
                dispatch.apply_limits(self._child, limits)
            except LimitError:
                self._rest()
                raise
            try:
                return self._run_cell(code, limits, on_output, cancel)
            except BaseException:
                self._end("a cell could not be run")  # or it would go on with nobody watching
                raise

    def _run_cell(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        started = time.monotonic()
        self._child.resume()
        before = self._child.counters()
        watch = Watch(self._child, limits, on_output=on_output, cancel=cancel, before=before)

        def interrupt() -> float:
            self._child.interrupt()
            return _GRACE_SECONDS

        watch.interrupt = interrupt
        dispatch.send(self._child, json.dumps({"code": code}).encode(), limits.wall_seconds)
        evidence = watch.until_report()
        ended = time.monotonic()
        if watch.interrupted and evidence.killed is None:
            # The cell let go when it was interrupted: stopped all the same, and the session lives.
            evidence = replace(evidence, killed=watch.interrupted)
        counters = self._child.counters().since(before)
        verdict = judge(evidence, counters, limits)
        collected = artifacts.collect(self._child.work, into=None, baseline=self._stamps)
        self._stamps = artifacts.stamps(self._child.work)
        if evidence.exit is not None:
            self._end(verdict.reason)
            verdict = replace(verdict, reason=f"{verdict.reason}; the session ended with it")
        else:
            self._rest()
        return answer(
            stdout=watch.stdout, stderr=watch.stderr, evidence=evidence, counters=counters, verdict=verdict,
            collected=collected, limits=limits, backend="native", isolation=self._means.describe(),
            device=dispatch.device_report("auto"), stages={"run": round((ended - started) * 1000, 3)},
        )  # fmt: skip

    def _rest(self) -> None:
        """Stop what the cell left running: between cells nobody watches its limits. Then count idle time."""
        if not self._child.pause():
            self._end("it left processes running that could not be stopped")
            return
        self._timer = threading.Timer(self._idle_seconds, self._end_idle)
        self._timer.daemon = True
        self._timer.start()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_idle(self) -> None:
        with self._lock:
            if self._timer is not None:  # no cell came between the timer's firing and our lock
                self._end(f"idle for {self._idle_seconds:g} s")

    def _end(self, why: str) -> None:
        if self._ended is None:
            self._ended = why
            self._stop_timer()
            self._child.discard()

    def close(self) -> None:
        with self._lock:
            self._end("it was closed")

    def __enter__(self) -> NativeSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
