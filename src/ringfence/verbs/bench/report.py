"""What a benchmark found, as a value: JSON for programs, rows for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from ringfence.sandbox.job import Json
from ringfence.verbs.bench.native import ParkedMemory
from ringfence.verbs.bench.timing import Rate, Timing

Bound = Literal["at least", "at most"]
Row = tuple[str, str, str, str]  # what, median or value, p99, note

# What each name in the report is, in the order people read them.
MEASUREMENTS: Mapping[str, str] = {
    "parked_trivial": "parked child: result = 1",
    "parked_pandas": "parked child: pandas rolling",
    "on_demand_trivial": "fork on demand: result = 1",
    "plain_pandas": "python -c: numpy, pandas",
    "plain_quant": "python -c: numpy, pandas, talib, backtesting",
    "docker_pandas": "docker run: numpy, pandas",
    "docker_quant": "docker run: numpy, pandas, talib, backtesting",
    "workload_inside": "0.5 s workload inside",
    "workload_outside": "0.5 s workload outside",
}
CONTAINERS: Mapping[str, str] = {
    "warm_trivial": "parked container: result = 1",
    "warm_pandas": "parked container: pandas rolling",
    "made_trivial": "container made on demand: result = 1",
    "docker_guest_quant": "docker run of the guest image: numpy, pandas, talib, backtesting",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One promise. `value` and `met` are None where a side of it could not be measured here."""

    name: str
    meaning: str
    value: float | None
    bound: Bound
    target: float
    met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    cores: int  # those this process may use
    cpu: str
    kernel: str
    python: str
    load_before: float  # the load average when the measuring began; over 0.5 the numbers are noisy
    docker: str | None
    isolation: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    measurements: Mapping[str, Timing]
    rates: Mapping[str, Rate]
    memory: ParkedMemory | None
    targets: tuple[Target, ...]
    stages: Mapping[str, Mapping[str, float]]  # median milliseconds per stage of our own runs
    machine: Machine
    absent: Mapping[str, str]  # what could not be measured -> why, and how to get it
    seconds: float

    @property
    def all_met(self) -> bool:
        """Whether every promise was measured and kept."""
        return all(t.met for t in self.targets)

    def to_json(self) -> dict[str, Json]:
        return {
            "measurements": {name: _record(t) for name, t in self.measurements.items()},
            "rates": {
                name: {**_record(rate), "per_second": round(rate.per_second, 3)} for name, rate in self.rates.items()
            },
            "memory": _record(self.memory) if self.memory else None,
            "targets": [_record(t) for t in self.targets],
            "stages": {name: {s: round(ms, 4) for s, ms in stages.items()} for name, stages in self.stages.items()},
            "machine": {**_record(self.machine), "isolation": dict(self.machine.isolation)},
            "absent": dict(self.absent),
            "seconds": round(self.seconds, 1),
        }

    def rows(self) -> list[Row]:
        """The same for people: first the promises, then what they were computed from."""
        return [
            *((t.meaning, _times(t.value), "", f"{t.bound} {_times(t.target)}: {_verdict(t)}") for t in self.targets),
            *self._measured(),
            *self._rates(),
            *self._memory(),
            *(
                (f"stages of {name}", "", "", " · ".join(f"{stage} {ms:.2f} ms" for stage, ms in stages.items()))
                for name, stages in self.stages.items()
            ),
            *((MEASUREMENTS.get(name, name), "not measured", "", why) for name, why in self.absent.items()),
            ("machine", "", "", self._machine()),
        ]

    def _measured(self) -> list[Row]:
        known = {**MEASUREMENTS, **CONTAINERS}
        found = ((what, self.measurements[name]) for name, what in known.items() if name in self.measurements)
        return [(what, f"{t.median_ms:,.2f} ms", f"{t.p99_ms:,.2f} ms", f"{t.n} runs") for what, t in found]

    def _rates(self) -> list[Row]:
        rows = []
        for name, rate in self.rates.items():
            side = "native" if name.startswith("native_") else "docker run"
            clients = f"{rate.clients} client{'s' if rate.clients > 1 else ''}"
            note = f"{rate.jobs} done in {rate.seconds:.1f} s"
            rows.append((f"jobs per second, {side}, {clients}", f"{rate.per_second:,.1f}", "", note))
        return rows

    def _memory(self) -> list[Row]:
        if self.memory is None:
            return []
        m = self.memory
        note = f"private; {m.pss_kb / 1024:.1f} MB with its share of common pages, {m.page_tables_kb} kB of page tables"
        return [("memory of an idle parked child", f"{m.private_kb / 1024:.1f} MB", "", note)]

    def _machine(self) -> str:
        m = self.machine
        docker = f"Docker {m.docker}" if m.docker else "no Docker"
        return f"{m.cores} cores of {m.cpu}, Linux {m.kernel}, Python {m.python}, {docker}, load {m.load_before:.1f}"


def judge(measurements: Mapping[str, Timing], rates: Mapping[str, Rate]) -> tuple[Target, ...]:
    """Hold what was measured against what is promised."""

    def ratio(above: str, below: str) -> float | None:
        if above not in measurements or below not in measurements:
            return None
        return measurements[above].median_ms / measurements[below].median_ms

    def best(peer: str) -> float | None:
        return max((r.per_second for name, r in rates.items() if name.startswith(f"{peer}_")), default=None)

    ours, theirs = best("native"), best("docker")
    jobs = ours / theirs if ours is not None and theirs is not None else None
    quant = "with the quant imports"
    return (
        _target(
            "parked_vs_plain", f"parked child against plain python {quant}", ratio("plain_quant", "parked_trivial"), 250
        ),
        _target(
            "parked_vs_docker", f"parked child against docker run {quant}", ratio("docker_quant", "parked_trivial"), 400
        ),
        _target(
            "on_demand_vs_docker",
            f"fork on demand against docker run {quant}",
            ratio("docker_quant", "on_demand_trivial"),
            50,
        ),
        _target("jobs_vs_docker", "jobs per second against docker run, best of each", jobs, 100),
        _target(
            "workload_inside_vs_outside",
            "time of a 0.5 s workload, inside against outside",
            ratio("workload_inside", "workload_outside"),
            1.05,
            "at most",
        ),
    )


def ratio_target(
    measurements: Mapping[str, Timing], name: str, meaning: str, above: str, below: str, target: float
) -> Target:
    """A promise that one thing takes so many times as long as another."""
    return _target(name, meaning, measurements[above].median_ms / measurements[below].median_ms, target)


def _target(name: str, meaning: str, value: float | None, target: float, bound: Bound = "at least") -> Target:
    met = None if value is None else (value >= target if bound == "at least" else value <= target)
    return Target(name=name, meaning=meaning, value=value, bound=bound, target=target, met=met)


def _record(value: Timing | Rate | ParkedMemory | Target | Machine) -> dict[str, Json]:
    plain = {f.name: getattr(value, f.name) for f in fields(value)}
    return {name: round(item, 4) if isinstance(item, float) else item for name, item in plain.items()}


def _times(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.0f} ×" if value >= 10 else f"{value:.3f} ×"


def _verdict(target: Target) -> str:
    if target.met is None:
        return "not measured"
    return "met" if target.met else "missed"
