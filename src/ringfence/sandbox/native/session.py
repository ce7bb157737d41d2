"""A session: one child that stays, and runs cell after cell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

from ringfence.sandbox import OnOutput, artifacts
from ringfence.sandbox.answer import answer, never_ran
from ringfence.sandbox.held import GRACE_SECONDS, HeldSession
from ringfence.sandbox.job import Cancel, Limits, is_cancelled
from ringfence.sandbox.keeping import in_memory
from ringfence.sandbox.native import census, dispatch
from ringfence.sandbox.native.child import Child
from ringfence.sandbox.native.isolation import Means
from ringfence.sandbox.native.rest import Rest
from ringfence.sandbox.native.watch import Watch
from ringfence.sandbox.order import session_order
from ringfence.sandbox.outcome import DeviceReport, Outcome
from ringfence.sandbox.placing import make_run_id
from ringfence.sandbox.verdict import judge


class NativeSession(HeldSession):
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
        super().__init__(limits, check=check, idle_seconds=idle_seconds)
        self._child, self._means = child, means
        self._resting: Rest | None = None
        self._cell_limits = limits
        self._stamps = artifacts.stamps(child.work)
        dispatch.send_order(child, limits, session_order(limits, seed, counted=child.group is not None))
        self._rest()

    @property
    def alive(self) -> bool:
        return super().alive and self._child.alive

    def _over(self) -> str | None:
        if self._resting is not None and self._resting.breach is not None:
            return self._resting.breach
        return None if self._child.alive else "its program ended between two cells"

    def _apply(self, limits: Limits) -> None:
        if self._child.group is None and limits.memory_mb < self._cell_limits.memory_mb:
            seen = census.Ledger().take(self._child.host_pids, time.monotonic())
            if self._child.is_over_memory(seen, limits):
                raise dispatch.memory_in_use(limits)
        dispatch.apply_limits(self._child, limits)
        self._cell_limits = limits

    def _run_cell(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        if is_cancelled(cancel):
            self._rest()
            return never_ran(
                run_id=make_run_id(),
                limits=limits,
                backend="native",
                isolation=self._means.describe(),
                device=DeviceReport(),
            )
        started = time.monotonic()
        self._wake()
        before = self._child.counters()
        watch = Watch(self._child, limits, on_output=on_output, cancel=cancel, before=before)

        def interrupt() -> float:
            self._child.interrupt()
            return GRACE_SECONDS

        watch.interrupt = interrupt
        dispatch.send(self._child, json.dumps({"code": code}).encode(), limits.wall_seconds)
        evidence = watch.until_report()
        ended = time.monotonic()
        if watch.interrupted and evidence.killed is None:
            # The cell let go when it was interrupted: stopped all the same, and the session lives.
            evidence = replace(evidence, killed=watch.interrupted)
        counters = self._child.counters().since(before)
        verdict = judge(evidence, counters, limits)
        collected = artifacts.collect(self._child.work, keep=in_memory, baseline=self._stamps)
        self._stamps = artifacts.stamps(self._child.work)
        if evidence.exit is not None or evidence.damage is not None:  # after that, nobody knows where a report begins
            self._end(verdict.reason)
            verdict = replace(verdict, reason=f"{verdict.reason}; the session ended with it")
        else:
            self._rest()
        return answer(
            run_id=make_run_id(),
            stdout=watch.stdout, stderr=watch.stderr, evidence=evidence, counters=counters, verdict=verdict,
            collected=collected, limits=limits, backend="native", isolation=self._means.describe(),
            device=DeviceReport(), stages={"run": round((ended - started) * 1000, 3)},
        )  # fmt: skip

    def _pause(self) -> bool:
        self._end_rest()
        stopped = self._child.pause()
        if stopped:
            self._resting = Rest(self._child, self._cell_limits)
        return stopped

    def _wake(self) -> None:
        self._end_rest()
        self._child.resume()

    def _end_rest(self) -> None:
        if self._resting is not None:
            self._resting.end()

    def _discard(self) -> None:
        self._end_rest()
        self._child.discard()
