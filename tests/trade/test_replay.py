"""A log of orders says everything: done again on the host it gives the same fills, whoever wrote it."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

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


def test_only_columns_that_say_something_are_written() -> None:
    log = [Intent(1, "order", 0, 1, 10.0), Intent(2, "close", 0, portion=1.0), Intent(3, "cancel", 0, ref=0)]
    table: Any = write_log(log)
    assert table["columns"].keys() == {"now", "action", "sign", "quantity", "portion", "ref"}
    assert read_log(table, bars=5, markets=1) == log
    assert read_log(write_log([]), bars=5, markets=1) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
odd = st.floats() | st.sampled_from([0, 1, 5, 95, 100.0, 0.5, 1e300, -1])
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
def hostile_log(draw: st.DrawFn) -> object:
    """A log as an honest writer would pack it, of orders that none gives; now and then with a part that is broken."""
    lengths = draw(st.lists(st.integers(2, len(fields)), max_size=8))
    rows: list[list[Any]] = [[draw(field) for field in fields[:length]] for length in lengths]
    make: Callable[..., Intent] = Intent
    table: Any = write_log([make(*row) for row in sorted(rows, key=lambda row: row[0])])
    if table["columns"] and draw(st.integers(0, 9)) == 0:
        column = draw(st.sampled_from(sorted(table["columns"])))
        part = draw(st.sampled_from(["type", "data", "set", "words"]))
        table["columns"][column][part] = draw(json_values | st.sampled_from(["b", "i", "q", "d", "AAAA", "====", [""]]))
    return table


@given(json_values | hostile_log())
@settings(max_examples=300, deadline=None)
@example(write_log([Intent(0, "order", 0, 1, None, None, 1e300)]))
@example(write_log([Intent(1, "amend", 0, ref=0)]))
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

    @given(hostile_log())
    @settings(max_examples=1_000, deadline=None, database=None)
    def collect(rows: object) -> None:
        nonlocal filled
        try:
            filled += bool(replay(BARS, read_log(rows, bars=5, markets=2), FREE).fills)
        except ValueError:
            return

    collect()
    assert filled >= 5


def changed(*log: Intent, **columns: object) -> object:
    """The log of two orders, or of those given, with some columns replaced; None takes one away."""
    table: Any = write_log(log or [Intent(1, "order", 0, 1, 10.0), Intent(2, "order", 0, 1, 10.0)])
    for name, column in columns.items():
        table["columns"][name] = column
    table["columns"] = {name: column for name, column in table["columns"].items() if column is not None}
    return table


TWO = {"type": "b", "data": "AQI="}  # the numbers 1 and 2
HOSTILE_LOGS: list[tuple[object, str]] = [
    (None, "not a table"),
    ([], "not a table"),
    ({"rows": 1}, "not a table"),
    ({"rows": True, "columns": {}}, "not a table"),
    ({"rows": -1, "columns": {}}, "not a table"),
    ({"rows": 1 << 40, "columns": {}}, "1,099,511,627,776 rows"),
    ({"rows": 1, "columns": {}}, "now .* is missing"),
    (changed(now=None), "now .* is missing"),
    (changed(action=None), "action .* is missing"),
    (changed(now=[1, 2]), "now .* is missing"),
    (changed(stolen=TWO), "'stolen', which no order has"),
    (changed(now=TWO | {"data": "AQ=="}), "now .* has not 2 values"),
    (changed(now=TWO | {"data": "AQIDBA=="}), "now .* has not 2 values"),
    (changed(now=TWO | {"data": "A!I="}), "base64"),
    (changed(now=TWO | {"data": 5}), "now .* has not 2 values"),
    (changed(now=TWO | {"type": "d"}), "now .* type b or i or q"),
    (changed(now=TWO | {"type": ["b"]}), "now .* type b or i or q"),
    (changed(now=TWO | {"set": "AQA=", "data": "AQ=="}), "now .* without a value"),
    (changed(quantity=TWO), "quantity .* type d"),
    (changed(quantity={"type": "d", "data": "", "set": "AAI="}), "quantity .* which rows"),
    (changed(action=TWO), "action .* texts"),
    (changed(action={"words": ["steal"]}), "row 0 .* 'steal' as its action"),
    (changed(action={"words": ["order", "steal"], "type": "b", "data": "AAE="}), "row 1 .* 'steal'"),
    (changed(action={"words": [["order"]]}), "action .* texts"),
    (changed(action={"words": ["order", "close"], "type": "b", "data": "AAI="}), "not there"),
    (changed(action={"words": ["order", "close"], "type": "b", "data": "AP8="}), "not there"),
    (changed(tif={"words": ["never"]}), "tif"),
    (changed(Intent(1, "order", 2)), "instrument 2"),
    (changed(Intent(1, "order", -1)), "instrument -1"),
    (changed(Intent(5, "order")), "out of order"),
    (changed(Intent(-1, "order")), "out of order"),
    (changed(Intent(2, "order"), Intent(1, "order")), "row 1"),
]


def test_a_log_that_makes_no_sense_is_refused_with_what_is_wrong() -> None:
    wrong = []
    for log, what in HOSTILE_LOGS:
        try:
            read_log(log, bars=5, markets=2)
            wrong.append(f"{what}: it was read")
        except ValueError as e:
            if not re.search(what, str(e)):
                wrong.append(f"{what}: {e}")
    assert not wrong, "\n".join(wrong)


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
    reason = {"words": ["a\0\ud800" + "b" * 500]}
    (intent,) = read_log(changed(Intent(1, "order", 0, 1, 10.0), reason=reason), bars=5, markets=2)
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
