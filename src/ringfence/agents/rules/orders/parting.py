"""One part after another in English: sell half when …, half when …; 1/3 when …, 1/3 at 5 %, the rest when …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringfence.agents.rules.orders.collected import Collected
from ringfence.agents.rules.orders.leaving import leave
from ringfence.agents.rules.orders.parts import portion_of
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.model import Exit, Guards

_DUE = ("WHEN", "AT", "ON", "AFTER")


def next_part(r: Reader, said: Collected) -> bool:
    """half when …, after a part that is sold: another one, and no size."""
    if not said.guards.partials and all(one.portion >= 100 for one in said.exits):
        return False
    with r.trying():
        found = portion_of(r) is not None and r.at(*_DUE)
    one_sided = len({one.side for one in said.entries}) < 2
    return found and one_sided and leave(r, said, None, verb=r.at("HALF", "THIRD", "QUARTER"))


def of_the_rest(r: Reader, guards: Guards, exits: Sequence[Exit]) -> Guards:
    """Parts that have a gain are sold before the target anyway; of what is left the reply says when its rule counts."""
    guards = replace(guards, target_rest=guards.target_rest and not guards.partials)
    if guards.target_rest or any(rule.rest for rule in exits):
        r.notices.append("the rest is what is left once a part has been sold: before that, its rule sells nothing")
    return guards
