"""A description as a readable native strategy: what a person would have written for it."""

from __future__ import annotations

from ringfence.trade.description.code.names import Names
from ringfence.trade.description.code.portfolios import (
    allocation_code,
    choice_code,
    levelled_code,
    pair_code,
    rotation_code,
)
from ringfence.trade.description.code.program import Program
from ringfence.trade.description.code.rules import signals_code
from ringfence.trade.description.echo import echo
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import Allocation, Choice, Cross, Description, Levelled, Pair, Rotation, Signals
from ringfence.trade.parameters import Parameter

_TITLES = {"sma": "Average", "ema": "Average", "wma": "Average", "highest": "Breakout", "lowest": "Breakdown",
           "donchian": "Breakout", "volume_average": "Volume", "parabolic_sar": "Sar", "williams_r": "Williams",
           "session_vwap": "Vwap", "macd": "Macd", "rsi": "Rsi"}  # fmt: skip


def to_code(description: Description) -> str:
    """The program. Every number in the description is one of its parameters, under a name that says what it is."""
    return _written(description)[0]


def parameters(description: Description) -> tuple[Parameter, ...]:
    """The parameters of the program with the ranges in which a search may look."""
    return tuple(_written(description)[1].parameters.values())


def _written(description: Description) -> tuple[str, Names]:
    plan = description.plan
    many = description.every or len(description.symbols) > 1 or not isinstance(plan, Signals)
    names = Names(many=many and not isinstance(plan, (Pair, Levelled)))
    program = Program(says=echo(description), names=names, symbols=description.symbols, every=description.every)
    if isinstance(plan, Allocation):
        return allocation_code(description, program), names
    if isinstance(plan, Rotation):
        return rotation_code(description, program), names
    if isinstance(plan, Pair):
        return pair_code(description, program), names
    if isinstance(plan, Choice):
        return choice_code(description, program), names
    if isinstance(plan, Levelled):
        return levelled_code(description, program), names
    program.class_name = _class_name(plan)
    return signals_code(description, program), names


def _class_name(plan: Signals) -> str:
    if plan.adds:
        return "SavingsPlan"
    first = next(
        (line.name for line in lines_of(plan.entries) if line.name not in ("open", "high", "low", "close", "volume")),
        "",
    )
    title = _TITLES.get(first, first.title().replace("_", "")) if first else "Price"
    return f"{title}{'Cross' if isinstance(plan.entries[0].when, Cross) else 'Rule'}"
