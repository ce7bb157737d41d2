"""A session in a container that stays, and runs cell after cell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ringfence.sandbox import OnOutput
from ringfence.sandbox.answer import answer, never_ran
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.box import Box, OverBetweenCells
from ringfence.sandbox.docker.watch import Watch
from ringfence.sandbox.held import GRACE_SECONDS, HeldSession, SessionOver
from ringfence.sandbox.job import Cancel, Limits, is_cancelled
from ringfence.sandbox.keeping import in_memory
from ringfence.sandbox.order import session_order
from ringfence.sandbox.outcome import DeviceReport, Outcome
from ringfence.sandbox.placing import make_run_id
from ringfence.sandbox.verdict import judge


class DockerSession(HeldSession):
    def __init__(
        self,
        box: Box,
        limits: Limits,
        *,
        check: Callable[[Limits], None],
        isolation: Mapping[str, str],
        discard: Callable[[Box], None],
        idle_seconds: float,
        seed: int | None,
    ) -> None:
        super().__init__(limits, check=check, idle_seconds=idle_seconds)
        self._box, self._isolation, self._drop = box, isolation, discard
        self._stopped = True
        with box.in_use():
            box.apply(limits)
            box.begin(frames.ORDER, limits, session_order(limits, seed, counted=True), running=False)
        self._rest()

    @property
    def alive(self) -> bool:
        return super().alive and not self._box.ended

    def _over(self) -> str | None:
        with self._box.in_use():
            breach = self._box.over_between_cells()
        return None if breach is None else self._words(breach)

    def _words(self, breach: str) -> str:
        limits = self._box.limits
        return {
            "memory_limit": f"it used more than {limits.memory_mb} MB between two cells",
            "disk_limit": f"it wrote more than {limits.disk_mb} MB between two cells",
            "awake": "its program went on running between two cells",
            "ended": "its program ended between two cells",
        }.get(breach, "its container ended")

    def _apply(self, limits: Limits) -> None:
        with self._box.in_use():
            self._box.apply(limits)

    def _run_cell(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        if is_cancelled(cancel):
            self._rest()
            return never_ran(
                run_id=make_run_id(), limits=limits, backend="docker", isolation=self._isolation, device=DeviceReport()
            )
        try:
            with self._box.in_use():
                return self._run_in(code, limits, on_output, cancel)
        except OverBetweenCells as e:
            raise SessionOver(self._words(e.breach)) from e

    def _run_in(self, code: str, limits: Limits, on_output: OnOutput | None, cancel: Cancel | None) -> Outcome:
        started = time.monotonic()
        watch = Watch(self._box, limits, on_output=on_output, cancel=cancel)

        def interrupt() -> float:
            self._box.send(frames.INTERRUPT)
            return GRACE_SECONDS

        watch.interrupt = interrupt
        self._box.begin(frames.CELL, limits, json.dumps({"code": code}).encode())
        evidence = watch.until_ended()
        ended = time.monotonic()
        if watch.interrupted and evidence.killed is None:
            # The cell let go when it was interrupted: stopped all the same, and the session lives.
            evidence = replace(evidence, killed=watch.interrupted)
        verdict = judge(evidence, watch.counters, limits)
        collected = self._box.collect(in_memory)
        self._stopped = watch.stopped
        if evidence.exit is not None or evidence.damage is not None:  # after that, nobody knows where a report begins
            self._end(verdict.reason)
            verdict = replace(verdict, reason=f"{verdict.reason}; the session ended with it")
        else:
            self._rest()
        return answer(
            run_id=make_run_id(),
            stdout=watch.stdout, stderr=watch.stderr, evidence=evidence, counters=watch.counters, verdict=verdict,
            collected=collected, limits=limits, backend="docker", isolation=self._isolation,
            device=DeviceReport(), stages={"run": round((ended - started) * 1000, 3)},
        )  # fmt: skip

    def _pause(self) -> bool:
        return self._stopped  # the keeper has stopped them before it said that the cell ended

    def _discard(self) -> None:
        self._drop(self._box)
