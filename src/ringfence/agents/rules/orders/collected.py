"""What the statements of a strategy of rules have said so far, and the instruments they name."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields, replace

from ringfence.agents.rules.orders.guards import Guarding
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import Case, Condition, Entry, Exit, Line, Side, Sizing

SEPARATORS = ("STOP_MARK", ",", "AND", "THEN", "COLON", "DASH", "TO", "WHICHEVER_FIRST")


@dataclass(slots=True)
class Collected:
    """What the statements read so far have said."""

    symbols: list[str] = field(default_factory=list)
    every: bool = False
    entries: list[Entry] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    filters: list[Condition] = field(default_factory=list)
    ordered: list[Entry] = field(default_factory=list)  # only buy it when …: a rule of its own where there is no other
    guards: Guarding = field(default_factory=Guarding)
    sizing: Sizing | None = None
    cases: list[Case] = field(default_factory=list)  # other sizes, and when
    adds: bool = False
    held: list[Condition] = field(default_factory=list)  # it is in while these hold
    left: set[Side] = field(default_factory=set)  # sides that an exit was named for
    kept: bool = False  # never sell
    long_only: bool = False
    always_in: bool = False
    short_only: bool = False
    two_sided: bool = False  # it says that it goes long and short
    sided: list[Entry] = field(default_factory=list)  # what must hold for the entries of one side
    headlines: list[Entry] = field(
        default_factory=list
    )  # entries before a colon, which the rules after it may say again
    dated: list[tuple[Entry, bool]] = field(default_factory=list)  # entries only on …, and whether they name a side
    within_day: bool = False  # it says that nothing is held over the night
    by_clock: list[Entry] = field(default_factory=list)  # entries for which nothing but the hour was named
    mirrored: tuple[Entry, ...] = ()  # entries that are the mirror image of those of the other side
    about: list[Line] = field(default_factory=list)  # lines that a heading names, which the rules must use
    bare: list[Condition] = field(default_factory=list)  # exits that name no side
    priced: bool = False  # an exit that names no side is said by where the price goes
    stop_hit: bool = False  # it names the stop as what ends a trade
    unmet: bool = False  # it names another exit, as what has not come
    length: int = 0  # a period that was said apart from its line
    remarks: set[str] = field(default_factory=set)  # what it says that is so anyway, and must not be contradicted
    promised: set[str] = field(default_factory=set)  # guards that a heading says it has
    without: set[str] = field(default_factory=set)  # guards it says it has not

    def copy(self) -> Collected:
        """What it holds is frozen; the collections are its own."""
        made = copy(self)
        for one in fields(self):
            if isinstance(value := getattr(self, one.name), (list, set)):
                setattr(made, one.name, copy(value))
        made.guards = replace(self.guards, partials=list(self.guards.partials))
        return made

    def become(self, other: Collected) -> None:
        """Forget what was said since `other` was copied: the statement could not be read."""
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))

    def size(self, r: Reader, made: Sizing, first: int) -> bool:
        if self.sizing is not None and self.sizing != made:
            raise r.ask("two different sizes", ["say which of them counts"], first)
        self.sizing = made
        return True


def symbols(r: Reader, said: Collected) -> bool:
    """AAPL, MSFT and IBM; every stock."""
    if r.at("EVERY_SYMBOL") and not r.at("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", ahead=1):
        r.take("EVERY_SYMBOL")
        if r.take("OF", "IN") is None or not r.at("SYMBOL"):
            said.every = True
            return True
    token = r.take("SYMBOL")
    if token is None:
        return False
    found = [token.text]
    while r.at("AND", ",", "OR", "SLASH") or r.at("SYMBOL"):
        with r.trying() as attempt:
            r.take(",")
            r.take("AND", "OR", "SLASH")
            token = r.take("SYMBOL")
            if token is None or r.at("IS", "CROSS", "RISES", "FALLS", "ABOVE", "BELOW"):
                break
            attempt.keep()
            found.append(token.text)
    r.take("STOCKS", "SHARES")
    if r.peek().text == "each" and r.at("END", "STOP_MARK", ",", ahead=1):
        r.take("EVERY")
    said.symbols += [name for name in dict.fromkeys(found) if name not in said.symbols]
    r.traded = tuple(said.symbols)
    return True


def of_symbols(r: Reader, said: Collected) -> bool:
    """KO, of KO, into KO."""
    with r.trying() as attempt:
        r.take("OF", "IN", "INTO", "ON", "FOR", "TO")
        if symbols(r, said):
            attempt.keep()
            return True
    return False


def whichever(r: Reader, said: Collected) -> bool:
    """buy whichever of F and GM closes above its 50-day high: each of them, by its own."""
    with r.trying() as attempt:
        r.take(",")
        if r.peek().text == "one of" or not r.take("WHICHEVER", "EITHER"):
            return False  # one of them alone is another thing
        r.take("OF")
        found: list[str] = []
        while (token := r.take("SYMBOL")) is not None:
            found.append(token.text)
            r.skip(",", "AND", "OR") if r.at("SYMBOL", ahead=1) or r.at("SYMBOL", ahead=2) else None
        if len(found) < 2 or said.symbols or not r.at("CLOSES", "MAKES", "RISES", "FALLS", "CROSS", "MOVES", "WHEN"):
            return False
        attempt.keep()
        said.symbols += list(dict.fromkeys(found))
        r.traded = tuple(said.symbols)
        return True
