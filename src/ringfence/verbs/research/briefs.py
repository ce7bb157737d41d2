"""The questions that the loop asks its author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ringfence.agents.brief import Brief, Change, DataFacts, ErrorSeen, Role
from ringfence.verbs.research.judging import verdicts_seen
from ringfence.verbs.research.versions import Version

_IMPORTS = ("ModuleNotFoundError", "ImportError")
_MOST_NOTES = 12


def repair(brief: Brief, code: str, error: ErrorSeen, tried: tuple[str, ...]) -> Brief:
    """Mend it. The same error twice in a row means that mending does not help: write it anew, in another way."""
    if error.times >= 2:
        note = (
            f"{error.times} programs in a row ended with the same error, {error.type}. Mending did not help: write the "
            "strategy from the beginning, in another way, without what led to it"
        )
        return replace(brief, role="code", code="", error=error, notes=(*tried[-_MOST_NOTES:], note))
    role: Role = "package" if error.type in _IMPORTS else "debug"
    return replace(brief, role=role, code=code, error=error, notes=tried[-_MOST_NOTES:])


def analysis(idea: str, data: DataFacts, best: Version, history: tuple[str, ...]) -> Brief:
    return Brief(
        role="analyst",
        idea=idea,
        data=data,
        code=best.code,
        metrics=_figures(best),
        trades=best.trial.rows,
        verdicts=verdicts_seen(best.evaluation) if best.evaluation else (),
        notes=history[-_MOST_NOTES:],
    )


def revision(brief: Brief, kind: Change, advice: tuple[str, ...], other: Version | None) -> Brief:
    """`brief` is the analyst's: the author of the change is shown the same."""
    notes = (*advice, *brief.notes)
    if kind == "crossover" and other is not None:
        notes = (f"The other version, with a score of {_number(other.score)}:\n{other.code}", *notes)
    return replace(brief, role="optimise", change=kind, notes=notes)


def history_line(version: Version) -> str:
    """What was tried, and what came of it."""
    what = version.change or version.role
    if version.status == "failed" and version.trial.error is not None:
        error = version.trial.error
        return f"version {version.number} ({what}) failed: {error.type}: {error.message.partition(chr(10))[0][:200]}"
    told = "" if version.score is None else f", score {_number(version.score)} on validation data"
    shut = (version.evaluation or {}).get("gates_shut")
    gates = [f"; {name} failed: {str(why)[:200]}" for name, why in shut.items()] if isinstance(shut, Mapping) else []
    return f"version {version.number} ({what}): {version.reason}{told}{''.join(gates)}"


def _figures(version: Version) -> dict[str, float | None]:
    wanted = ("total_return", "sharpe", "max_drawdown", "trades", "win_rate", "profit_factor", "exposure", "fees",
              "buy_and_hold", "average_trade", "average_bars_held")  # fmt: skip
    train = {f"training {name}": version.trial.train.get(name) for name in wanted}
    return {**train, **{f"validation {name}": version.trial.validation.get(name) for name in wanted}}


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
