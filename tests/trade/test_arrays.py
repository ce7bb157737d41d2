"""Strategies of arrays: the compiled walk and the Book are held to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import OrderError
from ringfence.trade import arrays as arrays_module
from ringfence.trade.arrays import ArrayEngine, Arrays, walk
from ringfence.trade.bars import Bars
from ringfence.trade.engine import Engine
from ringfence.trade.replay import replay
from ringfence.trade.results import curves
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.strategy import Strategy

from tests.trade.prices import make_bars, make_candles

FREE = FillRules(costs=Costs(percent=0, slippage_bps=0))


class BarByBar(Strategy):
    """The same decisions, one bar at a time, through the Book."""

    def __init__(self, signals: Arrays) -> None:
        self.signals = signals

    def next(self) -> None:
        now, wanted = self._book.now, self.signals
        guards = {"sl": wanted.sl or None, "tp": wanted.tp or None}
        if not self.position:
            if np.asarray(wanted.entries)[now]:
                self.buy(size=wanted.size, **guards)  # type: ignore[arg-type]
            elif wanted.short_entries is not None and np.asarray(wanted.short_entries)[now]:
                self.sell(size=wanted.size, **guards)  # type: ignore[arg-type]
        elif np.asarray(wanted.exits if self.position.is_long else wanted.short_exits)[now]:
            self.position.close()


def signals_of(seed: int, rows: int, **changes: float) -> Arrays:
    rng = np.random.default_rng(seed)
    masks = [rng.random(rows) < chance for chance in (0.1, 0.08, 0.05, 0.1)]
    names = ("entries", "exits", "short_entries", "short_exits")
    return Arrays(**dict(zip(names, masks)), **changes)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    guards=st.sampled_from([(0.0, 0.0), (0.03, 0.0), (0.0, 0.05), (0.02, 0.04)]),
    percent=st.sampled_from([0.0, 0.001]),
    minimum=st.sampled_from([0.0, 5.0]),
    slippage=st.sampled_from([0.0, 3.0]),
    fractional=st.booleans(),
    first=st.sampled_from(["stop_first", "target_first"]),
    size=st.sampled_from([1 - 2**-52, 0.5]),
)
def test_the_walk_does_what_the_book_does(
    seed: int,
    guards: tuple[float, float],
    percent: float,
    minimum: float,
    slippage: float,
    fractional: bool,
    first: str,
    size: float,
) -> None:
    bars = make_bars(250, seed)
    signals = signals_of(seed, 250, sl=guards[0], tp=guards[1], size=size)
    rules = FillRules(
        fractional=fractional,
        both_in_one_bar=first,  # type: ignore[arg-type]
        costs=Costs(percent=percent, minimum=minimum, slippage_bps=slippage),
    )
    engine = Engine(bars, BarByBar(signals), {}, rules)
    engine.play()
    walked = walk(bars.candles["ABC"], signals, rules, engine.start)
    book = engine.book
    assert walked.log(signals) == book.log
    assert [(f.now, f.quantity, f.price, f.fee) for f in book.fills] == list(
        zip(walked.filled.tolist(), walked.quantity.tolist(), walked.price.tolist(), walked.fee.tolist())
    )
    assert walked.cash == book.cash
    assert walked.both_in_one_bar == book.both_in_one_bar
    assert walked.equity(bars.candles["ABC"].close, rules.cash) == pytest.approx(curves(book, bars).equity)


def test_the_compiled_walk_is_the_same_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    bars, signals = make_bars(2_000), signals_of(3, 2_000, sl=0.03, tp=0.05)
    plain = walk(bars.candles["ABC"], signals, FREE, 1)
    monkeypatch.setattr(arrays_module, "_WORTH_COMPILING", 10)
    compiled = walk(bars.candles["ABC"], signals, FREE, 1)
    assert len(plain.filled) > 50
    assert plain.cash == compiled.cash
    assert (plain.price == compiled.price).all()


def test_a_ruinous_short_sale_ends_the_walk_as_it_ends_the_book() -> None:
    candles = make_candles(60, 5)
    rising = np.linspace(1.0, 30.0, 60)
    grown = type(candles)(
        candles.time, *(getattr(candles, n) * rising for n in ("open", "high", "low", "close", "volume"))
    )
    bars = make_bars(ABC=grown)
    signals = Arrays(
        entries=np.zeros(60), exits=np.zeros(60), short_entries=np.arange(60) == 3, short_exits=np.zeros(60)
    )
    walked = walk(grown, signals, FREE, 1)
    book = replay(bars, walked.log(signals), FREE)
    assert book.ruined is not None
    assert walked.cash == book.cash
    assert walked.held == 0


class Dip(Strategy):
    level = 95.0

    def init(self) -> None:
        self.mean = self.I(lambda c: np.convolve(c, np.ones(5) / 5)[: len(c)], self.data.close)

    def arrays(self) -> Arrays:
        close = np.asarray(self.data.close)
        return Arrays(entries=close < self.level, exits=close > 105.0)


def play(bars: Bars, strategy: Strategy, rules: FillRules = FREE, **parameters: float) -> ArrayEngine:
    engine = ArrayEngine(bars, strategy, parameters, rules)
    engine.play()
    return engine


def test_a_strategy_of_arrays_replays_to_the_same_money() -> None:
    bars = make_bars(400, 7)
    engine = play(bars, Dip())
    assert engine.walked is not None
    assert engine.log
    assert replay(bars, engine.log, FREE).cash == engine.walked.cash


def test_its_parameters_can_be_set() -> None:
    bars = make_bars(400, 7)
    assert play(bars, Dip(), level=90.0).log != play(bars, Dip()).log


@pytest.mark.parametrize(
    ("strategy", "rules", "word"),
    [
        (type("Wrong", (Strategy,), {"arrays": lambda self: 7})(), FREE, "Arrays("),
        (type("Short", (Strategy,), {"arrays": lambda self: Arrays(entries=[1], exits=[1])})(), FREE, "for 50 bars"),
        (Dip(), FillRules(margin=0.5), "--margin"),
    ],
)
def test_what_cannot_be_walked_is_refused_with_a_remedy(strategy: Strategy, rules: FillRules, word: str) -> None:
    with pytest.raises(OrderError, match=word.replace("(", r"\(")):
        play(make_bars(50), strategy, rules)


def test_several_instruments_are_for_next() -> None:
    with pytest.raises(OrderError, match="one instrument"):
        play(make_bars(A=make_candles(30), B=make_candles(30, 2)), Dip())
