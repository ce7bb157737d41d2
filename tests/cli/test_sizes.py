from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ringfence.base.errors import LimitError
from ringfence.cli.sizes import parse_bytes, parse_mb, show_bytes

POWERS = {"k": 10, "m": 20, "g": 30, "t": 40}


@pytest.mark.parametrize(
    ("text", "mb"),
    [
        ("256m", 256),
        ("2g", 2048),
        ("100", 100),
        ("1.5g", 1536),
        ("512k", 1),
        ("1025k", 2),
        ("256MB", 256),
        ("2 GiB", 2048),
        ("0", 0),
        ("-5m", -5),
        ("1t", 1 << 20),
        ("1048577b", 2),
    ],
)
def test_megabytes(text: str, mb: int) -> None:
    assert parse_mb(text) == mb


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("1048576", 1 << 20), ("64k", 65536), ("2m", 2 << 20), ("1.5", 2)]
)
def test_bytes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    "text", ["", "m", "abc", "12q", "1e3", "nan", "inf", "0x10", "1,5g", "1..2", "٣m", "2g\0", "1 2", "9" * 40]
)
def test_what_is_not_a_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(LimitError, match="256m"):
        parse_mb(text)


@given(st.integers(0, 10**9), st.sampled_from("kmgt"), st.sampled_from(["", "b", "ib"]), st.booleans())
def test_a_unit_is_a_power_of_1024(number: int, unit: str, tail: str, upper: bool) -> None:
    text = f"{number}{unit}{tail}"
    text = text.upper() if upper else text
    assert parse_bytes(text) == number << POWERS[unit]
    assert (parse_mb(text) - 1) << 20 < parse_bytes(text) <= parse_mb(text) << 20


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_a_limit_error(text: str) -> None:
    try:
        parse_mb(text)
    except LimitError:
        pass


@given(st.integers(0, 1 << 45))
def test_shown_sizes_are_short_and_close(count: int) -> None:
    shown = show_bytes(count)
    number, unit = shown.split()
    assert "e" not in number
    assert abs(float(number) * {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[unit] - count) <= max(
        count * 0.006, 0.5
    )
