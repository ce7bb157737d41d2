"""The verb: what a strategy did wrong is a Run with its reason, and the same run is the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.base.errors import DataError, DraftError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import PRESETS, Cancel, Limits
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Costs, FillRules
from ringfence.verbs.backtest import Request, backtest

from tests.verbs.judged import HEAD, STRATEGY_SANDBOX, judge, leaving, on_each_bar, sample, total_return

CROSS = (
    "import numpy as np\nimport pandas as pd\nfrom ringfence import Strategy, param\n\n"
    "class Cross(Strategy):\n"
    "    fast = 10\n"
    "    slow = param(30, 20, 200)\n"
    "    def init(self):\n"
    "        mean = lambda c, n: pd.Series(c).rolling(n).mean()\n"
    "        self.a = self.I(mean, self.data.close, self.fast)\n"
    "        self.b = self.I(mean, self.data.close, self.slow)\n"
    "    def next(self):\n"
    "        if self.a > self.b and not self.position: self.buy(reason='crossed')\n"
    "        elif self.a < self.b and self.position: self.position.close()\n"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def test_the_same_run_is_the_same_bytes(sandbox: Sandbox) -> None:
    first = judge(sandbox, CROSS)
    with open_sandbox(STRATEGY_SANDBOX) as another:
        again = judge(another, CROSS)
    assert json.dumps(first.to_json()) == json.dumps(again.to_json())
    assert (first.verdict, first.provenance, first.lookahead.status) == ("traded", "verified", "clean")


def test_dice_fall_alike_for_the_same_seed(sandbox: Sandbox) -> None:
    text = on_each_bar("import random", "if random.random() < 0.02: self.buy(size=1)")
    first, again, other = (judge(sandbox, text, seed=seed) for seed in (1, 1, 2))
    assert json.dumps(first.to_json()) == json.dumps(again.to_json())
    assert first.fills != other.fills and first.run_id != other.run_id


def test_another_seed_parameter_rule_or_history_is_another_run(sandbox: Sandbox) -> None:
    asked: list[dict[str, object]] = [
        {},
        {"seed": 1},
        {"parameters": {"slow": 40}},
        {"rules": FillRules(cash=5_000.0)},
        {"bars": sample("GOOG", end="2012-01-01")},
    ]
    runs = [judge(sandbox, CROSS, lookahead=False, **more) for more in asked]  # type: ignore[arg-type]
    assert len({run.run_id for run in runs}) == len(runs)
    assert runs[2].draft.parameters == {"fast": 10, "slow": 40}


def test_a_parameter_reaches_the_strategy(sandbox: Sandbox) -> None:
    text = HEAD + (
        "class P(Strategy):\n    n = 5\n    def next(self):\n        if len(self.data) == 50: self.buy(size=self.n)\n"
    )
    assert judge(sandbox, text, lookahead=False).fills[0].qty == 5
    assert judge(sandbox, text, lookahead=False, parameters={"n": 7}).fills[0].qty == 7


def test_an_unknown_parameter_is_named(sandbox: Sandbox) -> None:
    run = judge(sandbox, CROSS, parameters={"slwo": 5})
    assert run.verdict == "failed" and "no parameter 'slwo'" in run.reason


def test_fees_and_slippage_cost_what_they_say(sandbox: Sandbox) -> None:
    text = on_each_bar("if len(self.data) == 50: self.buy(size=10)", "if len(self.data) == 60: self.position.close()")
    opens = sample("GOOG").candles["GOOG"].open
    bought, sold = float(opens[50]), float(opens[60])
    free = judge(sandbox, text, lookahead=False, rules=FillRules(costs=Costs(percent=0.0, slippage_bps=0.0)))
    assert [fill.price for fill in free.fills] == [bought, sold]
    assert total_return(free) == pytest.approx(10 * (sold - bought) / 100_000, abs=1e-12)
    dear = judge(sandbox, text, lookahead=False, rules=FillRules(costs=Costs(percent=0.01, slippage_bps=50.0)))
    assert [fill.price for fill in dear.fills] == pytest.approx([bought * 1.005, sold * 0.995])
    assert [fill.fee for fill in dear.fills] == pytest.approx([bought * 1.005 * 0.1, sold * 0.995 * 0.1])


def test_indicators_are_ready_on_the_first_tradable_bar_and_nothing_is_traded_before(sandbox: Sandbox) -> None:
    bars = sample("GOOG", start="2010-01-01")
    assert bars.tradable_from is not None and bars.start < bars.tradable_from
    text = HEAD + (
        "import pandas as pd\n"
        "class W(Strategy):\n"
        "    def init(self): self.x = self.I(lambda c: pd.Series(c).rolling(200).mean(), self.data.close)\n"
        "    def next(self):\n"
        "        if not self.position: self.buy(reason=str(self.x[-1]))\n"
    )
    run = judge(sandbox, text, bars)
    assert (run.verdict, run.provenance, run.lookahead.status) == ("traded", "verified", "clean")
    timeline = bars.timeline()
    tradable = timeline[timeline >= bars.tradable_from]
    assert run.orders[0].time == tradable[0], "decided on the first tradable bar"
    assert run.fills[0].time == tradable[1]
    closes = bars.candles["GOOG"].close
    first = int(np.searchsorted(timeline, bars.tradable_from))
    assert float(run.orders[0].reason) == pytest.approx(closes[first - 199 : first + 1].mean())
    assert run.equity is not None and run.equity.time[0] == tradable[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "no class is a strategy"),
        (
            HEAD + "class A(Strategy):\n    def next(self): pass\nclass B(Strategy):\n    def next(self): pass\n",
            "--class A",
        ),
        (HEAD + "class A(Strategy):\n    def next(self) pass\n", "line 5"),
    ],
)
def test_a_text_that_cannot_be_run_is_refused_before_it_is(text: str, said: str) -> None:
    with pytest.raises(DraftError, match=said):
        read_draft(text, name="x")


FAILURES = {
    "an exception on a bar": (
        on_each_bar("if len(self.data) == 732: 1 / 0"),
        "ZeroDivisionError: division by zero at line 9, on bar 731 (2007-07-17T00:00:00Z)",
    ),
    "an exception in init": (
        on_each_bar("pass", init="raise RuntimeError('no')"),
        "RuntimeError: no at line 6",
    ),
    "an exception in the indicator": (
        on_each_bar("pass", init="self.I(lambda c: c / {}, self.data.close)"),
        "TypeError: unsupported operand type(s) for /: 'float' and 'dict' at line 6",
    ),
    "an indicator of the wrong length": (
        on_each_bar("pass", init="self.I(lambda c: c[1:], self.data.close)"),
        "OrderError: indicator",
    ),
    "a missing module": (
        "import nowhere_to_be_found\n" + on_each_bar("pass"),
        "ModuleNotFoundError: No module named 'nowhere_to_be_found' at line 1",
    ),
    "a slip in a column's name": (
        on_each_bar("if len(self.data) == 3: self.data.colse"),
        "AttributeError: 'Data' object has no attribute 'colse' (did you mean 'close'?) at line 9, on bar 2",
    ),
    "a habit from pandas": (
        on_each_bar("self.data.close.rolling(5)"),
        "'Series' object has no attribute 'rolling' (write series[-20:])",
    ),
    "a habit from pandas, with places": (on_each_bar("self.data.close.iloc[-1]"), "(write series[-1])"),
    "a slip in a method's name": (on_each_bar("self.position.clsoe()"), "did you mean 'close'?"),
    "a size in place of the symbol": (on_each_bar("self.buy(5)"), "a size is size=5"),
    "a price in place of a fraction": (on_each_bar("self.buy(sl=95)"), "write sl=0.05 for 5 %"),
    "another instrument": (on_each_bar("self.buy('GOGO')"), "did you mean 'GOOG'?"),
    "leaving": (
        on_each_bar("import sys", "if len(self.data) == 5: sys.exit()"),
        "it left by sys.exit on bar 4 (2004-08-25T00:00:00Z)",
    ),
    "leaving with a code": (
        on_each_bar("import sys", "if len(self.data) == 5: sys.exit(3)"),
        "ended itself with exit code 3 on bar 4 (2004-08-25T00:00:00Z)",
    ),
    "leaving in init": (on_each_bar("pass", init="raise SystemExit"), "it left by sys.exit before the first bar"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_and_where(sandbox: Sandbox, name: str) -> None:
    text, said = FAILURES[name]
    run = judge(sandbox, text)
    assert (run.verdict, run.provenance, run.metrics) == ("failed", "claimed", None)
    assert said in run.reason
    assert "on bar" not in run.reason or "on bar" in said or run.outcome.failing is not None
    json.dumps(run.to_json(), allow_nan=False)


def test_a_failure_in_init_names_no_bar_where_there_is_history_before_it(sandbox: Sandbox) -> None:
    run = judge(sandbox, on_each_bar("pass", init="raise RuntimeError('no')"), sample("GOOG", start="2010-01-01"))
    assert run.reason == "RuntimeError: no at line 6"
    assert run.outcome.failing is not None and run.outcome.failing.bar is None


def test_a_failure_on_a_bar_is_there_in_fields(sandbox: Sandbox) -> None:
    failing = judge(sandbox, FAILURES["an exception on a bar"][0]).outcome.failing
    assert failing is not None
    assert (failing.type, failing.line, failing.bar) == ("ZeroDivisionError", 9, 731)
    assert failing.time == sample("GOOG").timeline()[731] and "1 / 0" in failing.traceback


def quick(**changes: float) -> Limits:
    return replace(PRESETS["backtest"], **changes)  # type: ignore[arg-type]


LIMITED = {
    "timeout": ("while True: pass", quick(wall_seconds=1.0)),
    "memory_limit": ("x = bytearray(1 << 30)\n        x[::4096] = b'x' * (1 << 18)", quick(memory_mb=256)),
    "output_limit": ("print('x' * 1_000_000)", quick(output_bytes=1 << 20, wall_seconds=20)),
}


@pytest.mark.parametrize("verdict", LIMITED)
def test_a_limit_that_is_hit_is_the_verdict(sandbox: Sandbox, verdict: str) -> None:
    line, limits = LIMITED[verdict]
    run = judge(sandbox, on_each_bar(line), limits=limits)
    # Without a control group memory is refused, and what the program makes of that is an error.
    assert run.verdict == verdict or (verdict == "memory_limit" and "MemoryError" in run.reason)
    assert run.reason and run.metrics is None and run.provenance == "claimed"


def test_a_run_that_is_cancelled_says_so(sandbox: Sandbox) -> None:
    cancel = Cancel()
    cancel.set()
    try:
        request = Request(draft=read_draft(CROSS, name="x"), bars=sample("GOOG"), cancel=cancel)
        finished = backtest(request, sandbox=sandbox)
        assert finished.run.verdict == "cancelled" and finished.cut_short
    finally:
        cancel.close()


def test_a_check_that_is_cancelled_leaves_nothing_to_keep(sandbox: Sandbox) -> None:
    cancel = Cancel()
    request = Request(draft=read_draft(CROSS, name="x"), bars=sample("GOOG"), cancel=cancel, secret="secret")
    finished = backtest(request, sandbox=leaving(sandbox, cancel, during=2))
    assert (finished.run.verdict, finished.run.lookahead.status) == ("traded", "not_checked") and finished.cut_short
    assert not backtest(replace(request, cancel=None), sandbox=sandbox).cut_short


def test_a_strategy_needs_data(sandbox: Sandbox) -> None:
    with pytest.raises(DataError, match="--data sample:GOOG"):
        backtest(Request(draft=read_draft(CROSS, name="x")), sandbox=sandbox)


def test_one_bar_is_too_little(sandbox: Sandbox) -> None:
    bars = sample("GOOG")
    one = replace(bars, candles={"GOOG": bars.candles["GOOG"].slice(0, 1)})
    with pytest.raises(DataError, match="one bar"):
        judge(sandbox, CROSS, one)


def test_two_bars_are_enough_to_buy(sandbox: Sandbox) -> None:
    bars = sample("GOOG")
    two = replace(bars, candles={"GOOG": bars.candles["GOOG"].slice(0, 2)})
    run = judge(sandbox, HEAD + "class A(Strategy):\n    def on_start(self): self.buy(size=1)\n", two)
    assert (run.verdict, run.provenance) == ("traded", "verified")


def test_an_order_that_cannot_be_filled_is_rejected_with_its_reason(sandbox: Sandbox) -> None:
    run = judge(sandbox, on_each_bar("if len(self.data) in (50, 60): self.buy(size=1_000_000)"), lookahead=False)
    assert (run.verdict, run.provenance) == ("no_trades", "verified")
    assert {order.status for order in run.orders} == {"rejected"}
    assert any("need" in warning and "can be spent" in warning for warning in run.warnings)
    assert any("can be spent" in line for line in run.guidance)


MONTHLY = (
    "month = self.data.now.month",
    "if month == self.month: return",
    "self.month = month",
    "known = [s for s in self.data.symbols if len(self.data[s]) > 20]",
    "ranked = sorted(known, key=lambda s: self.data[s].close[-1] / self.data[s].close[-20])",
    "self.rebalance({s: 0.9 / len(ranked[-1:]) for s in ranked[-1:]}, reason='monthly')",
)


def uneven() -> Bars:
    """Two instruments: one with holes, that begins later; stamps that only one of them has."""
    both = sample("GOOG", "AAPL", end="2009-01-01")
    goog, aapl = both.candles["GOOG"], both.candles["AAPL"]
    first = int(np.searchsorted(aapl.time, goog.time[300]))
    keep = np.array([i for i in range(first, len(aapl)) if i % 9])
    thin = Candles(*(getattr(aapl, name)[keep] for name in ("time", "open", "high", "low", "close", "volume")))
    return replace(both, candles={"GOOG": goog, "AAPL": thin})


def test_several_instruments_with_holes_are_traded_replayed_and_checked(sandbox: Sandbox) -> None:
    bars = uneven()
    run = judge(sandbox, on_each_bar(*MONTHLY, init="self.month = 0"), bars)
    assert (run.verdict, run.provenance, run.lookahead.status) == ("traded", "verified", "clean"), run.lookahead
    assert {fill.symbol for fill in run.fills} == {"GOOG", "AAPL"}
    stamps = {symbol: set(candles.time.tolist()) for symbol, candles in bars}
    assert all(fill.time in stamps[fill.symbol] for fill in run.fills), "a fill needs a bar of its own instrument"
    assert run.bars is not None and run.bars.symbols == ("GOOG", "AAPL")
    assert json.dumps(judge(sandbox, on_each_bar(*MONTHLY, init="self.month = 0"), bars).to_json()) == json.dumps(
        run.to_json()
    )


def test_prices_that_never_were_are_called_so(sandbox: Sandbox) -> None:
    run = judge(sandbox, CROSS, replace(sample("GOOG"), synthetic=True), lookahead=False)
    assert run.bars is not None and run.bars.synthetic
    assert any("SYNTHETIC" in warning for warning in run.warnings)
