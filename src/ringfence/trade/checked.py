"""All that is to be seen in a program's text without running it: its Draft, or why there is none, and its faults.

A text may abuse whoever parses it, so on the host nothing here is called with somebody's text: `sandbox.texts`
asks for it, and `guest.text` does it behind the fence. It imports no numpy, so that a fresh jail is quick to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ringfence.base.errors import DraftError
from ringfence.trade.draft import Draft, SeveralClasses, read_draft
from ringfence.trade.fingerprint import fingerprint
from ringfence.trade.lint import Finding
from ringfence.trade.lint.findings import lint
from ringfence.trade.written import Written, read_program

if TYPE_CHECKING:
    from ringfence.trade.run import Json

# What keeps a text from being a Draft: a code, and what to do about it.
_REFUSALS = {
    "failed": ("RF001", "correct the line; nothing else was looked at"),
    "truncated": ("RF002", "ask for the whole program again: half a strategy has no result"),
    "not_a_strategy": ("RF003", "write `class Name(Strategy):` with a method `next`; see docs/check.md"),
}
_SEVERAL = ("RF004", "name it with --class, or keep one class to a file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`draft` is None where the text is none: `error` then says why, and one of the findings the same."""

    draft: Draft | None
    error: DraftError | None = None
    findings: tuple[Finding, ...] = ()
    fingerprint: str = ""
    written: Written = field(default_factory=Written)

    @property
    def ok(self) -> bool:
        return not any(finding.severity == "error" for finding in self.findings)

    def to_json(self, file: str) -> dict[str, Json]:
        from ringfence.trade.run import plain

        draft = self.draft
        parameters = plain(draft.parameters) if draft else []
        if draft and isinstance(parameters, list):
            for row, parameter in zip(parameters, draft.parameters):
                row["line"] = draft.given_line(parameter.line)
        return {
            "file": file,
            "ok": self.ok,
            "dialect": draft.dialect if draft else None,
            "class": draft.class_name if draft else None,
            "parameters": parameters,
            "sha256": draft.sha256 if draft else None,
            "findings": plain(self.findings),
            "notes": list(draft.notes) if draft else [],
        }


def check_text(
    raw: str, *, name: str, class_name: str | None = None, given: Mapping[str, Json] | None = None
) -> Checked:
    """`given` are the values that parameters had in a run, where they were not their own."""
    try:
        draft = read_draft(raw, name=name, class_name=class_name)
    except DraftError as e:
        return refused(e)
    return Checked(
        draft=draft,
        findings=lint(draft),
        fingerprint=fingerprint(draft.text),
        written=read_program(draft, given or {}),
    )


def refused(error: DraftError) -> Checked:
    code, hint = _SEVERAL if isinstance(error, SeveralClasses) else _REFUSALS[error.verdict]
    message = str(error)
    finding = Finding(code=code, line=error.line or 1, column=1, severity="error", message=message, hint=hint)
    return Checked(draft=None, error=error, findings=(finding,))
