"""The driver of our own strategies, run here without a fence: what it reports of a run."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from ringfence.guest import backtest, values
from ringfence.guest.program import ResultBox
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.claim import Claim, read_claim
from ringfence.trade.run import FillRules
from ringfence.trade.times import DAY

Drive = Callable[..., Claim]
HEAD = "import numpy as np\nfrom ringfence.trade.strategy import Strategy\n"


def walk(rows: int, seed: int) -> Candles:
    close = 100 * np.exp(np.cumsum(np.random.default_rng(seed).normal(0, 0.02, rows)))
    return Candles(np.arange(rows, dtype=np.int64) * DAY, close, close * 1.01, close * 0.99, close, np.ones(rows))


BARS = Bars(candles={"X": walk(100, 1), "Y": walk(100, 2)}, timeframe="1d", source="made")


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    file = tmp_path / "bars.arrow"
    write_bars(BARS, file)

    def call(code: str, error: type[BaseException] | None = None, **task: object) -> Claim:
        given = {
            "bars": str(file), "class_name": "S", "parameters": {}, "rules": asdict(FillRules()), "probe": False,
            "indicators": True, "on_end": True,
        }  # fmt: skip
        box = ResultBox()
        run = backtest.make(given | task)
        if error is None:
            run(code, "s.py", types.ModuleType("__main__"), box)
        else:
            with pytest.raises(error):
                run(code, "s.py", types.ModuleType("__main__"), box)
        return read_claim(json.loads(values.encode(box.value, max_bytes=64 << 20)), BARS)

    return call


def strategy(next_: str = "pass", init: str = "pass", more: str = "") -> str:
    methods = f"    def init(self):\n        {init}\n    def next(self):\n        {next_}\n{more}"
    return f"{HEAD}class S(Strategy):\n    n = 3\n{methods}"


def test_the_log_and_what_it_came_to_are_reported(drive: Drive) -> None:
    claim = drive(strategy("if len(self.data) == 10: self.buy('Y', size=self.n)"), parameters={"n": 4})
    (intent,) = claim.log
    assert (intent.now, intent.market, intent.sign, intent.quantity) == (9, 1, 1, 4.0)
    assert claim.ended and claim.fills == 1 and claim.cash < 100_000


def test_indicators_are_sent_when_they_are_wanted(drive: Drive) -> None:
    text = strategy(init="self.x = self.I(lambda c: np.where(c > 0, c, np.inf), self.data.close, name='same')")
    assert drive(text).indicators["X same"].value.tolist() == BARS.candles["X"].close.tolist()
    assert drive(text, indicators=False).indicators == {}


def test_a_failure_is_reported_with_its_bar_and_what_was_done_before(drive: Drive) -> None:
    text = strategy("self.buy(size=1) if len(self.data) < 20 else 1 / 0")
    claim = drive(text, ZeroDivisionError)
    assert not claim.ended and claim.failing_bar == 19 and len(claim.log) == 18


def test_a_failure_in_init_has_no_bar(drive: Drive) -> None:
    claim = drive(strategy(init="1 / 0"), ZeroDivisionError)
    assert not claim.ended and claim.failing_bar is None


def test_leaving_is_reported_as_not_having_ended(drive: Drive) -> None:
    claim = drive(strategy("if len(self.data) == 5: raise SystemExit"), SystemExit)
    assert not claim.ended and claim.failing_bar == 4


def test_an_attribute_that_is_not_there_comes_with_what_was_meant(drive: Drive) -> None:
    assert drive(strategy("self.data.clsoe"), AttributeError).hint == "did you mean 'close'?"


def test_the_end_is_told_or_kept(drive: Drive) -> None:
    text = strategy(more="    def on_end(self): self.buy(size=1)\n")
    assert [intent.now for intent in drive(text).log] == [99]
    assert drive(text, on_end=False).log == ()


def test_notes_are_taken_when_they_are_wanted(drive: Drive) -> None:
    text = strategy("self.data.close[-1] > 1e6")
    assert drive(text).near == ()
    (row,) = drive(text, probe=True).near
    best = int(np.argmax(BARS.candles["X"].close[1:])) + 1
    assert (row.seen, row.true, row.bar, row.left) == (99, 0, best, float(BARS.candles["X"].close[best]))


def test_a_class_that_is_none_is_refused() -> None:
    for text in ("S = 5\n", "class S: pass\n", ""):
        with pytest.raises(TypeError, match="is no strategy class"):
            backtest.load_strategy(text, "s.py", types.ModuleType("__main__"), "S")


def test_versions_are_those_installed() -> None:
    assert backtest.libraries()["numpy"] == np.__version__
