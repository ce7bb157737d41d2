"""Exits against the rules: each has its reason and its price, and none that was due is missing.

On one bar the order is: what the open has passed, then orders at the open, then stops, then targets. A stop and a
target that lie in one bar are decided by the fill rules, the stop first unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ringfence.evaluators.derive.findings import Findings
from ringfence.evaluators.derive.levels import Stops, stops, target_price
from ringfence.evaluators.derive.market import Episode, Market
from ringfence.evaluators.derive.rulebook import Rule, Rulebook
from ringfence.trade.description.model import Side
from ringfence.trade.orders import Trade
from ringfence.trade.run import FillRules
from ringfence.trade.times import iso

_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a position on one bar."""

    name: str
    price: float
    at_open: bool


@dataclass(slots=True)
class ExitCheck:
    """All exits of one position. `targets` are the prices of the parts with the share that is sold by each."""

    book: Rulebook
    market: Market
    episode: Episode
    rules: FillRules | None
    slack: float
    made: Findings
    levels: Stops
    targets: list[tuple[float, float]]

    @classmethod
    def of(cls, book: Rulebook, market: Market, episode: Episode, rules: FillRules | None, slack: float) -> ExitCheck:
        guards = book.guards
        levels = stops(book.grid, market, episode, guards)
        wanted = [(partial.at, partial.portion / 100) for partial in guards.partials]
        if guards.target is not None:
            wanted.append((guards.target, max(1 - sum(share for _, share in wanted), 0.0)))
        targets = [(target_price(book.grid, market, episode, far, guards), share) for far, share in wanted]
        return cls(book, market, episode, rules, slack, Findings(), levels, targets)

    def run(self) -> Findings:
        for lot, left in zip(self.episode.lots, self.episode.exits):
            if left < len(self.market):
                self.made.count("exits")
                self._justified(lot, left)
        self._missed_stop()
        self._missed_rules()
        self._missed_time()
        self._missed_targets()
        return self.made

    @property
    def what(self) -> str:
        return f"{self.market.symbol} {self.episode.side} position of {self._day(self.episode.entered)}"

    def _day(self, place: int) -> str:
        return iso(int(self.market.timeline[place]))

    # Each exit has its reason.

    def _justified(self, lot: Trade, left: int) -> None:
        assert lot.exit_price is not None
        ways = list(self._ways(left))
        fit = [way for way in ways if self.market.same(lot.exit_price, way.price)]
        told = "; ".join(f"{way.name} at {way.price:.6g}" for way in ways) or "nothing"
        if not self.made.check(
            bool(fit),
            f"{self.what} was left on {self._day(left)} at {lot.exit_price:.6g}, and the rules call for {told}: "
            "leave by the rules, at the stop, the target or the next open",
        ):
            return
        first = self.rules.both_in_one_bar if self.rules is not None else "stop_first"
        stopped = self.levels.hit(self.market, self.episode)[0]
        if first == "stop_first" and all(way.name == "target" and not way.at_open for way in fit):
            self.made.check(
                not stopped[left - self.episode.entered],
                f"{self.what} was left at its target on {self._day(left)}, on a bar that reached the stop as well: "
                "take the stop first",
            )
        if all(way.name == "part" for way in fit):
            self._portion(left)

    def _ways(self, at: int) -> Iterator[Way]:
        """All that the rules allow on this bar."""
        market, episode, sign = self.market, self.episode, self.episode.sign
        opened = float(market.open[at])
        worst = float(market.low[at] if sign > 0 else market.high[at])
        best = float(market.high[at] if sign > 0 else market.low[at])
        out = market.worse(opened, -sign)
        place = at - episode.entered
        for level in {float(self.levels.far[place]), float(self.levels.near[place])}:
            if sign * (worst / level - 1) <= market.rounding:  # not where it is NaN
                passed = sign * (opened - level) <= 0
                yield Way("stop", out if passed else market.worse(level, -sign), passed)
        for price, _ in self.targets if at >= self._aimed else ():
            if sign * (best / price - 1) >= -market.rounding:
                passed = sign * (opened - price) >= 0
                yield Way("target", opened if passed else price, passed)
        if at > episode.entered:
            yield from (Way(name, out, True) for name in self._decided(at))
        if at == len(market) - 1 and (self.rules is None or self.rules.close_at_end):
            yield Way("end", market.worse(float(market.close[at]), -sign), False)
        if any(lot.exit_reason == "ruin" for lot in episode.lots):
            yield Way("ruin", float(market.close[at]), False)

    def _decided(self, at: int) -> Iterator[str]:
        """Exits that were decided at a close before this bar, after the bar before it."""
        episode = self.episode
        window = slice(max(int(self.market.before[at]), episode.entered), at)
        for rule in self.book.exits.get(episode.side, ()):
            asked = slice(max(window.start, self._parted), window.stop) if rule.rest else window
            if rule.truth.may[asked].any():
                yield "exit" if rule.portion >= 100 else "part"
        other = self._other_side()
        if other is not None and other.truth.may[window].any():
            yield "turn round"
        hold = self.book.guards.time_stop_bars
        if hold and at - episode.entered >= hold:
            yield "time"

    @property
    def _parted(self) -> int:
        """The first bar on which a part was sold: a rule for the rest is asked from its close on."""
        return min(self.episode.exits)

    @property
    def _aimed(self) -> int:
        """The first bar on which there is a target: that of the rest is given at the close of the bar before."""
        return self._parted + 1 if self.book.guards.target_rest else self.episode.entered

    def _other_side(self) -> Rule | None:
        other: Side = "short" if self.episode.side == "long" else "long"
        return self.book.entries.get(other) if self.book.turns else None

    def _portion(self, left: int) -> None:
        """How much is sold by a rule that sells a part."""
        lots = zip(self.episode.lots, self.episode.exits)
        gone = [lot.qty for lot, out in lots if out == left and self._at_open(lot, left)]
        share = sum(gone) / self.episode.quantity
        portions = [rule.portion / 100 for rule in self._parts]
        both = [sum(some) for count in range(1, len(portions) + 1) for some in combinations(portions, count)]
        self.made.check(
            any(abs(share - wanted) <= self._slack() for wanted in both),
            f"{self.what} sold {share:.1%} on {self._day(left)}, and the rule sells {portions[0]:.1%}: sell that part",
        )

    @property
    def _parts(self) -> list[Rule]:
        return [rule for rule in self.book.exits.get(self.episode.side, ()) if rule.portion < 100]

    def _at_open(self, lot: Trade, left: int) -> bool:
        """The rest may be gone on the same bar, by a stop or a target within it."""
        out = self.market.worse(float(self.market.open[left]), -self.episode.sign)
        return lot.exit_price is not None and self.market.same(lot.exit_price, out)

    def _slack(self) -> float:
        """Shares are whole, and each part may be one off."""
        return self.slack + 1.5 / max(self.episode.quantity, 1.0)

    # None that was due is missing.

    def _missed_stop(self) -> None:
        must, _ = self.levels.hit(self.market, self.episode)
        held = must[: self.episode.left - self.episode.entered]
        early = np.flatnonzero(held)
        place = int(early[0]) if len(early) else 0
        self.made.check(
            not len(early),
            f"{self.what} was held through its stop: on {self._day(self.episode.entered + place)} it lay at "
            f"{self.levels.far[place]:.6g}: sell when it is reached",
        )

    def _missed_rules(self) -> None:
        whole = [rule for rule in self.book.exits.get(self.episode.side, ()) if rule.portion >= 100]
        other = self._other_side()
        for rule in (*whole, *([other] if other is not None else [])):
            late = self._first_due(rule)
            at = late if late is not None else 0
            self.made.check(
                late is None,
                f"{self.what} was held although {rule.says} on {self._day(at)}: leave at the next open",
            )
        self._missed_parts()

    def _first_due(self, rule: Rule) -> int | None:
        """The first moment whose exit came too late, or never."""
        episode, market = self.episode, self.market
        begins = self._parted if rule.rest else episode.entered
        moments = begins + np.flatnonzero(rule.truth.must[begins : episode.left])
        late = moments[market.after[moments] < episode.left]
        return int(late[0]) if len(late) else None

    def _missed_parts(self) -> None:
        """By the bar after its rule has held for the first time, a part is sold, and with it those due before."""
        episode, market, found = self.episode, self.market, []
        for rule in self._parts:
            moments = episode.entered + np.flatnonzero(rule.truth.must[episode.entered : episode.left])
            due = [int(at) for at in moments.tolist() if market.after[at] < len(market)]
            found += [(due[0], rule)] if due else []
        wanted = 0.0
        for at, rule in sorted(found, key=lambda one: one[0]):
            wanted += rule.portion / 100
            sold = episode.sold_until(int(market.after[at]))
            self.made.check(
                sold >= wanted - self._slack(),
                f"{self.what} had sold {sold:.0%} although {rule.says} on {self._day(at)}: sell that part then",
            )

    def _missed_time(self) -> None:
        hold = self.book.guards.time_stop_bars
        if not hold or self.book.adds:
            return
        due = self.episode.entered + hold
        last = int(self.market.after[due - 1]) if due <= len(self.market) - 1 else len(self.market)
        self.made.check(
            self.episode.left <= last,
            f"{self.what} was held for more than {hold} bars: leave at the open that many bars after the entry",
        )

    def _missed_targets(self) -> None:
        """By the time that a target is reached, its part and those of all nearer ones are sold."""
        episode, market, sign = self.episode, self.market, self.episode.sign
        first = self._aimed
        bars = slice(first, episode.left)
        best = (market.high if sign > 0 else market.low)[bars]
        due = 0.0
        for price, share in sorted(self.targets, key=lambda target: sign * target[0]):
            due = min(due + share, 1.0)
            with np.errstate(invalid="ignore"):
                reached = np.flatnonzero(sign * (best / price - 1) > _HAIR)
            if not len(reached):
                return
            at = first + int(reached[0])
            sold = episode.sold_until(at)
            if not self.made.check(
                sold >= due - self._slack(),
                f"{self.what} reached its target of {price:.6g} on {self._day(at)}, where {due:.0%} should be sold "
                f"and {sold:.0%} were: sell at the target",
            ):
                return


def check_exits(
    book: Rulebook, market: Market, found: Sequence[Episode], rules: FillRules | None, slack: float
) -> Findings:
    made = Findings()
    made.add(ExitCheck.of(book, market, episode, rules, slack).run() for episode in found)
    return made
