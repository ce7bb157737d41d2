"""The program of a strategy of rules: when it enters, how large, how it is guarded, when it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringfence.trade.description.code.conditions import Expressions
from ringfence.trade.description.code.names import Names
from ringfence.trade.description.code.program import Program, condition_lines, folded
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    AllIn,
    AnyOf,
    Condition,
    Description,
    Distance,
    FixedCash,
    FixedShares,
    Line,
    PercentOfEquity,
    RiskPerTrade,
    Side,
    Signals,
    VolatilityTarget,
)

_ALMOST_ALL = 0.999  # a size of 1 would be one share


@dataclass(slots=True)
class Rules:
    program: Program
    plan: Signals
    says: Expressions
    order: str = ""  # the first argument of buy and sell
    position: str = "self.position"
    locals: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> Names:
        return self.program.names

    @property
    def close(self) -> str:
        return f"{self.says.data}.close[-1]"

    def body(self) -> list[str]:
        sides: list[Side] = [side for side in ("long", "short") if any(e.side == side for e in self.plan.entries)]
        return self._both_sides() if len(sides) == 2 else self._one_side(sides[0])

    def _when(self, conditions: list[Condition], role: str) -> tuple[str, list[str]]:
        self.says.role = role
        joined = conditions[0] if len(conditions) == 1 else AnyOf(parts=tuple(conditions))
        return self.says.parts(joined)

    def _one_side(self, side: Side) -> list[str]:
        connective, parts = self._when([e.when for e in self.plan.entries], "entry")
        enter = self._enter(side)
        connective, parts = self._affordable(connective, parts, side)
        leave = self._leave(side, "if")
        manage = self._manage(side)
        if self.plan.adds:
            return [*condition_lines("if", connective, parts, 8), *_indented(enter), *self._held(manage, leave)]
        if not leave and not manage:
            free = f"not {self.position}"
            nested = f"({' or '.join(parts)})" if connective == "or" and len(parts) > 1 else None
            return [*condition_lines("if", "and", [free, *([nested] if nested else parts)], 8), *_indented(enter)]
        made = [
            f"if not {self.position}:",
            *_indented([*condition_lines("if", connective, parts, 12), *_indented(enter)]),
        ]
        rest = [*manage, *leave]
        if rest[0].startswith("if ") and all(line.startswith((" ", "elif ", "):")) for line in rest[1:]):
            return [*made, f"el{rest[0]}", *rest[1:]]
        return [*made, "else:", *_indented(rest)]

    def _held(self, manage: list[str], leave: list[str]) -> list[str]:
        inner = [*manage, *leave]
        return [f"if {self.position}:", *_indented(inner)] if inner else []

    def _both_sides(self) -> list[str]:
        made: list[str] = []
        for side, keyword in (("long", "if"), ("short", "elif")):
            role = "entry" if side == "long" else "short_entry"
            connective, parts = self._when([e.when for e in self.plan.entries if e.side == side], role)
            if connective == "or" and len(parts) > 1:
                connective, parts = "and", [f"({' or '.join(parts)})"]
            connective, parts = self._affordable(connective, parts, side)  # type: ignore[arg-type]
            parts = [f"not {self.position}.is_{side}", *parts]
            made += condition_lines(keyword, "and", parts, 8)
            turn = f'{self.position}.close(reason="turn round")'
            made += _indented([turn, *self._enter(side)])  # type: ignore[arg-type]
        for side in ("long", "short"):
            manage, leave = self._manage(side), self._leave(side, "if")  # type: ignore[arg-type]
            if manage or leave:
                made += [f"elif {self.position}.is_{side}:", *_indented([*manage, *leave])]
        return made

    # Going in.

    def _affordable(self, connective: str, parts: list[str], side: Side) -> tuple[str, list[str]]:
        """A fixed sum is spent whole or not at all."""
        if not isinstance(self.plan.sizing, FixedCash):
            return connective, parts
        if connective == "or" and len(parts) > 1:
            parts = [f"({' or '.join(parts)})"]
        have = "self.cash" if side == "long" else "self.equity"
        return "and", [*parts, f"{have} > {self._amount()}"]

    def _amount(self) -> str:
        assert isinstance(self.plan.sizing, FixedCash)
        return self.names.number("amount", self.plan.sizing.amount)

    def _enter(self, side: Side) -> list[str]:
        verb = "buy" if side == "long" else "sell"
        partials = self.plan.guards.partials
        if not partials:
            return [self._ordered(verb, self._size(side), self._guards(side, self.plan.guards.target, "target"))]
        return self._parts(side, verb)

    def _parts(self, side: Side, verb: str) -> list[str]:
        """One order for each part, so that each is sold at a price of its own."""
        partials, guards = self.plan.guards.partials, self.plan.guards
        share = self._share(side)
        made, gone = [], ""
        if not share.removeprefix("self.").isidentifier() and share != "1":
            made, share = [f"share = {share}"], "share"  # said once, used for each part
        left = 100 - sum(p.portion for p in partials)
        for n, partial in enumerate(partials, 1):
            last = n == len(partials) and left <= 0.1
            part = (
                f"(1 - {_bracketed(gone)})" if last and gone else self.names.percent(f"part_{n}", partial.portion, 0.9)
            )
            size = self._part_size(share, part, gone, last=last)
            made.append(self._ordered(verb, size, self._guards(side, partial.at, f"target_{n}")))
            gone = f"{gone} + {part}" if gone else part
        if left > 0.1:
            size = self._part_size(share, f"(1 - {_bracketed(gone)})", gone, last=True)
            made.append(self._ordered(verb, size, self._guards(side, guards.target, "target")))
        return made

    def _part_size(self, share: str, part: str, gone: str, *, last: bool) -> str:
        sizing = self.plan.sizing
        if isinstance(sizing, FixedShares):
            return f"max(1, int({self.names.count('shares', int(sizing.count))} * {part}))"
        if share == "1":
            return "" if last else part if not gone else f"{part} / (1 - {_bracketed(gone)})"
        if not gone:
            return f"{share} * {part}"
        return f"{share} * {part} / (1 - {share} * {_bracketed(gone)})"

    def _ordered(self, verb: str, size: str, guards: list[str]) -> str:
        given = [*([self.order] if self.order else []), *([f"size={size}"] if size else []), *guards, 'reason="entry"']
        return f"self.{verb}({', '.join(given)})"

    def _size(self, side: Side) -> str:
        sizing = self.plan.sizing
        if isinstance(sizing, FixedShares):
            return self.names.count("shares", int(sizing.count))
        share = self._share(side)
        return "" if share == "1" else share

    def _share(self, side: Side) -> str:
        """What to spend as a share of what can be spent; "1" is all of it."""
        sizing = self.plan.sizing
        if isinstance(sizing, FixedShares):
            return "1"
        if isinstance(sizing, FixedCash):
            return f"{self._amount()} / {'self.cash' if side == 'long' else 'self.equity'}"
        spread = self.names.many or self.plan.adds
        if isinstance(sizing, AllIn):
            return f"self.part(1 / len({self.program.every_symbol}))" if self.names.many else "1"
        if isinstance(sizing, PercentOfEquity):
            share = self.names.percent("share", sizing.percent, 0.99)
            return f"self.part({share})" if spread else share
        if isinstance(sizing, VolatilityTarget):
            share = f"{self.names.number('volatility_target', sizing.percent)} / {self._own('volatility')}[-1]"
        else:
            share = self._risked(sizing, side)
        return f"self.part({share})" if spread else f"min({share}, {_ALMOST_ALL})"

    def _risked(self, sizing: RiskPerTrade, side: Side) -> str:
        risk = self.names.percent("risk", sizing.percent, 0.5)
        stop = self.plan.guards.stop
        assert stop is not None
        if stop.kind == "percent":
            return f"{risk} / {self.names.percent('stop', stop.value)}"
        return f"{risk} * {self.close} / {self._reach(stop, 'stop')}"

    def _own(self, name: str) -> str:
        return f"self.{name}[symbol]" if self.names.many else f"self.{name}"

    # Guards.

    def _atr(self, far: Distance) -> str:
        return f"{self.says.series(Line(name='atr', values=(far.period,)))}[-1]"

    def _reach(self, far: Distance, name: str) -> str:
        """A distance in price, a positive number."""
        if far.kind == "atr":
            return f"({self.names.number(f'{name}_atr', far.value)} * {self._atr(far)})"
        if far.kind == "price":
            price = self.names.number(f"{name}_price", far.value)
            return f"abs({self.close} - {price})"
        stop = self.plan.guards.stop
        assert stop is not None
        times = self.names.number(f"{name}_times_risk", far.value)
        if stop.kind == "percent":
            return f"{times} * {self.names.percent('stop', stop.value)} * {self.close}"
        return f"{times} * {self._reach(stop, 'stop')}"

    def _guards(self, side: Side, target: Distance | None, name: str) -> list[str]:
        guards = self.plan.guards
        made = []
        if guards.stop is not None:
            made.append(self._guard("sl", guards.stop, "stop", "-" if side == "long" else "+"))
        elif guards.trail is not None and guards.trail.distance.kind == "atr" and not guards.trail.rest:
            made.append(self._guard("sl", guards.trail.distance, "trail", "-" if side == "long" else "+"))
        if target is not None:
            made.append(self._guard("tp", target, name, "+" if side == "long" else "-"))
        if guards.trail is not None and guards.trail.distance.kind == "percent" and not guards.trail.rest:
            made.append(f"trail={self.names.percent('trail', guards.trail.distance.value)}")
        return made

    def _guard(self, keyword: str, far: Distance, name: str, sign: str) -> str:
        if far.kind == "percent":
            return f"{keyword}={self.names.percent(name, far.value, 0.95 if keyword == 'sl' else 9.0)}"
        if far.kind == "price":
            return f"{keyword}_price={self.names.number(f'{name}_price', far.value)}"
        stop = self.plan.guards.stop
        if far.kind == "risk" and stop is not None and stop.kind == "percent":
            times = self.names.number(f"{name}_times_risk", far.value)
            return f"{keyword}={times} * {self.names.percent('stop', stop.value)}"
        return f"{keyword}_price={self.close} {sign} {_unbracketed(self._reach(far, name))}"

    def _manage(self, side: Side) -> list[str]:
        """What a trailing stop needs on every bar, where the engine does not move it."""
        guards = self.plan.guards
        trail = guards.trail
        if trail is None or (trail.distance.kind == "percent" and not trail.rest):
            return []
        if trail.distance.kind == "percent":
            move = ["if lot.trail is None:", f"    lot.trail = {self.names.percent('trail', trail.distance.value)}"]
        else:
            sign, worse = ("-", ">") if side == "long" else ("+", "<")
            reach = _unbracketed(self._reach(trail.distance, "trail"))
            move = [
                f"level = {self.close} {sign} {reach}",
                f"if lot.sl is None or level {worse} lot.sl:",
                "    lot.sl = level",
            ]
        loop = [f"for lot in {self.position}:", *_indented(move)]
        if not trail.rest:
            return loop
        lots = len(guards.partials) + (1 if sum(p.portion for p in guards.partials) < 99.9 else 0)
        return [f"if len({self.position}) < {lots}:  # a part has been sold at its target", *_indented(loop)]

    # Going out.

    def _leave(self, side: Side, keyword: str) -> list[str]:
        role = "exit" if side == "long" or not any(e.side == "long" for e in self.plan.entries) else "short_exit"
        rules = [e for e in self.plan.exits if e.side == side]
        made: list[str] = []
        whole = [e.when for e in rules if e.portion >= 100]
        if whole:
            connective, parts = self._when(whole, role)
            made += [*condition_lines(keyword, connective, parts, 12), f'    {self.position}.close(reason="exit")']
            keyword = "elif"
        if self.plan.guards.time_stop_bars:
            bars = self.names.count("hold_bars", self.plan.guards.time_stop_bars)
            made += [f"{keyword} {self.position}.bars_held >= {bars} - 1:", f'    {self.position}.close(reason="time")']
            keyword = "elif"
        for rule in rules:
            if rule.portion < 100:
                connective, parts = self._when([rule.when], role)
                if connective == "or" and len(parts) > 1:
                    parts = [f"({' or '.join(parts)})"]
                portion = self.names.percent("exit_part", rule.portion, 0.9)
                intact = f"{self.position}.size == sum(lot.initial_quantity for lot in {self.position})"
                made += [
                    *condition_lines(keyword, "and", [*parts, intact], 12),
                    f'    {self.position}.close({portion}, reason="part")',
                ]
                keyword = "elif"
        return made


def _bracketed(text: str) -> str:
    return f"({text})" if " + " in text else text


def _unbracketed(text: str) -> str:
    return text[1:-1] if text.startswith("(") else text


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def signals_code(description: Description, program: Program) -> str:
    plan = description.plan
    assert isinstance(plan, Signals)
    names = program.names
    wanted = list(lines_of(plan))
    for far in (plan.guards.stop, plan.guards.target, *(p.at for p in plan.guards.partials)):
        wanted += [Line(name="atr", values=(far.period,))] if far is not None and far.kind == "atr" else []
    if plan.guards.trail is not None and plan.guards.trail.distance.kind == "atr":
        wanted.append(Line(name="atr", values=(plan.guards.trail.distance.period,)))
    names.declare(wanted)
    data = "data" if names.many or program.own_symbol else "self.data"
    says = Expressions(names=names, data=data, functions=program.functions)
    rules = Rules(program=program, plan=plan, says=says)
    if names.many:
        rules.order, rules.position = "symbol", "position"
    elif program.own_symbol:
        rules.order, rules.position = "self.symbol", "position"
    if isinstance(plan.sizing, VolatilityTarget):
        _add_volatility(program, plan.sizing, data)
    body = rules.body()
    program.dated = says.dated
    if any("self.part(" in line for line in body):
        program.methods.append(_part_method(program))
    head = _head(program, body, says.lookback)
    ordered = ["self.ordered = 0.0"] if any("def part(" in method for method in program.methods) else []
    if not names.many:
        return program.text([*ordered, *head, *body])
    program.methods.insert(0, "\n".join(["def trade(self, symbol):", *folded([*head, *body], 4)]))
    return program.text([*ordered, f"for symbol in {program.every_symbol}:", "    self.trade(symbol)"])


def _head(program: Program, body: list[str], lookback: int) -> list[str]:
    """The names that the body uses, and no question before there are bars enough."""
    text = "\n".join(body)
    own = "symbol" if program.names.many else "self.symbol"
    head = []
    named = program.names.many or program.own_symbol
    if named and ("data.close" in text.replace("self.data.close", "") or _uses(text, "data") or lookback > 2):
        head.append(f"data = self.data[{own}]")
    if named and _uses(text, "position"):
        head.append(f"position = self.position({own})")
    if lookback > 2:
        bars = "data" if named else "self.data"
        head += [f"if len({bars}) < {lookback}:", "    return"]
    return head


def _uses(text: str, name: str) -> bool:
    import re

    return re.search(rf"(?<![.\w]){name}\b", text) is not None


def _add_volatility(program: Program, sizing: VolatilityTarget, data: str) -> None:
    names = program.names
    program.functions.add("volatility")
    period = names.count("volatility_bars", sizing.period)
    year = "" if sizing.bars_per_year == 252 else f", {sizing.bars_per_year}"
    line = Line(name="volatility", values=(float(sizing.period),), symbol="")
    if line in names.series:
        return
    place = "self.volatility[symbol]" if names.many else "self.volatility"
    program.extra_init.append(f"{place} = self.I(volatility, {data}.close, {period}{year})")


def _part_method(program: Program) -> str:
    among = program.every_symbol if program.names.many else "self.data.symbols"
    return "\n".join(
        [
            "def part(self, share):",
            '    """This share of the equity, as a part of what no position and no order of this bar ties up."""',
            f"    tied = self.ordered + sum(abs(self.position(symbol).value) for symbol in {among})",
            "    self.ordered += share * self.equity",
            f"    return min(share * self.equity / max(self.equity - tied, 1), {_ALMOST_ALL})",
        ]
    )
