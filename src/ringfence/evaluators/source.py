"""The lint: what can be seen in a program's text. It is advice, and never the fence."""

from __future__ import annotations

from ringfence.evaluators import Finding
from ringfence.evaluators.rules import Rule, conduct, cost, future, shape
from ringfence.evaluators.rules.program import Program
from ringfence.trade.draft import Draft

RULES: tuple[Rule, ...] = (*shape.RULES, *future.RULES, *cost.RULES, *conduct.RULES)


def lint(draft: Draft) -> tuple[Finding, ...]:
    """Every finding, in the order of the text; lines are those of the file or reply that the draft came from."""
    program = Program(draft)
    found = {
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
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.column, finding.code, finding.message)))
