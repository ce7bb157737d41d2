"""Do again, on the host and without the strategy, what a log says was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from ringfence.base.errors import OrderError
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book
from ringfence.trade.engine import Engine
from ringfence.trade.intents import Intent
from ringfence.trade.lots import Lot
from ringfence.trade.run import FillRules
from ringfence.trade.strategy import Strategy


class _Logged(Strategy):
    """A strategy that decides nothing: on each bar it asks for what the log says."""

    def __init__(self, log: Sequence[Intent], bars: int, most_work: float) -> None:
        self._log, self._at = log, 0
        self._bars, self._work_left = bars, most_work

    def on_start(self) -> None:
        self.next()

    def next(self) -> None:
        log, now = self._log, self._book.now
        if self._at >= len(log) or log[self._at].now > now:
            return
        while self._at < len(log) and log[self._at].now <= now:
            self._at += 1
            self._do(log[self._at - 1])
        self._pay(log[self._at].now - now if self._at < len(log) else self._bars - now)

    def _pay(self, bars: int) -> None:
        """Reckon what the orders and lots there are will cost at most on the next so many bars.

        The log is the guest's, which may have spent no time at all on it: it must not keep the host busy for hours.
        """
        waiting = sum(len(market.orders) for market in self._book.markets)
        lots = sum(len(market.holding) for market in self._book.markets)
        self._work_left -= waiting * (bars + (waiting + lots) / 10) + lots * bars / 5
        if self._work_left < 0:
            raise OrderError(f"{waiting:,} orders waiting and {lots:,} lots held at once are more than can be followed")

    def _do(self, intent: Intent) -> None:
        book = self._book
        if intent.action == "order":
            book.submit(intent)
        elif intent.action == "close":
            lot = None if intent.ref is None else self._lot(intent.ref)
            book.close(book.markets[intent.market], float(intent.portion or 0), lot=lot, reason=intent.reason)
        elif intent.action == "cancel":
            if intent.ref is None or not 0 <= intent.ref < len(book.orders):
                raise OrderError(f"the log cancels order {intent.ref}, which was never given")
            book.cancel(book.orders[intent.ref])
        else:
            lot = self._lot(-1 if intent.ref is None else intent.ref)
            book.amend(lot, intent.sl, intent.tp, intent.trail_pct)

    def _lot(self, number: int) -> Lot:
        if not 0 <= number < len(self._book.lots):
            raise OrderError(f"the log speaks of lot {number}, which was never bought")
        return self._book.lots[number]


def replay(bars: Bars, log: Sequence[Intent], rules: FillRules, *, most_work: float = 3e8) -> Book:
    """The Book as it stands after the last bar; OrderError where the log speaks of what never was.

    A unit of `most_work` is an order that waits for one bar, which takes about a microsecond.
    """
    engine = Engine(bars, _Logged(log, len(bars.timeline()), most_work), {}, rules)
    engine.play()
    return engine.book
