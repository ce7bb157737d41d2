"""Plans for what a text says in numbers of its own: an option's terms, and what to stake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ringfence.verbs.chat.intent import Reading
from ringfence.verbs.chat.leftover import hint
from ringfence.verbs.chat.plans import Given, Plan, Unclear, Unread, last_close, one_of, prices_of
from ringfence.verbs.chat.slots import Slots
from ringfence.verbs.simulate import (
    Desk,
    Finding,
    Horizon,
    OptionQuestion,
    SizingQuestion,
    ask_option,
    ask_sizing,
)

_COMBINED = "straddles?|strangles?|butterfl(?:y|ies)|condors?|collars?"
_IS = r"(?: (?:is|of|at|was))?\s?=?\s?"


def _rate(slots: Slots, name: str) -> float | None:
    """A share of something a year, before its name or after it: 20 %, 0.2, or 20 without a sign."""
    told = slots.share(rf"{name}{_IS}<P>", rf"<P> {name}\b")
    if told is None:
        bare = slots.number(rf"{name}{_IS}<N>", rf"<N> {name}\b")
        told = bare if bare is None or bare < 1 else bare / 100
    return told


def plan_option(slots: Slots, reading: Reading, given: Given) -> Plan:
    put, call = slots.take(r"\bputs?\b"), slots.take(r"\bcalls?\b")
    several = slots.take(rf"\b(?:{_COMBINED})\b")
    if several:
        raise Unread(f"I do not know what {several[0]!r} means in it: {hint([several[0]], 'option')}.")
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
    slots.take(r"\b(?:no|without) dividends?\b")
    dividend = _rate(slots, r"dividends?(?: yield)?")
    sessions = slots.take(r"\d+[\s-](?:trading|business)[\s-]days?")
    if sessions is not None:
        raise Unclear(f"An option expires by the calendar: say {sessions[0]!r} as days, weeks or months of it.")
    years = slots.take(r"\bt ?= ?(\d*\.?\d+)(?: ?y(?:ears?)?\b)?")
    expiry = slots.span() if years is None else Horizon(amount=float(years[1]), unit="years")
    if expiry is None:
        raise Unclear("When does the option expire? Say for example `in 30 days` or `3 months to expiry`.")
    used = spot is None or volatility is None
    has_prices = given.data is not None or reading.named.symbols
    data, symbols = prices_of(reading, given) if has_prices and used else (None, ())
    if data is None and (spot is None or volatility is None):
        raise Unclear("I need a spot and a volatility: give both, or name the instrument to take them from.")
    question = OptionQuestion(
        kind="put" if put else "call", expiry=expiry, data=data, spot=spot, strike=strike,
        symbol=one_of(symbols, given) if used else None,
        volatility=volatility, rate=rate or 0.0, dividend=dividend or 0.0,
    )  # fmt: skip
    parts = {"spot": spot, "strike": strike, "volatility": volatility, "rate": question.rate}
    told = ", ".join(f"{name} {value:g}" for name, value in parts.items() if value is not None)
    at_money = "" if strike is not None else ", at the money"
    return Plan(
        read_as=f"a European {question.kind}{at_money}, {told}, expiring in {expiry}",
        ask=lambda desk: ask_option(question, desk),
    )


def _check_side(side: str, question: SizingQuestion) -> None:
    """A stop is on the other side of the entry; nothing else here depends on the side."""
    if question.entry is None or question.stop is None or (question.stop > question.entry) != (side == "short"):
        where = "above" if side == "short" else "below"
        raise Unread(
            f"I do not know what {side!r} means in it: a {side} position has its stop {where} its entry, so give both "
            "as prices, or leave the word out."
        )


def plan_sizing(slots: Slots, reading: Reading, given: Given) -> Plan:
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
    side = slots.take(r"\b(long|short)\b")
    used = target is not None or (risk is not None and entry is None)
    has_prices = given.data is not None or reading.named.symbols
    data, symbols = prices_of(reading, given) if has_prices and used else (None, ())
    if away is not None and entry is None and data is None:
        raise Unclear(f"A stop {100 * away:g} % below which entry? Say its price, or name the instrument.")
    question = SizingQuestion(
        equity=100_000.0 if equity is None else equity, risk=risk, entry=entry, win_rate=win_rate, payoff=payoff,
        stop=stop if away is None else (entry or 1.0) * (1 - away), target=target, data=data,
        symbol=one_of(symbols, given) if used else None,
    )  # fmt: skip
    if side is not None:
        _check_side(side[1], question)
    parts: Mapping[str, float | None] = {
        "risk": risk, "entry": entry, "stop": question.stop if away is None or entry is not None else None,
        "win rate": win_rate, "payoff": payoff, "target volatility": target,
    }  # fmt: skip
    told = ", ".join(f"{name} {value:g}" for name, value in parts.items() if value is not None)
    below = "" if away is None else f", the stop {100 * away:g} % below {'the last close' if entry is None else 'it'}"

    def ask(desk: Desk) -> Finding:
        if away is None or entry is not None or question.data is None:
            return ask_sizing(question, desk)
        close = last_close(desk, question.data, question.symbol)
        return ask_sizing(replace(question, stop=close * (1 - away)), desk)

    return Plan(read_as=f"the size of a position with {question.equity:,.2f}, {told}{below}", ask=ask)
