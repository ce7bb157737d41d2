"""Trades against rules: what our own programs do is right, and each way of doing it wrong is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ringfence.evaluators.case import Case
from ringfence.evaluators.correctness import create, rederive
from ringfence.evaluators.identities import check_account
from ringfence.evaluators.verdict import Verdict
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.description import model as m
from ringfence.trade.description.code import to_code
from ringfence.trade.run import EngineRef, FillRules
from ringfence.trade.times import DAY, SECOND

from tests.evaluators.built import SYMBOLS, case_of, describe, make_bars, play, with_run
from tests.evaluators.drawn import descriptions

BARS = make_bars(SYMBOLS)
SHORT = make_bars(("GOOG", "AAPL"), rows=250)

CROSS = "Buy GOOG when RSI drops below 45, sell when it rises above 55"
STOP = "Buy GOOG when RSI is below 45. Sell when RSI is above 70. Stop loss 3 %. Take profit 6 %."
PARTS = "Buy GOOG when RSI is below 45. Sell half at 5 %, the rest with a 3 % trailing stop. Stop loss 4 %."
TRAIL = "Buy GOOG when RSI is below 45. Trailing stop 5 %."
RANGES = "Buy GOOG when RSI is below 45. Trailing stop 3 times the 14 day ATR."
BOTH = "Buy GOOG when the 10 day ema crosses above the 20 day ema, short when it crosses below. Stop loss 3 %."
RISK = (
    "Buy GOOG when the 10 day sma crosses above the 30 day sma, "
    "stop 2 times ATR, target 3 times the risk, exit after 10 days"
)
PART = "Buy GOOG when RSI is below 45. Sell 50 % when RSI is above 55. Sell when RSI is above 65."
PAIR = "Trade AAPL against MSFT by the ratio over 40 bars: enter at 1.5, exit at 0.5 standard deviations"
ROTATION = "Every month hold the 2 of AAPL, MSFT and GOOG with the highest 3 month momentum"
WEIGHTS = "Hold 60 % AAPL and 40 % MSFT, rebalance monthly"
MONDAY = "Buy GOOG on every Monday. Sell after 3 days. Stop loss 2 %."
CLOUD = "Buy GOOG when the price is above the Ichimoku cloud. Sell when the price is below the Ichimoku cloud."
MARGIN = "Buy GOOG when the price is 3 % below the 20-day moving average. Sell when RSI is above 55."
SIZED = "Buy GOOG when RSI is between 30 and 45, with a volatility target of 15 %. Sell when RSI is above 55."
WEEKLY = "Buy GOOG when the Supertrend is up and the weekly RSI is above 50, sell when the weekly RSI falls below 45"
COUNTED = (
    "Buy GOOG when at least two of these three are true: RSI is above 50, the close is above the 20-day SMA, ADX is "
    "above 25. Sell when fewer than two are true."
)
SMOOTHED = "Buy GOOG when RSI crosses above its 9-day average. Sell when OBV is below its 20-day EMA."
WIDTH = "Buy GOOG when the Bollinger band width is the lowest of the past 20 days. Sell when %b is above 0.8."
SEASON = "Own GOOG from the first trading day of November until the last trading day of April."
FORTNIGHT = "Buy GOOG every other Friday. Sell after 4 days."
RUNNER = "Buy GOOG when RSI is below 45. Sell half at 8 %, the rest when RSI is above 52. Stop loss 9 %."
THIRDS = (
    "Buy GOOG when RSI is below 45. Sell a third when RSI is above 52, another third when RSI is above 58. "
    "Sell the rest when RSI is below 48."
)
SECURED = (
    "Buy GOOG when RSI is below 45. Sell when RSI is above 65. Stop loss 5 %. Once up 3 %, move the stop to break-even."
)
AIMED = "Buy GOOG when RSI is below 45. Sell 50 % when RSI is above 55. Take profit 5 % on the rest. Stop loss 9 %."
SLOTS = (
    "Every month hold the 2 of AAPL, MSFT and GOOG with the highest 3 month momentum, skip any that is below its "
    "50-day SMA and leave that share in cash"
)


def judged(asked: str, done: str | None = None, bars: Bars = BARS) -> Verdict:
    """What was asked for, held against the trades of a program that does something else."""
    return create().judge(replace(case_of(done or asked, bars), description=describe(asked)))


@pytest.mark.parametrize(
    "words",
    [CROSS, STOP, PARTS, TRAIL, RANGES, BOTH, RISK, PART, PAIR, ROTATION, WEIGHTS, MONDAY, WEEKLY, CLOUD, MARGIN, SIZED,
     RISK.replace("Buy GOOG", "Buy AAPL and MSFT"), "Buy $1000 of GOOG every month", COUNTED, SMOOTHED, WIDTH, SEASON,
     FORTNIGHT, RUNNER, SLOTS, THIRDS, AIMED, SECURED],
)  # fmt: skip
def test_what_our_programs_do_is_what_the_words_say(words: str) -> None:
    verdict = judged(words)
    assert (verdict.status, verdict.errors, verdict.score) == ("passed", (), 1.0)
    assert verdict.details["derived"] is True
    assert int(str(verdict.details["checks"])) > 20


# what was asked, what was done, and a word of what is said of it
WRONG = [
    (CLOUD, CLOUD.replace("above the Ichimoku cloud", "above the 20 day sma"), "has no reason"),
    (MARGIN, MARGIN.replace("3 %", "2 %"), "has no reason"),
    (SIZED, SIZED.replace("and 45", "and 48"), "has no reason"),
    (CROSS, CROSS.replace("45", "48"), "has no reason"),
    (CROSS, CROSS.replace("45", "40"), "entry is missing"),
    (STOP.replace("is below", "drops below"), STOP, "has no reason"),
    (CROSS, CROSS.replace("drops below", "rises above").replace("above 45", "above 46"), "has no reason"),
    (CROSS, CROSS.replace("55", "60"), "was held although the 14-bar RSI crosses above 55"),
    (CROSS, CROSS.replace("55", "50"), "the rules call for nothing"),
    (CROSS, CROSS.replace("RSI", "9 day RSI"), "has no reason"),
    (STOP, STOP.replace("3 %", "5 %"), "was held through its stop"),
    (STOP, STOP.replace("3 %", "2 %"), "and the rules call for"),
    (STOP, STOP.replace("6 %", "9 %"), "reached its target"),
    (STOP, STOP.replace("6 %", "4 %"), "and the rules call for"),
    (TRAIL, TRAIL.replace("5 %", "7 %"), "was held through its stop"),
    (TRAIL, TRAIL.replace("5 %", "4 %"), "and the rules call for"),
    (TRAIL, TRAIL.replace("Trailing stop", "Stop loss"), "was held through its stop"),
    (RANGES, RANGES.replace("3 times", "4 times"), "was held through its stop"),
    (RANGES, RANGES.replace("14 day ATR", "30 day ATR"), "and the rules call for"),
    (PARTS, PARTS.replace("half", "20 %"), "where 50% should be sold and"),
    (PARTS, PARTS.replace("half at 5 %", "half at 8 %"), "reached its target"),
    (PARTS, PARTS.replace("a 3 %", "a 6 %"), "was held through its stop"),
    (PART, PART.replace("50 %", "20 %"), "and the rule sells 50.0%: sell that part"),
    (PART, PART.replace("above 55", "above 62"), "had sold 0% although"),
    (THIRDS, THIRDS.replace("above 58", "above 63"), "had sold 33% although"),
    (THIRDS, THIRDS.replace("Sell the rest", "Sell"), "the rules call for nothing"),
    (SECURED, SECURED.replace("up 3 %", "up 6 %"), "was held through its stop"),
    (SECURED, SECURED.replace("up 3 %", "up 1 %"), "and the rules call for"),
    (AIMED, AIMED.replace(" on the rest", ""), "the rules call for nothing"),
    (BOTH, BOTH.replace(", short when it crosses below", ""), "short entry is missing"),
    (BOTH.replace(", short when it crosses below", ""), BOTH, "no short position was asked for"),
    (RISK, RISK.replace("10 days", "14 days"), "was held for more than 10 bars"),
    (RISK, RISK.replace("10 days", "6 days"), "and the rules call for"),
    (RISK, RISK.replace("3 times the risk", "2 times the risk"), "and the rules call for"),
    (MONDAY, MONDAY.replace("Monday", "Tuesday"), "has no reason"),
    (WEEKLY, WEEKLY.replace("weekly RSI is above 50", "RSI is above 50"), "has no reason"),
    (PAIR, PAIR.replace("1.5", "1"), "has no reason"),
    (PAIR, PAIR.replace("1.5", "2"), "entry is missing"),
    (PAIR, PAIR.replace("0.5", "0.1"), "was held although"),
    (ROTATION, ROTATION.replace("highest", "lowest"), "the plan calls for"),
    (ROTATION, ROTATION.replace("Every month", "Every week"), "when it was not time to"),
    (ROTATION.replace("Every month", "Every week"), ROTATION, "nothing was ordered"),
    (WEIGHTS, WEIGHTS.replace("60", "50").replace("40", "50"), "the plan calls for 60.0%"),
    (COUNTED, COUNTED.replace("at least two", "at least three").replace("than two", "than three"), "entry is missing"),
    (SMOOTHED, SMOOTHED.replace("9-day", "15-day"), "has no reason"),
    (WIDTH, WIDTH.replace("past 20 days", "past 10 days"), "has no reason"),
    (SEASON, SEASON.replace("November", "October"), "has no reason"),
    (FORTNIGHT, FORTNIGHT.replace("other ", ""), "has no reason"),
    (RUNNER, RUNNER.replace("the rest", "sell"), "and the rules call for"),
    (SLOTS, SLOTS.replace(" and leave that share in cash", ""), "the plan calls for"),
    (CROSS, CROSS.replace("GOOG", "AAPL"), "AAPL was traded and never asked for: trade GOOG only"),
]


@pytest.mark.parametrize(("asked", "done", "told"), WRONG, ids=range(len(WRONG)))
def test_what_was_not_asked_for_is_found(asked: str, done: str, told: str) -> None:
    verdict = judged(asked, done)
    assert verdict.status == "failed"
    assert verdict.score < 0.5
    case = replace(case_of(done, BARS), description=describe(asked))
    assert case.run is not None and case.bars is not None
    found = rederive(describe(asked), case.run, case.bars).errors
    assert any(told in sentence for sentence in found), found[:5]


@given(descriptions(), st.sampled_from((SHORT, make_bars(("GOOG", "AAPL"), rows=250, seed=2))))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_rules_are_derived_as_our_engine_plays_them(description: m.Description, bars: Bars) -> None:
    draft, run = play(to_code(description), bars)
    verdict = create().judge(Case(idea="", draft=draft, description=description, run=run, bars=bars))
    assert 0 <= verdict.score <= 1
    if run.trades:
        assert (verdict.status, verdict.errors) == ("passed", ())


def test_stop_and_target_in_one_bar_are_taken_in_their_order() -> None:
    words = "Buy GOOG when RSI is below 60. Stop loss 0.5 %. Take profit 0.5 %."
    hopeful = case_of(words, BARS, rules=FillRules(both_in_one_bar="target_first"))
    assert create().judge(hopeful).status == "passed"
    assert hopeful.run is not None
    engine: EngineRef = replace(hopeful.run.engine, rules=FillRules())
    verdict = create().judge(with_run(hopeful, engine=engine))
    assert verdict.status == "failed"
    assert "take the stop first" in verdict.errors[0]


def test_the_end_of_the_data_is_a_way_out_where_the_rules_say_so() -> None:
    closed = case_of(
        "Buy GOOG when RSI is below 60. Sell when RSI is above 95.", BARS, rules=FillRules(close_at_end=True)
    )
    assert closed.run is not None and closed.run.trades[-1].exit_reason == "end"
    assert create().judge(closed).status == "passed"
    engine = replace(closed.run.engine, rules=FillRules())
    assert create().judge(with_run(closed, engine=engine)).status == "failed"


def test_missing_bars_of_one_instrument_do_not_matter() -> None:
    candles = dict(BARS.candles)
    kept = np.flatnonzero(np.arange(len(candles["AAPL"])) % 7 != 3)
    whole = candles["AAPL"]
    columns = [getattr(whole, name)[kept] for name in ("time", "open", "high", "low", "close", "volume")]
    holed = replace(BARS, candles={**candles, "AAPL": Candles(*columns)})
    for words in (RISK.replace("GOOG", "AAPL and MSFT"), CROSS.replace("GOOG", "AAPL"), BOTH.replace("GOOG", "AAPL")):
        assert judged(words, bars=holed).errors == ()


def test_history_before_the_start_is_no_time_to_trade() -> None:
    late = replace(BARS, tradable_from=int(BARS.timeline()[300]))
    assert judged(CROSS, bars=late).errors == ()


def test_hours_are_those_of_the_exchange() -> None:
    rows = 700
    hours = np.array([d * 24 + h for d in range(rows // 7) for h in range(14, 21)], dtype=np.int64)
    whole = make_bars(rows=rows).candles["GOOG"]
    columns = [getattr(whole, name) for name in ("open", "high", "low", "close", "volume")]
    candles = Candles(BARS.start + hours * 3600 * SECOND, *columns)
    bars = Bars(candles={"GOOG": candles}, timeframe="1h", source="x", calendar="XNYS", timezone="America/New_York")

    def rules(start: str, end: str) -> m.Description:
        when = m.AllOf(parts=(m.InHours(start=start, end=end), m.Trend(line=m.Line(name="close"), way="up", bars=2)))
        plan = m.Signals(entries=(m.Entry(side="long", when=when),), guards=m.Guards(time_stop_bars=2))
        return m.Description(plan=plan, symbols=("GOOG",))

    asked, done = rules("10:00", "13:00"), rules("10:00", "14:00")
    draft, run = play(to_code(asked), bars)
    case = Case(idea="", draft=draft, description=asked, run=run, bars=bars)
    assert len(run.trades) > 20
    assert create().judge(case).errors == ()
    assert create().judge(replace(case, run=play(to_code(done), bars)[1])).status == "failed"


# The books.


@pytest.fixture(scope="module")
def case() -> Case:
    return case_of(PARTS, BARS)


def doctored(case: Case, what: str, **changes: object) -> Case:
    """One row of the trades or fills, changed."""
    assert case.run is not None
    rows = list(getattr(case.run, what))
    rows[3] = replace(rows[3], **changes)
    return with_run(case, **{what: tuple(rows)})


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize(
    ("what", "changes", "told"),
    [
        ("trades", {"pnl": 12345.0}, "by its prices and says 12345.00"),
        ("trades", {"pnl_pct": 0.5}, "and says 50.0000%"),
        ("trades", {"fees": 99.0}, "in fees and the trades"),
        ("trades", {"qty": 1.0}, "by its prices and says"),
        ("trades", {"exit_price": None}, "half an exit"),
        ("trades", {"exit_time": DAY}, "was left before it was entered"),
        ("trades", {"exit_time": BARS.end + DAY}, "where there is no bar"),
        ("trades", {"entry_price": 1e6}, "nobody got that price"),
        ("trades", {"qty": -5.0}, "no size, price or fee"),
        ("fills", {"price": 1e6}, "outside of its bar"),
        ("fills", {"fee": 0.0}, "and by the costs it is"),
        ("fills", {"time": DAY}, "is on no bar"),
        ("fills", {"qty": 1.0}, "the fills move"),
    ],
)
def test_books_that_do_not_add_up_are_found(
    case: Case, what: str, changes: dict[str, object], told: str, described: bool
) -> None:
    wrong = doctored(case, what, **changes)
    assert wrong.run is not None
    found = check_account(wrong.run, wrong.bars, 1e-6).errors
    assert any(told in sentence for sentence in found), found
    verdict = create().judge(wrong if described else replace(wrong, description=None))
    assert verdict.status == "failed"


def test_an_equity_that_is_not_cash_and_positions_is_found(case: Case) -> None:
    assert case.run is not None and case.run.equity is not None
    curve = case.run.equity
    bent = curve.value.copy()
    bent[200] += 50
    verdict = create().judge(with_run(case, equity=replace(curve, value=bent)))
    assert len(verdict.errors) == 1
    assert "cash and positions are" in verdict.errors[0]
    ended = curve.value.copy()
    ended[-1] *= 2
    assert "and the equity ends at" in create().judge(with_run(case, equity=replace(curve, value=ended))).errors[0]


@pytest.mark.parametrize(
    ("name", "told"), [("final_equity", "and the metrics say"), ("fees", "in fees and the metrics")]
)
def test_metrics_that_are_not_the_books_are_found(case: Case, name: str, told: str) -> None:
    assert case.run is not None and case.run.metrics is not None
    metrics = replace(case.run.metrics, **{name: 1.0})  # type: ignore[arg-type]  # a field that is a number
    assert told in create().judge(with_run(case, metrics=metrics)).errors[0]


def test_missing_fills_are_found(case: Case) -> None:
    assert case.run is not None
    assert create().judge(with_run(case, fills=case.run.fills[:-2])).status == "failed"


def test_without_rules_only_the_books_are_checked_and_it_says_so(case: Case) -> None:
    verdict = create().judge(replace(case, description=None))
    assert (verdict.status, verdict.score) == ("warning", 1.0)
    assert verdict.warnings == (
        "only the books and prices were checked, not the trades against rules: there is no description of the rules",
    )
    assert verdict.details["derived"] is False
    elsewhere = create().judge(
        replace(case, description=describe("Buy AAPL when RSI is below 30. Stop loss 3 %."), bars=None)
    )
    assert elsewhere.details["derived"] is False


def test_a_script_with_books_of_its_own_is_looked_at_loosely(case: Case) -> None:
    own = EngineRef(version="1", rules=None, fed="history", libraries={})
    claimed = with_run(replace(case, description=None), engine=own, provenance="claimed", fills=(), orders=())
    assert create().judge(claimed).status == "warning"
    assert create().judge(doctored(claimed, "trades", pnl=12345.0)).status == "failed"


def test_zero_trades_never_pass() -> None:
    never = case_of("Buy GOOG when RSI is below 2. Sell when RSI is above 65.", BARS)
    verdict = create().judge(never)
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert verdict.errors == ("nothing was traded, and zero trades never pass: loosen the entry",)
    missed = create().judge(replace(never, description=describe(STOP)))
    assert "though the entry rule held on" in missed.errors[0]


def test_rules_that_make_no_sense_are_an_error_of_ours(case: Case) -> None:
    plan = m.Signals(entries=())
    verdict = create().judge(replace(case, description=m.Description(plan=plan, symbols=("GOOG",))))
    assert (verdict.status, verdict.score) == ("error", 0.0)
