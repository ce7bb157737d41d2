"""The program of a strategy of rules: when it enters, how large, how it is guarded, when it leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ringfence.trade.description.code.conditions import Expressions
from ringfence.trade.description.code.guards import Guarding, indented
from ringfence.trade.description.code.names import Names
from ringfence.trade.description.code.parts import Parts
from ringfence.trade.description.code.program import Program, condition_lines, folded
from ringfence.trade.description.code.sizes import Sizing, bracketed
from ringfence.trade.description.guards import distances
from ringfence.trade.description.lines import lines_of
from ringfence.trade.description.model import (
    AnyOf,
    Condition,
    Description,
    Exit,
    FixedShares,
    Line,
    Side,
    Signals,
    usual_size,
)


@dataclass(slots=True)
class Rules:
    program: Program
    plan: Signals
    says: Expressions
    sizing: Sizing
    guarding: Guarding
    parts: Parts
    order: str = ""  # the first argument of buy and sell
    position: str = "self.position"

    @property
    def names(self) -> Names:
        return self.program.names

    @property
    def _remembers(self) -> bool:
        """Whether it must know later how much it has bought."""
        guards = self.plan.guards
        of_rest = (guards.trail is not None and guards.trail.rest) or guards.target_rest
        of_rest = of_rest or (guards.break_even is not None and guards.break_even.after is None)
        return of_rest or any(e.portion < 100 or e.rest for e in self.plan.exits)

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
        connective, parts = self.sizing.affordable(connective, parts, side)
        leave = self._leave(side, "if")
        manage = self.guarding.moved(side)
        if self.plan.adds:
            return [*condition_lines("if", connective, parts, 8), *indented(enter), *self._held(manage, leave)]
        if not leave and not manage:
            free = f"not {self.position}"
            nested = f"({' or '.join(parts)})" if connective == "or" and len(parts) > 1 else None
            return [*condition_lines("if", "and", [free, *([nested] if nested else parts)], 8), *indented(enter)]
        made = [
            f"if not {self.position}:",
            *indented([*condition_lines("if", connective, parts, 12), *indented(enter)]),
        ]
        rest = [*manage, *leave]
        if rest[0].startswith("if ") and all(line.startswith((" ", "elif ", "):")) for line in rest[1:]):
            return [*made, f"el{rest[0]}", *rest[1:]]
        return [*made, "else:", *indented(rest)]

    def _held(self, manage: list[str], leave: list[str]) -> list[str]:
        inner = [*manage, *leave]
        return [f"if {self.position}:", *indented(inner)] if inner else []

    def _both_sides(self) -> list[str]:
        made: list[str] = []
        for side, keyword in (("long", "if"), ("short", "elif")):
            role = "entry" if side == "long" else "short_entry"
            connective, parts = self._when([e.when for e in self.plan.entries if e.side == side], role)
            if connective == "or" and len(parts) > 1:
                connective, parts = "and", [f"({' or '.join(parts)})"]
            connective, parts = self.sizing.affordable(connective, parts, side)  # type: ignore[arg-type]
            parts = [f"not {self.position}.is_{side}", *parts]
            made += condition_lines(keyword, "and", parts, 8)
            turn = f'{self.position}.close(reason="turn round")'
            made += indented([turn, *self._enter(side)])  # type: ignore[arg-type]
        for side in ("long", "short"):
            manage, leave = self.guarding.moved(side), self._leave(side, "if")  # type: ignore[arg-type]
            if manage or leave:
                made += [f"elif {self.position}.is_{side}:", *indented([*manage, *leave])]
        return made

    # Going in.

    def _enter(self, side: Side) -> list[str]:
        """What is worked out before, and the orders."""
        made, orders = self._orders(side, "buy" if side == "long" else "sell")
        made += self.guarding.noted(side)
        if not self._remembers:
            return [*made, *orders]
        entered = self.guarding.entered
        if self.parts.remembers:
            made = [f"{self.parts.sold} = set()", *made] if not self.plan.adds else made
        if self.plan.adds:
            forgotten = [f"{self.parts.sold} = set()"] if self.parts.remembers else []
            made = [f"if not {self.position}:", *indented([f"{entered} = []", *forgotten]), *made]
        sign = "+=" if self.plan.adds else "="
        if len(orders) == 1:
            return [*made, f"{entered} {sign} [{orders[0]}]"]
        return [*made, f"{entered} {sign} [", *(f"    {order}," for order in orders), "]"]

    def _orders(self, side: Side, verb: str) -> tuple[list[str], list[str]]:
        guards = self.plan.guards
        if not guards.partials:
            given = self.guarding.given(side, None if guards.target_rest else guards.target, "target")
            return [], [self._ordered(verb, self.sizing.size(side), given)]
        share = self.sizing.share(side)
        made: list[str] = []
        if not share.removeprefix("self.").isidentifier() and share != "1":
            made, share = [f"share = {share}"], "share"  # said once, used for each part
        rest = sum(partial.portion for partial in guards.partials) < 99.9
        targets = [(partial.at, f"target_{n}") for n, partial in enumerate(guards.partials, 1)]
        sized, sizes = self._part_sizes(share, rest=rest)
        orders = [
            self._ordered(verb, size, self.guarding.given(side, target, name))
            for size, (target, name) in zip(sizes, [*targets, (guards.target, "target")])
        ]
        return [*made, *sized], orders

    def _part_sizes(self, share: str, *, rest: bool) -> tuple[list[str], list[str]]:
        """One order for each part, so that each is sold at a price of its own; the last is for all that is left."""
        partials, sizing = self.plan.guards.partials, usual_size(self.plan.sizing)
        made, sizes, gone = [], [], ""
        parts = zip(partials if rest else partials[:-1], self.sizing.part_limits())
        if isinstance(sizing, FixedShares):
            left = shares = self.sizing.size("long")
            for n, (partial, most) in enumerate(parts, 1):
                part = self.names.percent(f"part_{n}", partial.portion, most)
                made.append(f"part_{n} = int(round({shares} * {part}, 6))")
                sizes.append(f"part_{n}")
                left += f" - part_{n}"
            return made, [*sizes, left]
        for n, (partial, most) in enumerate(parts, 1):
            part = self.names.percent(f"part_{n}", partial.portion, most)
            sizes.append(self.sizing.part_size(share, part, gone, last=False))
            gone = f"{gone} + {part}" if gone else part
        part = f"(1 - {bracketed(gone)})" if gone else "1"
        return made, [*sizes, self.sizing.part_size(share, part, gone, last=True)]

    def _ordered(self, verb: str, size: str, guards: list[str]) -> str:
        given = [*([self.order] if self.order else []), *([f"size={size}"] if size else []), *guards, 'reason="entry"']
        return f"self.{verb}({', '.join(given)})"

    # Going out.

    def _leave(self, side: Side, keyword: str) -> list[str]:
        role = "exit" if side == "long" or not any(e.side == "long" for e in self.plan.entries) else "short_exit"
        rules = [e for e in self.plan.exits if e.side == side]
        made: list[str] = []
        whole = [e.when for e in rules if e.portion >= 100 and not e.rest]
        if whole:
            connective, parts = self._when(whole, role)
            made += [*condition_lines(keyword, connective, parts, 12), f'    {self.position}.close(reason="exit")']
            keyword = "elif"
        if self.plan.guards.time_stop_bars:
            bars = self.names.count("hold_bars", self.plan.guards.time_stop_bars)
            made += [f"{keyword} {self.position}.bars_held >= {bars} - 1:", f'    {self.position}.close(reason="time")']
            keyword = "elif"
        counted = self.parts.are_counted(side)
        for rule in rules:
            if (rule.portion >= 100 and not rule.rest) or (counted and not rule.rest):
                continue
            asked = self._asked(rule, role)
            if not rule.rest:
                made += self.parts.only_one(side, keyword, rule, asked)
            else:
                begun = f"{self.guarding.held(side)} < {self.guarding.bought}"
                made += condition_lines(keyword, "and", [begun, *asked], 12)
                made.append(f'    {self.position}.close(reason="exit")')
            keyword = "elif"
        if not counted:
            return made
        several = self.parts.several(side, lambda rule: self._asked(rule, role))
        return [*made, "else:", *indented(several)] if made else several

    def _asked(self, rule: Exit, role: str) -> list[str]:
        connective, parts = self._when([rule.when], role)
        return [f"({' or '.join(parts)})"] if connective == "or" and len(parts) > 1 else parts


def signals_code(description: Description, program: Program) -> str:
    plan = description.plan
    assert isinstance(plan, Signals)
    names = program.names
    wanted = list(lines_of(plan))
    wanted += [Line(name="atr", values=(far.period,)) for far in distances(plan.guards) if far.kind == "atr"]
    names.declare(wanted)
    data = "data" if names.many or program.own_symbol else "self.data"
    says = Expressions(names=names, data=data, functions=program.functions)
    order, position = "", "self.position"
    if names.many or program.own_symbol:
        order, position = "symbol" if names.many else "self.symbol", "position"
    own = "[symbol]" if names.many else ""
    guarding = Guarding(
        names=names, says=says, guards=plan.guards, position=position, entered=f"self.entered{own}", noted_in=own
    )
    parts = Parts(names=names, plan=plan, guarding=guarding, sold=f"self.sold{own}")
    sizing = Sizing(program=program, plan=plan, says=says, guarding=guarding)
    rules = Rules(
        program=program,
        plan=plan,
        says=says,
        sizing=sizing,
        guarding=guarding,
        parts=parts,
        order=order,
        position=position,
    )
    body = rules.body()
    own_size = sizing.own_method()
    program.dated = says.dated
    program.methods += [sizing.declared([*_head(program, own_size, []), *own_size])] if own_size else []
    program.methods += sizing.methods(body)
    head = _head(program, body, says.too_early())
    ordered = ["self.ordered = 0.0"] if any("self.part(" in line or "self.left(" in line for line in body) else []
    kept = ("self.entered", "self.sold", "self.goal", "self.secure") if names.many else ()
    program.started = [f"{name} = {{}}" for name in kept if any(f"{name}[symbol]" in line for line in body)]
    if not names.many:
        waiting = any(line.symbol for line in wanted)
        wait = ["if self.orders:  # they wait for a bar of their own", "    return"] if waiting else []
        return program.text([*ordered, *wait, *head, *body])
    program.methods.insert(0, "\n".join(["def trade(self, symbol):", *folded([*head, *body], 4)]))
    # Where one instrument has a bar and another has none, what was ordered waits, and must not be ordered again.
    loop = [
        "waiting = {order.market.symbol for order in self.orders}  # for a bar of their own",
        f"for symbol in {program.every_symbol}:",
        "    if symbol not in waiting:",
        "        self.trade(symbol)",
    ]
    return program.text([*ordered, *loop])


def _head(program: Program, body: list[str], too_early: list[str]) -> list[str]:
    """The names that the body uses, and no question before there are bars enough."""
    text = "\n".join([*body, *too_early])
    own = "symbol" if program.names.many else "self.symbol"
    head = []
    named = program.names.many or program.own_symbol
    if named and _uses(text, "data"):
        head.append(f"data = self.data[{own}]")
    if named and _uses(text, "position"):
        head.append(f"position = self.position({own})")
    return [*head, *condition_lines("if", "or", too_early, 8), "    return"] if too_early else head


def _uses(text: str, name: str) -> bool:
    return re.search(rf"(?<![.\w]){name}\b", text) is not None
