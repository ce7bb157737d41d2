"""How far ahead, in bars: `30`, `30d`, `6w`, `3mo`, `1y`, and what that means on these prices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ringfence.base.errors import SettingsError
from ringfence.trade.bars import Bars
from ringfence.trade.times import SECOND, timeframe_ns
from ringfence.verbs.simulate.data import per_year, sessions_per_year
from ringfence.verbs.simulate.words import plural

Unit = Literal["bars", "minutes", "hours", "days", "calendar days", "weeks", "months", "quarters", "years"]
_SHORT: dict[str, Unit] = {
    "": "bars", "b": "bars", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "cd": "calendar days",
    "w": "weeks", "mo": "months", "q": "quarters", "y": "years",
}  # fmt: skip
_PER_YEAR: dict[Unit, float] = {"calendar days": 365.25, "weeks": 52, "months": 12, "quarters": 4, "years": 1}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)
MOST_BARS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    amount: float
    unit: Unit = "bars"

    @classmethod
    def parse(cls, text: str) -> Horizon:
        found = _WRITTEN.fullmatch(text)
        unit = _SHORT.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise SettingsError(f"horizon {text!r} is not understood: write 30 (bars), 30d, 6w, 3mo or 1y")
        return cls(amount=float(found[1]), unit=unit)

    def bars(self, bars: Bars, symbol: str) -> int:
        """A day is a session: `30 days` on an exchange are 30 days of trading, which is about six weeks."""
        if self.unit == "bars":
            exact = self.amount
        elif self.unit in ("minutes", "hours"):
            exact = self.amount * (60 if self.unit == "minutes" else 3600) * SECOND / timeframe_ns(bars.timeframe)
        elif self.unit == "days":
            exact = self.amount * per_year(bars, symbol) / sessions_per_year(bars)
        else:
            exact = self.amount * per_year(bars, symbol) / _PER_YEAR[self.unit]
        count = round(exact)
        if not 1 <= count <= MOST_BARS:
            raise SettingsError(
                f"a horizon of {self} is {exact:.3g} bars of {bars.timeframe}: choose one from 1 to {MOST_BARS:,} bars"
            )
        return count

    def years(self) -> float:
        """For options, which expire by the calendar: a day is a day of 365."""
        if self.unit == "bars":
            raise SettingsError("an option expires by the calendar and not in bars: write 30d, 6w, 3mo or 1y")
        days = {"minutes": 1 / 1440, "hours": 1 / 24, "days": 1.0, "calendar days": 1.0, "weeks": 7.0}
        if self.unit in days:
            return self.amount * days[self.unit] / 365
        return self.amount / _PER_YEAR[self.unit]

    def __str__(self) -> str:
        amount = f"{self.amount:g}"
        return f"{amount} {self.unit.removesuffix('s') if self.amount == 1 else self.unit}"


def told(horizon: Horizon, count: int, bars: Bars) -> str:
    """For the summary: what was asked for, and how many bars it was taken for."""
    length = f"{plural(count, 'bar')} of {bars.timeframe}"
    if horizon.unit == "bars":
        return length
    return f"{_trading(horizon, bars)}, taken as {length}"


def _trading(horizon: Horizon, bars: Bars) -> str:
    if horizon.unit != "days" or bars.calendar == "24/7":
        return str(horizon)
    return f"{horizon.amount:g} trading {'day' if horizon.amount == 1 else 'days'}"
