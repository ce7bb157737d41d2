"""What a template makes of a text: a plan, or a question back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringfence.verbs.chat.intent import Reading
from ringfence.verbs.simulate import DataRequest, Desk, Finding

Ask = Callable[[Desk], Finding]


class Unclear(Exception):
    """Something is missing or was not understood; the message is a question for whoever wrote the text."""


class Unread(Unclear):
    """A word was not understood that may change the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the text was read, in words, and what will answer it."""

    read_as: str
    ask: Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a text comes with: the data that was named beside it, and the instruments that data holds."""

    data: DataRequest | None = None
    held: tuple[str, ...] = ()
    timeframe: str = "1d"  # of that data; it is what Yahoo is asked for, too
    database_url: str = ""


def prices_of(reading: Reading, given: Given, *, least: int = 1) -> tuple[DataRequest, tuple[str, ...]]:
    """The prices to load, and which of their instruments are meant; names without data are asked of Yahoo."""
    named = reading.named
    if given.data is not None:
        missing = [symbol for symbol in named.symbols if symbol not in given.held]
        if missing:
            raise Unclear(
                f"{missing[0]} is not in {', '.join(given.data.specs)}, which holds {', '.join(given.held)}: name one "
                f"of these, or give --data yahoo:{missing[0]}."
            )
        return given.data, named.symbols
    if len(named.symbols) < least:
        which = "Which instrument is it about?" if least == 1 else f"Which {least} instruments is it about?"
        raise Unclear(f"{which} Name a symbol such as AAPL, or give the prices with --data sample:GOOG.")
    return DataRequest(specs=(f"yahoo:{','.join(named.symbols)}",)), named.symbols


def one_of(symbols: tuple[str, ...], given: Given) -> str | None:
    if len(symbols) > 1:
        raise Unclear(f"You name {' and '.join(symbols)}, and this is about one instrument: which one?")
    if not symbols and len(given.held) > 1 and given.data is not None:
        raise Unclear(f"The data holds {', '.join(given.held)}: which one do you mean?")
    return symbols[0] if symbols else None


def last_close(desk: Desk, data: DataRequest, symbol: str | None) -> float:
    bars = desk.load(data)
    return float(bars.candles[symbol or bars.symbols[0]].close[-1])
