"""What the backtest benchmark found, as a value: JSON for programs, rows for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from ringfence.sandbox.job import Json
from ringfence.verbs.bench.backtest_agree import Agreement
from ringfence.verbs.bench.report import Bound, Machine, Target

Row = tuple[str, str, str, str]  # what, least, median, note

STRATEGIES = ("s1", "s2")
SMALL, MIDDLE, LARGE = 2_520, 100_000, 1_000_000  # bars: ten years of days, and what promises are made of

# What each side is, in the order people read them.
SIDES: Mapping[str, str] = {
    "ringfence": "ringfence",
    "ringfence_loop": "ringfence, the loop alone",
    "backtesting_py": "backtesting.py",
    "nautilus_trader": "nautilus_trader",
    "ringfence_arrays": "ringfence, signal arrays",
    "vectorbt": "vectorbt, signal arrays",
    "outside": "ringfence in a plain process",
    "inside": "ringfence inside the fence",
}


class Case(NamedTuple):
    side: str
    strategy: str
    bars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """CPU seconds of one process. Neighbours only ever add to them, so the least is what is compared."""

    least_seconds: float
    median_seconds: float
    rounds: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Measured:
        return cls(least_seconds=min(seconds), median_seconds=statistics.median(seconds), rounds=len(seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestBench:
    quick: bool  # small and once: a first look, in which no promise is judged
    engines: Mapping[str, str]  # versions of what was measured
    measurements: Mapping[Case, Measured]
    agreement: tuple[Agreement, ...]
    targets: tuple[Target, ...]
    machine: Machine
    absent: Mapping[str, str]  # what could not be measured -> why, and how to get it
    seconds: float

    @property
    def all_met(self) -> bool:
        """Whether every promise was measured and kept, and no two engines disagree."""
        return all(t.met for t in self.targets) and all(a.equal is not False for a in self.agreement)

    @property
    def flatness(self) -> Mapping[str, float]:
        """Bars per second of our engine at its best number of bars, over those at its worst."""
        rates = {
            strategy: [
                c.bars / m.least_seconds for c, m in self.measurements.items() if c[:2] == ("ringfence", strategy)
            ]
            for strategy in STRATEGIES
        }
        return {strategy: max(found) / min(found) for strategy, found in rates.items() if found}

    def to_json(self) -> dict[str, Json]:
        return {
            "quick": self.quick,
            "engines": dict(self.engines),
            "measurements": [
                {**case._asdict(), **_record(m), "bars_per_second": round(case.bars / m.least_seconds)}
                for case, m in self.measurements.items()
            ],
            "flatness": {strategy: round(ratio, 4) for strategy, ratio in self.flatness.items()},
            "agreement": [_record(a) for a in self.agreement],
            "targets": [_record(t) for t in self.targets],
            "machine": {**_record(self.machine), "isolation": dict(self.machine.isolation)},
            "absent": dict(self.absent),
            "seconds": round(self.seconds, 1),
        }

    def rows(self) -> list[Row]:
        """The same for people: first the promises, then what they were computed from."""
        m = self.machine
        here = f"{m.cores} cores of {m.cpu}, Linux {m.kernel}, Python {m.python}, load {m.load_before:.1f}"
        versions = ", ".join(f"{name} {version}" for name, version in self.engines.items())
        return [
            *((t.meaning, _times(t.value), "", f"{t.bound} {_times(t.target)}: {_verdict(t)}") for t in self.targets),
            *(_measured_row(case, measured) for case, measured in self.measurements.items()),
            *(
                (f"bars per second, {strategy}, best over worst", f"{ratio:.2f} ×", "", "over all numbers of bars")
                for strategy, ratio in self.flatness.items()
            ),
            *map(_agreement_row, self.agreement),
            *((SIDES[name], "absent", "", why) for name, why in self.absent.items()),
            ("engines", "", "", versions),
            ("machine", "", "", here),
            *([("a quick look", "", "", "small and once: no promise was judged")] if self.quick else []),
        ]


def judge(measurements: Mapping[Case, Measured], agreement: Sequence[Agreement]) -> tuple[Target, ...]:
    """Hold what was measured against what is promised. An engine that trades otherwise was not outrun."""

    def least(side: str, strategy: str, bars: int) -> float | None:
        found = measurements.get(Case(side, strategy, bars))
        return None if found is None else found.least_seconds

    def target(
        name: str, meaning: str, above: Case, below: Case, bound: Bound, promised: float, scale: float = 1.0
    ) -> Target:
        over, under = least(*above), least(*below)
        value = None if over is None or under is None else over / under * scale
        met = None if value is None else (value >= promised if bound == "at least" else value <= promised)
        compared = {above.side, below.side}
        if met and any(
            a.equal is False and {a.ours, a.peer} == compared and a.strategy == above.strategy for a in agreement
        ):
            met = False
        return Target(name=name, meaning=meaning, value=value, bound=bound, target=promised, met=met)

    made = []
    for s in STRATEGIES:
        run, big = Case("ringfence", s, MIDDLE), Case("ringfence", s, LARGE)
        made += [
            target(
                f"{s}_vs_backtesting_py", f"{s}, {MIDDLE:,} bars, against backtesting.py",
                Case("backtesting_py", s, MIDDLE), run, "at least", 10,
            ),
            target(
                f"{s}_vs_nautilus_trader", f"{s}, {MIDDLE:,} bars, against nautilus_trader",
                Case("nautilus_trader", s, MIDDLE), run, "at least", 40,
            ),
            target(
                f"{s}_arrays_vs_vectorbt", f"{s} as arrays, {LARGE:,} bars, against vectorbt",
                Case("vectorbt", s, LARGE), Case("ringfence_arrays", s, LARGE), "at least", 1,
            ),
            target(
                f"{s}_flat", f"{s}, time of a bar of {LARGE:,} against one of {MIDDLE:,}",
                big, run, "at most", 1.5, MIDDLE / LARGE,
            ),
            target(
                f"{s}_inside_vs_outside", f"{s}, {MIDDLE:,} bars, inside the fence against outside",
                Case("inside", s, MIDDLE), Case("outside", s, MIDDLE), "at most", 1.05,
            ),
        ]  # fmt: skip
    return tuple(made)


def _record(value: Measured | Agreement | Target | Machine) -> dict[str, Json]:
    plain = {f.name: getattr(value, f.name) for f in fields(value)}
    return {name: round(item, 6) if isinstance(item, float) else item for name, item in plain.items()}


def _measured_row(case: Case, measured: Measured) -> Row:
    what = f"{SIDES[case.side]}, {case.strategy}, {case.bars:,} bars"
    rate = f"{case.bars / measured.least_seconds:,.0f} bars per second"
    return what, _ms(measured.least_seconds), _ms(measured.median_seconds), rate


def _agreement_row(a: Agreement) -> Row:
    what = f"{SIDES[a.ours]} and {SIDES[a.peer]}, {a.strategy}, {a.bars:,} bars"
    said = {True: "agree", False: "DISAGREE", None: "not comparable"}[a.equal]
    counts = f"{a.trades:,} trades" if a.trades == a.peer_trades else f"{a.trades:,} and {a.peer_trades:,} trades"
    return (
        what,
        said,
        "",
        f"{counts}; compared: {a.compared}" + (f"; {a.first_difference}" if a.first_difference else ""),
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def _times(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.1f} ×" if value >= 10 else f"{value:.3f} ×"


def _verdict(target: Target) -> str:
    if target.met is None:
        return "not measured"
    return "met" if target.met else "missed"
