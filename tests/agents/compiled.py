"""Requests as programs of the offline author, and their runs behind the fence."""

from __future__ import annotations

from ringfence.agents import open_agent
from ringfence.agents.brief import Brief
from ringfence.sandbox import Sandbox
from ringfence.trade.bars import Bars
from ringfence.trade.run import Costs, FillRules, Run

from tests.verbs.judged import judge

FREE = FillRules(costs=Costs(percent=0.0, slippage_bps=0.0))
BASKET = ("AAPL", "MSFT", "IBM", "GOOG")


def compiled(said: str) -> str:
    reply = open_agent("rules").act(Brief(role="code", idea=said))
    assert reply.code is not None, reply.text
    return reply.code


def tried(sandbox: Sandbox, said: str, bars: Bars, *, lookahead: bool = False) -> Run:
    return judge(sandbox, compiled(said), bars, rules=FREE, lookahead=lookahead)
