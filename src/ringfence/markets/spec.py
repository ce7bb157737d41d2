"""How market data is asked for: `sample:GOOG`, `csv:prices.csv?timezone=America/New_York`, `synthetic:gbm?seed=1`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode

from ringfence.base.errors import DataError
from ringfence.trade.times import DAY, parse_moment

# Sources that hold what they have on this machine: all of it is read and nothing is cached by request.
LOCAL = frozenset({"csv", "parquet", "sample", "synthetic"})

# What comes after the colon is this option, where it is not a list of symbols.
_TARGETS = {"csv": "path", "parquet": "path", "synthetic": "model"}
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_NAMED = re.compile(r"([A-Za-z_]\w*):(.*)", re.DOTALL)
_BARE = re.compile(r"[A-Za-z_]\w*")
_OPTIONS = re.compile(r"(.*)\?([A-Za-z_]\w*=[^?]*)", re.DOTALL)
_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?W\d{2}(-?\d)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    source: str
    symbols: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def holds_its_symbols(self) -> bool:
        """Whether the file or the model says which instruments there are, and not the words after the colon."""
        return self.source in _TARGETS

    @property
    def text(self) -> str:
        """The spec as one would type it again."""
        name = _TARGETS.get(self.source, "")
        options = {key: value for key, value in self.options.items() if key != name}
        target = self.options.get(name, "") if name else ",".join(self.symbols)
        query = urlencode(options, safe="/:,") if options else ""
        return f"{self.source}:{target}" + (f"?{query}" if query else "")


def parse_spec(text: str) -> Spec:
    """A path that ends in .csv or .parquet needs no name before it; a name alone leaves the symbols to the caller."""
    named = _NAMED.fullmatch(text)
    source, rest = (named[1], named[2]) if named else ("", text)
    with_options = _OPTIONS.fullmatch(rest)
    target, query = (with_options[1], with_options[2]) if with_options else (rest, "")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if not named:
        source = _source_of_path(target)
        if not source and _BARE.fullmatch(target):
            source, target = target, ""
    if not source:
        raise DataError(
            f"{text!r} names no data: write SOURCE:SYMBOL such as sample:GOOG or yahoo:AAPL, or the path of a .csv file"
        )
    if source in _TARGETS:
        if not target:
            raise DataError(f"{text!r} does not say what to load: write {source}:{_TARGETS[source].upper()}")
        return Spec(source=source, options=MappingProxyType({_TARGETS[source]: target, **options}))
    symbols = tuple(dict.fromkeys(s.strip() for s in target.split(",") if s.strip()))
    return Spec(source=source, symbols=symbols, options=MappingProxyType(options))


def parse_start(value: int | str | None) -> int | None:
    return parse_moment(value) if isinstance(value, str) else value


def parse_end(value: int | str | None) -> int | None:
    """The last moment at which a bar may begin; a day without a time means all of that day."""
    if not isinstance(value, str):
        return value
    moment = parse_moment(value)
    return moment + DAY - 1 if _DATE.fullmatch(value.strip()) else moment


def _source_of_path(path: str) -> str:
    name = PurePath(path.lower().removesuffix(".gz"))
    return _SUFFIXES.get(name.suffix, "")


def names_a_source(text: str) -> bool:
    """Whether the text says by itself where it comes from: a SOURCE: before it, or the end of a file's name."""
    bare = text.partition("?")[0]
    return _NAMED.fullmatch(text) is not None or bool(_source_of_path(bare))
