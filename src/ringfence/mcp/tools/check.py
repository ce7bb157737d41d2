"""Look at a strategy's text without running it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import Field

from ringfence.mcp.answers import CheckAnswer
from ringfence.mcp.calls import Caller
from ringfence.mcp.desk import Desk
from ringfence.mcp.text import SERVER, untrusted
from ringfence.mcp.tool import Arguments, Reply, reading
from ringfence.mcp.wording import for_callers
from ringfence.sandbox.source import check_source

if TYPE_CHECKING:
    from ringfence.verbs.check import Checked


class CheckArguments(Arguments):
    code: str = Field(description="The text of a strategy, or a model's reply that holds one.")
    class_name: str | None = Field(default=None, description="Which class, where the text has several.")


async def _check(desk: Desk, given: CheckArguments, caller: Caller) -> Reply:
    check_source(given.code)

    def work(*_: object) -> Checked:
        from ringfence.verbs.check import check

        return check(given.code, "strategy", given.class_name)

    checked = await desk.calls.run(caller, work, first="the text is looked at")
    values = {name: value for name, value in checked.to_json("strategy").items() if name != "file"}
    values["findings"] = [
        {**asdict(f), "message": for_callers(f.message), "hint": for_callers(f.hint)} for f in checked.findings
    ]
    answer = CheckAnswer.model_validate(values)
    lines = "\n".join(f"line {f.line}: {f.severity} {f.code} {f.message}; {f.hint}" for f in answer.findings[:50])
    said = untrusted({"findings": lines}, by=SERVER)
    return Reply(answer=answer, text=f"{_head(answer)} A check is advice, and no fence.\n{said}".rstrip())


def _head(answer: CheckAnswer) -> str:
    kinds = {"error": "error", "warning": "warning", "info": "remark"}
    counts = {word: sum(f.severity == kind for f in answer.findings) for kind, word in kinds.items()}
    found = [f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items() if count]
    be = "was" if sum(counts.values()) == 1 else "were"
    return f"{', '.join(found)} {be} found." if found else "Nothing was found."


_CHECKS = (
    "Say what is wrong or doubtful in a strategy's text, such as a look into the future, with line and remedy. "
    "Nothing is run."
)

TOOLS = (reading("check_code", "Check a strategy without running it", _CHECKS, CheckArguments, CheckAnswer, _check),)
