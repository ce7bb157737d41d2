"""A log of orders says everything: done again on the host it gives the same fills, whoever wrote it."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal

import pytest
from hypothesis import example, given, settings, strategies as st

from ringfence.base.errors import OrderError
from ringfence.testing.broker_desk import FREE, QUIET
from ringfence.trade.bars import Bars
from ringfence.trade.book import Book
from ringfence.trade.intents import MOST_REASON, Intent, order_fault, read_log, write_log
from ringfence.trade.replay import replay
from ringfence.trade.run import FillRules

from tests.trade.test_backtest_broker import make_bars
from tests.trade.test_book_properties import EXAMPLES, as_rows, ends, play
from tests.trade.wishes import Wish, many_wishes, rules, several_bars

BARS = make_bars({"X": [QUIET, (100, 105, 95, 102), (102, 110, 90, 95), QUIET, QUIET], "Y": [QUIET] * 5})


def crossed(book: Book, bars: Bars) -> list[Intent]:
    """The log as it comes out of the fence: through JSON, which has no NaN, and checked."""
    text = json.dumps(write_log(book.log), allow_nan=False)
    return read_log(json.loads(text), bars=len(bars.timeline()), markets=len(bars.symbols))


@given(several_bars(), many_wishes, rules)
@EXAMPLES
def test_a_replay_gives_the_fills_the_cash_and_the_orders_of_the_run(
    bars: Bars, asked: list[Wish], fill_rules: FillRules
) -> None:
    book = play(bars, asked, fill_rules)
    again = replay(bars, crossed(book, bars), fill_rules)
    assert as_rows(again.fills) == as_rows(book.fills)
    assert (again.cash, again.equity(), again.ruined) == (book.cash, book.equity(), book.ruined)
    assert ends(again) == ends(book)
    assert again.both_in_one_bar == book.both_in_one_bar
    assert repr(write_log(again.log)) == repr(write_log(book.log))  # as text, because NaN is not equal to itself


@given(several_bars(), many_wishes, rules)
@settings(max_examples=30, deadline=None)
def test_a_replay_is_the_same_each_time(bars: Bars, asked: list[Wish], fill_rules: FillRules) -> None:
    log = play(bars, asked, fill_rules).log
    first, second = replay(bars, log, fill_rules), replay(bars, log, fill_rules)
    assert as_rows(first.fills) == as_rows(second.fills)
    assert (first.cash, first.equity()) == (second.cash, second.equity())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e305, -1e305])
@pytest.mark.parametrize("field", ["quantity", "limit", "sl", "tp", "trail_pct"])
def test_what_was_rejected_for_its_numbers_is_rejected_again(field: str, value: float) -> None:
    """A stop at NaN that came out of the fence as no stop at all would make an order of what was none."""
    order = Intent(1, "order", 0, 1, 10.0, kind="limit", limit=90.0)._replace(**{field: value})  # type: ignore[arg-type]
    log = read_log(json.loads(json.dumps(write_log([order]), allow_nan=False)), bars=5, markets=2)
    assert repr(log) == repr([order])


def test_what_is_no_number_is_written_as_text() -> None:
    rows = write_log([Intent(1, "order", 0, 1, math.nan, sl=math.inf)])
    assert rows == [[1, "order", 0, 1, "nan", None, None, "market", None, None, None, "gtc", "inf"]]


def test_rows_are_cut_off_behind_their_last_value() -> None:
    log = [Intent(1, "order", 0, 1, 10.0), Intent(2, "close", 0, portion=1.0), Intent(3, "cancel", 0, ref=0)]
    rows = write_log(log)
    assert rows[0] == [1, "order", 0, 1, 10.0]
    assert read_log(rows, bars=5, markets=1) == log


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
odd = st.floats() | st.sampled_from(["nan", "inf", "-inf", 0, 1, 5, 95, 100.0, 0.5, 10**400, -1])
numbers = st.integers(0, 8).flatmap(lambda n: odd if n == 0 else st.none())
sizes = st.integers(0, 3).flatmap(lambda n: odd if n == 0 else st.sampled_from([1, 5, 10]))
fields = [
    st.integers(0, 4),
    st.sampled_from(["order", "order", "close", "cancel", "amend"]),
    st.integers(0, 1),
    st.sampled_from([1, -1, 1, -1, 0, 7]),
    sizes,
    numbers,
    numbers,
    st.sampled_from(["market", "market", "limit", "stop", "stop_limit", "trailing_stop"]),
    numbers,
    numbers,
    numbers,
    st.sampled_from(["gtc", "day", "ioc", "fok"]),
    *[numbers] * 6,
    st.integers(-2, 5) | st.none(),
    st.text(max_size=300),
]


@st.composite
def hostile_row(draw: st.DrawFn) -> list[object]:
    row: list[object] = [draw(field) for field in fields[: draw(st.integers(2, len(fields)))]]
    if draw(st.integers(0, 19)) == 0:
        row[draw(st.integers(0, len(row) - 1))] = draw(json_values)
    return row


plausible = st.lists(hostile_row(), max_size=8).map(
    lambda rows: sorted(rows, key=lambda row: row[0] if isinstance(row[0], int) else 0)
)


@given(json_values | plausible)
@settings(max_examples=300, deadline=None)
@example([[0, "order", 0, 1, None, None, 1e300]])
@example([[1, "amend", 0, 0, *[None] * 14, 0]])
def test_a_hostile_log_is_refused_or_replayed_and_never_crashes(rows: object) -> None:
    try:
        log = read_log(rows, bars=5, markets=2)
    except ValueError:
        return
    for fill_rules in (FREE, FillRules(fractional=True, margin=0.5)):
        try:
            book = replay(BARS, log, fill_rules)
        except OrderError:
            continue
        assert math.isfinite(book.equity())


def test_hostile_logs_reach_the_book() -> None:
    """The test above would hold if every log were refused."""
    filled = 0

    @given(plausible)
    @settings(max_examples=1_000, deadline=None, database=None)
    def collect(rows: object) -> None:
        nonlocal filled
        try:
            filled += bool(replay(BARS, read_log(rows, bars=5, markets=2), FREE).fills)
        except ValueError:
            return

    collect()
    assert filled >= 5


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (None, "not a list"),
        ({}, "not a list"),
        ([1], "row 0"),
        ([[1]], "row 0"),
        ([[1, "order"] + [None] * 40], "row 0"),
        ([[1, "steal"]], "action"),
        ([["1", "order"]], "now"),
        ([[True, "order"]], "now"),
        ([[1, "order", 2]], "instrument 2"),
        ([[1, "order", -1]], "instrument -1"),
        ([[5, "order"]], "out of order"),
        ([[-1, "order"]], "out of order"),
        ([[2, "order"], [1, "order"]], "row 1"),
        ([[1, "order", 0, 1, "ten"]], "quantity"),
        ([[1, "order", 0, 1, True]], "quantity"),
        ([[1, "order", 0, 1, 10**400]], "quantity"),
        ([[1, "order", 0, "nan"]], "sign"),
        ([[1, "cancel", 0, *[0] * 0, 1, None, None, None, "limit", *[None] * 3, "never"]], "tif"),
    ],
)
def test_a_log_that_makes_no_sense_is_refused_with_its_row(rows: object, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        read_log(rows, bars=5, markets=2)


@pytest.mark.parametrize(
    "intent",
    [
        Intent(1, "cancel", 0, ref=0),
        Intent(1, "cancel", 0),
        Intent(1, "cancel", 0, ref=-1),
        Intent(1, "amend", 0, ref=0, sl=90.0),
        Intent(1, "amend", 0),
        Intent(1, "close", 0, portion=1.0, ref=3),
    ],
)
def test_a_log_that_speaks_of_what_never_was_is_an_order_error(intent: Intent) -> None:
    with pytest.raises(OrderError, match="log"):
        replay(BARS, [intent], FREE)


def test_a_reason_is_cut_and_can_be_stored() -> None:
    row = [1, "order", 0, 1, 10, None, None, "market", *[None] * 3, "gtc", *[None] * 7, "a\0\ud800" + "b" * 500]
    (intent,) = read_log([row], bars=5, markets=2)
    assert intent.reason.startswith("a??bbb")
    assert len(intent.reason) == MOST_REASON
    assert intent.reason.encode()


_GUARDS = (None, math.nan, math.inf, -math.inf, 0.0, -1.0, 0.05, 1.0, 90.0, 110.0, Decimal("NaN"), Decimal(90))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_short_way_to_accept_an_order_lets_nothing_through_that_the_long_one_refuses(
    sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("sl", "tp", "sl_pct", "tp_pct", "trail_pct")
    plain = Intent(1, "order", 0, sign, 10.0)
    pairs = [
        plain._replace(**{a: x, b: y})  # type: ignore[arg-type]
        for a, b in itertools.combinations(names, 2)
        for x, y in itertools.product(_GUARDS, repeat=2)
        if not {type(x), type(y)} >= {float, Decimal}  # a book counts in one kind of number
    ]
    quick = [order_fault(intent) for intent in pairs]
    monkeypatch.setattr("ringfence.trade.intents._AT_MARKET", None)  # nothing is at the market: all go the long way
    assert quick == [order_fault(intent) for intent in pairs]
    assert None in quick
