"""Whatever bytes a guest sends, the host gets a value or a FrameError."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from ringfence.guest.cost import Cost, weigh
from ringfence.guest.wire import pack
from ringfence.sandbox.channel import Channel
from ringfence.sandbox.frames import FrameError, Report, parse_json, parse_report, read_report
from ringfence.sandbox.outcome import Failure

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)
# Pieces that meet often enough to make almost-JSON.
PIECES = rb'[ ] { } " \ \" , : 1 - .5 e9 1e999 NaN -Infinity null true a \ud800 \udc00'.split()
pieces = st.lists(st.sampled_from([*PIECES, b" ", b"\xff", b"\xc3\xa9", b"\0", b"\xef\xbb\xbf"])).map(b"".join)


def report(**changes: Any) -> bytes:
    frame = {"v": 1, "end": "ok", "result": None, "error": None, "exit_code": 0} | changes
    return json.dumps(frame).encode()


def error(**changes: Any) -> dict[str, Any]:
    return {"type": "ValueError", "message": "no", "line": 3, "traceback": "Traceback"} | changes


@given(st.binary() | pieces)
@example(b"")
@example(b'"\\')
def test_any_bytes_give_a_value_or_a_frame_error(raw: bytes) -> None:
    for parse in (parse_json, parse_report):
        try:
            parse(raw)
        except FrameError:
            pass


@given(pieces)
def test_it_takes_nothing_the_standard_parser_refuses_and_reads_the_same(raw: bytes) -> None:
    try:
        mine = parse_json(raw)
    except FrameError:
        return
    assert mine == json.loads(raw.decode())
    json.dumps(mine, allow_nan=False, ensure_ascii=False).encode()


@given(values, st.sampled_from([None, 1, "\t"]))
def test_strict_json_is_read_as_the_standard_parser_reads_it(value: Any, indent: int | str | None) -> None:
    raw = json.dumps(value, indent=indent).encode()
    assert parse_json(raw) == json.loads(raw) == value


@given(values, st.lists(st.integers(1, 40)))
def test_it_is_all_the_same_in_how_many_pieces_a_report_comes(value: Any, sizes: list[int]) -> None:
    raw = report(result=value)
    channel, rest = Channel(1), pack(raw)
    for size in sizes:
        assert channel.take(rest[:size])
        rest = rest[size:]
    assert channel.take(rest)
    sealed = channel.report()
    assert sealed is not None and channel.damage is None
    assert read_report(sealed) == parse_report(raw)


# What a step of the count may fall into the middle of.
TORN = st.sampled_from(
    [
        '"\\ud83d\\ude00\\ud83d\\ude00",',
        '"\\\\",',
        '"\\"\\\\\\"",',
        '{"a b":1,"c\\u00e9":[]},',
        "1234567890123456789012,",
        "[0,[]],",
        '"text",',
        "null,",
    ]
)


@settings(max_examples=20, deadline=None)
@given(st.lists(TORN, min_size=1), st.integers(1, 20), st.integers(0, 40))
@example(['"\\ud83d\\ude00",'], 16, 3)
def test_large_honest_json_is_read_wherever_it_is_cut(units: list[str], size: int, shift: int) -> None:
    unit = "".join(units)
    text = f'[{" " * shift}{unit * (2_000 * size // len(unit) + 70)}"{"x" * 500_000}"]'
    raw = text.encode()
    assert parse_json(raw) == json.loads(raw)
    whole, pieces = weigh(raw), Cost(len(raw))
    for start in range(0, len(raw), 40_007):
        pieces.feed(raw[start : start + 40_007])
    assert (whole.entries, whole.may_overflow) == (pieces.entries, pieces.may_overflow)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"NaN", "NaN"),
        (b"[-Infinity]", "-Infinity"),
        (b"[1e999]", "too large"),
        (b"-" + b"9" * 400 + b".0", "too large"),
        (b'{"a": 1, "a": 1}', "twice"),
        (b'{"a": {"b": 1, "\\u0062": 2}}', "twice"),
        (b'"\\ud800"', "Unicode"),
        (b'{"\\uDFff": 1}', "Unicode"),
        (b"\xff", "Unicode"),
        (b'"\xed\xa0\x80"', "Unicode"),
        (b"\xef\xbb\xbf1", "Unicode"),
        ('"\N{GRINNING FACE}"'.encode(), "ASCII"),
        (b'"\\ude00\\ud83d"', "Unicode"),
        (b"[" + b"{}," * 1_000_000 + b"0]", "too many values"),
        (b'["' + b"x" * (4 << 20) + b'\\ud83d\\ude00"]', "too many values"),
        (b"", "not JSON"),
        (b"1 2", "not JSON"),
        (b'"\n"', "not JSON"),
        (b"9" * 1001, "1,000 digits"),
        (b"[0." + b"9" * 100_000 + b"]", "1,000 digits"),
        (b"[" * 111 + b"]" * 111, "deeper than 110"),
        (b'{"a":' * 200_000, "deeper"),
        (b"[" * 2_000_000, "deeper"),
        (b'["\\\\",' + b"[" * 200, "deeper"),
        (b'["\\\\\\"",' + b"[" * 200, "deeper"),
    ],
    ids=range(25),
)
def test_refused(raw: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        parse_json(raw)


def test_what_is_allowed_up_to_the_edge() -> None:
    assert parse_json(b"[" * 110 + b"]" * 110)
    assert parse_json(b"9" * 1000) == int("9" * 1000)
    assert parse_json(b'"' + b"[" * 1000 + b'\\"{{"') == "[" * 1000 + '"{{'
    assert parse_json(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"
    assert parse_json(b'"' + b"1" * 5000 + b'"') == "1" * 5000


@pytest.mark.parametrize(
    "unit",
    [b'"\\"', b"1" * 1000 + b",", b"[],", b"\\", b'"', b"[[", b"-", b'"\\ud800",', b"[" * 100 + b"]" * 100 + b","],
    ids=range(9),
)
def test_time_is_linear_in_the_bytes(unit: bytes) -> None:
    raw = b"[" + unit * ((4 << 20) // len(unit)) + b"0]"
    start = time.process_time()
    try:
        parse_json(raw)
    except FrameError:
        pass
    assert time.process_time() - start < 20  # quadratic would be hours


@given(
    st.builds(
        Report,
        end=st.sampled_from(["ok", "exit"]),
        result=values,
        error=st.none(),
        exit_code=st.integers(-(1 << 31), (1 << 31) - 1),
    )
    | st.builds(
        Report,
        end=st.just("error"),
        result=values,
        error=st.builds(
            Failure, type=texts, message=texts, line=st.none() | st.integers(1, 1 << 30), traceback=texts
        ).filter(lambda f: len(f.type) <= 200),
        exit_code=st.just(1),
    )
)
def test_a_report_comes_back_as_it_was(sent: Report) -> None:
    failure = sent.error and {name: getattr(sent.error, name) for name in ("type", "message", "line", "traceback")}
    raw = report(end=sent.end, result=sent.result, error=failure, exit_code=sent.exit_code)
    assert parse_report(raw) == sent


def test_long_texts_are_cut_with_a_mark() -> None:
    raw = report(end="error", error=error(type="t" * 300, message="m" * 20_000, traceback="x" * 200_000, line=None))
    failure = parse_report(raw).error
    assert failure is not None
    assert (len(failure.type), len(failure.message), len(failure.traceback)) == (200, 10_000, 100_000)
    assert failure.type.endswith("t…")
    assert failure.line is None


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b"[]",
        b"{}",
        report(extra=1),
        report(v=2),
        report(v=True),
        report(v=1.0),
        report(end="killed"),
        report(end=None),
        report(end=["ok"]),
        report(exit_code=None),
        report(exit_code=True),
        report(exit_code=1.0),
        report(exit_code=1 << 31),
        report(end="error"),
        report(error=error()),
        report(end="exit", error=error()),
        report(end="error", error="no"),
        report(end="error", error=error(extra=1)),
        report(end="error", error=error(type=1)),
        report(end="error", error=error(message=None)),
        report(end="error", error=error(line=True)),
        report(end="error", error=error(line=0)),
        report(end="error", error=error(line="3")),
        report(result=math.nan),
        report()[:-1],
        report() + report(),
    ],
)
def test_any_other_report_is_refused(raw: bytes) -> None:
    with pytest.raises(FrameError):
        parse_report(raw)


def test_a_result_of_full_depth_fits_in_a_report() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert parse_report(report(result=deep)).result == deep
