"""`ringfence chat`: ask for modelling in words, once or at a prompt."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.base.errors import RingfenceError
from ringfence.cli import asking, trading
from ringfence.cli.asking import Wish, data_request, exit_of, open_desk
from ringfence.cli.dispatch import UsageProblem
from ringfence.cli.groups import spread, without
from ringfence.cli.terminal import Screen, clean, emit, say

if TYPE_CHECKING:
    from ringfence.agents import Agent
    from ringfence.base.config import Settings
    from ringfence.verbs.chat import Answer, Event, OnEvent
    from ringfence.verbs.simulate import DataRequest

EPILOG = (
    "Without TEXT it is a prompt, or off a terminal reads one text from standard input. Exit code: 0 answered; 2 not "
    "understood, and the answer says what is missing or what would be; 1 or that of `ringfence run` where it failed; "
    "64 to 78 a bad request; 125 our failure."
)
_HELP = """Ask in words, such as: 95 % interval for GOOG in 30 days. Ctrl-C stops a running answer.
  :help   this text
  :quit   leave (so does Ctrl-D)"""
_MOST_TEXT = 100_000

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="What to work out.", show_default=False)]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Whom to ask what no template answers. (default RINGFENCE_MODEL)"),
]
AgentSpec = Annotated[
    str | None, typer.Option("--agent", metavar="SPEC", help="The same as a spec, such as scripted:replies.json.")
]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(spread(chat))


def chat(
    *,
    text: Text = None,
    prices: trading.Prices,
    model: Model = None,
    agent: AgentSpec = None,
    wish: Annotated[Wish, without("code")],
) -> int:
    from ringfence.base.config import Settings

    if model is not None and agent is not None:
        raise UsageProblem("give --model or --agent, not both")
    asking.check_seed(wish.seed)
    settings = Settings.from_env(os.environ)
    talk = _Talk(wish, settings, data_request(prices), _open(agent, model, settings))
    if text is None and sys.stdin.isatty() and not wish.as_json:
        return _prompt(talk)
    asked = text if text is not None else sys.stdin.read(_MOST_TEXT)
    if not asked.strip():
        raise UsageProblem("there is no text: write for example ringfence chat '95 % interval for GOOG in 30 days'")
    return talk.ask(asked)


def _open(agent: str | None, model: str | None, settings: Settings) -> Agent | None:
    """The agent that was asked for, or the configured model; without either there is none, and templates answer."""
    name = model or settings.model
    if agent is None and name is None:
        return None
    from ringfence.agents import open_agent

    return open_agent(agent or f"llm:model={name}")


def _prompt(talk: _Talk) -> int:
    from ringfence.cli.history import history

    with history("chat"):
        print("Ask for modelling in words; it is worked out behind the fence. :help for help.", file=sys.stderr)
        while True:
            try:
                line = input(">>> ").strip()
            except EOFError:
                print(file=sys.stderr)
                return 0
            except KeyboardInterrupt:
                print("\n(dropped; :quit leaves)", file=sys.stderr)
                continue
            if line in (":quit", "quit", "exit"):
                return 0
            if line == ":help":
                print(_HELP, file=sys.stderr)
            elif line:
                try:
                    talk.ask(line)
                except RingfenceError as e:
                    say(str(e))


class _Talk:
    """One question after another, each at a desk of its own."""

    def __init__(self, wish: Wish, settings: Settings, data: DataRequest | None, agent: Agent | None) -> None:
        self._wish, self._settings, self._data, self._agent = wish, settings, data, agent

    def ask(self, text: str) -> int:
        from ringfence.verbs.chat import chat as answer_text

        wish = self._wish
        show = None if wish.as_json else _shown(Screen())
        with open_desk(wish, settings=self._settings) as desk:
            answer = answer_text(
                text,
                desk=desk,
                data=self._data,
                database_url=self._settings.database_url(os.environ),
                agent=self._agent,
                on_event=show,
            )
        if answer.outcome is not None:
            if wish.plot is not None:
                asking.save_plot(answer.outcome, wish.plot)
            asking.tell_files(answer.outcome, wish)
        if wish.as_json:
            emit(sys.stdout, json.dumps(answer.to_json(), allow_nan=False) + "\n")
        else:
            for notice in answer.notices:
                say(notice)
        return _exit_code(answer)


def _shown(screen: Screen) -> OnEvent:
    """Each thing as it happens: how it was read, the program, its limits, its output, and the answer."""
    shown = False

    def show(event: Event) -> None:
        nonlocal shown
        before, shown = shown, True
        match event.kind:
            case "read_as":
                emit(sys.stdout, f"Read as {_safe(event.text)}.\n\n")
            case "code":
                emit(sys.stdout, _indented(_safe(event.text)) + "\n")
            case "limits":
                emit(sys.stdout, f"Limits: {event.text}.\n\n")
            case "stdout" | "stderr":
                screen.guest(event.kind, event.text.encode())
            case "text":
                screen.end()
                emit(sys.stdout, ("\n" if before else "") + _safe(event.text) + "\n")

    return show


def _exit_code(answer: Answer) -> int:
    if answer.kind in ("asked", "refused"):
        return 2
    return exit_of(answer.kind == "answered", answer.outcome)


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in code.rstrip().splitlines()) + "\n"


def _safe(text: str) -> str:
    return clean(text) if sys.stdout.isatty() else text
