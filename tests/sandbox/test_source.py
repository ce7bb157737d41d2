"""Program text is decoded once, and what another reader could see differently is refused."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import JobError, SourceError, SourceTooLarge
from ringfence.sandbox.source import MAX_SOURCE_BYTES, check_source, decode_source


def test_utf8_is_decoded() -> None:
    assert decode_source("x = '€ 🐍'\n".encode()) == "x = '€ 🐍'\n"
    assert decode_source(b"") == ""


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode_source(b"\xef\xbb\xbfx = 1") == "x = 1"


def test_line_ends_are_kept() -> None:
    assert decode_source(b"a\r\nb\rc\n") == "a\r\nb\rc\n"


@pytest.mark.parametrize("raw", [b"\xff", b"x = '\xe9'", "é".encode("utf-16"), b"\xed\xa0\x80", b"\xc0\xaf"])
def test_other_bytes_are_refused_with_a_remedy(raw: bytes) -> None:
    with pytest.raises(SourceError, match=r"not UTF-8 \(byte \d+ .*save it as UTF-8"):
        decode_source(raw)


def test_the_place_of_the_bad_byte_is_told() -> None:
    with pytest.raises(SourceError, match="byte 4 "):
        decode_source(b"x = \xff")


def test_a_nul_is_refused() -> None:
    with pytest.raises(SourceError, match="NUL"):
        decode_source(b"x = 1\0")


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(SourceError, match="surrogate at position 5"):
        check_source("x = '\ud800'")


def test_the_size_limit_counts_bytes() -> None:
    check_source("#" * MAX_SOURCE_BYTES)
    decode_source(b"#" * MAX_SOURCE_BYTES)
    with pytest.raises(SourceTooLarge, match="over the limit"):
        decode_source(b"#" * (MAX_SOURCE_BYTES + 1))
    with pytest.raises(SourceTooLarge, match="--file or --input"):
        check_source("€" * (MAX_SOURCE_BYTES // 3 + 1))


@pytest.mark.parametrize(
    "line",
    [
        "# coding: latin-1",
        "#coding=latin-1",
        "# -*- coding: cp1252 -*-",
        "\f  # vim: set fileencoding=utf-7 :",
        "# encoding: UTF-16",
        "# coding: rot13",
        "# coding: unicode_escape",
        "# encoding coding:\tlatin-1",
    ],
)
def test_another_encoding_is_refused_on_the_first_two_lines(line: str) -> None:
    for text in (line, f"{line}\nx = 1", f"#!/usr/bin/env python3\n{line}\nx = 1", f"\n{line}", f"#!x\r\n{line}"):
        with pytest.raises(SourceError, match="save it as UTF-8 and drop that line"):
            check_source(text)


@pytest.mark.parametrize(
    "text",
    [
        "# coding: utf-8\nx = 1",
        "# -*- coding: UTF-8 -*-",
        "# vim: set fileencoding=utf8 :",
        "#!/usr/bin/python\n# coding=utf_8",
        "x = 1\ny = 2\n# coding: latin-1",
        "# about coding in general",
        "# coding:",
        "coding = 'latin-1'",
        "# encodings: many",
        "# -*- coding: utf-8-unix -*-",
        "# coding: \u044d\u0442\u043e",  # no name of an encoding to Python
    ],
)
def test_everything_else_is_accepted(text: str) -> None:
    check_source(text)


def test_every_source_error_is_a_job_error_with_its_own_exit_code() -> None:
    assert issubclass(SourceError, JobError)
    assert issubclass(SourceTooLarge, JobError)
    assert SourceError.exit_code != SourceTooLarge.exit_code


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(raw: bytes) -> None:
    try:
        text = decode_source(raw)
    except SourceError:
        return
    assert text.encode() == raw.removeprefix(b"\xef\xbb\xbf")


# A cookie after a few line ends of every kind that somebody takes for one, and a few things that hide it or not.
_ENDS = ["\n", "\r", "\r\n", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
_BEFORE = st.lists(st.sampled_from([*_ENDS, " ", "#", "#!x", "x", '"""']), max_size=5).map("".join)
_COOKIE = st.builds(
    "{}coding{}{}{}".format,
    st.sampled_from(["#", "# en", "# x coding: ", " #", "\f#", "x #", ""]),
    st.sampled_from([":", "=", " :", ": ", "=\t"]),
    st.sampled_from(["latin-1", "utf-8", "UTF8", "cp1252", "utf-8-unix", "u8", "\u00e9"]),
    st.sampled_from(["", "\n", "\u00e9", "-*-", '\n"""']),
)


@given(_BEFORE, _COOKIE)
@settings(max_examples=400)
def test_what_is_accepted_is_utf8_to_python_too(before: str, cookie: str) -> None:
    text = before + cookie
    try:
        check_source(text)
    except SourceError:
        return
    raw = text.encode()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    assert codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    assert _parse(raw) == _parse(text)


def _parse(source: str | bytes) -> str:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return "not a program"
