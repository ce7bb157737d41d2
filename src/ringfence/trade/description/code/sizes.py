"""How large an order is: what the program writes for `size`."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.trade.description.code.conditions import Expressions
from ringfence.trade.description.code.guards import Guarding
from ringfence.trade.description.code.names import Names
from ringfence.trade.description.code.program import Program, condition_lines
from ringfence.trade.description.model import (
    AllIn,
    CashEach,
    CashSplit,
    FixedCash,
    FixedShares,
    PercentOfEquity,
    RiskCash,
    RiskPerTrade,
    Side,
    Signals,
    Varied,
    VolatilityTarget,
    in_money,
    usual_size,
)

_ALMOST_ALL = 0.999  # a size of 1 would be one share
_LITTLE = 0.01  # no volatility and no distance is below it: both are divided by


@dataclass(slots=True)
class Sizing:
    program: Program
    plan: Signals
    says: Expressions
    guarding: Guarding

    @property
    def names(self) -> Names:
        return self.program.names

    @property
    def _spread(self) -> bool:
        """Whether something else may tie money up when it buys."""
        return self.names.many or self.plan.adds

    @property
    def _turns(self) -> bool:
        return len({entry.side for entry in self.plan.entries}) > 1

    # A fixed sum is spent whole or not at all.

    def affordable(self, connective: str, parts: list[str], side: Side) -> tuple[str, list[str]]:
        if not in_money(self.plan.sizing):
            return connective, parts
        if connective == "or" and len(parts) > 1:
            parts = [f"({' or '.join(parts)})"]
        return "and", [*parts, f"{self._purse(side)} > {self._amount()}"]

    def _purse(self, side: Side) -> str:
        """What can be spent. Cash has in it what a short sale has brought, and has to be given back."""
        if self.names.many or (self.plan.adds and (side == "short" or self._turns)):
            return f"self.left({self._own})"
        return "self.cash" if side == "long" and not self._turns else "self.equity"

    def _amount(self) -> str:
        sizing = self.plan.sizing
        return self.names.number("amount", sizing.amount) if isinstance(sizing, FixedCash) else self._own_size

    # A size that depends on the instrument or on conditions has a method of its own.

    @property
    def _own_size(self) -> str:
        return f"self.{self._unit}_now({self._own})"

    @property
    def _unit(self) -> str:
        usual = usual_size(self.plan.sizing)
        return "amount" if in_money(usual) else "shares" if isinstance(usual, FixedShares) else "share"

    def own_method(self) -> list[str]:
        """Its lines, or none where one number says it."""
        sizing = self.plan.sizing
        if not isinstance(sizing, (Varied, CashEach, CashSplit)):
            return []
        unit, usual = self._unit, usual_size(sizing)
        if isinstance(usual, CashEach):
            each = [self.names.number(f"amount_{n}", amount) for n, amount in enumerate(usual.amounts, 1)]
            return [f"return {self._by_symbol(each)}[symbol]"]
        assert isinstance(usual, (FixedCash, FixedShares, PercentOfEquity, CashSplit))
        made = [f"{unit} = {self._measured(unit, _value(usual))}"]
        for one in sizing.cases if isinstance(sizing, Varied) else ():
            self.says.role = "size"
            connective, parts = self.says.parts(one.when)
            made += condition_lines("if", connective, parts, 8)
            made.append(
                f"    {unit} {'+=' if one.more else '='} {self._measured('extra' if one.more else unit, one.value)}"
            )
        if not isinstance(usual, CashSplit):
            return [*made, f"return {unit}"]
        if not usual.weights:
            return [*made, f"return {unit} / len({self.program.every_symbol})"]
        weights = [self.names.percent(f"weight_{n}", weight, 1.0) for n, weight in enumerate(usual.weights, 1)]
        return [*made, f"return {unit} * {self._by_symbol(weights)}[symbol]"]

    def _measured(self, name: str, value: float) -> str:
        if self._unit == "share":
            return self.names.percent(name, value, 0.99)
        return self.names.count(name, int(value)) if self._unit == "shares" else self.names.number(name, value)

    def _by_symbol(self, values: list[str]) -> str:
        pairs = [f'"{symbol}": {value}' for symbol, value in zip(self.program.symbols, values)]
        return "{" + ", ".join(pairs) + "}"

    def declared(self, lines: list[str]) -> str:
        """The method around its lines."""
        own = ", symbol" if self.names.many else ""
        said = f'    """How much is put in on this bar{" of an instrument" if self.names.many else ""}."""'
        return "\n".join([f"def {self._unit}_now(self{own}):", said, *(f"    {line}" for line in lines)])

    # One order.

    def size(self, side: Side) -> str:
        """Empty for all that can be spent."""
        sizing = self.plan.sizing
        if isinstance(usual_size(sizing), FixedShares):
            return self._shares(sizing) if isinstance(sizing, FixedShares) else self._own_size
        share = self.share(side)
        return "" if share == "1" else share

    def share(self, side: Side) -> str:
        """What to spend as a share of what can be spent; "1" is all of it."""
        sizing = self.plan.sizing
        if isinstance(usual_size(sizing), FixedShares):
            return "1"
        if in_money(sizing):
            purse = self._purse(side)
            if purse.startswith("self.left"):
                return self._part(f"{self._amount()} / self.equity")
            return f"{self._amount()} / {purse}"
        if isinstance(sizing, AllIn):
            return self._part(f"1 / len({self.program.every_symbol})") if self.names.many else "1"
        if isinstance(sizing, PercentOfEquity):
            share = self.names.percent("share", sizing.percent, 0.99)
            whole = sizing.percent >= 100
        elif isinstance(sizing, (RiskPerTrade, RiskCash, VolatilityTarget)):
            share, whole = self._judged(sizing), True
        else:
            share, whole = self._own_size, True
        if self._spread:
            return self._part(share)
        return f"min({share}, {_ALMOST_ALL})" if whole else share

    def _judged(self, sizing: RiskPerTrade | RiskCash | VolatilityTarget) -> str:
        if isinstance(sizing, VolatilityTarget):
            target = self.names.number("volatility_target", sizing.percent)
            return f"{target} / max({self._volatility(sizing)}[-1], {_LITTLE})"
        if isinstance(sizing, RiskCash):
            risk = f"{self.names.number('risk', sizing.amount)} / self.equity"
        else:
            risk = self.names.percent("risk", sizing.percent, 0.5)
        stop = self.plan.guards.stop
        assert stop is not None
        if stop.kind == "percent":
            return f"{risk} / {self.names.percent('stop', stop.value)}"
        reach = self.guarding.reach(stop, "stop")
        if stop.kind == "price":
            reach = f"max({reach}, {_LITTLE})"
        return f"{risk} * {self.guarding.close} / {reach}"

    def _volatility(self, sizing: VolatilityTarget) -> str:
        """A series of its own: a condition may ask for another volatility."""
        name = "volatility"
        while name in self.names.series.values():
            name = f"own_{name}"
        self.program.functions.add("volatility")
        period = self.names.count("volatility_bars", sizing.period)
        year = "" if sizing.bars_per_year == 252 else f", {sizing.bars_per_year}"
        data = self.says.data
        self.program.extra_init[name] = f"self.I(volatility, {data}.close, {period}{year})"
        return f"self.{name}[symbol]" if self.names.many else f"self.{name}"

    def _shares(self, sizing: FixedShares) -> str:
        return self.names.count("shares", int(sizing.count))

    # Orders for parts.

    def part_limits(self) -> list[float]:
        """How large each part may become in a search, so that all of them leave something over."""
        portions = [partial.portion for partial in self.plan.guards.partials]
        total = sum(portions)
        return [0.99 * portion / max(total, 1) for portion in portions] if total < 99.9 else [0.9] * len(portions)

    def part_size(self, share: str, part: str, gone: str, *, last: bool) -> str:
        """The size of an order for `part` of it after those for `gone`, which have taken what they cost."""
        if isinstance(usual_size(self.plan.sizing), FixedShares):
            return part
        if share == "1":
            return "" if last else part if not gone else f"{part} / (1 - {bracketed(gone)})"
        if not gone:
            return f"{share} * {part}"
        return f"{share} * {part} / (1 - {share} * {bracketed(gone)})"

    # What is left.

    @property
    def _own(self) -> str:
        return "symbol" if self.names.many else ""

    def _part(self, share: str) -> str:
        return f"self.part({share}, symbol)" if self.names.many else f"self.part({share})"

    def methods(self, body: list[str]) -> list[str]:
        """`left` and `part`, where the program calls them."""
        if not any("self.part(" in line or "self.left(" in line for line in body):
            return []
        among = self.program.every_symbol if self.names.many else "self.data.symbols"
        # What is held of the instrument itself is given up when it turns round, unless it adds to it.
        given_up = self.names.many and not self.plan.adds
        own, passed = (", symbol", "symbol") if self.names.many else ("", "")
        others = " if other != symbol" if given_up else ""
        left = [
            f"def left(self{own}):",
            '    """What no other position and no order of this bar ties up."""',
            f"    tied = sum(abs(self.position(other).value) for other in {among}{others})",
            "    return max(self.equity - self.ordered - tied, 1)",
        ]
        part = [
            f"def part(self, share{own}):",
            '    """This share of the equity, as a part of what is left of it."""',
            f"    part = share * self.equity / self.left({passed})",
            "    self.ordered += share * self.equity",
            f"    return min(part, {_ALMOST_ALL})",
        ]
        return ["\n".join(part), "\n".join(left)]


def _value(usual: FixedCash | FixedShares | PercentOfEquity | CashSplit) -> float:
    if isinstance(usual, FixedShares):
        return usual.count
    return usual.percent if isinstance(usual, PercentOfEquity) else usual.amount


def bracketed(text: str) -> str:
    return f"({text})" if " + " in text else text
