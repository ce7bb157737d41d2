"""Look at a strategy's text without running it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from ringfence.mcp.answers import CheckAnswer
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.text import SERVER, untrusted
from ringfence.mcp.tool import Arguments, Reply, Text, reading
from ringfence.mcp.wording import for_callers
from ringfence.sandbox.source import check_source

_MOST_FINDINGS = 1000


class CheckArguments(Arguments):
    code: Annotated[str, Text()] = Field(description="The text of a strategy, or a model's reply that holds one.")
    class_name: str | None = Field(default=None, description="Which class, where the text has several.")


def _check(desk: Desk, given: CheckArguments, call: Call) -> Reply:
    from ringfence.verbs.check import check

    check_source(given.code)
    with desk.fence.lease() as sandbox:
        checked = check(given.code, "strategy", given.class_name, sandbox=sandbox)
    values = {name: value for name, value in checked.to_json("strategy").items() if name != "file"}
    values["findings"] = [
        {**asdict(f), "message": for_callers(f.message), "hint": for_callers(f.hint)}
        for f in checked.findings[:_MOST_FINDINGS]
    ]
    if len(checked.findings) > _MOST_FINDINGS:
        left_out = len(checked.findings) - _MOST_FINDINGS
        values["notes"] = [*(draft.notes if (draft := checked.draft) else ()), f"{left_out} more findings are left out"]
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

TOOLS = (
    reading(
        "check_code",
        "Check a strategy without running it",
        _CHECKS,
        CheckArguments,
        CheckAnswer,
        _check,
        first="the text is looked at",
    ),
)
