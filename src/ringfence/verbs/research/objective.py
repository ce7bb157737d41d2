"""What "better" means: a metric by its typed field, the higher the better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ringfence.base.errors import SettingsError
from ringfence.trade.metrics import Metrics

# A drawdown is negative, so that less of it is more.
OBJECTIVES = (
    "sharpe", "sortino", "calmar", "total_return", "cagr", "profit_factor", "expectancy", "sqn", "win_rate",
    "max_drawdown",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    objective: str = "sharpe"
    target: float | None = None  # of the objective on validation data; reached, the loop stops
    min_trades: int = 1  # over training and validation; with fewer a version cannot be the best
    patience: int = 3  # versions in a row that are no better

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise SettingsError(f"objective {self.objective!r} is unknown: use one of {', '.join(OBJECTIVES)}")
        if self.min_trades < 1:
            raise SettingsError(
                f"min_trades {self.min_trades} is out of range: zero trades is never a pass, give 1 or more"
            )

    def score(self, figures: Mapping[str, float | None]) -> float | None:
        """None without a trade: doing nothing has no drawdown and loses no money, and is no merit."""
        value = figures.get(self.objective)
        return value if value is not None and math.isfinite(value) and figures.get("trades") else None


def figures_of(metrics: Metrics | None) -> dict[str, float | None]:
    """The numbers of a run by their names; what cannot be computed is None."""
    if metrics is None:
        return {}
    found: dict[str, float | None] = {}
    for f in fields(metrics):
        value = getattr(metrics, f.name)
        if value is None:
            found[f.name] = None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[f.name] = float(value) if math.isfinite(value) else None
    return found
