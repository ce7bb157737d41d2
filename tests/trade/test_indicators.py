"""Indicators: none looks ahead, each agrees with its definition or with TA-Lib, and bad calls get a sentence."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import talib
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import OrderError
from ringfence.trade import indicators as ind
from ringfence.trade.bars import Bars, Candles, Floats
from ringfence.trade.engine import Engine
from ringfence.trade.run import FillRules
from ringfence.trade.series import Series
from ringfence.trade.strategy import Strategy
from ringfence.trade.times import DAY

from tests.conftest import ROOT
from tests.trade import plain_indicators as plain

Lines = Floats | tuple[Floats, ...]
CROSSES = {"crossover", "crossunder", "crossed", "rising", "falling"}
INDICATORS = [name for name in ind.__all__ if name not in CROSSES]

# With short periods, so that a few dozen bars are enough to have values.
SHORT: dict[str, tuple[float, ...]] = {
    "sma": (4,),
    "ema": (4,),
    "wma": (4,),
    "standard_deviation": (4,),
    "bollinger": (4, 1.5),
    "rsi": (4,),
    "macd": (3, 5, 3),
    "stochastic": (4, 2, 3),
    "cci": (4,),
    "williams_r": (4,),
    "roc": (3,),
    "momentum": (3,),
    "highest": (4,),
    "lowest": (4,),
    "donchian": (4,),
    "true_range": (),
    "atr": (4,),
    "keltner": (4, 1.5, 3),
    "adx": (4,),
    "plus_di": (4,),
    "minus_di": (4,),
    "ichimoku": (2, 4, 6, 4),
    "supertrend": (4, 1.5),
    "parabolic_sar": (0.02, 0.2),
    "volume_average": (4,),
    "vwap": (4,),
    "session_vwap": (),
    "obv": (),
    "mfi": (4,),
}


def table(steps: list[tuple[int, int, int, int]]) -> SimpleNamespace:
    """Bars from small whole numbers: the close's move, what high and low stick out, the volume. Often flat."""
    rows = np.array(steps, dtype=np.float64)
    close = 100 + np.cumsum(rows[:, 0] / 4)
    opens = np.concatenate([[100.0], close[:-1]])
    high = np.maximum(opens, close) + rows[:, 1] / 8
    low = np.minimum(opens, close) - rows[:, 2] / 8
    return SimpleNamespace(
        open=opens, high=high, low=low, close=close, volume=rows[:, 3], day=np.arange(len(rows)) // 7 * 1.0
    )


def walk(seed: int, count: int = 260) -> SimpleNamespace:
    rng = np.random.default_rng(seed)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, count)))
    opens = close * np.exp(rng.normal(0, 0.01, count))
    high = np.maximum(opens, close) * np.exp(abs(rng.normal(0, 0.01, count)))
    low = np.minimum(opens, close) * np.exp(-abs(rng.normal(0, 0.01, count)))
    volume = rng.integers(1, 1_000_000, count) * 1.0
    return SimpleNamespace(open=opens, high=high, low=low, close=close, volume=volume, day=np.arange(count) // 7 * 1.0)


def call(name: str, columns: object, *arguments: float) -> tuple[Floats, ...]:
    function: Callable[..., Lines] = getattr(ind, name)
    made = function(columns, *arguments)
    return made if isinstance(made, tuple) else (made,)


STEPS = st.tuples(st.integers(-8, 8), st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
PAST = st.lists(STEPS, min_size=1, max_size=60)
FUTURE = st.lists(STEPS, max_size=30)


@pytest.mark.parametrize("name", INDICATORS)
@settings(deadline=None, max_examples=60)
@given(past=PAST, future=FUTURE, other=FUTURE)
def test_what_comes_later_changes_nothing_before(
    name: str,
    past: list[tuple[int, int, int, int]],
    future: list[tuple[int, int, int, int]],
    other: list[tuple[int, int, int, int]],
) -> None:
    known = call(name, table(past), *SHORT[name])
    for later in (future, other):
        for alone, followed in zip(known, call(name, table(past + later), *SHORT[name]), strict=True):
            assert len(followed) == len(past) + len(later)
            np.testing.assert_array_equal(alone, followed[: len(past)])


@pytest.mark.parametrize("name", INDICATORS)
def test_defaults_are_ready_in_time_and_stay_so(name: str) -> None:
    for line in call(name, walk(5)):
        valid = ~np.isnan(line)
        assert valid.any()
        assert valid[np.flatnonzero(valid)[0] :].all()


def test_every_indicator_is_here_and_in_the_docs() -> None:
    assert set(SHORT) == set(INDICATORS)
    text = (ROOT / "docs" / "indicators.md").read_text()
    assert [name for name in ind.__all__ if f"`{name}(" not in text] == []
    for name in INDICATORS:
        signature = inspect.signature(getattr(ind, name))
        options = [f"{p.name}={p.default:g}" for p in signature.parameters.values() if p.default is not p.empty]
        assert f"`{name}({', '.join(['…', *options])})`" in text


def expected(name: str, c: SimpleNamespace) -> tuple[plain.Line | Floats, ...]:
    """The same with default periods, by plain loops."""
    o = {key: value.tolist() for key, value in vars(c).items()}
    high, low, close, volume = o["high"], o["low"], o["close"], o["volume"]
    hlc = (high, low, close)
    width = plain.windows(close, 20, plain.deviation)
    mean = plain.windows(close, 20, plain.mean)
    adx, plus, minus = plain.directional(*hlc, 14)
    quick, slow = plain.middle(high, low, 9), plain.middle(high, low, 26)
    reach = plain.atr(*hlc, 10)
    centre = plain.ema(close, 20)
    made: dict[str, tuple[plain.Line | Floats, ...]] = {
        "sma": (mean,),
        "ema": (centre,),
        "wma": (plain.windows(close, 20, plain.weighted),),
        "standard_deviation": (width,),
        "bollinger": ([m + 2 * w for m, w in zip(mean, width)], mean, [m - 2 * w for m, w in zip(mean, width)]),
        "rsi": (plain.rsi(close, 14),),
        "macd": plain.macd(close, 12, 26, 9),
        "cci": (plain.cci(*hlc, 20),),
        "roc": (plain.windows(close, 11, lambda x: 100 * (x[-1] / x[0] - 1)),),
        "momentum": (plain.windows(close, 11, lambda x: x[-1] - x[0]),),
        "highest": (plain.windows(high, 20, max),),
        "lowest": (plain.windows(low, 20, min),),
        "donchian": (
            plain.windows(high, 20, max),
            plain.middle(high, low, 20),
            plain.windows(low, 20, min),
        ),
        "true_range": (plain.true_range(*hlc),),
        "atr": (plain.atr(*hlc, 14),),
        "keltner": ([m + 2 * r for m, r in zip(centre, reach)], centre, [m - 2 * r for m, r in zip(centre, reach)]),
        "adx": (adx,),
        "plus_di": (plus,),
        "minus_di": (minus,),
        "ichimoku": (
            quick,
            slow,
            plain.later([(a + b) / 2 for a, b in zip(quick, slow)], 26),
            plain.later(plain.middle(high, low, 52), 26),
        ),
        "supertrend": plain.supertrend(*hlc, 10, 3.0),
        "parabolic_sar": (plain.parabolic_sar(high, low, 0.02, 0.2),),
        "volume_average": (plain.windows(volume, 20, plain.mean),),
        "vwap": (plain.vwap(*hlc, volume, 20),),
        "obv": (plain.obv(close, volume),),
    }
    # TA-Lib is the other opinion where the package has its own.
    made["mfi"] = (talib.MFI(c.high, c.low, c.close, c.volume, 14),)
    made["stochastic"] = talib.STOCH(c.high, c.low, c.close, fastk_period=14, slowk_period=3, slowd_period=3)
    made["williams_r"] = (talib.WILLR(c.high, c.low, c.close, 14),)
    days = [
        plain.vwap(high[: t + 1], low[: t + 1], close[: t + 1], volume[: t + 1], t % 7 + 1)[-1]
        for t in range(len(close))
    ]
    made["session_vwap"] = (days,)
    return made[name]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", INDICATORS)
def test_it_agrees_with_another_implementation(name: str, seed: int) -> None:
    columns = walk(seed)
    made, wanted = call(name, columns), expected(name, columns)
    assert len(made) == len(wanted)
    for line, other in zip(made, wanted):
        if name == "stochastic":  # TA-Lib begins %K where %D begins
            line = np.where(np.isnan(other), np.nan, line)
        np.testing.assert_allclose(line, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "middle"), [("rsi", 50), ("stochastic", 50), ("williams_r", -50), ("mfi", 50), ("cci", 0), ("adx", 0)]
)
def test_a_price_that_never_moved_is_in_the_middle(name: str, middle: float) -> None:
    flat = table([(0, 0, 0, 3)] * 40)
    for line in call(name, flat, *SHORT[name]):
        assert set(line[~np.isnan(line)]) == {middle}


def test_an_rsi_stays_while_the_price_stands_still() -> None:
    prices = np.array([1, 1.01, 1.0, 1.02, 1.01] + [1.01] * 1_000)
    made = ind.rsi(prices, 3)
    assert made[4] == pytest.approx(plain.rsi(prices[:5].tolist(), 3)[4])
    assert made[5:] == pytest.approx(made[4])


def test_an_rsi_of_nothing_but_losses_is_zero_also_after_a_pause() -> None:
    assert ind.rsi(np.array([10.0, 9, 8, 8, 8]), 3)[3:].tolist() == [0, 0]


def test_money_flow_of_small_coins_is_not_taken_for_none() -> None:
    columns = walk(9)
    small = SimpleNamespace(**{**vars(columns), "volume": columns.volume * 1e-12})
    np.testing.assert_allclose(ind.mfi(small), ind.mfi(columns), rtol=1e-9)


def test_a_vwap_of_nothing_traded_does_not_exist() -> None:
    columns = table([(1, 1, 1, 5)] * 3 + [(1, 1, 1, 0)] * 4 + [(1, 1, 1, 2)])
    assert np.isnan(ind.vwap(columns, 3)).tolist() == [True, True, False, False, False, True, True, False]


def test_a_supertrend_is_below_a_price_it_says_is_rising() -> None:
    columns = walk(4, 2_000)
    line, side = ind.supertrend(columns, 7, 1.0)
    ready = ~np.isnan(line)
    assert (np.sign(columns.close - line)[ready] == side[ready]).all()
    assert set(side[ready]) == {1.0, -1.0}


def test_ichimoku_has_no_lagging_span_and_shows_old_spans() -> None:
    rising = SimpleNamespace(high=np.arange(200.0) + 1, low=np.arange(200.0))
    conversion, base, span_a, _ = ind.ichimoku(rising)
    assert span_a[100] == (conversion[74] + base[74]) / 2


def test_columns_may_be_given_one_by_one_by_name_or_all_at_once() -> None:
    c = walk(2)
    frame = SimpleNamespace(High=c.high, Low=c.low, Close=c.close)  # as backtesting.py and most files write it
    wanted = talib.ATR(c.high, c.low, c.close, 14)
    for made in (
        ind.atr(c, 14),
        ind.atr(frame, 14),
        ind.atr(c.high, c.low, c.close, 14),
        ind.atr(c.high, low=c.low, close=c.close, period=14.0),
        ind.atr(c.high.tolist(), c.low.tolist(), c.close.tolist()),
    ):
        np.testing.assert_array_equal(made, wanted)
    assert ind.highest(c, 5)[-1] == c.high[-5:].max()
    assert ind.lowest(c, 1).tolist() == c.low.tolist()
    assert ind.volume_average(c, 2)[-1] == pytest.approx(c.volume[-2:].mean())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda c: ind.atr(c.close, 14), "atr needs high, low, close"),
        (lambda c: ind.atr(c.high, c.low[1:], c.close), "equally long"),
        (lambda c: ind.atr(), "self.I(atr, self.data)"),
        (lambda c: ind.session_vwap(SimpleNamespace(**{**vars(c), "day": None})), "session_vwap needs high"),
        (lambda c: ind.rsi(c.close, 1), "from 2 to 100,000"),
        (lambda c: ind.sma(c.close, 2.5), "no period of 2.5 bars"),
        (lambda c: ind.ema(c.close, 0), "no period of 0 bars"),
        (lambda c: ind.macd(c.close, 26, 12), "the shorter period first"),
    ],
)
def test_a_wrong_call_says_what_to_do(wrong: Callable[[SimpleNamespace], object], words: str) -> None:
    with pytest.raises(OrderError) as e:
        wrong(walk(1))
    assert words in str(e.value)


@pytest.mark.parametrize("name", INDICATORS)
def test_a_strategy_sees_each_bar_by_bar(name: str) -> None:
    c = walk(6, 60)
    bars = Bars(
        candles={"X": Candles(np.arange(60) * DAY, c.open, c.high, c.low, c.close, c.volume)},
        timeframe="1d",
        source="test",
    )
    wanted = call(name, c, *SHORT[name])
    seen: list[tuple[float, ...]] = []

    class Watching(Strategy):
        def init(self) -> None:
            given = (self.data,) if name != "session_vwap" else (*hlcv(self), c.day)
            made = self.I(getattr(ind, name), *given, *SHORT[name])
            self.lines = made if isinstance(made, tuple) else (made,)

        def next(self) -> None:
            seen.append(tuple(line[-1] for line in self.lines))

    engine = Engine(bars, Watching(), {}, FillRules())
    engine.play()
    np.testing.assert_array_equal(np.array(seen), np.stack(wanted, axis=1)[engine.start :])


def hlcv(strategy: Strategy) -> tuple[Series, ...]:
    data = strategy.data
    return data.high, data.low, data.close, data.volume


def series(*values: float) -> Series:
    return Series("x", list(values))


def test_a_crossover_is_from_below_to_above_and_touching_is_none() -> None:
    assert ind.crossover(series(1, 3), series(2, 2))
    assert not ind.crossover(series(3, 1), series(2, 2))
    assert not ind.crossover(series(2, 3), series(2, 2))
    assert not ind.crossover(series(1, 2), series(2, 2))
    assert ind.crossunder(series(3, 1), series(2, 2))
    assert not ind.crossunder(series(1, 3), series(2, 2))


@pytest.mark.parametrize("level", [2, 2.0, np.float64(2), np.int64(2), [9, 2, 2], np.array([9.0, 2, 2])])
def test_a_line_may_cross_a_number_or_an_array(level: float) -> None:
    assert ind.crossover(series(9, 1, 3), level)
    assert ind.crossunder(series(9, 3, 1), level)
    assert ind.crossover(level, series(9, 3, 1))
    assert ind.crossed(series(9, 3, 1), level) and ind.crossed(series(9, 1, 3), level)
    assert not ind.crossed(series(9, 3, 3), level)


def test_nothing_has_crossed_or_risen_while_values_are_missing() -> None:
    nan = float("nan")
    assert not ind.crossover(series(1), series(2))
    assert not ind.crossed(series(nan, 3), series(2, 2))
    assert not ind.rising(series(1))
    assert not ind.rising(series(nan, 1, 2), 2)
    assert not ind.falling(series(), 3)


def test_rising_and_falling_look_at_every_step() -> None:
    assert ind.rising(series(9, 1, 2, 3), 2) and not ind.rising(series(9, 1, 2, 3), 3)
    assert ind.falling(series(0, 3, 2, 1), 2) and not ind.falling(series(0, 3, 2, 1), 3)
    assert not ind.rising(series(1, 1)) and not ind.falling(series(1, 1))
    assert ind.rising(np.array([1.0, 2.0])) and ind.falling([2.0, 1.0])


def test_importing_them_does_not_load_the_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, ringfence.trade.indicators; print('talib' in sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"
