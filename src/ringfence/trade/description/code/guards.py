"""Stops, targets and trailing stops: what the program hands over with an order, and what it moves on later bars."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.trade.description.code.conditions import Expressions
from ringfence.trade.description.code.names import Names
from ringfence.trade.description.model import Distance, Guards, Line, Side

_FAR = 4.0  # a fraction that a search may more than double; the engine takes none above 10 for a fraction


@dataclass(slots=True)
class Guarding:
    """`position` is how the program calls what it holds, `entered` the orders that opened it."""

    names: Names
    says: Expressions
    guards: Guards
    position: str
    entered: str
    noted_in: str = ""  # after the name of what it notes: of one of several instruments

    @property
    def close(self) -> str:
        self.says.need(Line(name="close"), 1)
        return f"{self.says.data}.close[-1]"

    def reach(self, far: Distance, name: str) -> str:
        """A distance in price, a positive number."""
        if far.kind == "percent":
            return f"{self.names.percent(name, far.value)} * {self.close}"
        if far.kind == "atr":
            atr = self.says.series(Line(name="atr", values=(far.period,)))
            return f"({self.names.number(f'{name}_atr', far.value)} * {atr}[-1])"
        if far.kind == "price":
            return f"abs({self.close} - {self.names.number(f'{name}_price', far.value)})"
        stop = self.guards.stop
        assert stop is not None
        return f"{self.names.number(f'{name}_times_risk', far.value)} * {self.reach(stop, 'stop')}"

    def given(self, side: Side, target: Distance | None, name: str) -> list[str]:
        """The guards of one order, as arguments of it."""
        trail = self.guards.trail
        loss, gain = ("-", "+") if side == "long" else ("+", "-")
        made = []
        if self.guards.stop is not None:
            made.append(self._guard("sl", self.guards.stop, "stop", loss))
        elif trail is not None and not trail.rest and (trail.distance.kind == "atr" or trail.best == "close"):
            made.append(self._guard("sl", trail.distance, "trail", loss))
        if target is not None:
            made.append(self._guard("tp", target, name, gain))
        if trail is not None and trail.distance.kind == "percent" and trail.best != "close" and not trail.rest:
            made.append(f"trail={self.names.percent('trail', trail.distance.value)}")
        return made

    def _guard(self, keyword: str, far: Distance, name: str, sign: str) -> str:
        """As a fraction of the price it is filled at, where that is how it was said."""
        if far.kind == "price":
            return f"{keyword}_price={self.names.number(f'{name}_price', far.value)}"
        fraction = self._fraction(far)
        if 0 < fraction < _FAR:
            return f"{keyword}={self._as_fraction(far, name, 0.95 if keyword == 'sl' else 9.0)}"
        return f"{keyword}_price={self.close} {sign} {_unbracketed(self.reach(far, name))}"

    def _as_fraction(self, far: Distance, name: str, most: float) -> str:
        if far.kind == "percent":
            return self.names.percent(name, far.value, most)
        assert self.guards.stop is not None
        times = self.names.number(f"{name}_times_risk", far.value)
        return f"{times} * {self.names.percent('stop', self.guards.stop.value)}"

    def _fraction(self, far: Distance) -> float:
        """The distance as a fraction of the price; 0 where it is none."""
        stop = self.guards.stop
        if far.kind == "percent":
            return far.value / 100
        if far.kind == "risk" and stop is not None and stop.kind == "percent":
            return far.value * stop.value / 100
        return 0.0

    def noted(self, side: Side) -> list[str]:
        """What must be known later of the bar on which it was decided."""
        target = self.guards.target if self.guards.target_rest else None
        wanted = [("goal", target, "target"), ("secure", self._secured_after, "break_even")]
        sign = "+" if side == "long" else "-"
        return [
            f"self.{kept}{self.noted_in} = {self.close} {sign} {_unbracketed(self.reach(far, name))}"
            for kept, far, name in wanted
            if far is not None and not self._fraction(far) and far.kind != "price"
        ]

    @property
    def _secured_after(self) -> Distance | None:
        return self.guards.break_even.after if self.guards.break_even is not None else None

    def moved(self, side: Side) -> list[str]:
        """What is done on every bar: a target that is given late, a trailing stop that the engine does not move."""
        return [*self._given_late(side), *self._secured(side), *self._trailed(side)]

    def _secured(self, side: Side) -> list[str]:
        """The stop at the entry price, where it is not nearer already."""
        if self.guards.break_even is None:
            return []
        nearer = "lot.entry_price > (lot.sl or 0)" if side == "long" else "lot.entry_price < (lot.sl or float('inf'))"
        far, move = self._secured_after, "    lot.sl = lot.entry_price"
        if far is None:
            loop = [f"for lot in {self.position}:", *indented([f"if {nearer}:", move])]
            return [f"if {self.held(side)} < {self.bought}:  # a part has been sold", *indented(loop)]
        best, sign, reached = ("high", "+", ">=") if side == "long" else ("low", "-", "<=")
        level = f"self.secure{self.noted_in}"
        if self._fraction(far):
            level = f"lot.entry_price * (1 {sign} {self._as_fraction(far, 'break_even', 9.0)})"
        elif far.kind == "price":
            level = self.names.number("break_even_price", far.value)
        self.says.need(Line(name="close"), 1)
        met = f"{self.says.data}.{best}[-1] {reached} {level}"
        return [f"for lot in {self.position}:", *indented([f"if {met} and {nearer}:", move])]

    def _given_late(self, side: Side) -> list[str]:
        far = self.guards.target
        if far is None or not self.guards.target_rest:
            return []
        goal = f"self.goal{self.noted_in}"
        if far.kind == "price":
            goal = self.names.number("target_price", far.value)
        elif self._fraction(far):
            goal = f"lot.entry_price * (1 {'+' if side == 'long' else '-'} {self._as_fraction(far, 'target', 9.0)})"
        loop = [f"for lot in {self.position}:", "    if lot.tp is None:", f"        lot.tp = {goal}"]
        return [f"if {self.held(side)} < {self.bought}:  # a part has been sold", *indented(loop)]

    def _trailed(self, side: Side) -> list[str]:
        trail = self.guards.trail
        if trail is None or (trail.distance.kind == "percent" and trail.best != "close" and not trail.rest):
            return []
        best, sign = ("high", "-") if side == "long" else ("low", "+")
        if trail.distance.kind == "percent" and trail.best != "close":
            move = self._hung(side, self.names.percent("trail", trail.distance.value))
        elif trail.distance.kind == "percent":
            percent = self.names.percent("trail", trail.distance.value, 0.95)
            move = [f"level = {self.close} * (1 {sign} {percent})", *_tightened(side)]
        else:
            self.says.need(Line(name="close"), 1)
            price = f"{self.says.data}.{best}[-1]" if trail.best == "price" else self.close
            level = f"{price} {sign} {_unbracketed(self.reach(trail.distance, 'trail'))}"
            move = [f"level = {level}", *_tightened(side)]
        loop = [f"for lot in {self.position}:", *indented(move)]
        if not trail.rest:
            return loop
        return [f"if {self.held(side)} < {self.bought}:  # a part has been sold", *indented(loop)]

    def _hung(self, side: Side, trail: str) -> list[str]:
        """The engine trails from the best price since it was told to: this bar's, on which the target was met."""
        best, sign = ("high", "-") if side == "long" else ("low", "+")
        self.says.need(Line(name="close"), 1)
        return [
            "if lot.trail is None:",
            f"    level = {self.says.data}.{best}[-1] * (1 {sign} {trail})",
            *indented(_tightened(side)),
            f"    lot.trail = {trail}",
        ]

    def held(self, side: Side) -> str:
        return f"{self.position}.size" if side == "long" else f"abs({self.position}.size)"

    @property
    def bought(self) -> str:
        """How much has really been bought: an order for a part may have been rejected."""
        return f"sum(order.filled for order in {self.entered})"


def _tightened(side: Side) -> list[str]:
    if side == "long":
        return ["if level > (lot.sl or 0):", "    lot.sl = level"]
    return ["if lot.sl is None or level < lot.sl:", "    lot.sl = level"]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _unbracketed(text: str) -> str:
    return text[1:-1] if text.startswith("(") else text
