"""Look at a strategy's text without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ringfence.mcp.answers import CheckAnswer
from ringfence.mcp.calls import Caller
from ringfence.mcp.desk import Desk
from ringfence.mcp.text import untrusted
from ringfence.mcp.tool import Arguments, Reply, Tool
from ringfence.sandbox.job import Cancel
from ringfence.sandbox.source import check_source

if TYPE_CHECKING:
    from ringfence.verbs.check import Checked


class CheckArguments(Arguments):
    code: str = Field(description="The text of a strategy, or a model's reply that holds one.")
    class_name: str | None = Field(default=None, description="Which class, where the text has several.")


async def _check(desk: Desk, given: CheckArguments, caller: Caller) -> Reply:
    check_source(given.code)

    def work(_: Cancel) -> Checked:
        from ringfence.verbs.check import check

        return check(given.code, "strategy", given.class_name)

    checked = await desk.calls.run(caller, work, seconds=None, doing="the text is looked at")
    values = {name: value for name, value in checked.to_json("strategy").items() if name != "file"}
    answer = CheckAnswer.model_validate(values)
    counts = {kind: sum(f.severity == kind for f in answer.findings) for kind in ("error", "warning", "info")}
    head = ", ".join(f"{number} of severity {kind}" for kind, number in counts.items() if number) or "nothing found"
    lines = "\n".join(f"line {f.line}: {f.severity} {f.code} {f.message}; {f.hint}" for f in answer.findings[:50])
    verdict = "No error was found" if answer.ok else "It has errors"
    text = f"{verdict}: {head}. A check is advice, and no fence.\n{untrusted({'findings': lines})}".rstrip()
    return Reply(answer=answer, text=text)


TOOLS = (
    Tool(
        name="check_code",
        title="Check a strategy without running it",
        description="Say what is wrong or doubtful in a strategy's text, such as a look into the future, with line "
        "and remedy. Nothing is run.",
        arguments=CheckArguments,
        answer=CheckAnswer,
        call=_check,
        read_only=True,
        idempotent=True,
    ),
)
