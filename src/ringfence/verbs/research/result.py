"""What a research came to, in the shape that every face prints."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ringfence.store import StoredRun
from ringfence.trade.description.stored import to_json
from ringfence.trade.run import Json, plain
from ringfence.verbs.research.loop import Findings
from ringfence.verbs.research.replies import Spent
from ringfence.verbs.research.versions import Version

# passed: it ran and no gate is shut. ran: it ran, and a gate is shut. failed: no version ran.
Status = Literal["passed", "ran", "failed", "not_understood", "cancelled"]
NO_EVALUATION: Mapping[str, Json] = {
    "all_passed": False, "pass_rate": 0.0, "average_score": 0.0, "summary": "nothing ran", "results": [],
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchResult:
    research_id: str
    status: Status
    idea: str
    author: str
    objective: str
    reason: str  # in one sentence: how it ended
    found: Findings
    spans: Mapping[str, str] = field(default_factory=dict)  # which part of the data is when
    shown: Version | None = None  # the one that met all of the data: the best, or what was thought so and failed there
    final: Mapping[str, Json] | None = None
    stored: StoredRun | None = None  # that version on all of the data
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0

    @property
    def produced(self) -> bool:
        """A strategy was produced and ran."""
        return self.status in ("passed", "ran")

    @property
    def best(self) -> Version | None:
        return self.shown if self.produced else None

    @property
    def code(self) -> str | None:
        written = [version for version in self.found.versions if version.code]
        shown = self.shown or (written[-1] if written else None)
        return shown.code if shown is not None else None

    @property
    def notices(self) -> list[str]:
        """Of the whole, and of the version that is shown; those of the others are with them."""
        shown = self.shown or (self.found.versions[-1] if self.found.versions else None)
        over = self.found.passed_over if self.produced else []
        return list(dict.fromkeys([*self.found.notices, *(shown.notices if shown is not None else ()), *over]))

    @property
    def evaluation(self) -> Mapping[str, Json]:
        evaluation = (self.final or {}).get("evaluation")
        return evaluation if isinstance(evaluation, Mapping) else NO_EVALUATION

    @property
    def warnings(self) -> list[str]:
        run = self.stored.json.get("warnings") if self.stored is not None else ()
        said = [str(words) for words in run] if isinstance(run, Sequence) and not isinstance(run, str) else []
        return list(dict.fromkeys([*self.notices, *said]))

    def to_json(self) -> dict[str, Json]:
        code, found = self.code, self.found
        return {
            "job_id": self.research_id,
            "status": self.status,
            "reason": self.reason,
            "strategy": {
                "idea": self.idea,
                "title": found.title,
                "reading": found.reading,
                "name": self.stored.record.strategy_name if self.stored else None,
                "version": self.stored.record.version if self.stored else None,
                "author": self.author,
                "models": list(found.models),
                "description": None if found.description is None else to_json(found.description),
            },
            "code": code,
            "code_sha": None if code is None else hashlib.sha256(code.encode()).hexdigest(),
            "final_backtest": None if self.stored is None else {"results": self._results(self.stored)},
            "evaluation_results": plain(self.evaluation),
            "iterations": [version.to_json() for version in found.versions],
            "best_iteration": self.best.number if self.best is not None else None,
            "objective": self.objective,
            "split": dict(self.spans),
            "holdout": (self.final or {}).get("holdout"),
            "selection": (self.final or {}).get("selection"),
            "data_sets": (self.final or {}).get("data_sets", []),
            "stopped": found.stopped,
            "usage": self.spent.to_json(),
            "seconds": self.seconds,
            "warnings": self.warnings,
        }

    def _results(self, stored: StoredRun) -> dict[str, Json]:
        run = stored.json
        return {
            "summary": run.get("metrics"),
            "trades": run.get("trades"),
            "equity_curve": run.get("equity"),
            "indicators": run.get("indicators"),
            "execution": (self.final or {}).get("execution"),
        }
