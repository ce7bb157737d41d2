"""Strategies that forge their books, their report or their frame: the host's own numbers stand, or there are none."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import PRESETS
from ringfence.trade.run import FillRules, Run

from tests.verbs.judged import STRATEGY_SANDBOX, judge, on_each_bar, sample, total_return

LIMITS = replace(PRESETS["backtest"], wall_seconds=10.0)
TRADES = (
    "if len(self.data) % 50 == 0: self.buy(size=5)",
    "if len(self.data) % 50 == 20: self.position.close()",
)


@pytest.fixture(scope="module")
def strategies() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def honest(strategies: Sandbox) -> Run:
    """What TRADES are worth when nobody cheats."""
    run = judge(strategies, on_each_bar(*TRADES))
    assert (run.verdict, run.provenance, run.lookahead.status) == ("traded", "verified", "clean")
    return run


def carried(run: Run) -> str:
    """As it would be stored and printed."""
    text = json.dumps(run.to_json(), allow_nan=False)
    text.encode()
    json.loads(text)
    return text


BOOKS = {
    "cash in the book": on_each_bar(*TRADES, "self._book.cash = 1e9"),
    "cash at the end": on_each_bar(*TRADES) + "    def on_end(self): self._book.cash += 1e6\n",
    "Book.take": "from ringfence.trade.book import Book\nBook.take = lambda *a, **k: None\n" + on_each_bar(*TRADES),
    "Book.fee": "from ringfence.trade.book import Book\nBook.fee = lambda self, q, p: -1000.0\n" + on_each_bar(*TRADES),
    "Book.equity": "from ringfence.trade.book import Book\nBook.equity = lambda self: 1e9\n" + on_each_bar(*TRADES),
    "Book.give": (
        "from ringfence.trade.book import Book\nreal = Book.give\n"
        "Book.give = lambda self, o, q, p, r: real(self, o, q, p / 2, r)\n" + on_each_bar(*TRADES)
    ),
    "fills.worse": (
        "from ringfence.trade import fills\nfills.worse = lambda b, p, s: p * (1 - s * 0.05)\n" + on_each_bar(*TRADES)
    ),
    "fills nobody made": on_each_bar(*TRADES) + "    def on_end(self): self._book.fills.append(self._book.fills[0])\n",
    "the prices it is filled at": (
        "from ringfence.trade.book import Market\nreal = Market.show\n"
        "Market.show = lambda self, prices, **k: real(self, tuple(p / 2 for p in prices), **k)\n" + on_each_bar(*TRADES)
    ),
}


@pytest.mark.parametrize("name", BOOKS)
def test_forged_books_are_a_mismatch_and_the_numbers_are_the_host_s(
    strategies: Sandbox, honest: Run, name: str
) -> None:
    run = judge(strategies, BOOKS[name], lookahead=False, limits=LIMITS)
    assert (run.verdict, run.provenance) == ("traded", "mismatch")
    assert run.warnings[0].startswith("MISMATCH: inside, the ")
    assert run.metrics == honest.metrics and run.fills == honest.fills
    carried(run)


HARMLESS = {
    "metrics": "from ringfence.trade import metrics, results\nmetrics.measure = results.curves = None\n",
    "engine": "from ringfence.trade import engine, run\nengine.Engine = run.Run = None\n",
    "arrow": "from ringfence.trade import arrow\narrow.read_bars = None\n",
    "frames": "from ringfence.guest import wire\nwire.pack = lambda p: b''\n",
    "printed metrics": 'print(\'{"total_return": 99.0, "provenance": "verified", "sharpe": 12}\')\n',
    "a result of its own": "result = {'claim': {'cash': 1e9, 'equity': 1e9, 'fills': 3}}\nringfence_result(result)\n",
    "the clock": "import time\ntime.time = time.monotonic = lambda: 0.0\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_done_to_modules_in_the_guest_changes_nothing(strategies: Sandbox, honest: Run, name: str) -> None:
    run = judge(strategies, HARMLESS[name] + on_each_bar(*TRADES), lookahead=False, limits=LIMITS)
    assert run.provenance == "verified" or run.verdict == "failed"
    if run.verdict == "traded":
        assert (run.metrics, run.fills) == (honest.metrics, honest.fills)
    carried(run)


# The report as the driver makes it, for a strategy that did nothing and claims much.
REPORT = (
    "from ringfence.trade.intents import Intent, write_log\n"
    "report = {'log': write_log([]), 'claim': {'cash': 1e5, 'equity': 1e5, 'fills': 0}, 'start': 1, 'failing': None,"
    " 'indicators': [], 'libraries': {}, 'near': []}\n"
)
ONE_ORDER = "report['log'] = write_log([Intent(9, 'order', 0, 1, 10.0)])\n"
FORGED = {
    "profit without a fill": "report['claim'].update(cash=1e6, equity=1e6)",
    "other equity": "report['claim']['equity'] = 123456.0",
    "fills that were not": "report['claim']['fills'] = 5",
    "cash that is no number": "report['claim']['cash'] = float('nan')",
    "cash beyond all numbers": "report['claim']['cash'] = 10 ** 400",
    "cash as text": "report['claim']['cash'] = '1e9'",
    "cash as truth": "report['claim']['cash'] = True",
    "no claim": "del report['claim']",
    "no log": "del report['log']",
    "a lot that was never bought": "report['log'] = write_log([Intent(5, 'close', portion=1.0, ref=7)])",
    "a lot below zero": "report['log'] = write_log([Intent(5, 'close', portion=1.0, ref=-1)])",
    "an order never given": "report['log'] = write_log([Intent(5, 'cancel', ref=3)])",
    "guards of nothing": "report['log'] = write_log([Intent(5, 'amend')])",
    "a bar before the first": "report['log'] = write_log([Intent(-5, 'order', 0, 1, 10.0)])",
    "a bar after the last": "report['log'] = write_log([Intent(2148, 'order', 0, 1, 10.0)])",
    "bars without numbers": f"{ONE_ORDER}report['log']['columns']['now']['data'] = 'x'",
    "bars that are not all there": f"{ONE_ORDER}report['log']['rows'] = 2",
    "more orders than bytes": f"{ONE_ORDER}report['log']['rows'] = 50_000",
    "bars out of order": "report['log'] = write_log([Intent(9, 'order', 0, 1, 10.0), Intent(5, 'order', 0, 1, 10.0)])",
    "another instrument": "report['log'] = write_log([Intent(9, 'order', 1, 1, 10.0)])",
    "an instrument below zero": "report['log'] = write_log([Intent(9, 'order', -1, 1, 10.0)])",
    "a quantity of another type": f"{ONE_ORDER}report['log']['columns']['quantity']['type'] = 'q'",
    "a word that is none": "report['log'] = write_log([Intent(9, 'steal', 0, 1, 10.0)])",
    "a list as a word": f"{ONE_ORDER}report['log']['columns']['action']['words'] = [['order']]",
    "rows, not columns": "report['log'] = [[9, 'order', 0, 1, 10.0]]",
    "a column that no order has": f"{ONE_ORDER}report['log']['columns']['stolen'] = {{}}",
    "too many rows": "report['log'] = write_log([Intent(9, 'order')] * 200_000)",
    "too much for the host": (
        "report['log'] = write_log([Intent(1, 'order', 0, 1, 1.0, kind='limit', limit=0.01)] * 40_000)"
    ),
    "too many at once": "report['log'] = write_log([Intent(1, 'order', 0, 1, 1.0)] * 40_000)",
    "sixteen megabytes of text": "report['log'] = ['x' * 16_000_000]",
    "too many lists": "report['log'] = [[]] * 300_000",
    "a bar of failure that never was": "report['failing'] = {'bar': 10 ** 9, 'hint': None}",
    "libraries without end": "report['libraries'] = {str(i): 'x' for i in range(10_000)}",
    "lines from another time": (
        "from ringfence.trade.packed import pack_table\n"
        "points = pack_table(2, {'time': ('whole', [2 ** 61, 5]), 'value': ('real', [1.0, 2.0])})\n"
        "report['indicators'] = [{'name': 'x', 'market': 0, 'points': points}]"
    ),
    "lines without points": "report['indicators'] = [{'name': 'x', 'market': 0, 'time': [1], 'value': []}]",
    "a report that is a list": "report = [1, 2]",
    "a report that is text": "report = 'verified'",
    "no report": "report = None",
    "depth": "for _ in range(500): report = [report]",
    "what is not Unicode": "report['libraries'] = {'\\ud800': 'x'}",
}


def forging(change: str) -> str:
    """Honest on every bar, and then it hands over another report in the last moment."""
    late = "import atexit\natexit.register(lambda: ringfence_result(report))\n"
    return REPORT + change + "\n" + late + on_each_bar(*TRADES)


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_report_is_never_verified(strategies: Sandbox, name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = judge(strategies, forging(FORGED[name]), lookahead=False, limits=LIMITS)
    assert run.provenance == "mismatch" or run.verdict == "failed", run.reason
    assert run.provenance != "verified"
    if run.metrics is not None:
        assert total_return(run) == 0.0
    carried(run)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20, "the host took a gigabyte for it"


def test_a_forged_report_that_is_consistent_is_replayed_for_what_it_says(strategies: Sandbox) -> None:
    """Orders nobody decided, and a claim that fits them: the numbers are right, and the look-ahead is seen."""
    text = (
        REPORT.replace("report =", "import numpy as np\nreport =")
        + "from ringfence.trade.arrow import read_bars\n"
        + "from ringfence.trade.replay import replay\n"
        + "from ringfence.trade.run import FillRules\n"
        + "from pathlib import Path\n"
        + "bars = read_bars(Path('/bars/bars.arrow'))\n"
        + "close = bars.candles['GOOG'].close\n"
        + "low, high = int(np.argmin(close)), int(np.argmax(close))\n"
        + "low, high = min(low, high), max(low, high)\n"
        + "log = [Intent(low, 'order', 0, 1, fraction=0.99), Intent(high, 'close', 0, portion=1.0)]\n"
        + "book = replay(bars, log, FillRules())\n"
        + "report['log'] = write_log(log)\n"
        + "report['claim'] = {'cash': book.cash, 'equity': book.equity(), 'fills': len(book.fills)}\n"
    )
    run = judge(
        strategies, text + "import atexit\natexit.register(lambda: ringfence_result(report))\n" + on_each_bar("pass")
    )
    assert (run.verdict, run.provenance, len(run.fills)) == ("traded", "verified", 2)
    assert run.lookahead.status == "suspect"


FRAME = """
import json, os
REPORT
frame = json.dumps({'v': 1, 'end': 'ok', 'result': report, 'error': None, 'exit_code': 0}).encode()
frame = len(frame).to_bytes(4, 'big') + frame
def forge():
    for fd in range(3, 64):
        try:
            os.write(fd, frame)
        except OSError:
            pass
"""


@pytest.mark.parametrize("end", ["os._exit(0)", "os._exit(7)", "raise SystemExit", "pass"])
def test_a_frame_of_its_own_is_never_verified(strategies: Sandbox, end: str) -> None:
    claim = "report['claim'].update(cash=1e6, equity=1e6)\n"
    frame = FRAME.replace("REPORT", REPORT + claim)
    run = judge(
        strategies, frame + on_each_bar(f"if len(self.data) == 90: forge(); {end}"), lookahead=False, limits=LIMITS
    )
    assert run.provenance != "verified"
    assert run.metrics is None or total_return(run) == 0.0
    carried(run)


ENDS = {
    "SystemExit": "raise SystemExit",
    "SystemExit with a code": "raise SystemExit(3)",
    "os._exit": "import os; os._exit(0)",
    "a signal": "import os; os.kill(os.getpid(), 9)",
    "an exec": "import os; os.execv('/bin/true', ['true'])",
    "closed descriptors": "import os; os.closerange(3, 64)",
    "a fork that goes on": "import os; os.fork()",
}


@pytest.mark.parametrize("name", ENDS)
def test_leaving_in_the_middle_is_no_result(strategies: Sandbox, name: str) -> None:
    run = judge(strategies, on_each_bar("if len(self.data) == 732: " + ENDS[name]), lookahead=False, limits=LIMITS)
    assert run.verdict == "failed" or (name == "a fork that goes on" and run.verdict == "no_trades"), run.reason
    assert (run.reason and run.metrics is None) or run.verdict == "no_trades"
    carried(run)


PRICES = {
    "a stop above the market": "self.buy(size=5, sl_price=1e6)",
    "a stop below it, sold short": "self.sell(size=5, sl_price=0.01)",
    "a target below the market": "self.buy(size=5, tp_price=0.01)",
    "a target above it, sold short": "self.sell(size=5, tp_price=1e6)",
    "a limit at any price": "self.buy(size=5, limit=1e9)",
    "a sale at any price": "self.sell(size=5, limit=0.01)",
    "a stop far below": "self.buy(size=5, stop=0.01)",
    "both far off": "self.buy(size=5, stop=0.01, limit=1e9)",
    "a stop next to the price": "self.position or self.buy(size=5, sl_price=self.data.close[-1] * 0.99999)",
    "a short stop next to the price": "self.position or self.sell(size=5, sl_price=self.data.close[-1] * 1.00001)",
    "a guard moved above": "self.position or self.buy(size=5)\n        for lot in self.trades: lot.sl = 1e6",
    "a target moved below": "self.position or self.buy(size=5)\n        for lot in self.trades: lot.tp = 0.01",
    "a trail of nothing": "self.position or self.buy(size=5, trail=1e-12)",
    "a huge target weight": "self.order_target_percent(None, 1e5)",
    "a huge short weight": "self.order_target_percent(None, -1e5)",
    "all at once": "self.buy(size=0.9999999)",
    "crumbs": "self.buy(size=1e-9)",
}


@pytest.mark.parametrize("name", PRICES)
def test_no_order_is_filled_outside_of_its_bar(strategies: Sandbox, name: str) -> None:
    """Through the front door: whatever prices an order names, the market has to have been there."""
    rules = FillRules(costs=replace(FillRules().costs, percent=0.0, slippage_bps=0.0), fractional=True)
    run = judge(strategies, on_each_bar(PRICES[name]), lookahead=False, rules=rules, limits=LIMITS)
    candles = sample("GOOG").candles["GOOG"]
    row = {int(t): i for i, t in enumerate(candles.time)}
    for fill in run.fills:
        at = row[fill.time]
        assert candles.low[at] - 1e-9 <= fill.price <= candles.high[at] + 1e-9, fill
    assert run.provenance == "verified" and run.equity is not None
    assert run.equity.value.min() > -1e-6 or run.verdict == "traded"


def test_the_host_gives_up_in_time(strategies: Sandbox) -> None:
    """Work for hours in a log that cost the guest nothing."""
    text = forging("report['log'] = write_log([Intent(1, 'order', 0, 1, 1.0, kind='limit', limit=0.01)] * 50_000)")
    began = time.monotonic()
    run = judge(strategies, text, lookahead=False, limits=LIMITS)
    assert "more than can be followed" in run.reason and run.provenance == "mismatch"
    assert time.monotonic() - began < 60


def test_a_class_that_is_no_text(strategies: Sandbox) -> None:
    """The class of the text is gone when the text has run."""
    run = judge(strategies, on_each_bar(*TRADES) + "\nJudged = 5\n", lookahead=False)
    assert run.verdict == "failed" and "is no strategy class" in run.reason
