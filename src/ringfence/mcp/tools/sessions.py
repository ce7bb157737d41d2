"""Sessions: cells that share variables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from ringfence.mcp.answers import CellAnswer, ClosedAnswer, LimitsAnswer, SessionAnswer, outcome_values
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.leavings import keep
from ringfence.mcp.text import describe
from ringfence.mcp.tool import Arguments, Reply, Text, Tool
from ringfence.mcp.tools.limits import Limited, MemoryMb, Timeout

SessionId = Annotated[str, Field(description="As session_create gave it.")]


class CreateArguments(Limited):
    seed: Annotated[int | None, Field(description="Seed of its random numbers.", ge=0)] = None


class CellArguments(Arguments):
    session_id: SessionId
    code: Annotated[str, Text()] = Field(description="The cell's text. The value of a last expression is shown.")
    timeout: Timeout = None
    memory_mb: MemoryMb = None


class CloseArguments(Arguments):
    session_id: SessionId


def _create(desk: Desk, given: CreateArguments, call: Call) -> Reply:
    limits = desk.bounds["chat"].limits(given.asked)
    opened = desk.sessions.create(call.client, limits, given.seed)
    if call.cancel.is_set():  # nobody will ever know its id
        desk.sessions.close(opened.session_id)
    answer = SessionAnswer(
        session_id=opened.session_id,
        backend=desk.fence.backend,
        limits=LimitsAnswer(**asdict(limits)),
        idle_seconds=desk.sessions.idle_seconds,
    )
    text = f"Session {opened.session_id} is open. It ends after {desk.sessions.idle_seconds:g} s without a cell."
    return Reply(answer=answer, text=text)


def _run(desk: Desk, given: CellArguments, call: Call) -> Reply:
    opened = desk.sessions.find(call.client, given.session_id)
    asked = {"wall_seconds": given.timeout, "memory_mb": given.memory_mb}
    limits = desk.bounds["chat"].limits(asked, start=opened.limits)
    call.doing.waits_for("cell", limits.wall_seconds)
    left = keep(desk, call.client, opened.session.run(given.code, limits=limits, cancel=call.cancel))
    alive = opened.session.alive
    values = outcome_values(left) | {"session_id": given.session_id, "alive": alive}
    ended = "" if alive else "\nThe session has ended: open another with session_create."
    return Reply(answer=CellAnswer.model_validate(values), text=describe(left) + ended, blocks=left.blocks)


def _close(desk: Desk, given: CloseArguments, call: Call) -> Reply:
    desk.sessions.find(call.client, given.session_id)
    desk.sessions.close(given.session_id)
    answer = ClosedAnswer(session_id=given.session_id, closed=True)
    return Reply(answer=answer, text=f"Session {given.session_id} is closed.")


TOOLS = (
    Tool(
        name="session_create",
        title="Open a Python session",
        description="Open a session: cells run one after another in one sandbox, and variables and files persist "
        "between them. Its limits hold for each cell. Close it when it is no longer needed.",
        arguments=CreateArguments,
        answer=SessionAnswer,
        work=_create,
        first="the session opens",
        preset="chat",
    ),
    Tool(
        name="session_run",
        title="Run a cell in a session",
        description="Run a cell in an open session. A cell over its time is interrupted and the session lives on where "
        "it lets go; `alive` says so.",
        arguments=CellArguments,
        answer=CellAnswer,
        work=_run,
        first="the cell is handed in",
        preset="chat",
    ),
    Tool(
        name="session_close",
        title="Close a Python session",
        description="End a session, once the cell that it may be running is done. Its variables and files are gone.",
        arguments=CloseArguments,
        answer=ClosedAnswer,
        work=_close,
        first="the session closes",
    ),
)
