"""Versions of one strategy: each text that was written, where it came from, what changed and what it did."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ringfence.agents.brief import Change
from ringfence.store import Store
from ringfence.trade.run import Json, plain
from ringfence.verbs.research.trial import Trial

# ran: it can be the best. failed: it has an error. not_new: it says or does what an earlier one did.
Status = Literal["ran", "failed", "not_new", "few_trades"]
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    number: int  # counted from 1 over all texts
    iteration: int  # counted from 1; repairs belong to the iteration whose change they repair
    role: str
    code: str
    status: Status
    reason: str
    trial: Trial
    change: Change | None = None
    parent: int | None = None  # the number of the version that it was made from
    said: str = ""  # by the author, of the change
    diff: str = ""
    score: float | None = None  # the objective on validation data
    evaluation: Mapping[str, Json] | None = field(default=None)
    notices: tuple[str, ...] = ()  # of the replies that led to it

    @property
    def keeps_numbers(self) -> bool:
        """Whether what the idea asks for by number and name is in it, as far as that was judged."""
        shut = (self.evaluation or {}).get("gates_shut")
        return not (isinstance(shut, Mapping) and "parameters" in shut)

    def to_json(self) -> dict[str, Json]:
        error = self.trial.error
        return {
            "number": self.number,
            "iteration": self.iteration,
            "role": self.role,
            "change": self.change,
            "parent": self.parent,
            "status": self.status,
            "reason": self.reason,
            "stage": self.trial.stage,
            "error": plain(error),
            "score": self.score,
            "train": plain(self.trial.train),
            "validation": plain(self.trial.validation),
            "trades": self.trial.trades,
            "said": self.said,
            "diff": self.diff,
            "code": self.code,
            "code_sha": self.trial.sha256 or hashlib.sha256(self.code.encode()).hexdigest(),
            "run_id": self.trial.run_id,
            "version": self.trial.version,
            "evaluation": None if self.evaluation is None else plain(self.evaluation),
            "notices": list(self.notices),
        }


def strategy_name(idea: str) -> str:
    """The same for the same idea: its first words, and a mark that tells it from others that begin alike."""
    words = re.sub(r"[^a-z0-9]+", "-", idea.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return f"{words or 'idea'}-{idea_key(idea)[:6]}"


def idea_key(idea: str) -> str:
    """By what an idea is known; spaces and capitals make no other idea."""
    return hashlib.sha256(" ".join(idea.casefold().split()).encode("utf-8", "backslashreplace")).hexdigest()


def diff_of(before: str, after: str, names: tuple[str, str]) -> str:
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm=""))


def keep_lineage(store: Store, child: Version, parent: Version | None, *, now: datetime) -> None:
    """In the store's lineage, once, also when a process was killed just after it. `parent` is the nearest one that the
    store knows: texts between them that never ran are in the journal alone."""
    trial = child.trial
    if trial.version is None:  # a text that never ran is no version of the store; the journal has it
        return
    before = parent.trial.version if parent is not None else None
    if before == trial.version:
        return
    kind = child.change or child.role
    known = {
        (line.parent_version, line.child_version, line.optimization_type) for line in store.list_lineage(trial.strategy)
    }
    if (before, trial.version, kind) in known:
        return
    store.add_lineage(
        trial.strategy,
        parent_version=before,
        child_version=trial.version,
        optimization_type=kind,
        changes_made="\n\n".join(part for part in (child.said, child.reason, _changes(parent, child)) if part),
        performance_delta=_delta(parent, child),
        now=now,
    )


def _changes(parent: Version | None, child: Version) -> str:
    if parent is None:
        return child.diff
    return diff_of(parent.code, child.code, (f"version {parent.number}", f"version {child.number}"))


def _delta(parent: Version | None, child: Version) -> dict[str, float]:
    before: Mapping[str, float | None] = parent.trial.validation if parent is not None else {}
    found = {}
    for name, value in child.trial.validation.items():
        old = before.get(name)
        if value is not None and old is not None:
            found[name] = value - old
    return found
