"""Returns by month and year as cells of a table, the stronger the colour the larger."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.trade.metrics import monthly_returns
from ringfence.trade.run import Curve
from ringfence.verbs.report.formats import MISSING, percent

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STEPS = (0.0025, 0.01, 0.025, 0.05, 0.10)  # of a month's return: where the next stronger colour begins
_YEAR_STEPS = (0.01, 0.05, 0.10, 0.20, 0.40)


@dataclass(frozen=True, slots=True)
class Cell:
    shown: str
    heat: str  # a class, from loss-5 over heat-0 to gain-5; empty for a month without data


@dataclass(frozen=True, slots=True, kw_only=True)
class Year:
    year: int
    months: tuple[Cell, ...]
    total: Cell
    benchmark: Cell


def monthly(equity: Curve, benchmark: Curve | None, timezone: str, initial_equity: float | None) -> list[Year]:
    """One row per calendar year that has bars."""
    found = _by_year(equity, timezone, initial_equity)
    other = _by_year(benchmark, timezone, initial_equity) if benchmark is not None else {}
    return [
        Year(
            year=year,
            months=tuple(
                _cell(year_months[month], _STEPS) if month in year_months else _EMPTY for month in range(1, 13)
            ),
            total=_cell(_compound(year_months), _YEAR_STEPS),
            benchmark=_cell(_compound(other[year]), _YEAR_STEPS) if year in other else _EMPTY,
        )
        for year, year_months in found.items()
    ]


_Months = dict[int, float | None]
_EMPTY = Cell("", "")


def _by_year(curve: Curve, timezone: str, initial_equity: float | None) -> dict[int, _Months]:
    years: dict[int, _Months] = {}
    for one in monthly_returns(curve.time, curve.value, timezone, initial_equity=initial_equity):
        years.setdefault(one.year, {})[one.month] = one.value
    return years


def _compound(months: _Months) -> float | None:
    total = 1.0
    for value in months.values():
        if value is None:  # nothing was left to earn on
            return None
        total *= 1.0 + value
    return total - 1.0


def _cell(value: float | None, steps: tuple[float, ...]) -> Cell:
    if value is None:
        return Cell(MISSING, "heat-0")
    level = sum(abs(value) >= step for step in steps)
    heat = f"{'gain' if value > 0 else 'loss'}-{level}" if level else "heat-0"
    return Cell(percent(value, signed=True, places=1), heat)
