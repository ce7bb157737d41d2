"""Whether two engines did the same trades: a faster answer is worth nothing if it is another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ringfence.trade.bars import Floats
from ringfence.verbs.bench.backtest_sides import Trade

Rule = Literal["exact", "decisions", "bars", "count"]

RULES: dict[Rule, str] = {
    "exact": "bars, prices and sizes of all trades",
    "decisions": "bars of all decisions, and its fills at their closes, where it fills",
    "bars": "bars of all entries and exits: on the bar of an exit it takes a target before the open",
    "count": "nothing but the number: its RSI begins with other values",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """`equal` is None where the rules of the two differ so far that nothing can be asked."""

    ours: str
    peer: str
    strategy: str
    bars: int
    trades: int
    peer_trades: int
    compared: str
    equal: bool | None
    first_difference: str | None


def agree(
    ours: str,
    peer: str,
    strategy: str,
    rule: Rule,
    mine: Sequence[Trade],
    theirs: Sequence[Trade],
    close: Floats,
) -> Agreement:
    found = None if rule == "count" else _difference(rule, mine, theirs, close)
    return Agreement(
        ours=ours,
        peer=peer,
        strategy=strategy,
        bars=len(close),
        trades=len(mine),
        peer_trades=len(theirs),
        compared=RULES[rule],
        equal=None if rule == "count" else found is None,
        first_difference=found,
    )


def _difference(rule: Rule, mine: Sequence[Trade], theirs: Sequence[Trade], close: Floats) -> str | None:
    if rule == "decisions":
        # An order on the very last bar is filled there at once, and with us never.
        theirs = [trade for trade in theirs if trade[2] < len(close)]
        mine = [(a, float(close[int(a) - 1]), b, float(close[int(b) - 1]), size) for a, _, b, _, size in mine]
    columns: Callable[[Trade], tuple[float, ...]] = {
        "exact": lambda trade: trade,
        "decisions": lambda trade: trade[:4],
        "bars": lambda trade: (trade[0], trade[2]),
    }[rule]
    for number, (one, other) in enumerate(zip(mine, theirs), 1):
        if not all(math.isclose(x, y, rel_tol=1e-9) for x, y in zip(columns(one), columns(other))):
            return f"trade {number} is {one} with us and {other} there"
    return None if len(mine) == len(theirs) else f"{len(mine)} trades with us and {len(theirs)} there"
