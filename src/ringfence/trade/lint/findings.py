"""All rules over one Draft."""

from __future__ import annotations

from itertools import islice

from ringfence.trade.draft import Draft
from ringfence.trade.lint import Finding, conduct, cost, future, shape
from ringfence.trade.lint.program import Program
from ringfence.trade.lint.rule import Rule

RULES: tuple[Rule, ...] = (*shape.RULES, *future.RULES, *cost.RULES, *conduct.RULES)

MOST_PER_RULE = 100  # a rule that finds more says nothing new


def lint(draft: Draft) -> tuple[Finding, ...]:
    """The findings, in the order of the text; lines are those of the file or reply that the draft came from."""
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
        for node, message in islice(rule.find(program), MOST_PER_RULE)
    }
    return tuple(sorted(seen, key=lambda finding: (finding.line, finding.column, finding.code, finding.message)))
