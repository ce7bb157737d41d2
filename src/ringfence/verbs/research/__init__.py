"""Research: from an idea in words to the best strategy that was found for it, tried behind the fence.

`research` is one idea; `research_ideas` is many. What they do is in the store's events step by step, so one that was
killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ringfence.trade.run import Json
from ringfence.verbs.research.final import conclude
from ringfence.verbs.research.grounds import Grounds, open_grounds
from ringfence.verbs.research.journal import Cancelled, Journal, begin, recall_spec
from ringfence.verbs.research.loop import Findings, Loop, NotUnderstood
from ringfence.verbs.research.objective import OBJECTIVES, Aim
from ringfence.verbs.research.replies import read_spent
from ringfence.verbs.research.request import Author, Budget, Means, OnProgress, Progress, ResearchRequest
from ringfence.verbs.research.result import ResearchResult, Status
from ringfence.verbs.research.versions import Version, idea_key

_UNBOUND = "what the model costs is not known, so --max-cost cannot hold: bound it with --max-tokens"

__all__ = [
    "OBJECTIVES",
    "Aim",
    "Author",
    "Budget",
    "Grounds",
    "Means",
    "OnProgress",
    "Progress",
    "ResearchRequest",
    "ResearchResult",
    "Version",
    "begin",
    "idea_key",
    "open_grounds",
    "recall_spec",
    "research",
]


def research(request: ResearchRequest, means: Means, *, research_id: str) -> ResearchResult:
    """Do it, or the rest of it where a part is on record under this id. What an idea or an author did wrong is in the
    result; what we could not do, or an author that cannot be had, is raised."""

    def is_cancelled() -> bool:
        return means.cancel is not None and means.cancel.is_set()

    journal = Journal(means.store, research_id, now=means.now, is_cancelled=is_cancelled)
    loop = Loop(request, means, journal)
    try:
        found = loop.run()
        shown, final = conclude(loop, journal)
    except NotUnderstood as e:
        return _told(request, means, journal, loop.found, "not_understood", str(e))
    except Cancelled:
        reason = f"it was cancelled: go on with --resume {research_id}"
        return _told(request, means, journal, loop.found, "cancelled", reason)
    if shown is None or final is None:
        last = found.versions[-1].reason if found.versions else "nothing was written"
        return _told(request, means, journal, found, "failed", f"no version ran; the last one: {last}")
    gates = cast("Mapping[str, Json]", final["evaluation"])
    status: Status = "failed" if not final["ran"] else "passed" if gates["all_passed"] else "ran"
    return _told(request, means, journal, found, status, str(final["reason"]), shown, final)


def _told(
    request: ResearchRequest,
    means: Means,
    journal: Journal,
    found: Findings,
    status: Status,
    reason: str,
    shown: Version | None = None,
    final: Mapping[str, Json] | None = None,
) -> ResearchResult:
    spent = found.spent
    if final is not None:
        spent = spent.add(read_spent(final["judging"]))
    if spent.unpriced and request.budget.usd is not None:
        found.notices.append(_UNBOUND)
    return ResearchResult(
        research_id=journal.research_id,
        status=status,
        idea=request.idea,
        author=means.author.name,
        objective=request.aim.objective,
        reason=reason,
        found=found,
        spans=request.grounds.splits.spans(),
        shown=shown,
        final=final,
        stored=means.store.get_run(str(final["run_id"])) if final is not None else None,
        spent=spent,
        seconds=journal.seconds,
    )
