"""Look at a program's text and say what is the matter with it, without running a line."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.base.errors import DraftError
from ringfence.evaluators import Finding
from ringfence.evaluators.source import lint
from ringfence.trade.draft import Draft, SeveralClasses, read_draft
from ringfence.trade.run import Json, plain

# What keeps a text from being a Draft: a code, and what to do about it.
_REFUSALS = {
    "failed": ("RF001", "correct the line; nothing else was looked at"),
    "truncated": ("RF002", "ask for the whole program again: half a strategy has no result"),
    "not_a_strategy": ("RF003", "write `class Name(Strategy):` with a method `next`; see docs/check.md"),
}
_SEVERAL = ("RF004", "name it with --class, or keep one class to a file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`draft` is None where the text is none; one of the findings then says why."""

    draft: Draft | None
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.severity == "error" for finding in self.findings)

    def to_json(self, file: str) -> dict[str, Json]:
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


def check(raw: str, name: str, class_name: str | None = None) -> Checked:
    try:
        draft = read_draft(raw, name=name, class_name=class_name)
    except DraftError as e:
        code, hint = _SEVERAL if isinstance(e, SeveralClasses) else _REFUSALS[e.verdict]
        finding = Finding(code=code, line=e.line or 1, column=1, severity="error", message=str(e), hint=hint)
        return Checked(draft=None, findings=(finding,))
    return Checked(draft=draft, findings=lint(draft))
