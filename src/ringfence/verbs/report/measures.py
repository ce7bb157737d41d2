"""The metrics as grouped rows: what each is called and what it means comes from the metrics themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ringfence.trade.metrics import METRIC_HINTS
from ringfence.trade.run import Json
from ringfence.verbs.report import formats
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.reading import Table, number, text

_Shown = tuple[str, str]  # text and the class that colours it


def _gain(value: float | None) -> _Shown:
    return formats.percent(value, signed=True), formats.tone(value)


def _share(value: float | None) -> _Shown:
    return formats.percent(value, places=1), ""


def _ratio(value: float | None) -> _Shown:
    return formats.plain_number(value), ""


def _money(value: float | None) -> _Shown:
    return formats.money(value), ""


def _days(value: float | None) -> _Shown:
    return formats.duration(value), ""


def _count(value: float | None) -> _Shown:
    return formats.count(value), ""


def _tenths(value: float | None) -> _Shown:
    return formats.plain_number(value, 1), ""


_Style = Callable[[float | None], _Shown]
GROUPS: Mapping[str, Mapping[str, _Style | None]] = {
    "Return": {
        "total_return": _gain,
        "cagr": _gain,
        "buy_and_hold": _gain,
        "alpha": _gain,
        "beta": _ratio,
        "initial_equity": _money,
        "final_equity": _money,
        "peak_equity": _money,
    },
    "Risk": {
        "volatility": _share,
        "max_drawdown": _gain,
        "average_drawdown": _gain,
        "max_drawdown_days": _days,
        "value_at_risk_95": _gain,
        "expected_shortfall_95": _gain,
        "exposure": _share,
        "ruined_at": None,
    },
    "Return for the risk": {
        "sharpe": _ratio,
        "sortino": _ratio,
        "calmar": _ratio,
        "probabilistic_sharpe": _share,
        "deflated_sharpe": _share,
        "trials": _count,
    },
    "Trades": {
        "trades": _count,
        "open_trades": _count,
        "win_rate": _share,
        "profit_factor": _ratio,
        "expectancy": _money,
        "best_trade": _gain,
        "worst_trade": _gain,
        "average_trade": _gain,
        "average_bars_held": _tenths,
        "sqn": _ratio,
        "kelly": _share,
        "turnover": _ratio,
        "fees": _money,
    },
    "Period": {
        "start": None,
        "end": None,
        "bars": _count,
        "years": _tenths,
        "bars_per_year": _tenths,
    },
}
# Side by side on a wide page: columns of about the same height.
_COLUMNS = (("Return", "Period"), ("Risk", "Return for the risk"), ("Trades",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    label: str
    shown: str
    tone: str
    hint: str


def grouped(metrics: Table) -> list[dict[str, list[Measure]]]:
    """The columns of the page, each with its groups."""
    if not metrics:
        return []
    return [{group: _members(group, metrics) for group in column} for column in _COLUMNS]


def _members(group: str, metrics: Table) -> list[Measure]:
    return [
        _measure(name, metrics[name], style) for name, style in GROUPS[group].items() if _worth_telling(name, metrics)
    ]


def _worth_telling(name: str, metrics: Table) -> bool:
    return name in metrics and not (name == "ruined_at" and metrics[name] is None)


def _measure(name: str, value: Json, style: _Style | None) -> Measure:
    hint = METRIC_HINTS[name]
    shown, tone = (inert(text(value))[:10], "") if style is None else style(number(value))
    return Measure(label=hint.label, shown=shown, tone=tone, hint=hint.hint)


def own_statistics(statistics: Table) -> list[tuple[str, str]]:
    """A script's own numbers under its own names; what starts with an underscore is the library's inside."""
    return [(inert(name), formats.whatever(value)) for name, value in statistics.items() if not name.startswith("_")]
