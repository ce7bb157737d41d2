"""What a text of a model is worth to a role: a whole program, an answer of a fixed shape, or nothing of the kind.

Programs are found behind the fence, because finding one means to parse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.agents.brief import Role, StopReason
from ringfence.agents.shapes import SHAPES, WRITING, ShapeError, read_shape
from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.texts import read_reply

if TYPE_CHECKING:
    from ringfence.trade.run import Json

_OWN = "native:profile=plain,park=0"  # for one text: nothing is imported that reading does not need
_lent: ContextVar[Sandbox | None] = ContextVar("sandbox for replies", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A text, read. `stop_reason` may be graver than the one the model gave, and `notices` say why."""

    code: str | None = None
    parsed: Mapping[str, Json] | None = None
    stop_reason: StopReason = "end"
    notices: tuple[str, ...] = ()


def read_answer(role: Role, text: str, stop_reason: StopReason = "end") -> Answer:
    if stop_reason != "end":
        return Answer(stop_reason=stop_reason)
    if role in WRITING:
        return _program(text)
    if role in SHAPES:
        try:
            return Answer(parsed=read_shape(role, text))
        except ShapeError as e:
            return Answer(stop_reason="refused", notices=(f"no {role} answer of the fixed shape came: {e}",))
    return Answer()


@contextmanager
def behind(sandbox: Sandbox) -> Iterator[None]:
    """Within this, replies are read in that sandbox. Whoever asks an agent and has one open lends it so: an agent
    knows nothing of sandboxes."""
    token = _lent.set(sandbox)
    try:
        yield
    finally:
        _lent.reset(token)


def _program(text: str) -> Answer:
    sandbox = _lent.get()
    if sandbox is None:
        with open_sandbox(_OWN) as own:
            found = read_reply(text, sandbox=own)
    else:
        found = read_reply(text, sandbox=sandbox)
    return Answer(code=found.code, stop_reason=found.ending, notices=found.notices)
