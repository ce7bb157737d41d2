"""Numbers as a reader wants them: a real minus sign, thousands apart, a dash for what is not known."""

from __future__ import annotations

import math

from ringfence.trade.run import Json
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.reading import number

MISSING = "–"
_THIN = "\N{NARROW NO-BREAK SPACE}"


def percent(value: float | None, *, signed: bool = False, places: int = 2) -> str:
    """A fraction as percent; one above a hundredfold needs no decimals."""
    if value is None:
        return MISSING
    places = 0 if abs(value) >= 100 else min(places, 1) if abs(value) >= 10 else places
    return _minus(f"{value * 100:{'+' if signed and round(value * 100, places) else ''},.{places}f}") + "%"


def money(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return MISSING
    places = 0 if abs(value) >= 100_000 else 2
    return _minus(f"{value:{'+' if signed and round(value, places) else ''},.{places}f}")


def plain_number(value: float | None, places: int = 2) -> str:
    if value is None:
        return MISSING
    return _minus(f"{value:,.{places}f}")


def count(value: float | None) -> str:
    return MISSING if value is None else _minus(f"{value:,.0f}")


def quantity(value: float | None) -> str:
    """Whole shares without decimals, others with those that matter."""
    if value is None:
        return MISSING
    return count(value) if value == int(value) else _minus(f"{value:,.6g}")


def duration(days: float | None) -> str:
    """Days, and what they come to in months or years once that says more."""
    if days is None:
        return MISSING
    if days < 1:
        return f"{days * 24:,.1f}{_THIN}hours"
    told = f"{days:,.0f}{_THIN}{'day' if round(days) == 1 else 'days'}"
    if days >= 730:
        return f"{told} ({days / 365.25:.1f}{_THIN}years)"
    return f"{told} ({days / 30.44:.0f}{_THIN}months)" if days >= 75 else told


def whatever(value: Json) -> str:
    """A value of unknown meaning: a parameter, or a script's own statistic."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return inert(value)
    found = number(value)
    if found is None:
        return inert(str(value))
    if isinstance(value, int) or (found == int(found) and abs(found) < 1e15):
        return count(found)
    if abs(found) >= 1000:
        return plain_number(found)
    places = max(2, 3 - math.floor(math.log10(abs(found)))) if abs(found) >= 1e-9 else 2
    told = f"{found:.{places}f}".rstrip("0")
    return _minus(told + "0" if told.endswith(".") else told)


def tone(value: float | None) -> str:
    """The class by which gains and losses are coloured."""
    return "" if not value else "gain" if value > 0 else "loss"


def _minus(told: str) -> str:
    digits = told.replace("-", "\N{MINUS SIGN}")
    return digits if any(c in "123456789" for c in digits) else digits.lstrip("\N{MINUS SIGN}")
