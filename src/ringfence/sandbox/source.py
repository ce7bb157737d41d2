"""Program text: decoded once, strictly, so that what is checked is exactly what is run."""

from __future__ import annotations

import re

from ringfence.base.errors import SourceError, SourceTooLarge

MAX_SOURCE_BYTES = 4 << 20

# PEP 263: only the first two lines count. A cookie other than UTF-8 would make another reader of the
# same file (a lint, an editor) see another program than the one we run.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8 = {"utf-8", "utf8", "u8", "utf", "utf_8", "utf-8-sig", "utf_8_sig"}


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
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as e:
        raise SourceError(f"the program holds a lone surrogate at position {e.start}: remove it") from e
    if size > MAX_SOURCE_BYTES:
        raise SourceTooLarge(_too_large(size))
    if "\0" in text:
        raise SourceError("the program holds a NUL character: remove it")
    for line in text.splitlines()[:2]:
        found = _COOKIE.match(line)
        if found and found[1].lower() not in _UTF8:
            raise SourceError(f"the program declares the encoding {found[1]!r}: save it as UTF-8 and drop that line")


def _too_large(size: int) -> str:
    return f"the program is {size:,} bytes, over the limit of {MAX_SOURCE_BYTES:,}: pass data with --file or --input"
