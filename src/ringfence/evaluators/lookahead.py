"""Whether the decisions stay the same when the future is taken away."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.evaluators.case import Case
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped
from ringfence.trade.run import Evidence, Json, Run
from ringfence.trade.times import iso

_UNCHECKED = 0.5  # nothing was found because nothing was looked for
_SMELLS = "RF2"  # the codes of the lint that are about the future
_HOW = {
    "truncated": "with the bars after {cut} cut off",
    "perturbed": "with other prices after {cut}",
    "nondeterministic": "when it was run a second time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LookaheadEvaluator:
    name: str = "lookahead"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        run = case.run
        if run is None:
            return skipped(self.name, "it has not run: backtest it to see whether it looks ahead")
        seen = run.lookahead
        details: dict[str, Json] = {"status": seen.status, "reason": seen.reason, "cuts": seen.cuts}
        if seen.status == "suspect":
            errors = [_sentence(one) for one in seen.evidence] or [
                f"its decisions change with the future ({seen.reason}): use only what is known at the close of a bar"
            ]
            return found(self.name, score=0.0, errors=errors, details=details)
        if seen.status == "clean":
            return found(self.name, score=1.0, details=details)
        return self._unchecked(case, run, details)

    def _unchecked(self, case: Case, run: Run, details: dict[str, Json]) -> Verdict:
        """What the text alone says, for want of a better witness."""
        smelly = [f for f in case.findings or () if f.code.startswith(_SMELLS)]
        smells = [f"line {f.line}: {f.message} ({f.code}): {f.hint}" for f in smelly]
        reason = run.lookahead.reason.rstrip(".") or "nobody asked"
        warning = f"look-ahead was not checked ({reason}): backtest it with --lookahead"
        return found(self.name, score=0.0 if smells else _UNCHECKED, errors=smells, warnings=[warning], details=details)


def _sentence(one: Evidence) -> str:
    how = _HOW[one.test].format(cut=iso(one.cut))
    return (
        f"on {iso(one.time)} it decided {one.with_future!r}, and {how} {one.without_future!r}: "
        "use only what is known at the close of a bar"
    )


def create() -> LookaheadEvaluator:
    return LookaheadEvaluator()
