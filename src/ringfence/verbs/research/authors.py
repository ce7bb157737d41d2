"""Who writes: the author that was asked for, or the offline one with a model behind it for what it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ringfence.agents import Agent, open_agent
from ringfence.agents.brief import Brief, DataFacts
from ringfence.base.config import Settings
from ringfence.base.errors import SettingsError
from ringfence.verbs.research.request import Author

AUTHORS = ("rules", "llm", "command", "scripted")


class Authors:
    """Opened once, asked for each idea. Without a `spec`: the offline author, and a model for what that cannot read."""

    def __init__(
        self,
        spec: str | None,
        *,
        model: str | None = None,
        max_usd: float | None = None,
        environ: Mapping[str, str],
        opener: Callable[[str], Agent] = open_agent,
    ) -> None:
        configured = model or Settings.from_env(environ).model
        name, _, target = (spec or "").partition(":")
        if spec is not None and name not in AUTHORS:
            raise SettingsError(f"author {name!r} is unknown: use one of {', '.join(AUTHORS)}")
        self._rules = Author(name="rules", agent=opener("rules"), revises=False)
        self._model: Author | None = None
        self._fixed: Author | None = None
        if name in ("command", "scripted"):
            what = target or model
            if not what:
                remedy = "--author command:claude" if name == "command" else "--author scripted:replies.json"
                raise SettingsError(f"the author {name} needs to know which one: write {remedy}")
            self._fixed = Author(name=name, agent=opener(f"{name}:{what}"), revises=True)
        elif name == "llm" or configured:
            bound = "" if max_usd is None else f",run_usd={max_usd:g}"
            chosen = target or (f"model={configured}" if configured else "")
            if chosen and "=" not in chosen:
                chosen = f"model={chosen}"
            self._model = Author(name="llm", agent=opener(f"llm:{chosen}{bound}" if chosen else "llm"), revises=True)
        if name == "rules":
            self._fixed = self._rules
        elif name == "llm":
            self._fixed = self._model

    @property
    def judges(self) -> Agent | None:
        """A model to judge by: the configured one, or else the author itself, where that is one."""
        if self._model is not None:
            return self._model.agent
        return self._fixed.agent if self._fixed is not None and self._fixed.revises else None

    def pick(self, idea: str, data: DataFacts) -> Author:
        """For this idea; the offline author where it can read it, as that costs nothing and changes no number."""
        if self._fixed is not None:
            return self._fixed
        if self._model is None:
            return self._rules
        brief = Brief(role="research", idea=idea, data=data)
        return self._rules if self._rules.agent.act(brief).stop_reason == "end" else self._model
