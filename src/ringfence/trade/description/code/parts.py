"""Parts of a position that rules sell: each once, and what the program must remember for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringfence.trade.description.code.guards import Guarding, indented
from ringfence.trade.description.code.names import Names
from ringfence.trade.description.code.program import condition_lines
from ringfence.trade.description.model import Exit, Side, Signals

Asked = Callable[[Exit], list[str]]  # what must be true for a rule, all of it
_WHOLE = 99.9  # thirds of 33.33 % are all of it


@dataclass(slots=True)
class Parts:
    """`sold` is where the program keeps which of several parts are gone."""

    names: Names
    plan: Signals
    guarding: Guarding
    sold: str

    def of(self, side: Side) -> list[Exit]:
        return [rule for rule in self.plan.exits if rule.side == side and rule.portion < 100]

    def are_counted(self, side: Side) -> bool:
        """Whether it is not enough to ask if anything has been sold."""
        parts = self.of(side)
        return len(parts) > 1 or bool(parts and self.plan.guards.partials)

    @property
    def remembers(self) -> bool:
        return self.are_counted("long") or self.are_counted("short")

    def only_one(self, side: Side, keyword: str, rule: Exit, asked: Sequence[str]) -> list[str]:
        """Sold while nothing has been."""
        portion = self.names.percent("exit_part", rule.portion, 0.9)
        intact = f"{self.guarding.held(side)} == {self.guarding.bought}"
        return [
            *condition_lines(keyword, "and", [*asked, intact], 12),
            f'    {self.guarding.position}.close({portion}, reason="part")',
        ]

    def several(self, side: Side, asked: Asked) -> list[str]:
        """Those that are due on this bar, in one order."""
        rules = self.of(side)
        made = ["part = 0.0"]
        for n, rule in enumerate(rules, 1):
            most = 0.99 * rule.portion / max(sum(one.portion for one in rules), 1)
            portion = self.names.percent(f"exit_part_{n}", rule.portion, most)
            made += [
                *condition_lines("if", "and", [f"{n} not in {self.sold}", *asked(rule)], 12),
                f"    part += {portion}",
                f"    {self.sold}.add({n})",
            ]
        return [*made, *self._ordered(side, len(rules))]

    def _ordered(self, side: Side, count: int) -> list[str]:
        """Of what has no gain to wait for, where some of it has: that was bought by the last order."""
        position, partials = self.guarding.position, self.plan.guards.partials
        total = sum(rule.portion for rule in self.of(side)) + sum(partial.portion for partial in partials)
        left_to_rule = any(rule.rest and rule.side == side for rule in self.plan.exits)
        # Shares are whole: none may be left over, where no rule would sell it.
        all_gone = f"len({self.sold}) == {count}" if total > _WHOLE and not left_to_rule else ""
        sell = [f"bought = {self.guarding.bought}"]
        if partials and not self.plan.adds:
            share = "min(part * bought / abs(lot.size), 1)"
            share = f"1 if {all_gone} else {share}" if all_gone else share
            last = f"lot.order_id == {self.guarding.entered}[-1].id"
            sell += [f"for lot in [lot for lot in {position} if {last}]:", f'    lot.close({share}, reason="part")']
        else:
            share = f"min(part * bought / {self.guarding.held(side)}, 1)"
            share = f"1 if {all_gone} else {share}" if all_gone else share
            sell.append(f'{position}.close({share}, reason="part")')
        return ["if part:", *indented(sell)]
