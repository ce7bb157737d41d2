"""What it costs to read JSON, told from its bytes before anything is made of them.

The host reads reports that a hostile program wrote. `[],[],[],…` is three bytes a list and ninety in memory, so the
bytes are counted first, piece by piece as they come, and a report is refused as soon as its values would take more
than `MOST_TIMES` its size. The guest counts by the same rule, so that an honest program is told in its own process.

Every number here is an upper bound for CPython on 64 bits: blocks are multiples of 16 bytes, a list has room for an
eighth more than it holds, a table of keys for up to three times as many. Strings count as wide as their widest
character makes them. A count can only be too high: a break between two pieces hides a saving and never a cost.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate

MOST_TIMES = 4  # its own size, the text among it
SPARE_BYTES = 8 << 20  # whatever its size: dense values are small if they are few
MOST_DIGITS = 1_000  # in a row: the time to read a number grows with their square

_STEP = 1 << 15  # bytes counted at once, which bounds what the counting itself takes
_SMALL = 1 << 17  # nothing of this size can cost `SPARE_BYTES`: the densest JSON is 40 times its size
_LONGEST_ESCAPE = 12  # of a character: two halves of six bytes

_LIST, _SLOT = 128, 9
_DICT, _ENTRY = 160, 36
_TEXT, _WIDE_TEXT = 64, 32  # and what one that is not ASCII takes more
_KEY = _TEXT + 66  # a key is also remembered until all is read, so that equal keys are one
_NUMBER, _LONG_DIGITS = 32, 26  # a number, and each 19 digits of a long one

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as signed bytes
_SPACE = b" \t\n\r"
_TOKENS = bytes.maketrans(b"[]{}:123456789", b",,,,,000000000")
_CHEAP = (b",0,", b",00,", b",null,", b",true,", b",false,")  # the interpreter has one of each
_DIGITS = bytes.maketrans(b"E123456789", b"e000000000")
_ENDLESS, _LONG = b"0" * (MOST_DIGITS + 1), b"0" * 19
_MANY_DIGITS, _LARGE_EXPONENT = b"0" * 200, b"e000"  # a number without one of these is finite as a float
# Every string, so that none is taken for what is between two others; the text of those that are keys.
_KEY_TEXTS = re.compile(rb'"([^"]*)"[ \t\n\r]*:|"[^"]*"')
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_WIDE = re.compile(rb"\\u(?!00)")


class TooCostly(ValueError):
    """JSON that is not read, and why."""


class HalfCharacter(TooCostly):
    """One half of a pair of surrogates, which is not Unicode."""


class Cost:
    """The cost of JSON of `size` bytes, which are fed in pieces."""

    __slots__ = (
        "_fed", "_inside", "_keys", "_level", "_longest", "_max_depth", "_open_length", "_open_width", "_rest",
        "_spare", "_spent", "_tail", "entries", "may_overflow",
        "size",
    )  # fmt: skip

    def __init__(self, size: int, *, max_depth: int = 110, spare: int = SPARE_BYTES) -> None:
        self.size, self._max_depth, self._spare = size, max_depth, spare
        self.entries = 0  # of all objects together
        self.may_overflow = False  # whether a number may be too large for a float
        self._rest = b""  # not counted yet
        self._fed = 0
        self._spent = 0
        self._level = 0
        self._inside = False  # a string
        self._open_length, self._open_width = 0, 1  # of the string that is not at its end yet
        self._longest = 0  # what the making of one string takes on top, at most
        self._keys: set[bytes] = set()
        self._tail = b""

    def feed(self, piece: bytes) -> None:
        """Count what comes next, or raise TooCostly."""
        self._fed += len(piece)
        text = self._rest + piece if self._rest else piece
        start, end = 0, len(text)
        while end - start > _STEP:
            cut = _before_an_escape(text, start, start + _STEP)
            self._count(text[start:cut])
            start = cut
        self._rest = text[start:]
        if self._fed >= self.size and self._rest:
            step, self._rest = self._rest, b""
            self._count(step)
            self._keys = set()  # there is no use for them while the values are made

    def _count(self, step: bytes) -> None:
        if not step.isascii():
            raise TooCostly("JSON is not Unicode text in ASCII, with other characters escaped")
        if b"\\" in step:
            # Characters that no string may hold stand for the two escapes that would be taken for something else.
            step = step.replace(b"\\\\", b"\x01").replace(b'\\"', b"\x02")
            if b"\\u" in step and len(_HALF.findall(step)) != 2 * len(_PAIR.findall(step)):
                raise HalfCharacter("JSON is not valid Unicode text: it holds half a character")
        parts = step.split(b'"')
        outside = b" ".join(parts[self._inside :: 2])
        self._count_levels(outside)
        self._count_digits(outside)
        if self.size > _SMALL:
            self._count_values(step, parts, outside)
        else:
            self.entries += outside.count(b":")
        self._inside ^= len(parts) % 2 == 0

    def _count_levels(self, outside: bytes) -> None:
        opened = outside.count(b"[") + outside.count(b"{")
        if self._level + opened <= self._max_depth:  # wherever the closing ones are
            self._level += opened - outside.count(b"]") - outside.count(b"}")
            return
        levels = array("b", outside.translate(_LEVELS, _NOT_BRACKETS))
        reached = list(accumulate(levels, initial=self._level))
        self._level = reached[-1]
        if max(reached) > self._max_depth:
            raise TooCostly(f"JSON is nested deeper than {self._max_depth} levels")

    def _count_digits(self, outside: bytes) -> None:
        if self.size < len(_MANY_DIGITS) and b"e" not in outside and b"E" not in outside:
            return
        digits = (self._tail + outside).translate(_DIGITS, b"+")
        if _ENDLESS in digits:
            raise TooCostly(f"JSON holds a number of over {MOST_DIGITS:,} digits")
        self.may_overflow |= _MANY_DIGITS in digits or _LARGE_EXPONENT in digits
        self._tail = (self._tail + outside)[-MOST_DIGITS:]

    def _count_values(self, step: bytes, parts: list[bytes], outside: bytes) -> None:
        solid = outside.translate(None, _SPACE)
        lists, objects, entries = solid.count(b"["), solid.count(b"{"), solid.count(b":")
        strings = (len(parts) - 1 + self._inside) // 2  # by their closing quotes
        values = solid.count(b",") + lists + objects - solid.count(b"[]") - solid.count(b"{}")
        tokens = solid.translate(_TOKENS).replace(b",", b",,")
        cheap = sum(map(tokens.count, _CHEAP))
        numbers = max(0, values - max(0, strings - entries) - lists - objects - cheap)
        keys = self._new_keys(step, entries)
        self.entries += entries
        self._spent += (
            _LIST * lists
            + _DICT * objects
            + _SLOT * max(0, values - entries)
            + _ENTRY * entries
            + _NUMBER * numbers
            + _LONG_DIGITS * tokens.count(_LONG)
            + _TEXT * max(0, strings - entries)
            + _KEY * keys
            + self._count_texts(parts, escapes=b"\\u" in step)
        )
        needed = self.size + self._spent + self._longest
        most = MOST_TIMES * self.size + self._spare
        if needed > most:
            raise TooCostly(
                f"it holds too many values for its size: they would take over {most >> 20:,} MB of memory "
                f"where {self.size / (1 << 20):.1f} MB were sent"
            )

    def _new_keys(self, step: bytes, entries: int) -> int:
        """How many strings there are to be made for so many keys, of which most are equal in honest tables."""
        if not entries:
            return 0
        aligned = step.partition(b'"')[2] if self._inside else step
        found = _KEY_TEXTS.findall(aligned)
        before = len(self._keys)
        self._keys.update(found)
        return len(self._keys) - before + max(0, entries - len(found) + found.count(b""))

    def _count_texts(self, parts: list[bytes], *, escapes: bool) -> int:
        """The bytes of the strings themselves, from an opening quote on."""
        texts = parts[not self._inside :: 2]
        sizes = 0
        if self._inside:  # the first of them goes on from the last step
            sizes += self._count_open(texts.pop(0))
            if len(parts) > 1:
                self._open_length, self._open_width = 0, 1
        if texts and self._inside ^ (len(parts) % 2 == 0):
            sizes += self._count_open(texts.pop())
        if not escapes:
            return sizes + sum(map(len, texts))
        for text in texts:
            length, width = _shape(text)
            sizes += length * width + (_WIDE_TEXT if b"\\u" in text else 0)
            self._longest = max(self._longest, _making(length, width))
        return sizes

    def _count_open(self, text: bytes) -> int:
        """What a string takes more now that `text` is found to be in it: a wide character widens what was before."""
        before = self._open_length * self._open_width
        length, width = _shape(text)
        self._open_length += length
        self._open_width = max(self._open_width, width)
        self._longest = max(self._longest, _making(self._open_length, self._open_width))
        return self._open_length * self._open_width - before


def _shape(text: bytes) -> tuple[int, int]:
    """How many characters, and how many bytes each of them takes in memory."""
    if b"\\u" not in text:
        return len(text), 1
    width = 4 if _HALF.search(text) else 2 if _WIDE.search(text) else 1
    return len(text) - 5 * text.count(b"\\u"), width


def _making(length: int, width: int) -> int:
    """A string with escapes grows as it is made, by quarters, and is copied when it gets wider."""
    return length * width // 4 + (length * 5 // 4 if width > 1 else 0)


def _before_an_escape(text: bytes, start: int, cut: int) -> int:
    """The place at or before `cut` where no escape, and no pair of them, is torn; none is at `start`."""
    found = text.find(b"\\", cut - _LONGEST_ESCAPE, cut)
    if found < 0:
        return cut
    if found >= start + 6 and _PAIR.match(text, found - 6):
        found -= 6
    run = found - start - len(text[start:found].rstrip(b"\\"))
    return found - run % 2


def weigh(raw: bytes, *, max_depth: int = 110, spare: int = SPARE_BYTES) -> Cost:
    """The cost of a whole text, or TooCostly."""
    cost = Cost(len(raw), max_depth=max_depth, spare=spare)
    cost.feed(raw)
    return cost
