"""A strategy whose bars come one at a time, over the cells of a session. The future is not in this process at all."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import cast

from ringfence.guest import program
from ringfence.guest.backtest import Task, claim_of, libraries, load_strategy, read_rules
from ringfence.trade.feed import FeedEngine, Row
from ringfence.trade.intents import write_log
from ringfence.trade.series import explain

_MOST_INDICATORS = 24


class Stream:
    """What the cells of the session share; see ringfence.verbs.backtest.streamed for the other end."""

    def __init__(self, code: str, path: str, task: Mapping[str, object], head: Mapping[str, object]) -> None:
        order = cast(Task, task)
        module = types.ModuleType("strategy")
        strategy = load_strategy(code, path, module, order["class_name"])
        if hasattr(strategy, "arrays"):
            raise TypeError("a strategy of arrays decides for all bars at once and cannot be streamed: write next()")
        self._engine = FeedEngine(
            strategy,
            order["parameters"],
            read_rules(order["rules"]),
            symbols=cast("list[str]", head["symbols"]),
            timeframe=cast(str, head["timeframe"]),
            timezone=cast(str, head["timezone"]),
        )
        self._path = path
        self._failing: dict[str, object] | None = None
        self._told = 0

    def warm_up(self, now: int, moment: int, rows: list[list[float]]) -> None:
        self._engine.warm_up(now, moment, _rows(rows))

    def begin(self) -> None:
        self._guarded(self._engine.begin)

    def show(self, now: int, moment: int, rows: list[list[float]]) -> dict[str, object]:
        """`rows`: instrument, open, high, low, close, volume, whether its day is over. Returns what was asked for."""
        over = {int(row[0]): bool(row[6]) for row in rows}
        self._guarded(lambda: self._engine.show(now, moment, _rows(rows), over), now)
        log = self._engine.book.log
        asked, self._told = write_log(log[self._told :]), len(log)
        return asked

    def end(self) -> None:
        self._guarded(self._engine.end)

    def _guarded(self, action: Callable[[], None], bar: int | None = None) -> None:
        """Note where in the strategy's own text it failed: the cell's text, which Python names, is ours."""
        try:
            action()
        except BaseException as e:
            hint = explain(e) if isinstance(e, AttributeError) else None
            self._failing = {"bar": bar, "hint": hint, "line": program.line_of(e, self._path)}
            if isinstance(e, SystemExit):  # which would end a cell, and not the session
                raise RuntimeError("it left by sys.exit") from e
            raise

    def report(self) -> dict[str, object]:
        book = self._engine.book
        return {
            "log": None,  # the host has it, from what each bar was answered with
            "claim": claim_of(book),
            "start": max(self._engine.start, 0),
            "failing": self._failing,
            "indicators": [],
            "libraries": libraries(),
            "near": [],
        }


def _rows(rows: list[list[float]]) -> dict[int, Row]:
    return {int(row[0]): (row[1], row[2], row[3], row[4], row[5]) for row in rows}
