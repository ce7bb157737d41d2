"""What evaluators look at: one attempt at one idea, with all that is known of it. Whatever is None is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringfence.sandbox.outcome import Outcome
    from ringfence.trade.bars import Bars
    from ringfence.trade.description import Description
    from ringfence.trade.draft import Draft
    from ringfence.trade.lint import Finding
    from ringfence.trade.run import Run
    from ringfence.trade.written import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`description` is what the user's words ask for, as rules: the strategy is held to it. None where nobody could
    put them so. `findings` and `written` are what was seen in the draft's text, with the parameters that the run had.
    `reruns` are the same strategy under other conditions, by name: `before_holdout`, `holdout`, `costs_doubled` and
    `perturbed:NAME=VALUE`. `indicators` are the values that the trades were decided by, for those who judge by eye.
    """

    idea: str
    draft: Draft
    description: Description | None = None
    run: Run | None = None
    outcome: Outcome | None = None
    bars: Bars | None = None
    findings: tuple[Finding, ...] | None = None
    written: Written | None = None
    reruns: Mapping[str, Run] = field(default_factory=lambda: MappingProxyType({}))
    indicators: Mapping[str, Sequence[float | None]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def traded(self) -> bool:
        return self.run is not None and bool(self.run.trades)
