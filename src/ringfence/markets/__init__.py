"""Where prices come from. A module here with a `create(options)` is a source, and its file name is its name.

A source loads Bars on the host, where the network and the keys are; `load_bars` is how everybody asks. It never
puts made-up prices in the place of real ones: what cannot be had is a DataError.

Stamps: a bar of less than a day is stamped with the moment at which it begins. A bar of a day or more is stamped
with its date at 00:00 UTC wherever its exchange is, so that a date is the same date in every file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from ringfence.base.errors import DataError
from ringfence.base.plugins import find_plugin
from ringfence.markets.spec import LOCAL, Spec, parse_end, parse_spec, parse_start
from ringfence.trade.bars import Bars
from ringfence.trade.times import DAY, iso, timeframe_ns

if TYPE_CHECKING:
    from ringfence.markets.cache import Cache

WARMUP_BARS = 250
FRESH_NS = DAY  # how long an answer that reaches up to today is taken from the cache without asking again

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a source is asked for. `start` and `end` bound the stamps, both inclusive; None leaves that side open."""

    symbols: tuple[str, ...] = ()  # none means all that the source has
    start: int | None = None
    end: int | None = None
    timeframe: str | None = None  # None means the source's own
    source: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    repair: bool = False


class Source(Protocol):
    """May answer with finer bars than asked for: `load_bars` makes coarser ones of them."""

    def load(self, request: Request) -> Bars: ...

    def symbols(self) -> Sequence[str]:
        """Those it knows; none where it cannot tell."""
        ...


def open_source(spec: Spec, environ: Mapping[str, str] = _NOTHING) -> Source:
    """The source that `spec` names, with those variables of `environ` that its module lists in ENVIRONMENT.

    Keys and addresses come from the environment alone: a spec may be written by somebody who must not have them.
    """
    create = find_plugin("ringfence.markets", spec.source)
    wanted: Sequence[str] = getattr(sys.modules.get(create.__module__), "ENVIRONMENT", ())
    taken = sorted(set(wanted) & set(spec.options))
    if taken:
        raise DataError(f"{taken[0]} cannot be part of {spec.text!r}: set it in the environment")
    given = {name: environ[name] for name in wanted if environ.get(name)}
    source: Source = create(MappingProxyType({**spec.options, **given}))
    return source


def load_bars(
    specs: Sequence[str],
    *,
    symbols: Sequence[str] = (),
    start: int | str | None = None,
    end: int | str | None = None,
    timeframe: str | None = None,
    warmup_bars: int = WARMUP_BARS,
    repair: bool = False,
    cache: Cache | None = None,
    environ: Mapping[str, str] = _NOTHING,
    now_ns: int | None = None,
) -> Bars:
    """Load what `specs` name as one Bars.

    With `start`, up to `warmup_bars` bars before it are kept as history, and `tradable_from` says where trading
    begins. `end` is the last moment at which a bar may begin; the text of a day means all of it. `symbols` names
    the instruments where the specs do not, and picks among them where they do. `now_ns` lets an answer of the
    network that reached up to its day be asked for anew after a day; without it the cache is always believed.
    """
    from ringfence.markets.shape import cut, fit_timeframe, merge, pick

    if not specs:
        raise DataError("no data was named: give for example --data sample:GOOG")
    if timeframe is not None:
        timeframe_ns(timeframe)
    first, last = parse_start(start), parse_end(end)
    if first is not None and last is not None and first > last:
        raise DataError(f"the start {iso(first)} is after the end {iso(last)}: swap them")
    names = tuple(dict.fromkeys(symbols))
    parts = []
    for text in specs:
        spec = parse_spec(text)
        asked = _requested(spec, names, alone=len(specs) == 1)
        spec = spec if spec.holds_its_symbols else replace(spec, symbols=asked)
        request = Request(symbols=asked, timeframe=timeframe, source=spec.source, options=spec.options, repair=repair)
        if spec.source in LOCAL:  # all of it, since what is before the start is the history
            bars = open_source(spec, environ).load(request)
        else:
            request = replace(request, start=_history_start(first, timeframe, warmup_bars), end=last)
            bars = _through_cache(spec, request, cache, environ, now_ns)
        # Making bars anew checks and hashes them again, so it is done only where it changes something.
        named = bars if bars.source == spec.text else replace(bars, source=spec.text)
        parts.append(fit_timeframe(named, timeframe))
    merged = merge(parts)
    return cut(pick(merged, names) if len(specs) > 1 else merged, first, last, warmup_bars)


def _requested(spec: Spec, names: tuple[str, ...], *, alone: bool) -> tuple[str, ...]:
    """The symbols to ask this source for: the spec's own, fewer of them, or those given beside it."""
    if not spec.symbols:
        asked = names if alone or not spec.holds_its_symbols else ()
        if not asked and not spec.holds_its_symbols:
            known = spec.source in ("yahoo", "alpaca", "sample", "csv", "parquet", "synthetic")
            remedy = f"{spec.source}:AAPL" if known else f"sample:{spec.source}, yahoo:{spec.source} or a path"
            raise DataError(f"{spec.text.rstrip(':')!r} names no symbol of a source: write for example {remedy}")
        return asked
    missing = [name for name in names if name not in spec.symbols] if alone else []
    if missing:
        raise DataError(f"{missing[0]} is not in {spec.text!r}: it names {', '.join(spec.symbols)}")
    return names if alone and names else spec.symbols


def _history_start(start: int | None, timeframe: str | None, warmup_bars: int) -> int | None:
    """Early enough that `warmup_bars` bars lie before `start` on an exchange that sleeps at night and on weekends."""
    if start is None:
        return None
    step = timeframe_ns(timeframe or "1d")
    return start - warmup_bars * (step * 6 if step < DAY else step * 8 // 5)


def _through_cache(
    spec: Spec, request: Request, cache: Cache | None, environ: Mapping[str, str], now_ns: int | None
) -> Bars:
    """From the cache where it has it, else from the network; an old answer serves, and says so, when that fails."""
    if cache is None:
        return open_source(spec, environ).load(request)
    kept = cache.find(request)
    if kept is not None and kept.is_fresh(now_ns, FRESH_NS):
        return kept.bars
    try:
        bars = open_source(spec, environ).load(request)
    except DataError as e:
        if kept is None:
            raise
        when = "an unknown day" if kept.fetched_at is None else iso(kept.fetched_at)
        return replace(kept.bars, notes=(*kept.bars.notes, f"not fetched again, this is the answer of {when}: {e}"))
    cache.put(request, bars, fetched_at=now_ns)
    return bars
