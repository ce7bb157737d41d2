"""Many ideas, hands off: each is researched by itself and is done when it has its verdict on record."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import cast

from ringfence.base.errors import InputError, RefusedError, SettingsError, StoreError
from ringfence.store import Store
from ringfence.trade.run import Json, plain
from ringfence.verbs.research.ideas import Idea
from ringfence.verbs.research.journal import subject
from ringfence.verbs.research.result import ResearchResult
from ringfence.verbs.research.versions import idea_key

DONE = "idea_done"
_ENDING = (StoreError, RefusedError, SettingsError)  # what is wrong with all ideas or with none
_FIGURES = ("total_return", "sharpe", "max_drawdown", "trades")

Researcher = Callable[[str, str], ResearchResult]  # the idea's text and the id to do it under
OnFault = Callable[[Idea, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaLine:
    """One line of the table. `verdict` is passed, ran, failed, not_understood, duplicate or unreadable; `error` where
    ringfence or the author's service failed, and then the idea is done again when the work is resumed."""

    key: str
    content: str
    place: str
    idea: str
    verdict: str
    reason: str
    research_id: str = ""
    run_id: str | None = None
    versions: int = 0
    metrics: Mapping[str, Json] = field(default_factory=dict)
    holdout: Mapping[str, Json] = field(default_factory=dict)
    pass_rate: float = 0.0
    average_score: float = 0.0
    data_sets: Sequence[Json] = ()
    usd: float | None = 0.0  # None where nobody knows
    unpriced: bool = False  # some of it has no known price
    resumed: bool = False

    def to_json(self) -> dict[str, Json]:
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(slots=True, kw_only=True)
class Many:
    """The state of one session of ideas; `session_id` is what resumes it."""

    session_id: str
    store: Store
    research: Researcher
    now: Callable[[], datetime]
    is_cancelled: Callable[[], bool]
    on_start: Callable[[Idea], None] = lambda idea: None
    _done: dict[str, IdeaLine] = field(default_factory=dict)
    _contents: dict[str, str] = field(default_factory=dict)  # content -> the place where it was seen first
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for event in self.store.list_events(subject(self.session_id)):
            if event.type == DONE:
                line = _recall(cast("Mapping[str, Json]", event.data))
                self._done[line.key] = line

    def run(self, ideas: Sequence[Idea], *, jobs: int, on_fault: OnFault) -> Generator[IdeaLine, None, None]:
        """A line for each idea that has had none yet from this object, as they get done."""
        left = iter([idea for idea in ideas if idea.key not in self._told])
        under_way: dict[Future[IdeaLine | None], Idea] = {}
        with ThreadPoolExecutor(jobs, thread_name_prefix="idea") as pool:
            while True:
                while len(under_way) < jobs and not self.is_cancelled():
                    idea = next(left, None)
                    if idea is None:
                        break
                    self._told.add(idea.key)
                    line = self._known(idea)
                    if line is not None:
                        yield line
                        continue
                    self.on_start(idea)
                    under_way[pool.submit(self._do, idea)] = idea
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    settled = self._settle(future, under_way.pop(future), on_fault)
                    if settled is not None:
                        yield settled

    def _known(self, idea: Idea) -> IdeaLine | None:
        """Its line where nothing need be done for it."""
        first = self._contents.setdefault(idea.content, idea.place) if not idea.trouble else idea.place
        before = self._done.get(idea.key)
        if before is not None and before.verdict != "error":
            self._contents.setdefault(before.content, before.place)  # of a page: what stood there
            return before
        if idea.trouble:
            return self._record(self._line(idea, "unreadable", idea.trouble))
        if first != idea.place:
            return self._record(self._line(idea, "duplicate", f"the same idea as {first}"))
        return None

    def _do(self, idea: Idea) -> IdeaLine | None:
        """None when it was cancelled, and then it has no verdict."""
        try:
            words = idea.words  # a page is fetched when its turn comes, and once
        except InputError as e:
            return self._record(self._line(idea, "unreadable", str(e)))
        first = self._contents.setdefault(idea_key(words), idea.place)
        if first != idea.place:
            return self._record(self._line(idea, "duplicate", f"the same idea as {first}"))
        research_id = f"{self.session_id}.{idea.content[:12]}"
        result = self.research(words, research_id)
        if result.status == "cancelled":
            return None
        return self._record(self._tell(idea, idea_key(words), research_id, result))

    def _tell(self, idea: Idea, content: str, research_id: str, result: ResearchResult) -> IdeaLine:
        final, gates = result.final or {}, result.evaluation
        return IdeaLine(
            key=idea.key,
            content=content,
            place=idea.place,
            idea=idea.text[:500],
            verdict=result.status,
            reason=result.reason,
            research_id=research_id,
            run_id=cast("str | None", final.get("run_id")),
            versions=len(result.found.versions),
            metrics=_figures(final.get("metrics")),
            holdout=_figures(final.get("holdout")),
            pass_rate=float(cast(float, gates["pass_rate"])),
            average_score=float(cast(float, gates["average_score"])),
            data_sets=cast("Sequence[Json]", final.get("data_sets", ())),
            usd=result.spent.known_usd,
            unpriced=bool(result.spent.unpriced),
        )

    def _settle(self, future: Future[IdeaLine | None], idea: Idea, on_fault: OnFault) -> IdeaLine | None:
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, _ENDING) or not isinstance(error, Exception):
            raise error
        on_fault(idea, error)
        return self._record(self._line(idea, "error", f"{type(error).__name__}: {error}"))

    def _line(self, idea: Idea, verdict: str, reason: str) -> IdeaLine:
        return IdeaLine(
            key=idea.key, content=idea.content, place=idea.place, idea=idea.text[:500], verdict=verdict, reason=reason
        )

    def _record(self, line: IdeaLine) -> IdeaLine:
        message = f"{line.verdict}: {line.place}"
        self.store.add_event(subject(self.session_id), kind=DONE, message=message, data=line.to_json(), now=self.now())
        self._done[line.key] = line
        return line


def _figures(value: Json) -> dict[str, Json]:
    found = value if isinstance(value, Mapping) else {}
    return {name: found.get(name) for name in _FIGURES if name in found}


def _recall(row: Mapping[str, Json]) -> IdeaLine:
    make: type = IdeaLine
    known = {f.name for f in fields(IdeaLine)}
    return cast(IdeaLine, make(**{**{k: v for k, v in row.items() if k in known}, "resumed": True}))
