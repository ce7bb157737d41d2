"""Program text: decoded once, strictly, so that what is checked is exactly what is run."""

from __future__ import annotations

import re

from ringfence.base.errors import SourceError, SourceTooLarge

MAX_SOURCE_BYTES = 4 << 20

# PEP 263, as Python itself reads it: ASCII names, only in a comment on line one, or on line two below a
# blank or comment line. A cookie other than UTF-8 would make another reader of the same file (a lint, an
# editor) see another program than the one we run.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(r"^[ \t\f]*(?:[#\r]|$)")
# The compiler ends a line at a lone carriage return, most other readers do not: a cookie that either finds counts.
_LINE_ENDS = (re.compile(r"\r\n|\r|\n"), re.compile(r"\n"))
_UTF8 = re.compile(r"(?:utf[-_]?8|u8|utf|cp65001)(?:[-_]sig)?$|utf-8-", re.IGNORECASE)


def decode_source(raw: bytes) -> str:
    """Turn the bytes of a program into text, or say why not."""
    if len(raw) > MAX_SOURCE_BYTES:
        raise SourceTooLarge(_too_large(len(raw)))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise SourceError(f"the program is not UTF-8 (byte {e.start} cannot be read): save it as UTF-8") from e
    check_source(text)
    return text


def check_source(text: str) -> None:
    """Refuse text that another reader of the same program would see differently."""
    if not isinstance(text, str):
        raise SourceError(f"the program must be text, not {type(text).__name__}: decode it first")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as e:
        raise SourceError(f"the program holds a lone surrogate at position {e.start}: remove it") from e
    if size > MAX_SOURCE_BYTES:
        raise SourceTooLarge(_too_large(size))
    if "\0" in text:
        raise SourceError("the program holds a NUL character: remove it")
    for line_end in _LINE_ENDS:
        cookie = _find_cookie(line_end.split(text, maxsplit=2)[:2])
        if cookie and not _UTF8.match(cookie.replace("_", "-")):
            raise SourceError(f"the program declares the encoding {cookie!r}: save it as UTF-8 and drop that line")


def _find_cookie(lines: list[str]) -> str | None:
    for line in lines:
        found = _COOKIE.match(line)
        if found:
            return found[1]
        if not _BLANK.match(line):
            return None
    return None


def _too_large(size: int) -> str:
    return f"the program is {size:,} bytes, over the limit of {MAX_SOURCE_BYTES:,}: pass data with --file or --input"
