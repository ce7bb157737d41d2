"""Entries that begin with their size and have no verb: $250 in SCHD every other Friday, 10 % of equity in KO when …"""

from __future__ import annotations

from dataclasses import replace

from ringfence.agents.rules.conditions.conditions import all_of
from ringfence.agents.rules.orders.collected import Collected, symbols
from ringfence.agents.rules.orders.entering import when_said
from ringfence.agents.rules.orders.permitted import WHILE
from ringfence.agents.rules.orders.sizes import measured_over, sizing
from ringfence.agents.rules.plans.complements import lasts
from ringfence.agents.rules.reader import Reader
from ringfence.agents.rules.text.tokens import Token
from ringfence.trade.description.model import AllIn, Entry, OnSchedule, OnWeekdays, VolatilityTarget


def size_led(r: Reader, said: Collected) -> bool:
    """Every other Friday, $250 in SCHD. $10k a pop in GOOGL whenever CCI crosses above -100."""
    first = r.i
    before = when_said(r, said)
    r.skip(",", "COLON") if before is not None else None
    made = sizing(r, spoken=True, whole=True)
    if made is None or isinstance(made, AllIn) or not r.take("IN", "OF", "ON", "FOR", "TO"):
        return False
    r.take("EVERY") and r.take("OF")
    kept = any(token.kind == "HOLD" for token in r.tokens[first : r.i])
    if not symbols(r, said):
        return False
    if isinstance(made, VolatilityTarget):
        made = replace(made, period=measured_over(r) or made.period)
    r.skip(",", "NO_LEVERAGE") if r.at("NO_LEVERAGE", ahead=1) else None
    r.take(",") if r.at("WHEN", ahead=1) else None
    kept = kept or (r.at("WHEN") and r.peek().text.endswith(WHILE))
    when = when_said(r, said)
    parts = [part for part in (before, when) if part is not None]
    if not parts:
        return False
    said.size(r, made, first)
    held = all_of(parts)
    if isinstance(held, OnWeekdays) and len(held.days) == 1:
        held = OnSchedule(every="week", on=held.days[0])
    said.entries.append(Entry(side="long", when=held))
    if isinstance(made, VolatilityTarget) or _nothing_else(r) or (kept and lasts(held)):
        said.held.append(held)  # so large while …, and nothing otherwise; keep 10 % in KO while …
    r.entry = held
    return True


def _nothing_else(r: Reader) -> bool:
    """Half the account in KO when …, otherwise nothing: in while it is so."""
    ahead = 1 if r.at(",", "STOP_MARK") else 0
    ahead += r.at("AND", ahead=ahead)
    return r.at("OTHERWISE", ahead=ahead) and r.at("NOTHING", ahead=ahead + 1)


def without_whole(tokens: list[Token]) -> list[Token]:
    """A plan of weights or ranks is all in anyway, and without leverage: the clauses that say so go."""
    made = list(tokens)
    at = 0
    while at < len(made):
        opens = at == 0 or made[at - 1].kind in (",", "STOP_MARK", "AND", "COLON") or made[at].kind == "USE"
        end = _whole_until(made, at) if opens else 0
        if end:
            at -= at > 0 and made[at - 1].kind in (",", "AND")
            del made[at:end]
        else:
            at += 1
    return made if any(token.kind not in ("STOP_MARK", ",") for token in made) else list(tokens)


def _whole_until(tokens: list[Token], at: int) -> int:
    r = Reader(tokens=tokens, i=at)
    if not r.take("NO_LEVERAGE") and not isinstance(sizing(r, spoken=True, whole=True), AllIn):
        return 0
    return r.i if r.at("END", "STOP_MARK", ",", "AND") else 0
