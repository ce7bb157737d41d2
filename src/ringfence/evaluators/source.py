"""The lint: what can be seen in a program's text. It is advice, and never the fence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ringfence.evaluators import Finding
from ringfence.evaluators.case import Case
from ringfence.evaluators.rules import Rule, conduct, cost, future, shape
from ringfence.evaluators.rules.program import Program
from ringfence.evaluators.verdict import Kind, Verdict, found
from ringfence.trade.draft import Draft

RULES: tuple[Rule, ...] = (*shape.RULES, *future.RULES, *cost.RULES, *conduct.RULES)

_PER_ERROR, _PER_WARNING, _LEAST_WITH_WARNINGS = 0.25, 0.1, 0.5


def lint(draft: Draft) -> tuple[Finding, ...]:
    """Every finding, in the order of the text; lines are those of the file or reply that the draft came from."""
    program = Program(draft)
    seen = {
        Finding(
            code=rule.code,
            line=draft.given_line(getattr(node, "lineno", 1)),
            column=program.column(node),
            severity=rule.severity,
            message=message,
            hint=rule.hint,
        )
        for rule in RULES
        for node, message in rule.find(program)
    }
    return tuple(sorted(seen, key=lambda finding: (finding.line, finding.column, finding.code, finding.message)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvaluator:
    """A case without findings is looked at again: it takes milliseconds, and an empty list may mean either."""

    name: str = "source"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        findings = case.findings or lint(case.draft)
        errors = [_sentence(finding) for finding in findings if finding.severity == "error"]
        warnings = [_sentence(finding) for finding in findings if finding.severity == "warning"]
        score = max(1 - _PER_WARNING * len(warnings), _LEAST_WITH_WARNINGS)
        if errors:
            score = 0.5 - _PER_ERROR * len(errors)
        codes = Counter(finding.code for finding in findings)
        return found(self.name, score=score, errors=errors, warnings=warnings, details={"codes": dict(codes)})


def _sentence(finding: Finding) -> str:
    return f"line {finding.line}: {finding.message} ({finding.code}): {finding.hint}"


def create() -> SourceEvaluator:
    return SourceEvaluator()
