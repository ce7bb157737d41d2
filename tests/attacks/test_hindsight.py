"""Knowledge of the future that the engine did not hand out: from libraries, and from watching the check itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import open_sandbox
from ringfence.base.errors import DataError, DraftError
from ringfence.markets import load_bars
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Mount
from ringfence.trade.draft import read_draft
from ringfence.verbs.backtest import Request, backtest

from tests.trade.prices import make_bars, make_candles
from tests.verbs.judged import HEAD, STRATEGY_SANDBOX, judge, on_each_bar, sample

# Reads the mounted bars, trades only where tomorrow is known to pay, and behaves where it believes to have been cut.
ORACLE = (
    HEAD
    + """
from pathlib import Path

from ringfence.trade.arrow import read_bars


class Judged(Strategy):
    def init(self):
        candles = next(iter(read_bars(Path("/bars/bars.arrow")).candles.values()))
        self.opens, self.highs, self.lows = candles.open.tolist(), candles.high.tolist(), candles.low.tolist()

    def next(self):
        now = len(self.data) - 1
        last = len(self.opens) - 1
        if self.position:
            self.position.close()
        elif now == last:
            self.buy(sl=0.02, tp=0.01)
        elif self.highs[now + 1] > self.opens[now + 1] * 1.011 and self.lows[now + 1] > self.opens[now + 1] * 0.985:
            self.buy(sl=0.02, tp=0.01)
"""
)

SHIPPED = on_each_bar(
    "now = len(self.data) - 1",
    "if now + 2 < len(self.future) and self.future[now + 2] > self.future[now + 1] * 1.003: self.buy()",
    "else: self.position.close()",
    init="from bokeh.sampledata.stocks import GOOG\nself.future = GOOG['open']",
)


@pytest.fixture(scope="module")
def strategies() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        yield sandbox


@pytest.mark.parametrize("symbol", ["GOOG", "IBM", "MSFT", "NASDAQ"])
def test_a_strategy_that_guesses_the_cut_is_found_out(strategies: Sandbox, symbol: str) -> None:
    run = judge(strategies, ORACLE, sample(symbol))
    assert run.lookahead.status == "suspect", run.lookahead.reason


def test_the_prices_that_libraries_ship_are_not_inside(strategies: Sandbox) -> None:
    run = judge(strategies, SHIPPED)
    if run.verdict == "failed":
        assert "stocks.csv.gz" in run.reason
    else:  # a checkout under /tmp, where no mount can cover its libraries
        assert "guest's libraries" in run.lookahead.reason


def test_a_check_that_was_left_out_makes_another_run(strategies: Sandbox) -> None:
    text = on_each_bar("if len(self.data) % 40 == 0: self.buy(size=5)")
    draft, bars = read_draft(text, name="judged"), sample("GOOG", end="2005-06-01")
    request = Request(draft=draft, bars=bars)
    runs = [
        backtest(changed, sandbox=strategies).run
        for changed in (request, replace(request, lookahead=False), replace(request, streamed=True))
    ]
    assert [run.lookahead.status for run in runs] == ["clean", "not_checked", "clean"]
    assert len({run.run_id for run in runs}) == 3
    assert "guest's libraries" in runs[2].lookahead.reason


@pytest.mark.parametrize("streamed", [False, True])
def test_no_orders_are_taken_while_a_strategy_is_set_up(strategies: Sandbox, streamed: bool) -> None:
    draft = read_draft(on_each_bar("pass", init="self.buy(size=5)"), name="judged")
    bars = sample("GOOG", start="2005-03-01", end="2005-06-01")
    run = backtest(Request(draft=draft, bars=bars, streamed=streamed), sandbox=strategies).run
    assert run.verdict == "failed"
    assert "there is no bar yet" in run.reason


def test_another_file_at_the_same_place_is_another_run(tmp_path: Path, strategies: Sandbox) -> None:
    file = tmp_path / "prices.csv"
    ids = set()
    for content in ("one", "two"):
        file.write_text(content)
        run = judge(strategies, on_each_bar("pass"), make_bars(40), mounts=(Mount(file, "/prices.csv"),))
        ids.add(run.run_id)
    assert len(ids) == 2


def test_parameters_for_a_script_are_refused_and_not_forgotten(strategies: Sandbox) -> None:
    methods = "    def init(self): ...\n    def next(self): ...\n"
    text = f"from backtesting import Strategy\nclass S(Strategy):\n    n = 5\n{methods}"
    with pytest.raises(DraftError, match="--param"):
        judge(strategies, text, make_bars(40), parameters={"n": 6})


@pytest.mark.parametrize("factor", [1e-20, 1e20])
def test_absurd_prices_are_no_bars(factor: float) -> None:
    c = make_candles(10)
    with pytest.raises(DataError, match="absurd"):
        make_bars(A=type(c)(c.time, c.open * factor, c.high * factor, c.low * factor, c.close * factor, c.volume))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        with pytest.raises(DataError, match="no regular file"):
            load_bars([f"csv:{tmp_path / name}"])
