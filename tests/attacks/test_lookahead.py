"""Strategies that know the future, each in another way, and honest ones that only look as if they might."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Mount
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.run import Run

from tests.verbs.judged import HEAD, STRATEGY_SANDBOX, judge, on_each_bar, sample


@pytest.fixture(scope="module")
def strategies() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        yield sandbox


def follows(indicator: str, above: str = "self.x[-1] > self.data.close[-1]") -> str:
    """Long while the indicator says so."""
    return on_each_bar(
        f"good = {above}",
        "if good and not self.position: self.buy()",
        "elif not good and self.position: self.position.close()",
        init=indicator,
    )


PANDAS = "import pandas as pd\n"
READS_THE_FILE = (
    "import pyarrow as pa\n"
    "close = pa.ipc.open_file(pa.memory_map('/bars/bars.arrow')).get_batch(0).column('close').to_numpy()"
)
PEEKS = {
    "shift(-1)": follows(PANDAS + "self.x = self.I(lambda c: pd.Series(c).shift(-1).ffill(), self.data.close)"),
    "np.roll(-1)": follows("self.x = self.I(lambda c: np.roll(c, -1), self.data.close)"),
    "an array one on": follows("self.x = self.I(lambda c: np.append(c[1:], c[-1]), self.data.close)"),
    "centred mean": follows(
        PANDAS + "self.x = self.I(lambda c: pd.Series(c).rolling(11, center=True).mean(), self.data.close)"
    ),
    "convolution in the middle": follows(
        "self.x = self.I(lambda c: np.convolve(c, np.ones(9) / 9, 'same'), self.data.close)"
    ),
    "share of the whole maximum": follows(
        "self.x = self.I(lambda c: c / c.max(), self.data.close)", "self.x[-1] < 0.5"
    ),
    "distance from the whole mean": follows(
        "self.x = self.I(lambda c: (c - c.mean()) / c.std(), self.data.close)", "self.x[-1] < 0"
    ),
    "rank in the whole": follows(
        PANDAS + "self.x = self.I(lambda c: pd.Series(c).rank(pct=True), self.data.close)", "self.x[-1] < 0.4"
    ),
    "backfill": follows(
        PANDAS + "self.x = self.I(lambda c: pd.Series(c).rolling(200).mean().bfill(), self.data.close)"
    ),
    "line through all data": follows(
        "self.x = self.I(lambda c: np.polyval(np.polyfit(np.arange(len(c)), c, 1), np.arange(len(c))), self.data.close)"
    ),
    "this week's close": follows(
        PANDAS
        + "def week(c):\n"
        + "    s = pd.Series(c)\n"
        + "    return s.groupby(np.arange(len(c)) // 5).transform('last')\n"
        + "self.x = self.I(week, self.data.close)"
    ),
    "highs and lows by their later neighbours": follows(
        "def bottoms(c):\n"
        "    low = (c < np.roll(c, 1)) & (c < np.roll(c, -1))\n"
        "    return np.where(low, c * 2, c / 2)\n"
        "self.x = self.I(bottoms, self.data.close)"
    ),
    "reading the mounted file": on_each_bar(
        "t = len(self.data)",
        "good = t < len(self.all) and self.all[t] > self.all[t - 1]",
        "if good and not self.position: self.buy()",
        "elif not good and self.position: self.position.close()",
        init=f"{READS_THE_FILE}\nself.all = close.tolist()",
    ),
    "digging in frames": on_each_bar(
        "import sys",
        "frame = sys._getframe(1)",
        "while not hasattr(frame.f_locals.get('self'), 'tapes'): frame = frame.f_back",
        "closes, t = frame.f_locals['self'].tapes[0].close, len(self.data)",
        "good = t < len(closes) and closes[t] > closes[t - 1]",
        "if good and not self.position: self.buy()",
        "elif not good and self.position: self.position.close()",
    ),
    "digging in the heap": on_each_bar(
        "t = len(self.data)",
        "good = t < len(self.all) and self.all[t] > self.all[t - 1]",
        "if good and not self.position: self.buy()",
        "elif not good and self.position: self.position.close()",
        init=(
            "import gc\n"
            "from ringfence.trade.tape import Tape\n"
            "self.all = next(o for o in gc.get_objects() if isinstance(o, Tape)).close"
        ),
    ),
    "keeping what the indicator was given": on_each_bar(
        "t = len(self.data)",
        "good = t < len(self.all) and self.all[t] > self.all[t - 1]",
        "if good and not self.position: self.buy()",
        "elif not good and self.position: self.position.close()",
        init="def keep(c):\n    self.all = c\n    return c\nself.x = self.I(keep, self.data.close)",
    ),
    "selling before the data ends": on_each_bar(
        "if not self.position and self.left[-1] > 20: self.buy()",
        "if self.position and self.left[-1] < 10: self.position.close()",
        init="self.left = self.I(lambda c: np.arange(len(c))[::-1], self.data.close)",
    ),
    "leaving out what would lose": on_each_bar(
        "t = len(self.data)",
        "loses = t < len(self.all) and self.all[t] < self.all[t - 1]",
        "if t % 10 == 0 and not loses: self.buy(size=1)",
        "if t % 10 == 1: self.position.close()",
        init="def keep(c):\n    self.all = c\n    return c\nself.x = self.I(keep, self.data.close)",
    ),
    "one look in twenty": on_each_bar(
        "t = len(self.data)",
        "moves = t < len(self.all) and self.all[t] > 1.05 * self.all[t - 1]",
        "if moves or t % 20 == 0: self.buy(size=1)",
        init="def keep(c):\n    self.all = c\n    return c\nself.x = self.I(keep, self.data.close)",
    ),
}


@pytest.mark.parametrize("name", PEEKS)
def test_a_strategy_that_knows_the_future_is_suspect(strategies: Sandbox, name: str) -> None:
    run = judge(strategies, PEEKS[name])
    assert run.verdict == "traded", run.reason
    assert run.lookahead.status == "suspect", run.lookahead
    assert_evidence(run)


def assert_evidence(run: Run) -> None:
    """The evidence names a bar of the history and what was ordered on it, with and without the future."""
    moments = set(sample("GOOG").timeline().tolist())
    assert run.lookahead.evidence
    for evidence in run.lookahead.evidence:
        assert evidence.time in moments and evidence.cut in moments and evidence.time <= evidence.cut
        assert evidence.with_future != evidence.without_future
    words = {w for e in run.lookahead.evidence for w in (e.with_future.split()[0], e.without_future.split()[0])}
    assert words & {"buy", "close"}, run.lookahead.evidence


HONEST = {
    "mean": follows("self.x = self.I(lambda c: np.convolve(c, np.ones(20) / 20)[: len(c)], self.data.close)"),
    "rolling mean": follows(PANDAS + "self.x = self.I(lambda c: pd.Series(c).rolling(50).mean(), self.data.close)"),
    "exponential mean": follows(
        PANDAS + "self.x = self.I(lambda c: pd.Series(c).ewm(span=30).mean(), self.data.close)"
    ),
    "share of the highest so far": follows(
        "self.x = self.I(lambda c: c / np.maximum.accumulate(c), self.data.close)", "self.x[-1] > 0.9"
    ),
    "distance from the mean so far": follows(
        PANDAS
        + "def z(c):\n    s = pd.Series(c)\n    return (s - s.expanding(50).mean()) / s.expanding(50).std()\n"
        + "self.x = self.I(z, self.data.close)",
        "self.x[-1] < 1",
    ),
    "last week": follows("self.week = self.timeframe('1w')\nself.x = self.I(lambda c: c, self.week.close)"),
    "yesterday's high": follows(
        "self.x = self.I(lambda h: np.append(np.nan, h[:-1]), self.data.high)", "self.data.close[-1] > self.x[-1]"
    ),
    "momentum": follows("pass", "len(self.data) > 60 and self.data.close[-1] > self.data.close[-60]"),
    "line through the last sixty": on_each_bar(
        "if len(self.data) < 60: return",
        "slope = np.polyfit(np.arange(60), self.data.close[-60:], 1)[0]",
        "if slope > 0 and not self.position: self.buy(sl=0.08, tp=0.2)",
        "elif slope < 0 and self.position: self.position.close()",
    ),
    "channel": on_each_bar(
        "if len(self.data) < 21: return",
        "if not self.position and self.data.close[-1] > self.data.high[-21:-1].max(): self.buy(trail=0.1)",
        "elif self.position and self.data.close[-1] < self.data.low[-11:-1].min(): self.position.close()",
    ),
    "limits and stops": on_each_bar(
        "c = self.data.close[-1]",
        "for order in self.orders: self.cancel(order)",
        "if not self.position: self.buy(size=10, limit=c * 0.98, sl=0.05, tp=0.05)",
        "else: self.sell(size=5, stop=c * 0.97)",
    ),
    "both ways": on_each_bar(
        "up = len(self.data) > 30 and self.data.close[-1] > self.data.close[-30]",
        "if up and not self.position.is_long: self.buy(size=20)",
        "if not up and not self.position.is_short: self.sell(size=20)",
    ),
    "target weights": on_each_bar(
        "if len(self.data) % 21 == 0: self.order_target_percent(None, 0.3 + 0.1 * (len(self.data) % 5))"
    ),
    "moved stops": on_each_bar(
        "if not self.position and len(self.data) % 7 == 0: self.buy(size=10, sl=0.1)",
        "for lot in self.trades: lot.sl = max(lot.sl or 0.0, self.data.close[-1] * 0.9)",
    ),
    "days of the week": on_each_bar(
        "if self.data.now.weekday() == 0 and not self.position: self.buy()",
        "if self.data.now.weekday() == 4 and self.position: self.position.close()",
    ),
    "volume": on_each_bar(
        "if len(self.data) < 20: return",
        "busy = self.data.volume[-1] > 1.5 * self.data.volume[-20:].mean()",
        "if busy and not self.position: self.buy()",
        "elif self.position and self.position.bars_held > 5: self.position.close()",
    ),
    "dice": on_each_bar(
        "import random",
        "if random.random() < 0.05 and not self.position: self.buy()",
        "elif np.random.random() < 0.05 and self.position: self.position.close()",
    ),
    "dice with a seed": on_each_bar(
        "if self.rng.random() < 0.05: self.buy(size=1)", init="self.rng = np.random.default_rng(7)"
    ),
    "what it has left": on_each_bar(
        "if self.equity > 101_000 and self.position: self.position.close()",
        "elif not self.position and len(self.data) % 5 == 0: self.buy(size=0.5)",
    ),
    "closing when it is told of the end": HEAD
    + "class Judged(Strategy):\n"
    + "    def next(self):\n"
    + "        if len(self.data) == 100: self.buy()\n"
    + "    def on_end(self):\n"
    + "        self.position.close()\n",
    "buying at the start": HEAD
    + "class Judged(Strategy):\n"
    + "    def init(self): self.x = self.I(lambda c: np.convolve(c, np.ones(50) / 50)[: len(c)], self.data.close)\n"
    + "    def on_start(self): self.buy(size=10)\n"
    + "    def next(self): pass\n",
    "waiting for fills": HEAD
    + "class Judged(Strategy):\n"
    + "    def next(self):\n"
    + "        if len(self.data) % 30 == 0: self.buy(size=3, reason='thirty')\n"
    + "    def on_fill(self, fill):\n"
    + "        if fill.side == 'buy': self.sell(size=3, limit=float(fill.price) * 1.05)\n",
}


@pytest.mark.parametrize("number", range(len(HONEST)), ids=list(HONEST))
def test_an_honest_strategy_is_clean(strategies: Sandbox, number: int) -> None:
    """Each on one of three markets in turn."""
    run = judge(strategies, list(HONEST.values())[number], tail(("GOOG", "AAPL", "SP500")[number % 3]))
    assert run.verdict == "traded", run.reason
    assert (run.lookahead.status, run.provenance) == ("clean", "verified"), run.lookahead


def tail(symbol: str, rows: int = 1200) -> Bars:
    """The last years of a sample; the first of GOOG, so that an early cut is tried too."""
    bars = sample(symbol)
    candles = bars.candles[symbol]
    first = 0 if symbol == "GOOG" else max(0, len(candles) - rows)
    return replace(bars, candles={symbol: candles.slice(first, first + rows)})


UNSTEADY = {
    "numpy without a seed": on_each_bar(
        "if self.rng.random() < 0.3: self.buy(size=1)", init="self.rng = np.random.default_rng()"
    ),
    "the system's randomness": on_each_bar("import os", "if os.urandom(1)[0] < 80: self.buy(size=1)"),
    "a clock": on_each_bar("import time", "if time.perf_counter_ns() % 1000 < 300: self.buy(size=1)"),
}


@pytest.mark.parametrize("name", UNSTEADY)
def test_what_is_decided_by_chance_is_suspect_for_that(strategies: Sandbox, name: str) -> None:
    run = judge(strategies, UNSTEADY[name])
    assert run.lookahead.status == "suspect"
    assert "does not decide alike twice" in run.lookahead.reason
    assert [e.test for e in run.lookahead.evidence] == ["nondeterministic"]


def shifted(bars: Bars, first: int, missing: int) -> Candles:
    """The candles of the one instrument from `first` on, and without every `missing`th row."""
    (candles,) = bars.candles.values()
    keep = np.array([i for i in range(first, len(candles)) if i % missing])
    return Candles(*(getattr(candles, name)[keep] for name in ("time", "open", "high", "low", "close", "volume")))


def test_instruments_that_begin_on_different_days_are_no_reason_for_suspicion(strategies: Sandbox) -> None:
    goog, aapl = tail("GOOG", 900), sample("AAPL")
    start, end = goog.start, goog.end
    late = shifted(replace(aapl, candles={"AAPL": aapl.candles["AAPL"]}), 0, 7)
    rows = np.flatnonzero((late.time > start + (end - start) // 2) & (late.time <= end))
    both = replace(goog, candles={**goog.candles, "AAPL": late.slice(int(rows[0]), int(rows[-1]) + 1)})
    run = judge(
        strategies,
        on_each_bar(
            "if len(self.data) % 20 == 0: self.buy('GOOG', size=1)",
            "if len(self.data['AAPL']) > 5 and self.data['AAPL'].close[-1] > self.data['AAPL'].close[-5]:",
            "    if not self.position('AAPL'): self.buy('AAPL', size=2)",
            "elif self.position('AAPL'): self.position('AAPL').close()",
        ),
        both,
    )
    assert {trade.symbol for trade in run.trades} == {"GOOG", "AAPL"}
    assert (run.lookahead.status, run.provenance) == ("clean", "verified"), run.lookahead


def test_one_instrument_that_knows_the_other_s_future_is_suspect(strategies: Sandbox) -> None:
    both = sample("GOOG", "AAPL", start="2008-01-01", end="2010-01-01")
    text = on_each_bar(
        "ahead = self.x[-1] > self.data['AAPL'].close[-1]",
        "if ahead and not self.position('GOOG'): self.buy('GOOG', size=10)",
        "elif not ahead and self.position('GOOG'): self.position('GOOG').close()",
        init="self.x = self.I(lambda c: np.append(c[1:], c[-1]), self.data['AAPL'].close)",
    )
    assert judge(strategies, text, both).lookahead.status == "suspect"


def test_a_second_run_that_fails_is_evidence(strategies: Sandbox) -> None:
    text = on_each_bar("if len(self.data) % 50 == 0: self.buy(size=1)", init="self.x = self.I(len_of, self.data.close)")
    text = text.replace("class Judged", "def len_of(c):\n    assert len(c) == 2148\n    return c\n\nclass Judged")
    run = judge(strategies, text)
    assert run.lookahead.status == "suspect"
    assert any("it failed: AssertionError" in e.without_future for e in run.lookahead.evidence)


def test_the_check_says_what_it_cannot_see(strategies: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("mounted") / "prices.csv"
    file.write_text("1\n2\n")
    run = judge(strategies, HONEST["momentum"], mounts=(Mount(file, "/data/prices.csv"),))
    assert run.lookahead.status == "clean" and "mounted files" in run.lookahead.reason


def test_a_check_that_was_not_wanted_is_not_called_clean(strategies: Sandbox) -> None:
    run = judge(strategies, PEEKS["np.roll(-1)"], lookahead=False)
    assert (run.verdict, run.lookahead.status) == ("traded", "not_checked")
