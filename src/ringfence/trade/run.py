"""A Run: one Draft on one Bars with one parameter set, and everything that is known of it.

Its JSON form is the one shape for the command line, the store, the API and the page. Nothing in it depends on the
clock or the machine: the same Draft, Bars, parameters, engine and seed give the same bytes. What a run cost is kept
beside it, in `Usage` of the Outcome and in the store.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal

from ringfence.trade.bars import Floats, Ints
from ringfence.trade.metrics import Metrics
from ringfence.trade.orders import Trade
from ringfence.trade.times import iso, iso_all

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Dialect = Literal["native", "signals", "backtesting.py"]
Provenance = Literal["verified", "claimed", "mismatch"]
LookaheadStatus = Literal["clean", "suspect", "not_checked"]

MOST_POINTS = 50_000  # of a curve in JSON; a longer one is thinned, and a warning says so


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRef:
    name: str
    sha256: str
    dialect: Dialect
    class_name: str | None
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsRef:
    sha256: str
    symbols: tuple[str, ...]
    timeframe: str
    start: str
    end: str
    rows: int
    source: str
    synthetic: bool
    adjusted: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Fees are charged on each fill: `percent` of its value plus `per_share`, at least `minimum`."""

    percent: float = 0.001
    per_share: float = 0.0
    minimum: float = 0.0
    slippage_bps: float = 2.0  # against you, on market and stop orders
    spread_bps: float = 0.0  # between bid and ask: half of it against you, on market and stop orders


@dataclass(frozen=True, slots=True, kw_only=True)
class FillRules:
    """Decisions on bar t fill from bar t+1 on; these say the rest, and are part of every Run."""

    cash: float = 100_000.0
    margin: float = 1.0  # of a position's value that must be covered: 0.5 doubles the buying power
    shorting: bool = True
    fractional: bool = False
    both_in_one_bar: Literal["stop_first", "target_first"] = "stop_first"
    close_at_end: bool = False
    costs: Costs = field(default_factory=Costs)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRef:
    version: str
    rules: FillRules | None  # None for a script that runs its own engine
    fed: Literal["history", "stream"]  # whether the guest had all bars at once, or one after another
    libraries: Mapping[str, str]  # versions in the guest


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """One order as the host saw it through: what was asked for, when, and what became of it."""

    id: int
    time: int  # of the bar on which it was decided
    symbol: str
    side: Literal["buy", "sell"]
    order_type: str
    qty: float | None  # None while an order for a share of the equity has not met its price
    limit_price: float | None
    stop_price: float | None
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FillRow:
    order_id: int
    time: int
    symbol: str
    side: Literal["buy", "sell"]
    qty: float
    price: float
    fee: float
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A value per moment: the equity, an indicator, buy & hold."""

    time: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A decision that changed when the future was taken away."""

    time: int  # of the bar on which it was taken
    test: Literal["truncated", "perturbed", "nondeterministic"]
    cut: int  # the last bar that the second run was given unchanged
    with_future: str  # what was ordered, in words
    without_future: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookahead:
    status: LookaheadStatus
    reason: str
    cuts: int = 0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """Where the strategy's own code raised."""

    type: str
    message: str
    line: int | None
    bar: int | None  # counted from 0 over the whole timeline
    time: int | None
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRef:
    """What of the sandbox's Outcome does not change from one execution to the next."""

    status: str
    reason: str
    failing: Failing | None
    stdout: str
    stderr: str
    backend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    draft: DraftRef
    bars: BarsRef | None  # None for a script that brought its own data
    engine: EngineRef
    seed: int
    verdict: str  # traded | no_trades | failed | truncated | needs_data | not_a_strategy | timeout | memory_limit | …
    reason: str
    metrics: Metrics | None
    trades: tuple[Trade, ...]
    fills: tuple[FillRow, ...]
    orders: tuple[OrderRow, ...]
    equity: Curve | None
    indicators: Mapping[str, Curve]
    benchmark: Curve | None  # buy & hold of the same instruments with the same cash
    statistics: Mapping[str, Json] | None  # a script's own, under the library's names
    warnings: tuple[str, ...]
    healed: tuple[str, ...]
    guidance: tuple[str, ...]  # what to try when nothing was traded
    provenance: Provenance
    lookahead: Lookahead
    outcome: OutcomeRef
    mounts: Mapping[str, str] = field(default_factory=dict)  # what a script was given to read: place and hash

    @property
    def run_id(self) -> str:
        """Known by what went in, so that a repeated run is the same run."""
        asked = {name: plain(getattr(self, name)) for name in ("draft", "bars", "engine", "seed", "mounts")}
        # A run that was not asked about the future is another one: it must not take the place of one that was.
        asked["checked"] = self.lookahead.status != "not_checked"
        if self.metrics is not None and self.metrics.trials > 1:  # nor may the only one replace the best of many
            asked["trials"] = self.metrics.trials
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Json]:
        return {"run_id": self.run_id, **{f.name: plain(getattr(self, f.name)) for f in fields(self)}}


def plain(value: object, name: str = "") -> Json:
    """As JSON values: moments are ISO text, a float that is no number is null, `class_name` is spelled `class`."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return iso(value) if name in _MOMENTS else value
    if isinstance(value, Curve):
        return _points(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, EngineRef):
        return _engine(value)
    if is_dataclass(value):
        return {_SPELLED.get(f.name, f.name): plain(getattr(value, f.name), f.name) for f in fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be part of a Run")


_MOMENTS = frozenset({"time", "cut", "entry_time", "exit_time"})
_SPELLED = {"class_name": "class"}


def _engine(engine: EngineRef) -> dict[str, Json]:
    """`costs` and `fills` side by side, as those who read the document look for them."""
    rules = plain(engine.rules)
    fills = dict(rules) if isinstance(rules, dict) else None
    costs = fills.pop("costs") if fills is not None else None
    return {
        "version": engine.version,
        "costs": costs,
        "fills": fills,
        "fed": engine.fed,
        "libraries": plain(engine.libraries),
    }


def _points(curve: Curve) -> list[Json]:
    step = -(-len(curve) // MOST_POINTS) or 1
    picked = list(range(0, len(curve), step))
    if picked and picked[-1] != len(curve) - 1:
        picked.append(len(curve) - 1)
    times, values = iso_all(curve.time[picked]), curve.value[picked].tolist()
    return [{"time": time, "value": value if math.isfinite(value) else None} for time, value in zip(times, values)]
