"""All evaluators over one case, and what they come to. What counts, by how much and from where on is in this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ringfence.base.plugins import find_plugin
from ringfence.evaluators.case import Case
from ringfence.evaluators.judging import Judge
from ringfence.evaluators.verdict import Evaluator, Kind, Verdict
from ringfence.trade.run import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One evaluator's say. `weight` is in the average, `least` the score below which the gate is shut; a `needed` one
    shuts it too when it has nothing to say."""

    kind: Kind
    weight: float
    least: float
    needed: bool = False


PANEL: Mapping[str, Seat] = MappingProxyType(
    {
        # name                  kind                  weight      least score  needed
        "schema": Seat(         kind="deterministic", weight=1.0, least=0.50),
        "parameters": Seat(     kind="deterministic", weight=2.0, least=0.50),
        "source": Seat(         kind="deterministic", weight=1.0, least=0.50, needed=True),
        "execution": Seat(      kind="deterministic", weight=2.0, least=0.50, needed=True),
        "correctness": Seat(    kind="deterministic", weight=3.0, least=0.50, needed=True),
        "lookahead": Seat(      kind="deterministic", weight=2.0, least=0.40, needed=True),
        "robustness": Seat(     kind="deterministic", weight=2.0, least=0.40),
        "intent": Seat(         kind="model",         weight=1.0, least=0.50),
        "coherence": Seat(      kind="model",         weight=1.0, least=0.50),
        "trade_execution": Seat(kind="model",         weight=1.0, least=0.50),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Where the evaluators draw their lines. Fractions are decimals."""

    holdout_keeps: float = 0.25  # of the Sharpe ratio on the data it was made on; below, it fails
    holdout_doubt: float = 0.50  # below, it is a warning
    perturbed_keeps: float = 0.50  # of the Sharpe ratio, with a parameter a little off
    perturbed_share: float = 0.60  # of the neighbours that must keep so much
    random_entries: float = 0.25  # of them may do as well, held as long; more is a warning
    few_trades: int = 10  # fewer prove little
    great_sharpe: float = 4.0  # above, it is more likely a mistake than a discovery
    great_cagr: float = 5.0
    price_rounding: float = 1e-6  # of a price or an amount of money
    warm_up_bars: int = 2  # after the last indicator has a value: entries missed there are nobody's fault
    portion_slack: float = 0.03  # of a position, when a part of it is sold: shares are whole


THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """`pass_rate` and `average_score` are over the verdicts that say something; `shut` names the gates that are shut,
    each with its reason."""

    verdicts: tuple[Verdict, ...]
    shut: Mapping[str, str]
    pass_rate: float
    average_score: float

    @property
    def all_passed(self) -> bool:
        return not self.shut

    @property
    def summary(self) -> str:
        """Which gate is shut, and why; or that none is."""
        skipped = [v.name for v in self.verdicts if v.status == "skipped"]
        tail = f" Not judged: {', '.join(skipped)}." if skipped else ""
        if self.shut:
            return " ".join(f"{name}: {reason}." for name, reason in self.shut.items()) + tail
        judged = sum(v.counts for v in self.verdicts)
        return f"All gates passed: {judged} verdicts, average score {self.average_score:.2f}.{tail}"

    def to_json(self) -> dict[str, Json]:
        return {
            "all_passed": self.all_passed,
            "pass_rate": self.pass_rate,
            "average_score": self.average_score,
            "summary": self.summary,
            "gates_shut": dict(self.shut),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }


def evaluators(judges: Judge | None = None) -> tuple[Evaluator, ...]:
    """In the order of the table."""
    made: list[Evaluator] = []
    for name, seat in PANEL.items():
        create = find_plugin("ringfence.evaluators", name)
        made.append(create(judges) if seat.kind == "model" else create())
    return tuple(made)


def evaluate(case: Case, *, judges: Judge | None = None, min_trades: int = 1) -> Evaluation:
    """Ask every evaluator. The same case gives the same evaluation, as far as no model is asked."""
    return weigh(case, tuple(evaluator.judge(case) for evaluator in evaluators(judges)), min_trades=min_trades)


def weigh(case: Case, verdicts: tuple[Verdict, ...], *, min_trades: int = 1) -> Evaluation:
    """What the verdicts come to by the table above. `min_trades` is what the user asked for: a gate of its own."""
    shut = {}
    for verdict in verdicts:
        reason = _shut(verdict, PANEL.get(verdict.name))
        if reason:
            shut[verdict.name] = reason
    if not case.traded and not shut:  # whatever was said: what never traded has shown nothing
        shut["execution"] = "nothing was traded, and that is never a pass"
    if case.run is not None and 0 < len(case.run.trades) < min_trades:
        shut["min_trades"] = f"{_counted(len(case.run.trades))} fewer than the {min_trades:,} asked for"
    judged = [verdict for verdict in verdicts if verdict.counts]
    weights = [PANEL[v.name].weight if v.name in PANEL else 1.0 for v in judged]
    total = sum(weights)
    return Evaluation(
        verdicts=verdicts,
        shut=MappingProxyType(shut),
        pass_rate=sum(v.status != "failed" for v in judged) / len(judged) if judged else 0.0,
        average_score=min(sum(w * v.score for w, v in zip(weights, judged)) / total, 1.0) if total else 0.0,
    )


def _counted(trades: int) -> str:
    return "1 trade is" if trades == 1 else f"{trades:,} trades are"


def _shut(verdict: Verdict, seat: Seat | None) -> str:
    """Why this verdict shuts its gate; empty where it does not."""
    said = verdict.errors or verdict.warnings
    because = said[0].rstrip(".") if said else f"its score is {verdict.score:.2f}"
    if verdict.status in ("failed", "error"):
        # A model that could not be asked says nothing about the strategy.
        return "" if verdict.status == "error" and verdict.kind == "model" else because
    if seat is not None and verdict.status == "skipped":
        return because if seat.needed else ""
    if seat is not None and verdict.score < seat.least:
        return f"its score of {verdict.score:.2f} is below {seat.least:.2f}: {because}"
    return ""
