"""What was asked of `ringfence research`, as it is kept so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, cast

from ringfence.base.errors import InputError

if TYPE_CHECKING:
    from ringfence.sandbox.job import Limits
    from ringfence.trade.run import FillRules, Json
    from ringfence.verbs.research import Aim, Budget

_ANY = "from ringfence import Strategy\n\n\nclass Any(Strategy):\n    def next(self):\n        pass\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchWish:
    """One of `idea` and `ideas` is set."""

    idea: str | None
    ideas: str | None
    data: tuple[str, ...]
    also: tuple[str, ...]
    symbols: str | None
    start: str | None
    end: str | None
    timeframe: str | None
    repair: bool
    cash: float
    fees: float
    slippage_bps: float
    author: str | None
    model: str | None
    iterations: int
    objective: str
    target: float | None
    min_trades: int
    max_cost: float | None
    max_tokens: int | None
    max_minutes: float | None
    seed: int
    timeout: float
    memory: str
    fractional: bool = False

    def aim(self) -> Aim:
        from ringfence.verbs.research import Aim

        return Aim(objective=self.objective, target=self.target, min_trades=self.min_trades)

    def budget(self) -> Budget:
        from ringfence.verbs.research import Budget

        return Budget(
            iterations=self.iterations, minutes=self.max_minutes, usd=self.max_cost, tokens=self.max_tokens
        )  # fmt: skip

    def rules(self) -> FillRules:
        from ringfence.cli.trading import Account

        account = Account(cash=self.cash, fees=self.fees, slippage_bps=self.slippage_bps, fractional=self.fractional)
        return account.rules()

    def limits(self) -> Limits:
        from ringfence.cli.trading import make_limits

        return make_limits(self.timeout, self.memory)

    def check(self) -> None:
        """Say what is wrong with it before anything is begun."""
        from ringfence.trade.draft import read_draft
        from ringfence.verbs.backtest import Request

        self.aim()
        self.budget()
        # What a run refuses, for whatever program.
        Request(draft=read_draft(_ANY, name="any"), rules=self.rules(), limits=self.limits(), seed=self.seed)

    def to_json(self) -> dict[str, Json]:
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Json], raised: Mapping[str, object]) -> ResearchWish:
        """As it was kept; bounds that are given now take the place of the old ones."""
        names = {f.name for f in fields(cls)}
        if not {f.name for f in fields(cls) if f.default is MISSING} <= set(row):
            raise InputError("it was begun by another version of ringfence: begin it anew")
        known = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items() if name in names}
        make: type = cls
        wish = cast(ResearchWish, make(**known))
        change: type = replace  # type: ignore[assignment]  # the names are those of our own options
        return cast(ResearchWish, change(wish, **{name: value for name, value in raised.items() if value is not None}))


def _plain(value: object) -> Json:
    return list(value) if isinstance(value, tuple) else cast("Json", value)
