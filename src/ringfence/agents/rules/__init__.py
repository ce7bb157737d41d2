"""The offline author: plain English in, a typed description and a native strategy out; the same words, the same code.

`text/` cuts the words into tokens of a lexicon (words.txt) and puts turns of phrase plainly (turns.txt); a grammar by
recursive descent reads them (`measures/`, `conditions/`, `dates/`, `orders/`, `plans/`); `compiler` makes of it a
description.
Every word belongs to what is read, or the request is refused with the words that were not.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringfence.agents.brief import Brief, DataFacts, Reply
from ringfence.base.errors import SettingsError


def create(options: Mapping[str, str]) -> RulesAgent:
    if options:
        raise SettingsError(f"rules has no option {next(iter(options))!r}: write rules alone")
    return RulesAgent()


class RulesAgent:
    """Answers the roles research and code with `brief.idea` compiled; it cannot judge, mend or invent."""

    def act(self, brief: Brief) -> Reply:
        from ringfence.agents.rules import messages
        from ringfence.agents.rules.compiler import Understood, compile_request
        from ringfence.trade.description.code import to_code

        if brief.role not in ("research", "code"):
            return Reply(
                text=f"the offline author has no answer to the role {brief.role!r}: it only turns words into rules",
                stop_reason="refused",
                cost_usd=0.0,
                model="rules",
            )
        timeframe = "" if brief.data == DataFacts() else brief.data.timeframe  # nothing is known of the data
        found = compile_request(brief.idea, symbols=brief.data.symbols, timeframe=timeframe)
        if not isinstance(found, Understood):
            return Reply(
                text=messages.refuses(found),
                parsed=messages.parsed(found),
                stop_reason="refused",
                cost_usd=0.0,
                model="rules",
            )
        return Reply(
            text=messages.says(found),
            code=to_code(found.description),
            description=found.description,
            cost_usd=0.0,
            model="rules",
            notices=found.notices,
        )
