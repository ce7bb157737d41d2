"""From a text whose intent is known to the question that one of the templates answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from ringfence.base.errors import DataError, SettingsError
from ringfence.trade.models.paths import Method
from ringfence.trade.times import iso
from ringfence.verbs.chat.intent import RUN, Reading
from ringfence.verbs.chat.leftover import EXAMPLES, hint, unread
from ringfence.verbs.chat.lexicon import INDICATORS
from ringfence.verbs.chat.plans import Given, Plan, Unclear, Unread, last_close, one_of, prices_of
from ringfence.verbs.chat.slots import Slots
from ringfence.verbs.chat.stakes import plan_option, plan_sizing
from ringfence.verbs.simulate import (
    CleanseQuestion,
    CorrelationQuestion,
    DataRequest,
    Desk,
    Finding,
    Horizon,
    IndicatorQuestion,
    PortfolioQuestion,
    PriceQuestion,
    StrategyQuestion,
    ask_cleanse,
    ask_correlation,
    ask_indicator,
    ask_portfolio,
    ask_price,
    ask_strategy,
)
from ringfence.verbs.simulate.indicator import all_parameters


def plan(text: str, reading: Reading, given: Given) -> Plan:
    """Every number and every word of the text has its place in the plan, or Unclear says which has none."""
    slots = Slots(text, reading.named.spans)
    try:
        made = _PLANS[reading.intent](slots, reading, given)
    except SettingsError as e:
        raise Unclear(f"I cannot work that out as it stands: {e}.") from e
    strange = unread(slots.text, reading.intent, reading.indicator)
    left = [*slots.dates, *slots.left(), *strange]
    if left:
        words = " and ".join(map(repr, left[:5]))
        raise (Unread if strange else Unclear)(
            f"I read this as {made.read_as}, but I do not know what {words} {'mean' if left[1:] else 'means'} in it: "
            f"{hint(strange, reading.intent)}. Understood is for example `{EXAMPLES[reading.intent]}`."
        )
    notes = "".join(f"; {note}" for note in reading.named.read_as)
    return Plan(read_as=f"{made.read_as}{notes}", ask=made.ask)


def _method(slots: Slots, default: Method) -> Method:
    drawn = slots.take(r"\b(?:block )?bootstrap\w*\b|\bresampl\w+")
    normal = slots.take(r"\b(?:gbm|geometric brownian(?: motion)?|brownian(?: motion)?)\b")
    if drawn and normal:
        raise Unclear("You speak of a bootstrap and of a Brownian motion: which of the two shall I draw from?")
    return "bootstrap" if drawn else "gbm" if normal else default


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
_PASSING = (
    r"(?:never |ever )?(?:falls?|fell|drops?|dips?|sinks?|slips?|goes|go|gets?|rises?|climbs?|jumps?|breaks?|moves?"
    r"|cross(?:es)?|stays?|remains?|holds?|keeps?) (?:ever )?(above|below|over|under) \$?(\d[\d,.]*\d|\d)"
)


# Of the last close, where no price is said.
_MULTIPLES: Mapping[str, tuple[float, str]] = {
    "doubl": (2.0, "twice"), "tripl": (3.0, "three times"), "quadrupl": (4.0, "four times"), "halv": (0.5, "half"),
}  # fmt: skip
_MULTIPLE = rf"\b({'|'.join(_MULTIPLES)})(?:es?|ed|ing)\b"


def _price(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = prices_of(reading, given)
    symbol = one_of(symbols, given)
    passing = slots.take(_PASSING)
    if passing is not None:
        raise Unread(
            f"{passing[0]!r} is about what the price meets on the way, and I work out where it ends: say for example "
            f"`is {passing[1]} {passing[2]} in 30 days`."
        )
    part = slots.take(r"\d+(?:\.\d+)?\s?% of (?:my |the )?(?=\x00)")
    if part is not None:
        raise Unread(f"I do not know what {part[0].strip()!r} means in it: {hint(['half'], 'price')}.")
    above, below = slots.number(_ABOVE), slots.number(_BELOW)
    multiple = slots.take(_MULTIPLE)
    if len([level for level in (above, below, multiple) if level is not None]) > 1:
        raise Unclear("You speak of more than one price, above or below: which of them shall I look at?")
    question = PriceQuestion(
        data=data,
        above=above,
        below=below,
        drift=slots.take(r"\b(?:without|no|zero|with no)(?: the| any)? drift\b|\bdriftless\b") is None,
        symbol=symbol,
        method=_method(slots, "gbm"),
        paths=_paths(slots, 10_000),
        horizon=slots.span() or Horizon(amount=30, unit="days"),
        confidence=_confidence(slots),
    )
    read_as = _price_words(question) + (f", and how often it ends above {above:g}" if above is not None else "")
    read_as += f", and how often it ends below {below:g}" if below is not None else ""
    if multiple is None:
        return Plan(read_as=read_as, ask=lambda desk: ask_price(question, desk))
    times, called = _MULTIPLES[multiple[1]]

    def ask(desk: Desk) -> Finding:
        price = times * last_close(desk, data, symbol)
        asked = replace(question, above=price) if times > 1 else replace(question, below=price)
        return ask_price(asked, desk)

    side = "above" if times > 1 else "below"
    return Plan(read_as=f"{read_as}, and how often it ends {side} {called} the last close", ask=ask)


def _price_words(question: PriceQuestion) -> str:
    how = "a geometric Brownian motion" if question.method == "gbm" else "a block bootstrap"
    return (
        f"a {100 * question.confidence:.6g} % price interval for {question.symbol or ', '.join(question.data.specs)}, "
        f"{question.horizon} ahead, {question.paths:,} futures of {how}{'' if question.drift else ' without drift'}"
    )


def _portfolio(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = prices_of(reading, given, least=2)
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


def _correlation(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = prices_of(reading, given, least=2)
    data, bars = _timeframe(slots, data, given)
    symbols = symbols or given.held
    if len(symbols) != 2 and not (len(symbols) == 1 and len(given.held) == 2):
        raise Unclear(f"A correlation is of two instruments, and you name {len(symbols)}: which two?")
    against = symbols[1] if len(symbols) == 2 else next(s for s in given.held if s != symbols[0])
    question = CorrelationQuestion(data=data, symbol=symbols[0], against=against, confidence=_confidence(slots))
    return Plan(
        read_as=f"the correlation of {symbols[0]} with {against}, and its beta{bars}",
        ask=lambda desk: ask_correlation(question, desk),
    )


_FRAMES: Mapping[str, str] = {"hourly": "1h", "daily": "1d", "weekly": "1w", "monthly": "1mo"}
_UNITS: Mapping[str, str] = {"minute": "1m", "hour": "1h", "day": "1d", "week": "1w", "month": "1mo"}


def _timeframe(slots: Slots, data: DataRequest, given: Given) -> tuple[DataRequest, str]:
    """Bars of the length that was said, and the words for it."""
    found = slots.take(rf"\b({'|'.join(_FRAMES)})(?: (?:bars|candles|data|chart))?\b")
    if found is None or _FRAMES[found[1]] == given.timeframe:
        return data, ""
    frame = _FRAMES[found[1]]
    if data.timeframe not in (None, frame):
        raise Unclear(f"You say {found[1]!r}, and the data is asked for in bars of {data.timeframe}: which of the two?")
    return replace(data, timeframe=frame), f", on {frame} bars"


def _indicator(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = prices_of(reading, given)
    symbol = one_of(symbols, given)
    assert reading.indicator is not None
    data, bars = _timeframe(slots, data, given)
    day = slots.dates.pop(0) if slots.dates and "-" in slots.dates[0] else None
    if day is not None:
        data = replace(data, end=day)
    question = IndicatorQuestion(name=reading.indicator, data=data, symbol=symbol)
    several = slots.take(rf"\d+(?:\.\d+)?(?:(?:\s?[/,]\s?|\s)\d+(?:\.\d+)?\b{_NO_SPAN})+")
    if several is not None:
        values = [float(word) for word in re.split(r"[/,\s]+", several[0])]
        names = list(all_parameters(question))
        if len(values) > len(names):
            raise Unclear(f"{several[0]!r} is more than {reading.indicator} takes, which is {', '.join(names)}.")
        question = replace(question, parameters=dict(zip(names, values)))
    else:
        question = replace(question, period=_period(slots, reading.indicator, data.timeframe or given.timeframe))
    length = "" if question.period is None else f" of {question.period} bars"
    given_words = "".join(f", {name} {value:g}" for name, value in question.parameters.items())
    when = "" if day is None else f", on {day}"

    def ask(desk: Desk) -> Finding:
        last = desk.load(data).end if day is not None else None
        if last is not None and iso(last)[:10] != day:
            raise DataError(f"there is no bar of {day}: the last one up to then is of {iso(last)[:10]}")
        return ask_indicator(question, desk)

    return Plan(
        read_as=f"{reading.indicator}{length}{given_words} on {symbol or ', '.join(data.specs)}{bars}{when}", ask=ask
    )


def _period(slots: Slots, name: str, timeframe: str) -> int | None:
    """A length in bars: with its unit, or a number beside the indicator's name."""
    found = slots.take(r"\b(\d+)[\s-]?(period|bar|day|week|month|hour|minute)s?\b")
    if found is not None:
        if _UNITS.get(found[2], timeframe) != timeframe:
            raise Unclear(
                f"The bars are of {timeframe}, and {found[0].strip()!r} is another length: say how many bars it is, "
                f"for example `{found[1]}-period`, or load other bars with --timeframe {_UNITS[found[2]]}."
            )
        return int(found[1])
    called = "|".join(re.escape(words) for words, meant in INDICATORS.items() if meant == name)
    joined = r"(?:\s?\(\s?| (?:of |with |at )?(?:a )?(?:period |length )?(?:of )?)"
    found = slots.take(rf"\b(?:{called}){joined}(\d+)\b(?! ?[%.\d])")
    found = found or slots.take(rf"\b(\d+)[ -](?={called})") or slots.take(r"\b(?:period|length) (?:of )?(\d+)\b")
    return None if found is None else int(found[1])


def _cleanse(slots: Slots, reading: Reading, given: Given) -> Plan:
    data, symbols = prices_of(reading, given)
    if symbols and not data.symbols:
        data = replace(data, symbols=symbols)
    question = CleanseQuestion(data=replace(data, repair=True))
    return Plan(
        read_as=f"doubtful bars in {', '.join(data.specs)}, mended and logged",
        ask=lambda desk: ask_cleanse(question, desk),
    )


_PLANS: Mapping[str, Callable[[Slots, Reading, Given], Plan]] = {
    "price": _price, "portfolio": _portfolio, "strategy": _strategy, "option": plan_option, "sizing": plan_sizing,
    "correlation": _correlation, "indicator": _indicator, "cleanse": _cleanse,
}  # fmt: skip
