"""What a program may leave as its result, and what it is told when it may not."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import math
import pathlib
import subprocess
import sys
import types
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from ringfence.guest import values
from ringfence.guest.values import ResultError, encode
from ringfence.sandbox.frames import parse_json


def carried(value: object, **limits: int) -> Any:
    def forbid(name: str) -> None:
        raise AssertionError(f"{name} is not strict JSON")

    return json.loads(encode(value, **limits), parse_constant=forbid)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: list[float]


Pair = collections.namedtuple("Pair", "a b")


class LoudStr(str):
    def __str__(self) -> str:
        return "forged"

    __repr__ = __str__


class LoudDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise AssertionError("called")

    __iter__ = keys = __len__ = items


class LoudInt(int):
    def __int__(self) -> int:
        raise AssertionError("called")

    __index__ = __str__ = __repr__ = __int__  # type: ignore[assignment]


class LoudList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError("called")


PLAIN: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (1, 1),
    (10**30, 10**30),
    (1.5, 1.5),
    (math.nan, None),
    (-math.inf, None),
    ([1, 2.0, math.inf, "é", None, True], [1, 2.0, None, "é", None, True]),
    ([1.0, math.nan], [1.0, None]),
    ({"a": {"b": (1, [2])}}, {"a": {"b": [1, [2]]}}),
    ({1: 1, 2.5: 2, False: 3, None: 4}, {"1": 1, "2.5": 2, "false": 3, "null": 4}),
    ({dt.date(2024, 1, 2): 1}, {"2024-01-02": 1}),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({"a", 1, None}, ["a", 1, None]),
    (collections.deque([1, 2]), [1, 2]),
    (range(3), [0, 1, 2]),
    ({"a": 1}.keys(), ["a"]),
    ({"a": 1}.items(), [["a", 1]]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.Counter("aab"), {"a": 2, "b": 1}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (Pair(1, 2), [1, 2]),
    (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),  # noqa: DTZ001 - programs make naive ones
    (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T00:00:00+00:00"),
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.time(1, 2), "01:02:00"),
    (dt.timedelta(minutes=1.5), 90.0),
    (decimal.Decimal("1.10"), "1.10"),
    (decimal.Decimal("NaN"), None),
    (fractions.Fraction(1, 3), "1/3"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.Path("a/b"), "a/b"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    ({Colour.RED: 1}, {"red": 1}),
    (Point(1, [2.0]), {"x": 1, "y": [2.0]}),
    (LoudStr("honest"), "honest"),
    ({LoudStr("k"): LoudInt(7)}, {"k": 7}),
    (LoudDict(a=LoudList([1])), {"a": [1]}),
]


@pytest.mark.parametrize(("value", "expected"), PLAIN, ids=[str(i) for i in range(len(PLAIN))])
def test_plain_values(value: object, expected: object) -> None:
    assert carried(value) == expected


NUMPY: list[tuple[object, object]] = [
    (np.int64(3), 3),
    (np.float64("nan"), None),
    (np.float32(0.5), 0.5),
    (np.longdouble(1) / 4, 0.25),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
    (np.array([1.0, np.nan, np.inf]), [1.0, None, None]),
    (np.array([1.0, np.nan], dtype=np.float16), [1.0, None]),
    (np.array(5), 5),
    (np.zeros((2, 0)), [[], []]),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.array([1, "a", None, np.float64("inf"), [2]], dtype=object), [1, "a", None, None, [2]]),
    (np.datetime64("2024-01-02"), "2024-01-02"),
    (np.datetime64("2024-01-02T03"), "2024-01-02T03:00:00"),
    (
        np.array(["2024-01-02T03:04:05.5", "NaT", "2024-01-02T00:00:00"], dtype="datetime64[ns]"),
        ["2024-01-02T03:04:05.500000", None, "2024-01-02T00:00:00"],
    ),
    (np.array([1500, "NaT"], dtype="timedelta64[ms]"), [1.5, None]),
    (np.timedelta64(2, "D"), 172800.0),
    (np.ma.masked_array([1, 2], mask=[False, True]), [1, None]),
    ({np.int64(1): np.float64(2)}, {"1": 2.0}),
    (np.array(["a", "b"], dtype=np.dtypes.StringDType()), ["a", "b"]),
]


@pytest.mark.parametrize(("value", "expected"), NUMPY, ids=[str(i) for i in range(len(NUMPY))])
def test_numpy(value: object, expected: object) -> None:
    assert carried(value) == expected


DAYS = pd.date_range("2024-01-01", periods=2)
MULTI = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
PANDAS: list[tuple[object, object]] = [
    (pd.Timestamp("2024-01-02 03:04:05.123456789"), "2024-01-02T03:04:05.123456789"),
    (pd.Timedelta("1min"), 60.0),
    (pd.NaT, None),
    (pd.NA, None),
    (pd.Period("2024-01", "M"), "2024-01"),
    (DAYS, ["2024-01-01T00:00:00", "2024-01-02T00:00:00"]),
    (DAYS.tz_localize("UTC"), ["2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00"]),
    (MULTI, [["a", 1], ["b", 2]]),
    (pd.Categorical(["x", None, "y"]), ["x", None, "y"]),
    (pd.array([1, None], dtype="Int64"), [1, None]),
    (pd.Series([1.0, np.nan]), [1.0, None]),
    (pd.Series(["a", None]), ["a", None]),
    (pd.Series([1, 2], index=["x", "y"]), {"index": ["x", "y"], "data": [1, 2]}),
    (pd.Series([1, 2], index=MULTI), {"index": [["a", 1], ["b", 2]], "data": [1, 2]}),
    (pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}), [{"a": 1, "b": 0.5}, {"a": 2, "b": None}]),
    (pd.DataFrame({"t": DAYS, "c": pd.Categorical(["u", "v"])}).head(1), [{"t": "2024-01-01T00:00:00", "c": "u"}]),
    (
        pd.DataFrame({"a": [1, 2]}, index=DAYS),
        {"columns": ["a"], "index": ["2024-01-01T00:00:00", "2024-01-02T00:00:00"], "data": [[1], [2]]},
    ),
    (pd.DataFrame([[1, 2]], columns=MULTI), [{"a/1": 1, "b/2": 2}]),
    (pd.DataFrame([[1, 2]], columns=[0, 1]), [{"0": 1, "1": 2}]),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), {"columns": ["a", "a"], "index": [0], "data": [[1, 2]]}),
    (pd.DataFrame({"a": [1, 2, 3]}).iloc[1:], {"columns": ["a"], "index": [1, 2], "data": [[2], [3]]}),
    (pd.DataFrame(), []),
    ({"table": pd.DataFrame({"a": [[1, {"b": np.nan}]]})}, {"table": [{"a": [1, {"b": None}]}]}),
]


@pytest.mark.parametrize(("value", "expected"), PANDAS, ids=[str(i) for i in range(len(PANDAS))])
def test_pandas(value: object, expected: object) -> None:
    assert carried(value) == expected


class Liar:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return dict


class LyingMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class Nameless(metaclass=LyingMeta):
    pass


class Bad(enum.Enum):
    GOOD = Nameless()


REFUSED: list[tuple[object, str]] = [
    ({"a": [print]}, r"a function at result\['a'\]\[0\]: assign plain values, arrays or tables"),
    ([1, b"x"], r"bytes data at result\[1\]: write it to a file"),
    (bytearray(b"x"), "bytearray data at result: "),
    ((i for i in range(3)), r"a generator that has not been run through at result: call list\(\)"),
    (map(str, []), r"a map .* list\(\)"),
    (1j, "complex"),
    (np.complex128(1j), "complex"),
    (np.array([1j]), "an array of complex128"),
    (np.array([b"x"]), "an array of |S1"),
    (np.zeros(1, dtype=[("a", int)]), "an array of"),
    (object(), "an object at result"),
    (Liar(), "a Liar at result"),
    (Nameless(), "a Nameless at result"),
    ([[Bad.GOOD]], r"a Nameless at result\[0\]\[0\]"),
    (int, "a class at result"),
    (10**1000, "over 1,000 digits at result"),
    ([0, -(10**1000)], r"over 1,000 digits at result\[1\]"),
    ({(1, 2): 3}, "a tuple as a key at result"),
    ({1: 1, "1": 2}, "two keys that both read '1'"),
    ("\ud800", "lone surrogate"),
    ({"\ud800": 1}, "lone surrogate"),
    (pd.DataFrame({"a": [1]}).groupby("a"), "a DataFrameGroupBy"),
    (pd.DataFrame({"a": [1, print]}), r"a function at result\['a'\]\[1\]"),
    (np.ma.masked_array([1], dtype="M8[s]"), "a masked array"),
    (type("x" * 10_000, (), {})(), "an? x+…x+ at result"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refused(value: object, message: str) -> None:
    with pytest.raises(ResultError, match=message) as caught:
        encode(value)
    text = str(caught.value)
    assert text.startswith("result ")
    assert ": " in text
    assert len(text) < 600
    text.encode()


def test_cycles_are_refused() -> None:
    a: list[object] = [1]
    a.append({"b": (a,)})
    with pytest.raises(ResultError, match=r"contains itself at result\[1\]\['b'\]\[0\]"):
        encode(a)
    d: dict[str, object] = {}
    d["d"] = d
    with pytest.raises(ResultError, match="contains itself"):
        encode(d)
    o = np.empty(1, dtype=object)
    o[0] = o
    with pytest.raises(ResultError):
        encode(o)


def test_shared_values_are_no_cycle() -> None:
    a = [1]
    assert carried([a, a, {"x": a}]) == [[1], [1], {"x": [1]}]


def nested(depth: int) -> object:
    value: object = 1
    for i in range(depth):
        value = [value] if i % 2 else {"a": value}
    return value


def test_depth() -> None:
    carried(nested(100))
    for depth in (101, 100_000):
        with pytest.raises(ResultError, match="deeper than 100 levels"):
            encode(nested(depth))
    with pytest.raises(ResultError, match="deeper than 3 levels"):
        encode(np.zeros((1, 1, 1, 1)), max_depth=3)


def bomb() -> object:
    value: object = "x"
    for _ in range(60):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        bomb(),
        "x" * (9 << 20),
        "é" * (5 << 20),
        range(10**30),
        np.broadcast_to(np.int8(1), (10**6, 10**6)),
        np.zeros((10**9, 0)),
        pd.DataFrame({"a" * 1000: range(10_000)}),
        {str(i): i for i in range(1_000_000)},
        [1] * (5 << 20),
    ],
    ids=["bomb", "text", "wide", "range", "strides", "rows", "names", "dict", "list"],
)
def test_too_large(value: object) -> None:
    with pytest.raises(ResultError, match="over 1 MiB as JSON: return less, or write it to a file"):
        encode(value, max_bytes=1 << 20)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_values_are_carried_unchanged(value: object) -> None:
    assert carried(value) == value


@given(json_values, st.integers(0, 60))
def test_the_byte_limit_is_exact(value: object, limit: int) -> None:
    size = len(encode(value))
    if size <= limit:
        assert len(encode(value, max_bytes=limit)) == size
    else:
        with pytest.raises(ResultError):
            encode(value, max_bytes=limit)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(300).astype(object),
        np.array(["2024"] * 50, dtype="M8[Y]"),
        pd.Series(["a"] * 99),
        pd.Series([1, None] * 50, dtype="Int64"),
        pd.DataFrame({"a": [1] * 99, "b": "x"}),
        pd.DataFrame({1: [1] * 99}, index=[str(i) for i in range(99)]),
        {i: i for i in range(99)},
        {dt.date(2024, 1, 1): 1},
        np.zeros((5, 0)),
        {1, 2, 3},
    ],
    ids=str,
)
def test_what_fits_is_not_refused_early(value: object) -> None:
    size = len(encode(value))
    assert len(encode(value, max_bytes=size)) == size
    with pytest.raises(ResultError, match="is over"):
        encode(value, max_bytes=size - 1)


def test_whatever_an_object_raises_becomes_the_reason() -> None:
    class Table(pd.DataFrame):
        @property  # type: ignore[misc]
        def index(self) -> Any:
            raise KeyError("gone")

    with pytest.raises(ResultError, match=r"raised KeyError when read at result\[0\]"):
        encode([Table({"a": [1]})])


def test_importing_it_loads_no_library_of_the_field_and_nothing_of_ours_but_the_count_of_costs() -> None:
    code = (
        f"import sys, runpy; runpy.run_path({values.__file__!r}); "
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'pandas', 'ringfence')][2:])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ringfence.guest.cost']"  # below its two packages


def test_what_the_docs_call_ordinary_fits_and_is_read_by_the_host() -> None:
    row = {"day": "2024-01-01T00:00:00", "open": 100.25, "high": 101.5, "low": 99.75, "close": 100.5, "volume": 1234567}
    for value in ([row] * 20_000, [100.25] * 300_000):
        assert parse_json(encode(value)) == value


@pytest.mark.parametrize(
    "value", [[[]] * 500_000, [{}] * 500_000, [1.5] * 2_000_000], ids=["lists", "objects", "floats"]
)
def test_what_would_fill_the_hosts_memory_is_refused_with_a_remedy(value: object) -> None:
    with pytest.raises(ResultError, match=r"too many values for its size.*write it to a file"):
        encode(value)
