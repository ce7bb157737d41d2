"""The measuring itself: all sides in turn, round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.verbs.bench.native import PANDAS, TRIVIAL, ParkingSandbox, run_checked, wait_parked
from ringfence.verbs.bench.peers import IMPORT_QUANT
from ringfence.verbs.bench.timing import Rate, Samples, StageSamples, measure_rate
from ringfence.verbs.bench.workload import Outside

# The very same text goes to both sides of the rates.
RATE_CODE = f"{IMPORT_QUANT}\nresult = 1"

NATIVE_CLIENTS = (1, 2, 4)
DOCKER_CLIENTS = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much of each: a round has `repeats` of what takes milliseconds and one of what takes seconds."""

    rounds: int
    repeats: int = 5
    seconds: float = math.inf  # no round begins after these, but the first two always do
    native_rate_seconds: float = 2.0
    docker_rate_seconds: float = 8.0
    rate_rounds: int = 3

    @classmethod
    def quick(cls, rounds: int) -> Plan:
        """A first look in half a minute."""
        return cls(
            rounds=rounds, repeats=12, seconds=7.0, native_rate_seconds=0.7, docker_rate_seconds=0.5, rate_rounds=1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared. The peers are calls that take one run each, under the names of the report."""

    parked: ParkingSandbox
    pool: int  # how many children it parks
    on_demand: Sandbox
    outside: Outside
    workload: Job
    peers: Mapping[str, Callable[[], None]]
    docker_rate: Callable[[], None] | None


@dataclass(frozen=True, slots=True)
class Findings:
    samples: Samples = field(default_factory=Samples)
    stages: StageSamples = field(default_factory=StageSamples)
    rates: dict[str, Rate] = field(default_factory=dict)

    def timed_run(self, name: str, sandbox: Sandbox, job: Job) -> None:
        outcome = self.samples.time(name, lambda: run_checked(sandbox, job))
        self.stages.add(name, outcome.stages)


def all_rounds(sides: Sides, plan: Plan, findings: Findings, on_progress: Callable[[str], None]) -> None:
    begun = time.monotonic()
    for number in range(plan.rounds):
        if number > 1 and time.monotonic() - begun > plan.seconds:
            break
        on_progress(f"round {number + 1} of {plan.rounds}")
        one_round(sides, plan, findings, number)
    for number in range(plan.rate_rounds):
        on_progress(f"jobs per second, {number + 1} of {plan.rate_rounds}")
        rate_round(sides, plan, findings)


def one_round(sides: Sides, plan: Plan, findings: Findings, number: int) -> None:
    """Each side in its turn."""
    for _ in range(plan.repeats):
        for name, job in (("parked_trivial", TRIVIAL), ("parked_pandas", PANDAS)):
            wait_parked(sides.parked, sides.pool)
            findings.timed_run(name, sides.parked, job)
        findings.timed_run("on_demand_trivial", sides.on_demand, TRIVIAL)
    for name, peer in sides.peers.items():
        findings.samples.time(name, peer)
    # Whoever goes second finds a warmer machine, so they take turns.
    for inside in (True, False) if number % 2 else (False, True):
        wait_parked(sides.parked, sides.pool)
        if inside:
            findings.timed_run("workload_inside", sides.parked, sides.workload)
        else:
            findings.samples.time("workload_outside", lambda: sides.outside.run(sides.workload))


def rate_round(sides: Sides, plan: Plan, findings: Findings) -> None:
    """Every number of clients once, ours and docker's in turn."""
    job = Job(code=RATE_CODE)
    for clients in NATIVE_CLIENTS:
        wait_parked(sides.parked, sides.pool)
        rate = measure_rate(lambda: run_checked(sides.parked, job), clients=clients, seconds=plan.native_rate_seconds)
        _add(findings.rates, f"native_{clients}", rate)
        if sides.docker_rate and clients in DOCKER_CLIENTS:
            rate = measure_rate(sides.docker_rate, clients=clients, seconds=plan.docker_rate_seconds)
            _add(findings.rates, f"docker_{clients}", rate)


def _add(rates: dict[str, Rate], name: str, rate: Rate) -> None:
    rates[name] = rates[name] + rate if name in rates else rate
