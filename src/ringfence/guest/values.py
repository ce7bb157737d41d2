"""The program's `result` as strict JSON bytes.

This runs inside the jail, in the very process of the hostile program, so nothing here protects the
host: the host checks the bytes again. What it does promise is honest programs a faithful value or one
clear sentence. numpy and pandas are looked up, never imported: if they are not loaded, no value of
theirs can be here. Exact types come first and subclasses are read through their base class, so an
overridden `__iter__` or `__str__` does not get to tell a different story.

What has no JSON form of its own: NaN, infinities, NaT and NA are null; dates and times are ISO 8601;
a timedelta is its seconds; Decimal, Fraction, UUID and paths are text; sets are sorted lists; a table
with the default index is a list of records, any other is {"columns", "index", "data"}. Several levels
of column names are joined with "/".
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import sys
import types
import uuid
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ringfence.guest import cost

_DUMPS = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":")).encode
_INT_LIMIT = 10**cost.MOST_DIGITS
_REST_BYTES = 1 << 20  # what the host may need for the rest of a report, an error with its traceback at most
_ATOMS = frozenset({int, str, bool, float, type(None)})
_LAZY = (types.GeneratorType, map, filter, zip, enumerate, reversed)
_EMPTY: dict[str, str] = {}
_VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
_FILE_IT = "write it to a file in the working directory, which comes back as an artifact"
_type_name = type.__dict__["__name__"].__get__  # a metaclass may lie about, or raise from, `__name__`


class ResultError(ValueError):
    """The result cannot be carried out of the jail."""


def encode(value: object, *, max_bytes: int = 8 << 20, max_depth: int = 100) -> bytes:
    """Give `value` as JSON in ASCII, or raise ResultError."""
    walk = _Walk(max_bytes, max_depth)
    try:
        raw = _DUMPS(walk.plain(value)).encode()
    except (ResultError, MemoryError):
        raise
    except Exception as e:  # noqa: BLE001 - not swallowed: what a lying object raised becomes the reason
        walk.refuse(f"a value that raised {_cut(_type_name(type(e)))} when read", "assign plain values", e)
    if len(raw) > max_bytes:
        walk.too_large()
    try:
        cost.weigh(raw, spare=cost.SPARE_BYTES - _REST_BYTES)
    except cost.HalfCharacter:
        raise ResultError(
            "result holds text with a lone surrogate, which is not Unicode: "
            "clean it with text.encode('utf-8', 'replace').decode()"
        ) from None
    except cost.TooCostly as e:
        raise ResultError(f"result cannot be read by the host: {e}; return fewer values, or {_FILE_IT}") from None
    return raw


def _cut(text: str, most: int = 80) -> str:
    text = text if len(text) <= most else text[: most // 2] + "…" + text[-most // 2 :]
    return text.encode("utf-8", "backslashreplace").decode()


def _is(kind: type, *bases: Any) -> bool:
    # Not isinstance: `__class__` can lie. None stands for a class that is not there.
    return any(type(base) is not type(None) and issubclass(kind, base) for base in bases)


def _iso(text: str) -> str | None:
    """The text numpy gives for a datetime64, with the fraction that datetime.isoformat() would show."""
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if whole == "NaT":
        return None
    return f"{whole}.{fraction.ljust(6 if len(fraction) <= 6 else 9, '0')}" if fraction else whole


class _Walk:
    """One conversion to plain values: where it is, what it is inside of, and how much more fits."""

    __slots__ = ("active", "max_bytes", "max_depth", "room", "trail")

    def __init__(self, max_bytes: int, max_depth: int) -> None:
        self.max_bytes, self.max_depth = max_bytes, max_depth
        self.room = max_bytes + 1  # a value and its comma take two bytes at least, the last one has no comma
        self.trail: list[object] = []
        self.active: set[int] = set()

    # Refusals

    def refuse(self, what: str, remedy: str, cause: Exception | None = None) -> NoReturn:
        place = "result" + "".join(f"[{key if type(key) is int else _cut(repr(key), 40)}]" for key in self.trail)
        raise ResultError(f"result holds {what} at {_cut(place, 300)}: {remedy}") from cause

    def too_large(self) -> NoReturn:
        limit = f"{self.max_bytes >> 20} MiB" if self.max_bytes >= 1 << 20 else f"{self.max_bytes} bytes"
        raise ResultError(f"result is over {limit} as JSON: return less, or {_FILE_IT}")

    def fits(self, values: int) -> int:
        """Stop early when so many values cannot fit, before memory is spent on them."""
        if self.room < 2 * values:
            self.too_large()
        return 2 * values

    def spend(self, values: int) -> None:
        self.room -= self.fits(values)

    # Any value

    def plain(self, value: object) -> object:
        kind = type(value)
        if kind in _ATOMS:
            self.spend(1)
            return self.atom(value)
        handler = _EXACT.get(kind)
        if handler is not None:
            return handler(self, value)
        return self.foreign(kind, value)

    def atom(self, value: Any) -> object:
        kind = type(value)
        if kind is float:
            return value if math.isfinite(value) else None
        if kind is int and not -_INT_LIMIT < value < _INT_LIMIT:
            self.refuse(f"a whole number of over {cost.MOST_DIGITS:,} digits", "pass it as text, or round it")
        if kind is str:
            self.room -= len(value)
        return value

    def foreign(self, kind: type, value: Any) -> object:
        """A value whose exact type is not in the table: of pandas, of numpy, or a subclass."""
        pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
        if pandas is not None and hasattr(pandas, "DataFrame"):
            if value is pandas.NaT or value is pandas.NA:
                return self.plain(None)
            if _is(kind, pandas.Timestamp):
                return self.plain(value.isoformat())
            if _is(kind, pandas.Timedelta):
                return self.plain(value.total_seconds())
            if _is(kind, pandas.DataFrame):
                return self.frame(pandas, value)
            if _is(kind, pandas.Series):
                return self.series(pandas, value)
            if _is(kind, pandas.Index, pandas.api.extensions.ExtensionArray):
                return self.column(value)
            if _is(kind, pandas.Period, pandas.Interval):
                return self.plain(str(value))
        if numpy is not None and hasattr(numpy, "ndarray"):
            if _is(kind, numpy.ndarray):
                return self.array(numpy, value)
            if _is(kind, numpy.generic) and not _is(kind, str, float, bytes, complex):
                return self.array(numpy, numpy.asarray(value))
        for base, handler in _BASES:
            if issubclass(kind, base):
                return handler(self, value)
        if dataclasses.is_dataclass(kind):
            return self.mapping({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, of=value)
        return self.unknown(kind)

    def unknown(self, kind: type) -> NoReturn:
        name = _cut(_type_name(kind))
        if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
            name = "function"
        elif issubclass(kind, type):
            name = "class"
        self.refuse(f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}", "assign plain values, arrays or tables")

    # Containers

    def enter(self, value: object, levels: int = 1) -> None:
        if id(value) in self.active:
            self.refuse("a value that contains itself", "break the cycle, for example by copying the part you need")
        if len(self.active) + levels > self.max_depth:
            self.refuse(f"values nested deeper than {self.max_depth} levels", "flatten them")
        self.active.add(id(value))

    def sequence(self, items: Iterable[Any], *, of: object = None) -> list[object]:
        values = list(items)
        owner = values if of is None else of
        self.enter(owner)
        self.spend(1)
        kinds = set(map(type, values))
        if kinds <= _ATOMS:  # the common case at the speed of C
            self.spend(len(values))
            plain: list[object] = values
            if str in kinds:
                self.room -= sum(len(v) for v in values if type(v) is str)
            if float in kinds or int in kinds:
                plain = self.numbers(values)
        else:
            plain = []
            for i, item in enumerate(values):
                self.trail.append(i)
                plain.append(self.plain(item))
                self.trail.pop()
        self.active.discard(id(owner))
        return plain

    def numbers(self, values: list[Any]) -> list[object]:
        for i, v in enumerate(values):
            if type(v) is int and not -_INT_LIMIT < v < _INT_LIMIT:
                self.trail.append(i)
                self.atom(v)
        return [None if type(v) is float and not math.isfinite(v) else v for v in values]

    def mapping(self, value: dict[Any, Any], *, of: object = None) -> dict[str, object]:
        owner = value if of is None else of
        self.enter(owner)
        self.spend(1)
        plain: dict[str, object] = {}
        for key, item in list(dict.items(value)):
            text = key if type(key) is str else self.key(key)
            if text in plain:
                self.refuse(f"two keys that both read {_cut(repr(text), 40)} as text", "rename one of them")
            self.room -= len(text) + 3
            self.trail.append(text)
            plain[text] = self.plain(item)
            self.trail.pop()
        self.active.discard(id(owner))
        return plain

    def key(self, key: object) -> str:
        room = self.room
        text = self.plain(key)
        self.room = room  # the caller counts it as a key
        if type(text) not in _ATOMS:
            self.refuse(f"a {_cut(_type_name(type(key)))} as a key", "use text keys, or a list of records")
        return text if type(text) is str else _DUMPS(text)

    def unordered(self, value: Iterable[Any]) -> list[object]:
        plain = self.sequence(value)
        # Text or numbers in their own order; a mixture by its JSON, so that the same set is the same list.
        kinds = set(map(type, plain))
        return sorted(plain, key=None if kinds in ({str}, {int}, {float}, {int, float}) else _DUMPS)  # type: ignore[type-var, arg-type]

    def span(self, value: range) -> list[object]:
        if value[self.max_bytes :]:  # len() of a long one overflows
            self.too_large()
        return self.sequence(value)

    # numpy

    def array(self, numpy: Any, value: Any) -> object:
        masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
        kind, shape = value.dtype.kind, value.shape
        hidden = masked is not None and _is(type(value), masked)
        if not hidden:
            value = numpy.ndarray.view(value, numpy.ndarray)
        if kind not in ("biufUTO" if hidden else "biufUTOmM"):
            remedy = f"{_FILE_IT}, or decode it" if kind == "S" else "convert it to numbers, text or a DataFrame"
            self.refuse(f"{'a masked' if hidden else 'an'} array of {_cut(str(value.dtype))}", remedy)
        # A shape like (10**9, 0) has no element and yet a list for each row.
        self.fits(math.prod(max(n, 1) for n in shape))
        if kind in "UTO" or hidden:
            return self.plain(value.tolist())
        self.spend(value.size)
        self.enter(value, len(shape))
        self.active.discard(id(value))
        if kind == "M":
            if numpy.datetime_data(value.dtype)[0] in ("h", "m"):
                value = value.astype("datetime64[s]")
            texts = [_iso(text) for text in numpy.datetime_as_string(value).ravel().tolist()]
            self.room -= sum(len(text or "") for text in texts)
            value = numpy.array(texts, dtype=object).reshape(shape)
        elif kind in "mf":
            value = self.reals(numpy, value)
        return value.tolist()

    def reals(self, numpy: Any, value: Any) -> Any:
        with numpy.errstate(all="ignore"):
            value = value / numpy.timedelta64(1, "s") if value.dtype.kind == "m" else value.astype(float)
        finite = numpy.isfinite(value)
        return value if finite.all() else numpy.where(finite, value.astype(object), None)

    # pandas

    def column(self, value: Any) -> object:
        numpy: Any = sys.modules["numpy"]
        if isinstance(value.dtype, numpy.dtype):
            return self.array(numpy, value.to_numpy())
        self.fits(len(value))
        return self.sequence(numpy.asarray(value, dtype=object).tolist())

    def series(self, pandas: Any, value: Any) -> object:
        if _default_index(pandas, value.index):
            return self.column(value)
        return self.parts(index=lambda: self.column(value.index), data=lambda: self.column(value))

    def parts(self, **makers: Callable[[], object]) -> dict[str, object]:
        self.enter(makers)
        plain: dict[str, object] = {}
        for name, make in makers.items():
            self.trail.append(name)
            plain[name] = make()
            self.trail.pop()
        self.active.discard(id(makers))
        return plain

    def frame(self, pandas: Any, value: Any) -> object:
        names = [self.label(label) for label in value.columns.tolist()]
        self.spend(len(value))
        records = _default_index(pandas, value.index) and len(set(names)) == len(names)
        if records:
            self.room -= len(value) * sum(len(name) + 3 for name in names)
            self.spend(0)

        def columns() -> list[Any]:
            made = []
            for i, name in enumerate(names):
                self.trail.append(name)
                made.append(self.column(value.iloc[:, i]))
                self.trail.pop()
            return made

        self.enter(value, 2)
        try:
            if records:
                return [dict(zip(names, row, strict=True)) for row in zip(*columns(), strict=True)]
            return self.parts(
                columns=lambda: names,
                index=lambda: self.column(value.index),
                data=lambda: [list(row) for row in zip(*columns(), strict=True)],
            )
        finally:
            self.active.discard(id(value))

    def label(self, label: object) -> str:
        return "/".join(self.key(part) for part in label) if type(label) is tuple else self.key(label)


def _default_index(pandas: Any, index: Any) -> bool:
    return type(index) is pandas.RangeIndex and index.start == 0 and index.step == 1


def _refused(what: str, remedy: str) -> Callable[[_Walk, Any], object]:
    return lambda walk, value: walk.refuse(what.format(_cut(_type_name(type(value)))), remedy)


_Handler = Callable[[_Walk, Any], object]

# In this order for subclasses: an IntEnum is an Enum first, a datetime is a date too, and a bool cannot be subclassed.
_BASES: tuple[tuple[type, _Handler], ...] = (
    (enum.Enum, lambda w, v: w.plain(object.__getattribute__(v, "_value_"))),
    (str, lambda w, v: w.plain(str.__str__(v))),
    (int, lambda w, v: w.plain(int.__int__(v))),
    (float, lambda w, v: w.plain(float.__float__(v))),
    (dict, lambda w, v: w.mapping(v)),
    (list, lambda w, v: w.sequence(list.__iter__(v), of=v)),
    (tuple, lambda w, v: w.sequence(tuple.__iter__(v), of=v)),
    (collections.deque, lambda w, v: w.sequence(collections.deque.__iter__(v), of=v)),
    (set, lambda w, v: w.unordered(set.__iter__(v))),
    (frozenset, lambda w, v: w.unordered(frozenset.__iter__(v))),
    (types.MappingProxyType, lambda w, v: w.mapping(dict(v), of=v)),
    (range, lambda w, v: w.span(v)),
    (datetime.datetime, lambda w, v: w.plain(datetime.datetime.isoformat(v))),
    (datetime.date, lambda w, v: w.plain(datetime.date.isoformat(v))),
    (datetime.time, lambda w, v: w.plain(datetime.time.isoformat(v))),
    (datetime.timedelta, lambda w, v: w.plain(datetime.timedelta.total_seconds(v))),
    (decimal.Decimal, lambda w, v: w.plain(decimal.Decimal.__str__(v) if v.is_finite() else None)),
    (fractions.Fraction, lambda w, v: w.plain(fractions.Fraction.__str__(v))),
    (uuid.UUID, lambda w, v: w.plain(uuid.UUID.__str__(v))),
    (pathlib.PurePath, lambda w, v: w.plain(pathlib.PurePath.__str__(v))),
    *((view, lambda w, v: w.sequence(v, of=v)) for view in _VIEWS),
    *((lazy, _refused("a {} that has not been run through", "call list() on it first")) for lazy in _LAZY),
    *((raw, _refused("{} data", f"{_FILE_IT}, or decode it to text")) for raw in (bytes, bytearray, memoryview)),
    (complex, _refused("a complex number", "pass its .real and .imag")),
)
_EXACT: dict[type, _Handler] = {base: handler for base, handler in _BASES if base is not enum.Enum}
