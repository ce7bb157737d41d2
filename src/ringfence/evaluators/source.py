"""What the lint found, as a verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ringfence.evaluators.case import Case
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped
from ringfence.trade.lint import Finding

_PER_ERROR, _PER_WARNING, _LEAST_WITH_WARNINGS = 0.25, 0.1, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvaluator:
    name: str = "source"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        findings = case.findings
        if findings is None:
            return skipped(self.name, "nobody has looked at the text: check it first")
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
