"""Stopwatch arithmetic: medians, 99th percentiles and rates of what was really run."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    median_ms: float
    p99_ms: float  # the nearest rank, so with fewer than 100 samples it is the slowest one
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    clients: int
    jobs: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.jobs / self.seconds

    def __add__(self, other: Rate) -> Rate:
        """The same number of clients, measured once more."""
        return Rate(clients=self.clients, jobs=self.jobs + other.jobs, seconds=self.seconds + other.seconds)


def summarise(seconds: Sequence[float]) -> Timing:
    ranked = sorted(seconds)
    p99 = ranked[math.ceil(0.99 * len(ranked)) - 1]
    return Timing(median_ms=statistics.median(ranked) * 1e3, p99_ms=p99 * 1e3, n=len(ranked))


class Samples:
    """Durations under their names, collected while several things are measured in turn."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def time(self, name: str, action: Callable[[], T]) -> T:
        start = time.perf_counter()
        answer = action()
        self._seconds.setdefault(name, []).append(time.perf_counter() - start)
        return answer

    def summaries(self) -> dict[str, Timing]:
        return {name: summarise(seconds) for name, seconds in self._seconds.items()}


class StageSamples:
    """Milliseconds per stage of a run, as the Outcomes report them, under the name of what was measured."""

    def __init__(self) -> None:
        self._stages: dict[str, dict[str, list[float]]] = {}

    def add(self, name: str, stages: Mapping[str, float]) -> None:
        mine = self._stages.setdefault(name, {})
        for stage, ms in stages.items():
            mine.setdefault(stage, []).append(ms)

    def medians(self) -> dict[str, Mapping[str, float]]:
        return {
            name: {stage: statistics.median(ms) for stage, ms in stages.items()}
            for name, stages in self._stages.items()
        }


def measure_rate(action: Callable[[], object], *, clients: int, seconds: float) -> Rate:
    """Let `clients` threads repeat `action` for `seconds`; a job begun in time is finished and counted.

    The clock stops when the last job is done, so a job longer than `seconds` does not flatter the rate.
    """
    start = time.perf_counter()

    def client(_: int) -> int:
        done = 0
        while done == 0 or time.perf_counter() - start < seconds:
            action()
            done += 1
        return done

    with ThreadPoolExecutor(clients, thread_name_prefix="bench-client") as pool:
        jobs = sum(pool.map(client, range(clients)))
    return Rate(clients=clients, jobs=jobs, seconds=time.perf_counter() - start)
