"""The loop: write, try, mend, evaluate, revise, until there is a reason to stop. The best wins, not the last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn, cast, get_args

from ringfence.agents.brief import Brief, Change, DataFacts, ErrorSeen, Reply, Role
from ringfence.base.errors import BudgetError
from ringfence.sandbox.texts import read_draft
from ringfence.trade.description import Description
from ringfence.trade.run import Json, plain
from ringfence.verbs.check import check
from ringfence.verbs.research import briefs
from ringfence.verbs.research.bandit import Bandit
from ringfence.verbs.research.journal import Journal
from ringfence.verbs.research.judging import AgentJudge, evaluation_of
from ringfence.verbs.research.novelty import SAME_TRADES, overlap
from ringfence.verbs.research.replies import Spent, ask, read_spent
from ringfence.verbs.research.request import Means, Progress, ResearchRequest
from ringfence.verbs.research.trial import Range, Trial, read_trial
from ringfence.verbs.research.versions import Status, Version, diff_of, keep_lineage, strategy_name

MOST_REPAIRS = 10
_CUT = "the reply was cut off before the program's end, and half a program is none: write a shorter one"
_NO_PROGRAM = "the reply holds no program: answer with the whole program in one ```python block"
_LINE = re.compile(r"^line \d+: ")
_SAME_ERRORS = 3  # in a row: the error, its repair, and the other way that was taken then


class Ended(Exception):
    """There is a reason to stop."""


class NotUnderstood(Exception):
    """The idea gives no rules; the message is the author's own."""


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the loop knows so far."""

    idea: str = ""  # the words that are worked with: the user's, or the rules that were made of them
    reading: str = ""  # how it was understood
    title: str = ""
    description: Description | None = None
    versions: list[Version] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    notices: list[str] = field(default_factory=list)
    stopped: str = ""
    models: list[str] = field(default_factory=list)

    @property
    def best(self) -> Version | None:
        """Of those that keep the numbers of the idea, or of all where none does: by the objective on validation data;
        the earlier of equals."""
        able = [v for v in self.versions if v.status == "ran"]
        return max(able, key=lambda v: (_rank(v), -v.number), default=None)

    @property
    def passed_over(self) -> list[str]:
        """Why what has the highest score is not the best."""
        best = self.best
        better = [v for v in self.versions if v.status == "ran" and best is not None and _score(v) > _score(best)]
        return [
            f"version {v.number} has a higher score ({_score(v):.4g}) and does not keep the numbers of the idea, so it "
            "is not the best"
            for v in better
        ]

    def mark(self, version: Version) -> Version:
        """Put what is known now of a version in the place of what was."""
        self.versions[version.number - 1] = version
        return version

    @property
    def tried(self) -> list[Version]:
        """Those that were measured, each program once: what the best is the best of."""
        return list({v.trial.sha256: v for v in self.versions if v.trial.validation}.values())

    def ancestor(self, version: Version) -> Version | None:
        """The nearest that the store knows as a version of its own."""
        numbered = {v.number: v for v in self.versions}
        parent = numbered.get(version.parent or 0)
        while parent is not None and parent.trial.version is None:
            parent = numbered.get(parent.parent or 0)
        return parent


class Loop:
    def __init__(self, request: ResearchRequest, means: Means, journal: Journal) -> None:
        self.request, self.means, self._journal = request, means, journal
        self._data = request.grounds.facts()
        self.range = Range(request, means, strategy_name(request.idea))
        self.found = Findings(idea=request.idea, notices=list(request.grounds.splits.notes))
        self._bandit = Bandit()
        self._iteration = 1
        self._notices: list[str] = []  # of replies whose version is still to come

    def run(self) -> Findings:
        """NotUnderstood where the idea gives no strategy."""
        try:
            self._read_idea()
            brief = Brief(role="code", idea=self.found.idea, data=self._data, notes=self._noted())
            self._write(brief, None, None)
            while self.means.author.revises:
                self._check_bounds(between=True)
                self._iteration += 1
                self._revise()
            self._end("the offline author does not revise: the numbers are yours")
        except Ended:
            pass
        return self.found

    # reading

    def _read_idea(self) -> None:
        """What is plain enough for the offline author needs no research; a page or a thought is turned into rules."""
        if not self.means.author.revises:
            return
        plain_words = _plain_reading(self.found.idea, self._data)
        if plain_words is not None:  # whoever writes it is held to the same rules
            self.found.description, self.found.reading = plain_words.description, plain_words.text
            return
        reply = self._ask(Brief(role="research", idea=self.found.idea, data=self._data))
        self.found.notices += self._noticed()
        parsed = reply.parsed or {}
        rules = [str(rule) for rule in cast("list[Json]", parsed.get("rules") or [])]
        if reply.stop_reason != "end" or not rules:
            raise NotUnderstood(str(parsed.get("summary") or reply.text or "no strategy was found in the idea"))
        self.found.title = str(parsed.get("title") or "")
        assumed = [f"Assumed: {words}" for words in cast("list[Json]", parsed.get("assumptions") or [])]
        self.found.reading = " ".join([*rules, *assumed])
        self.found.idea = "\n".join([self.found.title, *rules, *assumed]).strip()

    def _noted(self) -> tuple[str, ...]:
        if not self.means.author.revises:
            return ()
        read = (self.found.reading,) if self.found.description is not None else ()
        return (*read, f"At least {self.request.aim.min_trades} trades are needed")

    # writing

    def _write(self, brief: Brief, parent: Version | None, kind: Change | None) -> Version | None:
        """One version that runs, with as many repairs as that takes; None where it came to nothing."""
        last: ErrorSeen | None = None
        origin = parent
        for attempt in range(MOST_REPAIRS + 1):
            if attempt:
                self._check_bounds(between=False)
            reply = self._ask(brief)
            if reply.stop_reason == "refused" and not attempt:
                if parent is None:
                    self.found.notices += self._noticed()
                    raise NotUnderstood(reply.text)
                self.found.notices.append(f"the author gave up on a {brief.role} brief: {reply.text[:300]}")
                return None
            version = self._try(reply, brief.role, origin, kind)
            if version.trial.error is None:
                return version
            if not self.means.author.revises:
                self._end(version.reason)
            error = version.trial.error
            same = last is not None and (last.type, last.message) == (error.type, error.message)
            last = replace(error, times=last.times + 1 if same and last is not None else 1)
            if last.times >= _SAME_ERRORS:
                self._end(f"the same error {last.times} times in a row: {error.type}: {error.message[:200]}")
            tried = tuple(briefs.history_line(v) for v in self.found.versions)
            brief = briefs.repair(brief, version.code or brief.code, last, tried)
            origin = version if version.code else origin
        return self._end(f"{MOST_REPAIRS} repairs did not make it run")

    def _try(self, reply: Reply, role: Role, parent: Version | None, kind: Change | None) -> Version:
        number = len(self.found.versions) + 1
        code = reply.code or ""
        self._tell("code", f"version {number} is written", number)
        self.found.description = reply.description or self.found.description
        if reply.description is not None:
            self.found.reading = reply.text
        twin = self._twin(code)
        trial, status, reason = self._judge(reply, number, twin)
        version = Version(
            number=number,
            iteration=self._iteration,
            role=role,
            code=code,
            status=status,
            reason=reason,
            trial=trial,
            change=kind,
            parent=parent.number if parent else None,
            said=_said(reply),
            diff=diff_of(parent.code, code, (f"version {parent.number}", f"version {number}"))
            if parent and code
            else "",
            score=None if status == "failed" else self.request.aim.score(trial.validation),
            notices=tuple(told for told in self._noticed() if not _says_again(told, trial)),
        )
        if status == "ran":
            version = replace(version, evaluation=self._evaluate(version))
            if not version.keeps_numbers:
                version = replace(version, reason=f"{reason}, and the numbers of the idea are not kept")
        if twin is None:
            keep_lineage(self.means.store, version, self.found.ancestor(version), now=self.means.now())
        return self._add(version)

    def _judge(self, reply: Reply, number: int, twin: Version | None) -> tuple[Trial, Status, str]:
        code = reply.code or ""
        if reply.stop_reason == "refused":
            return Trial(stage="parse", error=ErrorSeen(type="NoProgram", message=_NO_PROGRAM)), "failed", _NO_PROGRAM
        if not code or reply.stop_reason != "end":
            return Trial(stage="parse", error=ErrorSeen(type="Truncated", message=_CUT)), "failed", _CUT
        if twin is not None and twin.trial.error is None:
            return twin.trial, "not_new", f"it is not new: it is the same program as version {twin.number}"
        if twin is not None:  # it would fail as it did
            return twin.trial, *self._status(twin.trial)
        trials = len(self.found.tried) + 1
        told = self._journal.step(
            "trial", f"version {number}", lambda: self.range.try_out(code, trials=trials).to_json()
        )
        trial = read_trial(told)
        return trial, *self._status(trial)

    def _status(self, trial: Trial) -> tuple[Status, str]:
        if trial.error is not None:
            where = f" at line {trial.error.line}" if trial.error.line else ""
            return "failed", f"{trial.error.type}{where}: {trial.error.message.partition(chr(10))[0]}"
        for other in self.found.versions if self.means.author.revises else ():
            if other.status == "ran" and overlap(other.trial.footprints, trial.footprints) >= SAME_TRADES:
                return "not_new", f"it is not new: it makes the trades of version {other.number}"
        if trial.trades is None:  # the offline author's: it is measured at the end
            return "ran", "it runs"
        if trial.trades < self.request.aim.min_trades:
            return "few_trades", f"{trial.trades} trades are fewer than the {self.request.aim.min_trades} asked for"
        return "ran", f"{trial.trades:,} trades"

    def _twin(self, code: str) -> Version | None:
        """An earlier program that differs from this one in names and comments alone."""
        mark = check(code, self.range.name, sandbox=self.means.sandbox).fingerprint
        return next((v for v in self.found.versions if mark and v.trial.fingerprint == mark), None)

    def _evaluate(self, version: Version) -> Mapping[str, Json] | None:
        if not self.means.author.revises:  # nobody is there to be told of it before the end
            return None
        judges = self.judges(self._leave_models(version))

        def judge() -> Json:
            draft = read_draft(version.code, name=self.range.name, sandbox=self.means.sandbox)
            told = evaluation_of(
                idea=self.found.idea,
                description=self.described(version),
                draft=draft,
                finished=self.range.kept(draft),
                bars=self.request.grounds.splits.train,
                judges=judges,
                sandbox=self.means.sandbox,
            )
            return {"evaluation": told, "judging": plain(judges.spent if judges else Spent())}

        value = self._journal.step("evaluation", f"version {version.number}", judge)
        row = cast("Mapping[str, Json]", value)
        self.found.spent = self.found.spent.add(read_spent(row["judging"]))
        return cast("Mapping[str, Json]", row["evaluation"])

    def described(self, version: Version) -> Description | None:
        """The rules that this version is held to: those of the words, as long as no change was asked for."""
        return self.found.description if version.change is None else None

    def judges(self, unasked: str = "") -> AgentJudge | None:
        """Models that look at a version, within the budget; with a reason why they are not asked, none is."""
        if self.means.judges is None:
            return None

        def objection(more: Spent) -> str:
            return unasked or self.request.budget.spent_out(self.found.spent.add(more), self._journal.seconds)

        return AgentJudge(self.means.judges, self._data, objection)

    def _leave_models(self, version: Version) -> str:
        """Models cost money: in the loop they see what will be built on, and only if something will be."""
        if self._iteration >= self.request.budget.iterations:
            return "the best version is judged at the end"
        best = self.found.best
        return "" if best is None or _score(version) > _score(best) else "it is not the best so far"

    def _add(self, version: Version) -> Version:
        self.found.versions.append(version)
        self._tell("version", f"version {version.number}: {version.reason}", version.number)
        return version

    # revising

    def _revise(self) -> None:
        parent = self.found.best or self.found.versions[-1]
        history = tuple(briefs.history_line(v) for v in self.found.versions)
        brief = briefs.analysis(self.found.idea, self._data, parent, history)
        advice = self._ask(brief).parsed or {}
        if advice.get("stop") is True:
            self._end("the analyst sees nothing more to gain")
        changes = [row for row in cast("list[Json]", advice.get("changes") or []) if isinstance(row, Mapping)]
        kinds = [cast(Change, row["kind"]) for row in changes if row.get("kind") in get_args(Change)]
        others = [v for v in self.found.versions if v.status == "ran" and v is not parent]
        kind = self._bandit.choose(advised=kinds, crossover=bool(others))
        told = tuple(f"Advice: {row.get('what')} ({row.get('why')})" for row in changes if row.get("kind") == kind)
        other = max(others, key=_rank, default=None)
        child = self._write(briefs.revision(brief, kind, told, other), parent, kind)
        score = child.score if child is not None and child.status == "ran" else None
        self._bandit.reward(kind, parent=parent.score, child=score)

    # stopping

    def _check_bounds(self, *, between: bool) -> None:
        if self._journal.upcoming not in (None, "stop"):
            return  # it went on then, and so it does now
        spent = self.request.budget.spent_out(self.found.spent, self._journal.seconds)
        reason = spent or (self._enough() if between else "")
        if reason:
            self._end(reason)

    def _enough(self) -> str:
        aim, best = self.request.aim, self.found.best
        if aim.target is not None and best is not None and best.keeps_numbers and _score(best) >= aim.target:
            return f"the target is reached: {aim.objective} {best.score:.4g} on validation data"
        if self._iteration >= self.request.budget.iterations:
            return "1 iteration is done" if self._iteration == 1 else f"{self._iteration:,} iterations are done"
        since = self._iteration - (best.iteration if best is not None else 0)
        if since < aim.patience:
            return ""
        return "1 iteration gave nothing better" if since == 1 else f"{since} iterations in a row gave nothing better"

    def _end(self, reason: str) -> NoReturn:
        self.found.stopped = str(self._journal.step("stop", reason, lambda: reason))
        self._tell("stop", self.found.stopped)
        raise Ended

    # asking

    def _ask(self, brief: Brief) -> Reply:
        if self._journal.upcoming == "stop":  # it ended here for a reason that may be gone by now, such as the budget
            self._end("")
        self._tell("idea" if brief.role == "research" else "code", f"asking for {brief.role}")
        try:
            reply = ask(self.means.author.agent, brief, self._journal, self.means.sandbox)
        except BudgetError as e:
            self._end(str(e))
        self.found.spent = self.found.spent.plus(reply)
        self._notices += reply.notices
        if reply.model and reply.model not in self.found.models:
            self.found.models.append(reply.model)
        return reply

    def _noticed(self) -> tuple[str, ...]:
        """What replies came with since this was last asked."""
        told, self._notices = tuple(dict.fromkeys(self._notices)), []
        return told

    def _tell(self, stage: str, message: str, version: int = 0) -> None:
        self.means.on_progress(Progress(stage=stage, message=message, version=version))


def _rank(version: Version) -> tuple[bool, float]:
    return version.keeps_numbers, _score(version)


def _score(version: Version) -> float:
    return float("-inf") if version.score is None else version.score


def _says_again(notice: str, trial: Trial) -> bool:
    """What is wrong with a text is said by the trial's error, with the line in the program and not in the reply."""
    if trial.stage != "parse" or trial.error is None:
        return False
    return _LINE.sub("", trial.error.message.partition(";")[0]) in notice


def _said(reply: Reply) -> str:
    """What came before the program."""
    return reply.text.partition("```")[0].strip()[:2_000] if reply.description is None else ""


def _plain_reading(idea: str, data: DataFacts) -> Reply | None:
    """How the offline author reads it; None where it cannot."""
    from ringfence.agents.rules import RulesAgent

    reply = RulesAgent().act(Brief(role="research", idea=idea, data=data))
    return reply if reply.stop_reason == "end" else None
