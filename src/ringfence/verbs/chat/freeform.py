"""What no template can do, with a model: it writes a program, the fence runs it, and its numbers are told.

The model's program is untrusted like any other. What fails goes back to it with the error, a few times; what it says of
the result is kept only if every number in it came back or was asked about. The prompts of its two roles, compute and
summarise, say how a program gives its result and what may be said of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ringfence.agents import Agent
from ringfence.agents.brief import Brief, DataFacts, ErrorSeen, Reply
from ringfence.agents.reading import behind
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
READ_AS = "a question for the model, whose program is run behind the fence"
_MOST_NUMBERS = 200
_MOST_TEXT = 500


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
    brief = Brief(role="compute", idea=text, data=_facts(bars), notes=(_where(bars),))
    reply = _ask(agent, brief, desk)
    notices = list(reply.notices)
    tried: _Tried | None = None
    for times in range(1, REPAIRS + 2):
        if reply.stop_reason != "end" or reply.code is None:
            return _no_program(text, reply, tried, source, notices)
        tried = _try(reply.code, desk, bars, tried)
        if tried.told is not None:
            return _tell(text, agent, tried, tried.told, source, reply.model, notices)
        if times > REPAIRS or tried.outcome.status == "cancelled":
            break
        reply = _ask(agent, replace(brief, code=tried.code, error=tried.error), desk)
        notices += reply.notices
    assert tried is not None
    return _gave_up(tried, times, source, reply.model, notices)


def _ask(agent: Agent, brief: Brief, desk: Desk) -> Reply:
    with behind(desk.sandbox):
        return agent.act(brief)


def _where(bars: Bars | None) -> str:
    return (
        f"The prices are in {BARS_PLACE}." if bars is not None else "There are no prices: only the question is known."
    )


def _try(code: str, desk: Desk, bars: Bars | None, before: _Tried | None) -> _Tried:
    outcome = desk.run(code, name="question.py", bars=bars)
    try:
        told, error = (_read(outcome.result), None) if outcome.ok else (None, _error(outcome))
    except Unusable as e:
        told, error = None, ErrorSeen(type="ResultError", message=str(e))
    if error is not None and before is not None and before.error is not None:
        same = (before.error.type, before.error.message) == (error.type, error.message)
        times = before.error.times + 1 if same else 1
        error = replace(error, times=times)
    return _Tried(code=code, outcome=outcome, told=told, error=error)


def _error(outcome: Outcome) -> ErrorSeen:
    failed = outcome.error
    if failed is None:
        return ErrorSeen(type=outcome.status, message=outcome.reason)
    return ErrorSeen(type=failed.type, message=failed.message, line=failed.line, traceback=failed.traceback)


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
        reply = agent.act(Brief(role="summarise", idea=text, metrics=told.numbers))
    except AgentError as e:
        notices.append(f"the model did not put the numbers into words ({e}), so they are listed")
    else:
        notices += reply.notices
        words = " ".join(reply.text.split()) if reply.stop_reason == "end" else ""
        known = [value for value in told.numbers.values() if value is not None]
        strange = strange_numbers(words, [*known, told.observations], said=f"{text} {told.horizon} {told.assumptions}")
        if words and not strange:
            lead = words
        elif strange:
            notices.append(f"the model spoke of {strange[0]}, which did not come back, so the numbers are listed")
        else:
            notices.append("the model did not put the numbers into words, so they are listed")
    return replace(
        _made(tried, source, model, notices),
        kind="answered",
        text=summary(replace(told, lead=lead), source),
        numbers=told.numbers,
    )


def _listing(numbers: Mapping[str, float | None]) -> str:
    told = "; ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {number(value)}"
        for name, value in numbers.items()
        if value is not None
    )
    return f"The program gave: {told}."


def _line(text: str) -> str:
    return " ".join(text.split())[:_MOST_TEXT].rstrip(".")


def _no_program(text: str, reply: Reply, tried: _Tried | None, source: Source, notices: list[str]) -> Answer:
    """Cut off, it is a failure; in place of a program, words say why there is none."""
    made = _made(tried, source, reply.model, notices)
    if reply.stop_reason == "length":
        return replace(made, text="There are no numbers to give: the model's reply was cut off.")
    said = _line(reply.text)
    if strange_numbers(said, (), said=text):
        said = "something with numbers that nobody worked out, which are left out here"
    told = f" It said: {said}." if said else ""
    if tried is not None:
        why = f"the program failed with {_why(tried)}, and the model wrote no other"
        return replace(made, text=f"There are no numbers to give: {why}.{told}")
    return replace(made, kind="refused", text=f"Nothing was worked out: the model wrote no program for this.{told}")


def _gave_up(tried: _Tried, times: int, source: Source, model: str, notices: list[str]) -> Answer:
    often = "once" if times == 1 else f"{times} times, last"
    text = f"There are no numbers to give: the program failed {often} with {_why(tried)}."
    return replace(_made(tried, source, model, notices), text=text)


def _why(tried: _Tried) -> str:
    error = tried.error
    return f"{error.type}: {_line(error.message)}" if error else tried.outcome.reason


def _made(tried: _Tried | None, source: Source, model: str, notices: list[str]) -> Answer:
    """What every answer of a model says, with or without numbers."""
    return Answer(
        kind="failed",
        text="",
        read_as=READ_AS,
        code=tried.code if tried else None,
        limits=tried.outcome.limits if tried else None,
        outcome=tried.outcome if tried else None,
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
