"""A claim is read from untrusted JSON: into values, or refused with a ValueError and nothing else."""

from __future__ import annotations

import copy
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ringfence.trade.bars import Bars, Candles
from ringfence.trade.claim import read_claim
from ringfence.trade.intents import Intent, write_log
from ringfence.trade.packed import pack_table
from ringfence.trade.times import DAY


@cache
def bars(first_day: int = 0) -> Bars:
    rows = 50
    close = np.linspace(100.0, 120.0, rows)
    time = (np.arange(rows, dtype=np.int64) + first_day) * DAY
    return Bars(
        candles={"X": Candles(time, close, close + 1, close - 1, close, np.ones(rows))},
        timeframe="1d",
        source="made",
    )


def points(time: list[int], value: list[float | None]) -> dict[str, object]:
    return pack_table(len(time), {"time": ("whole", time), "value": ("real", value)})


def report(**changes: object) -> dict[str, object]:
    made: dict[str, object] = {
        "log": write_log([Intent(3, "order", 0, 1, 10.0), Intent(9, "close", portion=1.0)]),
        "claim": {"cash": 99_000.0, "equity": 100_100.5, "fills": 1},
        "start": 1,
        "failing": None,
        "indicators": [{"name": "sma", "market": 0, "points": points([0, DAY], [None, 1.5])}],
        "libraries": {"numpy": "2.0"},
        "near": [{"line": 3, "text": "a > b", "seen": 5, "true": 0, "bar": 2, "left": 1.0, "right": 2.0}],
    }
    return copy.deepcopy(made | changes)


def test_an_honest_report_is_read_as_it_was_meant() -> None:
    claim = read_claim(report(), bars())
    assert [(i.now, i.action, i.quantity, i.portion) for i in claim.log] == [
        (3, "order", 10.0, None),
        (9, "close", None, 1.0),
    ]
    assert (claim.cash, claim.equity, claim.fills, claim.start) == (99_000.0, 100_100.5, 1, 1)
    assert claim.ended and claim.failing_bar is None and claim.hint is None
    line = claim.indicators["sma"]
    assert line.time.tolist() == [0, DAY] and np.isnan(line.value[0]) and line.value[1] == 1.5
    assert claim.near[0].text == "a > b" and claim.libraries == {"numpy": "2.0"}


def test_what_failed_is_told_with_its_bar_or_without_one() -> None:
    claim = read_claim(report(failing={"bar": 7, "hint": "did you mean 'close'?"}), bars())
    assert (claim.ended, claim.failing_bar, claim.hint) == (False, 7, "did you mean 'close'?")
    claim = read_claim(report(failing={"bar": None, "hint": None}), bars())
    assert (claim.ended, claim.failing_bar, claim.hint) == (False, None, None)


def test_indicators_of_a_history_before_1970_are_read() -> None:
    early = bars(-8_000)
    line = {"name": "sma", "market": 0, "points": points([early.start, early.end], [1.0, 2.0])}
    assert len(read_claim(report(indicators=[line]), early).indicators["sma"]) == 2


def line(**changes: object) -> list[object]:
    return [{"name": "x", "market": 0, "points": points([0, DAY], [1.0, 2.0])} | changes]


@pytest.mark.parametrize(
    "changes",
    [
        {"log": None},
        {"log": {}},
        {"log": write_log([Intent(3, "order")] * 60_000)},
        {"claim": None},
        {"claim": {"cash": "1", "equity": 1.0, "fills": 0}},
        {"claim": {"cash": True, "equity": 1.0, "fills": 0}},
        {"claim": {"cash": 1e301, "equity": 1.0, "fills": 0}},
        {"claim": {"cash": float("inf"), "equity": 1.0, "fills": 0}},
        {"claim": {"cash": float("nan"), "equity": 1.0, "fills": 0}},
        {"claim": {"cash": 10**400, "equity": 1.0, "fills": 0}},
        {"claim": {"cash": 1.0, "equity": 1.0, "fills": -1}},
        {"claim": {"cash": 1.0, "equity": 1.0, "fills": 1.5}},
        {"start": 51},
        {"start": -1},
        {"start": None},
        {"failing": []},
        {"failing": {"bar": 50}},
        {"failing": {"bar": -1}},
        {"failing": {"bar": 1, "hint": 5}},
        {"libraries": []},
        {"libraries": {"numpy": 2}},
        {"libraries": {str(i): "1" for i in range(65)}},
        {"near": None},
        {"near": [[]]},
        {"indicators": [5]},
        {"indicators": line(market=1)},
        {"indicators": line(points=None)},
        {"indicators": line(points=points([0, DAY], [1.0]))},
        {"indicators": line(points=points([DAY, 0], [1.0, 2.0]))},
        {"indicators": line(points=points([0, 0], [1.0, 2.0]))},
        {"indicators": line(points=points([0, 50 * DAY], [1.0, 2.0]))},
        {"indicators": line(points=points([-DAY, 0], [1.0, 2.0]))},
        {"indicators": line(points=points([0, DAY], [1.0, float("inf")]))},
        {"indicators": line(points=points(list(range(20_001)), [1.0] * 20_001))},
        {"indicators": line(name=None)},
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_claim(report(**changes), bars())


def test_text_is_cut_and_can_be_stored() -> None:
    claim = read_claim(report(failing={"bar": 1, "hint": "\ud800\0" + "x" * 9_999}), bars())
    assert claim.hint is not None and len(claim.hint) <= 200
    assert "\0" not in claim.hint
    claim.hint.encode()


def test_names_of_indicators_are_kept_apart() -> None:
    assert list(read_claim(report(indicators=line() + line()), bars()).indicators) == ["x", "x'"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*report(), "x"]), JSON))
def test_any_document_is_read_or_refused(changes: dict[str, object]) -> None:
    try:
        claim = read_claim(report(**changes), bars())
    except ValueError:
        return
    assert abs(claim.cash) < 1e300 and abs(claim.equity) < 1e300


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([0, 1, -1, 3, 1.5, None, "order", "close", "market", "gtc", True]), max_size=21))
)
def test_any_log_is_read_or_refused(rows: list[list[object]]) -> None:
    try:
        claim = read_claim(report(log=json.loads(json.dumps(rows))), bars())
    except ValueError:
        return
    nows = [intent.now for intent in claim.log]
    assert nows == sorted(nows) and all(0 <= now < 50 for now in nows)
