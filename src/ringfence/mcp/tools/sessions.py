"""Sessions: cells that share variables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from ringfence.mcp.answers import CellAnswer, ClosedAnswer, LimitsAnswer, SessionAnswer, outcome_values
from ringfence.mcp.calls import Caller, Doing
from ringfence.mcp.desk import Desk
from ringfence.mcp.leavings import Left, keep
from ringfence.mcp.sessions import Opened
from ringfence.mcp.text import describe
from ringfence.mcp.tool import Arguments, Reply, Tool
from ringfence.mcp.tools.limits import Limited, MemoryMb, Timeout
from ringfence.sandbox.job import Cancel
from ringfence.sandbox.outcome import Outcome

SessionId = Annotated[str, Field(description="As session_create gave it.")]


class CreateArguments(Limited):
    seed: Annotated[int | None, Field(description="Seed of its random numbers.", ge=0)] = None


class CellArguments(Arguments):
    session_id: SessionId
    code: str = Field(description="The cell's text. The value of a last expression is shown.")
    timeout: Timeout = None
    memory_mb: MemoryMb = None


class CloseArguments(Arguments):
    session_id: SessionId


async def _create(desk: Desk, given: CreateArguments, caller: Caller) -> Reply:
    limits = desk.bounds["chat"].limits(given.asked)

    def work(cancel: Cancel, _: Doing) -> Opened:
        opened = desk.sessions.create(limits, given.seed)
        if cancel.is_set():  # nobody will ever know its id
            desk.sessions.close(opened.session_id)
        return opened

    opened = await desk.calls.run(caller, work, first="the session opens")
    answer = SessionAnswer(
        session_id=opened.session_id,
        backend=desk.fence.backend,
        limits=LimitsAnswer(**asdict(limits)),
        idle_seconds=desk.sessions.idle_seconds,
    )
    text = f"Session {opened.session_id} is open. It ends after {desk.sessions.idle_seconds:g} s without a cell."
    return Reply(answer=answer, text=text)


async def _run(desk: Desk, given: CellArguments, caller: Caller) -> Reply:
    opened = desk.sessions.find(given.session_id)
    asked = {"wall_seconds": given.timeout, "memory_mb": given.memory_mb}
    limits = desk.bounds["chat"].limits(asked, start=opened.limits)

    def work(cancel: Cancel, doing: Doing) -> tuple[Outcome, Left]:
        doing.waits_for("cell", limits.wall_seconds)
        outcome = opened.session.run(given.code, limits=limits, cancel=cancel)
        return outcome, keep(desk.shelf, outcome)

    outcome, left = await desk.calls.run(caller, work, first="the cell is handed in")
    alive = opened.session.alive
    values = outcome_values(outcome, left.kept) | {"session_id": given.session_id, "alive": alive}
    ended = "" if alive else "\nThe session has ended: open another with session_create."
    text = describe(outcome, left.kept) + ended
    return Reply(answer=CellAnswer.model_validate(values), text=text, blocks=left.blocks)


async def _close(desk: Desk, given: CloseArguments, caller: Caller) -> Reply:
    desk.sessions.find(given.session_id)

    def work(*_: object) -> None:
        desk.sessions.close(given.session_id)

    await desk.calls.run(caller, work, first="the session closes")
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
        call=_create,
        preset="chat",
    ),
    Tool(
        name="session_run",
        title="Run a cell in a session",
        description="Run a cell in an open session. A cell over its time is interrupted and the session lives on where "
        "it lets go; `alive` says so.",
        arguments=CellArguments,
        answer=CellAnswer,
        call=_run,
        preset="chat",
    ),
    Tool(
        name="session_close",
        title="Close a Python session",
        description="End a session, once the cell that it may be running is done. Its variables and files are gone.",
        arguments=CloseArguments,
        answer=ClosedAnswer,
        call=_close,
    ),
)
