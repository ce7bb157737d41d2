"""Ask for modelling in words: what is meant is found out, worked out behind the fence, and told with its numbers.

`chat` gives the same Answer whether `on_event` watches or not.
"""

from __future__ import annotations

import codecs
from dataclasses import replace

from ringfence.agents import Agent
from ringfence.base.errors import DataError, SettingsError, StoreError
from ringfence.sandbox import Stream
from ringfence.sandbox.job import Limits
from ringfence.verbs.chat.answer import Answer, Event, EventKind, OnEvent, from_finding
from ringfence.verbs.chat.freeform import READ_AS, ask_model
from ringfence.verbs.chat.intent import Intent, Reading, read_intent
from ringfence.verbs.chat.plans import Given, Plan, Unclear, Unread
from ringfence.verbs.chat.refusals import point_to_research, refuse
from ringfence.verbs.chat.templates import plan
from ringfence.verbs.simulate import DataRequest, Desk
from ringfence.verbs.simulate.words import limits_line

__all__ = ["Answer", "Event", "Intent", "OnEvent", "Reading", "chat", "read_intent"]


def chat(
    text: str,
    *,
    desk: Desk,
    data: DataRequest | None = None,
    database_url: str = "",
    agent: Agent | None = None,
    on_event: OnEvent | None = None,
) -> Answer:
    """Answer one text. A template answers what it can; `agent`, where there is one, is asked the rest."""
    watched = _watched(desk, on_event)
    try:
        answer = _answer(text, watched, data, database_url, agent, on_event)
    except (DataError, StoreError) as e:
        answer = _failed(e)
    if on_event is not None:
        on_event(Event(kind="text", text=answer.text))
    return answer


def _answer(
    text: str,
    desk: Desk,
    data: DataRequest | None,
    database_url: str,
    agent: Agent | None,
    on_event: OnEvent | None,
) -> Answer:
    reading = read_intent(text)
    if reading.named.specs:
        data = DataRequest(specs=reading.named.specs)
    bars = desk.load(data) if data is not None else None
    if bars is not None:
        reading = read_intent(text, bars.symbols)
    if reading.intent == "idea":
        return point_to_research(text)
    if reading.intent == "none":
        if agent is None or reading.idle:
            return refuse(reading, model=agent is not None)
        _say_reading(READ_AS, on_event)
        return ask_model(text, agent, desk, bars)
    given = Given(data=data, database_url=database_url)
    if bars is not None:
        given = replace(given, held=bars.symbols, timeframe=bars.timeframe)
    try:
        planned = plan(text, reading, given)
    except Unclear as e:
        if agent is None or not isinstance(e, Unread):
            return Answer(kind="asked", text=str(e), intent=reading.intent)
        _say_reading(READ_AS, on_event)
        return ask_model(text, agent, desk, bars)
    return _by_template(planned, reading, desk, on_event)


def _by_template(planned: Plan, reading: Reading, desk: Desk, on_event: OnEvent | None) -> Answer:
    _say_reading(planned.read_as, on_event)
    try:
        return from_finding(planned.ask(desk), reading.intent, planned.read_as)
    except SettingsError as e:
        return Answer(kind="asked", text=f"I cannot work that out as it stands: {e}.", intent=reading.intent)
    except (DataError, StoreError) as e:
        return replace(_failed(e), intent=reading.intent, read_as=planned.read_as)


def _failed(error: DataError | StoreError) -> Answer:
    return Answer(kind="failed", text=f"There are no numbers to give: {error}.")


def _say_reading(read_as: str, on_event: OnEvent | None) -> None:
    if on_event is not None:
        on_event(Event(kind="read_as", text=read_as))


def _watched(desk: Desk, on_event: OnEvent | None) -> Desk:
    if on_event is None:
        return desk

    def on_code(code: str, limits: Limits) -> None:
        on_event(Event(kind="code", text=code))
        on_event(Event(kind="limits", text=limits_line(limits)))

    # A piece may end in the middle of a character.
    decoders: dict[EventKind, codecs.IncrementalDecoder] = {
        "stdout": codecs.getincrementaldecoder("utf-8")("replace"),
        "stderr": codecs.getincrementaldecoder("utf-8")("replace"),
    }

    def on_output(stream: Stream, data: bytes) -> None:
        text = decoders[stream].decode(data)
        if text:
            on_event(Event(kind=stream, text=text))

    return replace(desk, on_code=on_code, on_output=on_output)
