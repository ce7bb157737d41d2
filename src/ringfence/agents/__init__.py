"""Who writes and judges strategies. A module here with a `create(options)` is an agent, and its file name is its name.

An agent is given a Brief and answers with a Reply; what it is asked for is the Brief's `role`. It runs nothing and
stores nothing: what it wrote is tried behind the fence, by whoever asked it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from ringfence.agents.brief import Brief, Reply
from ringfence.base.plugins import find_plugin

_OPTION = re.compile(r"\s*[A-Za-z_]\w*\s*=")


class Agent(Protocol):
    def act(self, brief: Brief) -> Reply: ...


def open_agent(spec: str = "rules") -> Agent:
    """The agent that `spec` names: `rules`, `llm:model=openai:gpt-x,temperature=0`, `scripted:replies.json`.

    What follows the colon is options where it begins with `name=`, and otherwise one option, `target`, whole: a path or
    a command may hold commas.
    """
    name, _, rest = spec.partition(":")
    create: Callable[[Mapping[str, str]], Agent] = find_plugin("ringfence.agents", name)
    return create(read_options(rest))


def read_options(text: str) -> dict[str, str]:
    if not text.strip():
        return {}
    if not _OPTION.match(text):
        return {"target": text}
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}
