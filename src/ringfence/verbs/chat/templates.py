"""From a text whose intent is known to the question that one of the templates answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ringfence.base.errors import SettingsError
from ringfence.trade.models.paths import Method
from ringfence.verbs.chat.intent import RUN, Reading
from ringfence.verbs.chat.slots import Slots
from ringfence.verbs.simulate import (
    CleanseQuestion,
    CorrelationQuestion,
    DataRequest,
    Desk,
    Finding,
    Horizon,
    IndicatorQuestion,
    OptionQuestion,
    PortfolioQuestion,
    PriceQuestion,
    SizingQuestion,
    StrategyQuestion,
    ask_cleanse,
    ask_correlation,
    ask_indicator,
    ask_option,
    ask_portfolio,
    ask_price,
    ask_sizing,
    ask_strategy,
)
from ringfence.verbs.simulate.indicator import all_parameters

Ask = Callable[[Desk], Finding]


class Unclear(Exception):
    """Something is missing or was not understood; the message is a question for whoever wrote the text."""


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
    database_url: str = ""


def plan(text: str, reading: Reading, given: Given) -> Plan:
    """Every number of the text has its place in the plan, or Unclear says which has none."""
    slots = Slots(text, reading.named.spans)
    try:
        made = _PLANS[reading.intent](slots, reading, given)
    except SettingsError as e:
        raise Unclear(f"I cannot work that out as it stands: {e}.") from e
    left = slots.left()
    if left:
        raise Unclear(
            f"I read this as {made.read_as}, but I do not know what {' and '.join(repr(word) for word in left)} means "
            "in it: say it another way, or leave it out."
        )
    notes = "".join(f"; {note}" for note in reading.named.read_as)
    return Plan(read_as=f"{made.read_as}{notes}", ask=made.ask)


def _data(reading: Reading, given: Given, *, least: int = 1) -> tuple[DataRequest, tuple[str, ...]]:
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


def _one(symbols: tuple[str, ...], given: Given) -> str | None:
    if len(symbols) > 1:
        raise Unclear(f"You name {' and '.join(symbols)}, and this is about one instrument: which one?")
    if not symbols and len(given.held) > 1 and given.data is not None:
        raise Unclear(f"The data holds {', '.join(given.held)}: which one do you mean?")
    return symbols[0] if symbols else None


def _method(slots: Slots, default: Method) -> Method:
    if slots.take(r"\b(?:block )?bootstrap\w*\b|\bresampl\w+"):
        return "bootstrap"
    return "gbm" if slots.take(r"\b(?:gbm|geometric brownian(?: motion)?|brownian(?: motion)?)\b") else default


def _paths(slots: Slots, default: int) -> int:
    drawn = slots.number(r"<N> (?:simulations|simulated|paths|futures|draws|trials|scenarios|times|runs)", r"paths <N>")
    return default if drawn is None else int(drawn)


_LOSING = r"(?:los(?:e|es|ing)|loss of) (?:of |more than |over |at least )?<P>"
_MOVE = (
    r"(?:gain|ris|ros|fall|fell|drop|los|up|down|mov|declin|increas|decreas|jump|crash|climb|return)\w* "
    r"(?:by |of |more than |at least |over |another )*\d+(?:\.\d+)?\s?%|"
    r"\d+(?:\.\d+)?\s?% (?:gain|rise|fall|drop|loss|move|decline|increase|decrease|jump|crash|return)"
)


def _confidence(slots: Slots) -> float:
    moved = slots.take(_MOVE)
    if moved is not None:
        raise Unclear(f"I do not work out moves such as {moved[0].strip()!r}: say the price that it would come to.")
    given = slots.share(
        r"<P>(?= ?-?(?:confidence|prediction|interval|var\b|cvar|value at risk|range|band|sure|certain))",
        r"confidence (?:level )?(?:of )?<P>", r"(?:var|cvar|interval|shortfall) (?:at |of )?<P>", r"<P>",
    )  # fmt: skip
    return 0.95 if given is None else given


# A level for the price at the end; to touch one on the way is another question, which no template answers.
_NO_SPAN = r"(?!\s?%|[\s-]?(?:trading |business )?(?:day|week|month|year))"
_ABOVE = rf"(?:above|over|exceeds?|more than|higher than) <N>{_NO_SPAN}"
_BELOW = rf"(?:below|under|less than|lower than) <N>{_NO_SPAN}"


def _price(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = _data(reading, given)
    symbol = _one(symbols, given)
    above, below = slots.number(_ABOVE), slots.number(_BELOW)
    if above is not None and below is not None:
        raise Unclear("You speak of a price above and of one below: which of the two shall I look at?")
    question = PriceQuestion(
        data=data,
        above=below if above is None else above,
        symbol=symbol,
        method=_method(slots, "gbm"),
        paths=_paths(slots, 10_000),
        horizon=slots.span() or Horizon(amount=30, unit="days"),
        confidence=_confidence(slots),
    )
    how = "a geometric Brownian motion" if question.method == "gbm" else "a block bootstrap"
    read_as = (
        f"a {100 * question.confidence:.6g} % price interval for {symbol or ', '.join(data.specs)}, "
        f"{question.horizon} ahead, {question.paths:,} futures of {how}"
    )
    if question.above is not None:
        rest = "; the others end below" if above is None else ""
        read_as += f", and how often it ends above {question.above:g}{rest}"
    return Plan(read_as=read_as, ask=lambda desk: ask_price(question, desk))


def _portfolio(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = _data(reading, given, least=2)
    symbols = symbols or given.held
    weights = _weights(slots, reading, symbols)
    cash = slots.number(
        r"<N> (?:dollars|usd|euros)", r"\$<N>", r"(?:cash|capital|invest\w*|start\w*)(?: with| of)? <N>",
        r"\b(\d+(?:\.\d+)?)\s?(k|thousand|million)\b",
    )  # fmt: skip
    question = PortfolioQuestion(
        data=data,
        weights=weights,
        method=_method(slots, "bootstrap"),
        paths=_paths(slots, 2_000),
        horizon=slots.span() or Horizon(amount=1, unit="years"),
        ruin=slots.share(r"ruin (?:is |means |at |of )?(?:a loss of |losing )?<P>", _LOSING) or 0.5,
        cash=100_000.0 if cash is None else cash,
        confidence=_confidence(slots),
    )
    shares = "equal shares" if weights is None else ", ".join(f"{100 * w:g} % {s}" for s, w in weights.items())
    read_as = (
        f"a portfolio of {shares} of {', '.join(symbols)}, {question.cash:,.2f} held for {question.horizon}, "
        f"{question.paths:,} futures by {'a block bootstrap' if question.method == 'bootstrap' else 'normal returns'}, "
        f"ruin being a loss of {100 * question.ruin:g} % at any time"
    )
    return Plan(read_as=read_as, ask=lambda desk: ask_portfolio(question, desk))


# Before a name, or after it; a name is a run of marks by now.
_SHARE = r"(\d+(?:\.\d+)?)\s?%(?:\s(?:of|in))?\s(?=\x00)|(?<=\x00)\s?(?:at\s|:\s?|\()?(\d+(?:\.\d+)?)\s?%"


def _weights(slots: Slots, reading: Reading, symbols: tuple[str, ...]) -> dict[str, float] | None:
    """`60% AAPL and 40% MSFT`, `60/40 AAPL MSFT`; a symbol is one mark in the text, in the order they come."""
    split = slots.take(r"\b(\d+)/(\d+)\b")
    if split is not None:
        if len(symbols) != 2:
            raise Unclear(f"{split[0]} is for two instruments, and you name {len(symbols)}: which share is whose?")
        return dict(zip(symbols, (int(split[1]) / 100, int(split[2]) / 100)))
    shares = []
    while (found := slots.take(_SHARE)) is not None:  # the leftmost first, so that they come in the order of the names
        shares.append(float(found[1] or found[2]) / 100)
    if not shares:
        return None
    if len(shares) != len(symbols):
        raise Unclear(f"You give {len(shares)} shares and {len(symbols)} instruments: which share is whose?")
    return dict(zip(symbols, shares))


def _strategy(slots: Slots, reading: Reading, given: Given) -> Plan:
    run = slots.take(RUN)
    if run is None:
        raise Unclear("Which run is it about? `ringfence runs list` has their names: say for example `run 3f2a9c1b`.")
    trades = slots.number(r"<N> trades")
    question = StrategyQuestion(
        run_id=run[1],
        trades=None if trades is None else int(trades),
        paths=_paths(slots, 5_000),
        ruin=slots.share(r"ruin (?:is |means |at |of )?(?:a loss of |losing )?<P>", _LOSING) or 0.5,
        confidence=_confidence(slots),
    )
    ruin = f"ruin being a loss of {100 * question.ruin:g} % at any time"
    read_as = f"the trades of run {run[1]}, drawn again {question.paths:,} times, {ruin}"
    return Plan(read_as=read_as, ask=lambda desk: ask_strategy(question, desk, database_url=given.database_url))


_IS = r"(?: (?:is|of|at|was))?\s?=?\s?"


def _rate(slots: Slots, name: str) -> float | None:
    """A share of something a year, before its name or after it: 20 %, 0.2, or 20 without a sign."""
    told = slots.share(rf"{name}{_IS}<P>", rf"<P> {name}\b")
    if told is None:
        bare = slots.number(rf"{name}{_IS}<N>", rf"<N> {name}\b")
        told = bare if bare is None or bare < 1 else bare / 100
    return told


def _option(slots: Slots, reading: Reading, given: Given) -> Plan:
    put, call = slots.take(r"\bputs?\b"), slots.take(r"\bcalls?\b")
    if put and call:
        raise Unclear("You speak of a put and of a call: which of the two shall I price?")
    if not put and not call:
        raise Unclear("Is it a call or a put?")
    strike = slots.number(rf"strike(?: price)?{_IS}<N>", r"<N>[ -]strike", r"struck at <N>", r"\bk ?= ?<N>")
    spot = slots.number(
        rf"(?:spot|underlying|trading|stock|share)(?: price)?{_IS}<N>", r"<N> (?:spot|underlying)\b", r"\bs ?= ?<N>"
    )
    volatility = _rate(slots, r"(?:(?:implied )?(?:volatility|vol|iv)|sigma)")
    rate = _rate(slots, r"(?:(?:risk[- ]free )?(?:interest )?rates?|\br)")
    dividend = _rate(slots, r"dividends?(?: yield)?")
    years = slots.take(r"\bt ?= ?(\d*\.?\d+)(?: ?y(?:ears?)?\b)?")
    expiry = slots.span() if years is None else Horizon(amount=float(years[1]), unit="years")
    if expiry is None:
        raise Unclear("When does the option expire? Say for example `in 30 days` or `3 months to expiry`.")
    has_prices = given.data is not None or reading.named.symbols
    data, symbols = _data(reading, given) if has_prices else (None, ())
    if data is None and (spot is None or volatility is None):
        raise Unclear("I need a spot and a volatility: give both, or name the instrument to take them from.")
    question = OptionQuestion(
        kind="put" if put else "call", expiry=expiry, data=data, symbol=_one(symbols, given), spot=spot, strike=strike,
        volatility=volatility, rate=rate or 0.0, dividend=dividend or 0.0,
    )  # fmt: skip
    parts = {"spot": spot, "strike": strike, "volatility": volatility, "rate": question.rate}
    told = ", ".join(f"{name} {value:g}" for name, value in parts.items() if value is not None)
    at_money = "" if strike is not None else ", at the money"
    return Plan(
        read_as=f"a European {question.kind}{at_money}, {told}, expiring in {expiry}",
        ask=lambda desk: ask_option(question, desk),
    )


def _sizing(slots: Slots, reading: Reading, given: Given) -> Plan:
    slots.take(r"\b(?:half|full) kelly\b")
    risk = slots.share(r"risk(?:ing|s)? (?:of )?(?:only )?<P>", r"<P> risk")
    win_rate = slots.share(
        r"win(?:ning)?[ -]?(?:rate|ratio|probability|chance)? (?:is |of |at |= ?)?<P>", r"<P> win\w*(?: rate)?"
    )
    payoff = slots.number(
        r"(?:payoff|reward[- ]to[- ]risk|win/loss|ratio)(?: ratio)? (?:is |of |at |= ?)?<N>(?: ?(?:to|:) ?1)?",
        r"<N> ?(?:to|:) ?1\b", r"<N> (?:payoff|reward[- ]to[- ]risk|win/loss)(?: ratio)?",
    )  # fmt: skip
    target = slots.share(
        r"(?:volatility|vol)[- ]target(?:ing)? (?:is |of |at |= ?)?<P>",
        r"target(?:ing)? (?:a )?(?:volatility|vol) (?:is |of |at |= ?)?<P>",
        r"<P> (?:annual\w* )?(?:volatility|vol)(?: target)?",
        r"target (?:of )?<P>",
    )  # fmt: skip
    away = slots.share(rf"stop(?:[- ]loss)?{_IS}<P>(?: (?:below|under|away))?", r"<P> (?:trailing )?stop(?:[- ]loss)?")
    stop = slots.number(rf"stop(?:[- ]loss)?{_IS}<N>", r"<N> stop(?:[- ]loss)?") if away is None else None
    entry = slots.number(r"(?:entry|enter|entering|buy(?:ing)?|price)(?: price)? (?:is |of |at |= ?)?<N>")
    equity = slots.number(
        r"(?:account|equity|capital|cash|portfolio)(?: size)? (?:is |of |with |= ?)?<N>",
        r"<N> (?:account|equity|capital|cash|portfolio|dollars)", r"(?:with|of|have) <N>", r"\$<N>",
    )  # fmt: skip
    if win_rate is not None and payoff is None:
        raise Unclear("Kelly needs a payoff too: say for example `payoff 1.5`, the average win by the average loss.")
    has_prices = given.data is not None or reading.named.symbols
    data, symbols = _data(reading, given) if has_prices else (None, ())
    if away is not None and entry is None and data is None:
        raise Unclear(f"A stop {100 * away:g} % below which entry? Say its price, or name the instrument.")
    question = SizingQuestion(
        equity=100_000.0 if equity is None else equity, risk=risk, entry=entry, win_rate=win_rate, payoff=payoff,
        stop=stop if away is None else (entry or 1.0) * (1 - away), target=target, data=data,
        symbol=_one(symbols, given),
    )  # fmt: skip
    parts: Mapping[str, float | None] = {
        "risk": risk, "entry": entry, "stop": question.stop if away is None or entry is not None else None,
        "win rate": win_rate, "payoff": payoff, "target volatility": target,
    }  # fmt: skip
    told = ", ".join(f"{name} {value:g}" for name, value in parts.items() if value is not None)
    below = "" if away is None else f", the stop {100 * away:g} % below {'the last close' if entry is None else 'it'}"

    def ask(desk: Desk) -> Finding:
        if away is None or entry is not None or question.data is None:
            return ask_sizing(question, desk)
        close = _last_close(desk, question.data, question.symbol)
        return ask_sizing(replace(question, stop=close * (1 - away)), desk)

    return Plan(read_as=f"the size of a position with {question.equity:,.2f}, {told}{below}", ask=ask)


def _last_close(desk: Desk, data: DataRequest, symbol: str | None) -> float:
    bars = desk.load(data)
    return float(bars.candles[symbol or bars.symbols[0]].close[-1])


def _correlation(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = _data(reading, given, least=2)
    symbols = symbols or given.held
    if len(symbols) != 2 and not (len(symbols) == 1 and len(given.held) == 2):
        raise Unclear(f"A correlation is of two instruments, and you name {len(symbols)}: which two?")
    against = symbols[1] if len(symbols) == 2 else next(s for s in given.held if s != symbols[0])
    question = CorrelationQuestion(data=data, symbol=symbols[0], against=against, confidence=_confidence(slots))
    return Plan(
        read_as=f"the correlation of {symbols[0]} with {against}, and its beta",
        ask=lambda desk: ask_correlation(question, desk),
    )


def _indicator(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = _data(reading, given)
    symbol = _one(symbols, given)
    assert reading.indicator is not None
    question = IndicatorQuestion(name=reading.indicator, data=data, symbol=symbol)
    several = slots.take(rf"\d+(?:\.\d+)?(?:(?:\s?[/,]\s?|\s)\d+(?:\.\d+)?\b{_NO_SPAN})+")
    if several is not None:
        values = [float(word) for word in re.split(r"[/,\s]+", several[0])]
        names = list(all_parameters(question))
        if len(values) > len(names):
            raise Unclear(f"{several[0]!r} is more than {reading.indicator} takes, which is {', '.join(names)}.")
        question = replace(question, parameters=dict(zip(names, values)))
    else:
        found = slots.take(r"(\d+)[\s-]?(?:period|day|bar|week|month|hour|minute)s?\b") or slots.take(
            r"\b(\d+)\b(?! ?[%.\d])"
        )
        question = replace(question, period=None if found is None else int(found[1]))
    length = "" if question.period is None else f" of {question.period} bars"
    given_words = "".join(f", {name} {value:g}" for name, value in question.parameters.items())
    return Plan(
        read_as=f"{reading.indicator}{length}{given_words} on {symbol or ', '.join(data.specs)}",
        ask=lambda desk: ask_indicator(question, desk),
    )


def _cleanse(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = _data(reading, given)
    if symbols and not data.symbols:
        data = replace(data, symbols=symbols)
    question = CleanseQuestion(data=replace(data, repair=True))
    return Plan(
        read_as=f"doubtful bars in {', '.join(data.specs)}, mended and logged",
        ask=lambda desk: ask_cleanse(question, desk),
    )


_PLANS: Mapping[str, Callable[[Slots, Reading, Given], Plan]] = {
    "price": _price, "portfolio": _portfolio, "strategy": _strategy, "option": _option, "sizing": _sizing,
    "correlation": _correlation, "indicator": _indicator, "cleanse": _cleanse,
}  # fmt: skip
