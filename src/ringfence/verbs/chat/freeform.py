"""What no template can do, with a model: it writes a program, the fence runs it, and its numbers are told.

The model's program is untrusted like any other. What fails goes back to it with the error, a few times; what it says of
the result is kept only if every number in it came back or was asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.agents import Agent
from ringfence.agents.brief import Brief, DataFacts, ErrorSeen, Reply
from ringfence.base.errors import AgentError
from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.verbs.backtest.request import BARS_PLACE
from ringfence.verbs.chat.answer import Answer
from ringfence.verbs.chat.quoting import flatten, strange_numbers
from ringfence.verbs.simulate.data import Source, no_prices, source_of
from ringfence.verbs.simulate.desk import Desk
from ringfence.verbs.simulate.finding import Told, summary
from ringfence.verbs.simulate.words import number

REPAIRS = 3
_MOST_NUMBERS = 200
_MOST_TEXT = 500

_NO_STRATEGY = """
This is a question and not a strategy: write no Strategy class. Write a short Python program that works it out with
numpy, pandas, scipy or TA-Lib. It has no network, and no files but those named here.
"""
_RESULT = """
At its end the program sets a variable `result` to a dict: `numbers`, a dict of names and floats; `horizon`, a text that
says how far ahead they look; `assumptions`, a list of texts; `observations`, how many data points were used.
"""
_MANNERS = """
Pictures are saved as PNG in the working directory. Print nothing but short progress. Make no number up: where something
is missing, raise an exception that says what.
"""
_BARS = f"""
Prices: from pathlib import Path; from ringfence.trade.arrow import read_bars; bars = read_bars(Path('{BARS_PLACE}'));
c = bars.candles['SYMBOL']; c.time (nanoseconds UTC), c.open, c.high, c.low, c.close and c.volume are numpy arrays, the
oldest first.
"""
_TELL = """
Say in two to four sentences of plain English what was asked and what came out. Use only the numbers under Metrics and
those of the question, as they are; leave out what is not there.
"""
CONTRACT = (_NO_STRATEGY.strip(), _RESULT.strip(), _MANNERS.strip())


class Unusable(ValueError):
    """The program ran, and its result is not what was agreed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    code: str
    outcome: Outcome
    told: Told | None
    error: ErrorSeen | None


def ask_model(text: str, agent: Agent, desk: Desk, bars: Bars | None) -> Answer:
    source = source_of(bars, desk.today) if bars is not None else no_prices("no prices were given", desk.today)
    brief = Brief(role="code", idea=text, data=_facts(bars), notes=(*CONTRACT, *((_BARS.strip(),) if bars else ())))
    reply = agent.act(brief)
    notices = list(reply.notices)
    tried: _Tried | None = None
    for attempt in range(REPAIRS + 1):
        if reply.stop_reason != "end" or reply.code is None:
            return _no_program(text, reply, tried, source, notices)
        tried = _try(reply.code, desk, bars, tried)
        if tried.told is not None:
            return _tell(text, agent, tried, tried.told, source, reply.model, notices)
        if attempt < REPAIRS:
            reply = agent.act(_mend(brief, tried))
            notices += reply.notices
    assert tried is not None
    return _gave_up(tried, source, reply.model, notices)


def _try(code: str, desk: Desk, bars: Bars | None, before: _Tried | None) -> _Tried:
    outcome = desk.run(code, name="question.py", bars=bars)
    try:
        told, error = (_read(outcome.result), None) if outcome.ok else (None, _error(outcome))
    except Unusable as e:
        told, error = None, ErrorSeen(type="ResultError", message=str(e))
    if error is not None and before is not None and before.error is not None:
        same = (before.error.type, before.error.message) == (error.type, error.message)
        times = before.error.times + 1 if same else 1
        error = ErrorSeen(
            type=error.type, message=error.message, line=error.line, traceback=error.traceback, times=times
        )
    return _Tried(code=code, outcome=outcome, told=told, error=error)


def _error(outcome: Outcome) -> ErrorSeen:
    failed = outcome.error
    if failed is None:
        return ErrorSeen(type=outcome.status, message=outcome.reason)
    return ErrorSeen(type=failed.type, message=failed.message, line=failed.line, traceback=failed.traceback)


def _mend(brief: Brief, tried: _Tried) -> Brief:
    notes = brief.notes
    if tried.error is not None and tried.error.times > 1:
        notes = (*notes, "The same error came again: go about it in another way.")
    return Brief(role="debug", idea=brief.idea, data=brief.data, code=tried.code, error=tried.error, notes=notes)


def _read(result: Json) -> Told:
    """The agreed parts of a result, each looked at; texts are cut to a length."""
    if not isinstance(result, Mapping) or not isinstance(result.get("numbers"), Mapping):
        raise Unusable("`result` must be a dict with a dict `numbers` in it")
    numbers = flatten(result["numbers"])
    if not numbers:
        raise Unusable("`numbers` holds no number")
    if len(numbers) > _MOST_NUMBERS:
        raise Unusable(f"`numbers` holds {len(numbers)} numbers: give at most {_MOST_NUMBERS}")
    seen = result.get("observations")
    if isinstance(seen, bool) or not isinstance(seen, (int, float)) or seen != int(seen) or seen < 0:
        raise Unusable("`observations` must be a whole number")
    horizon, assumed = result.get("horizon"), result.get("assumptions")
    if not isinstance(horizon, str) or not horizon.strip():
        raise Unusable("`horizon` must be a text")
    if not isinstance(assumed, list) or not assumed or not all(isinstance(line, str) for line in assumed):
        raise Unusable("`assumptions` must be a list of texts")
    return Told(
        lead=_listing(numbers),
        horizon=_line(horizon),
        assumptions=tuple(_line(str(line)) for line in assumed[:20]),
        observations=int(seen),
        observed="data points, as the program counted them",
        numbers=numbers,
    )


def _tell(text: str, agent: Agent, tried: _Tried, told: Told, source: Source, model: str, notices: list[str]) -> Answer:
    """The model's sentences where they say only what came back; else the numbers themselves."""
    lead = told.lead
    try:
        reply = agent.act(Brief(role="analyst", idea=text, metrics=told.numbers, notes=(_TELL.strip(),)))
    except AgentError as e:
        notices.append(f"the model did not put the numbers into words ({e}), so they are listed")
    else:
        notices += reply.notices
        words = _sentences(reply)
        known = [value for value in told.numbers.values() if value is not None]
        strange = strange_numbers(words, [*known, told.observations], said=f"{text} {told.horizon} {told.assumptions}")
        if words and not strange:
            lead = words
        elif strange:
            notices.append(f"the model spoke of {strange[0]}, which did not come back, so the numbers are listed")
        else:
            notices.append("the model did not put the numbers into words, so they are listed")
    said = Told(
        lead=lead, horizon=told.horizon, assumptions=told.assumptions, observations=told.observations,
        observed=told.observed, numbers=told.numbers,
    )  # fmt: skip
    return Answer(
        kind="answered",
        text=summary(said, source),
        read_as="a question for the model, whose program was run behind the fence",
        code=tried.code,
        limits=tried.outcome.limits,
        outcome=tried.outcome,
        numbers=told.numbers,
        source=source,
        by=f"model:{model}",
        notices=tuple(dict.fromkeys(notices)),
    )


def _sentences(reply: Reply) -> str:
    """The text of a reply, or the assessment in one of a fixed shape."""
    assessed = reply.parsed.get("assessment") if reply.parsed is not None else None
    words = assessed if isinstance(assessed, str) else reply.text if reply.parsed is None else ""
    return words.strip() if reply.stop_reason == "end" else ""


def _listing(numbers: Mapping[str, float | None]) -> str:
    told = "; ".join(f"{name} {number(value)}" for name, value in numbers.items() if value is not None)
    return f"The program gave: {told}."


def _line(text: str) -> str:
    return " ".join(text.split())[:_MOST_TEXT].rstrip(".")


def _no_program(text: str, reply: Reply, tried: _Tried | None, source: Source, notices: list[str]) -> Answer:
    cut = "was cut off" if reply.stop_reason == "length" else "holds no program"
    said = _line(reply.text) if reply.stop_reason != "length" else ""
    return Answer(
        kind="failed",
        text=f"There are no numbers to give: the model's reply {cut}.{f' It said: {said}' if said else ''}",
        code=tried.code if tried else None,
        limits=tried.outcome.limits if tried else None,
        outcome=tried.outcome if tried else None,
        source=source,
        by=f"model:{reply.model}",
        notices=tuple(dict.fromkeys(notices)),
    )


def _gave_up(tried: _Tried, source: Source, model: str, notices: list[str]) -> Answer:
    error = tried.error
    why = f"{error.type}: {_line(error.message)}" if error else tried.outcome.reason
    return Answer(
        kind="failed",
        text=f"There are no numbers to give: the program failed {REPAIRS + 1} times, last with {why}.",
        code=tried.code,
        limits=tried.outcome.limits,
        outcome=tried.outcome,
        source=source,
        by=f"model:{model}",
        notices=tuple(dict.fromkeys(notices)),
    )


def _facts(bars: Bars | None) -> DataFacts:
    if bars is None:
        return DataFacts()
    source = source_of(bars, "")
    return DataFacts(
        symbols=bars.symbols, timeframe=bars.timeframe, first=source.first or "", last=source.last or "", bars=bars.rows
    )
