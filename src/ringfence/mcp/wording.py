"""Our own sentences in a caller's words: they speak of commands and options, and a caller has tools and arguments.

Only sentences that we wrote go through here, and never what a program printed.
"""

from __future__ import annotations

import re
from collections.abc import Container

_COMMANDS = {
    "ringfence runs list": "runs_list",
    "ringfence backtest FILE": "backtest_run",
    "ringfence check": "check_code",
    "ringfence research": "research_run",
    "ringfence research --author rules": 'research_run with author="rules"',
}
# Options that no tool has, said by what a caller can do.
_INSTEAD = (
    ("--mount HOST:GUEST or --data", "--data"),
    ("--source sample (or --data sample:GOOG)", "--data sample:GOOG"),
    ("--source sample (--data sample:GOOG)", "--data sample:GOOG"),
    ("--source sample", "--data sample:GOOG"),
    ("pass --allow-weaker", "start the server with --allow-weaker"),
    ("use --backend docker", "start the server with --backend docker"),
    ("choose one with --model", "set RINGFENCE_MODEL where the server is started"),
)
_SPELLED = {"class": "class_name", "param": "parameters", "file": "files", "input": "inputs", "memory": "memory_mb"}
_SAME = ("data", "symbols", "timeframe", "start", "end", "cash", "fees", "margin", "seed", "timeout", "author")
_SWITCHES = ("repair", "fractional", "shorting", "lookahead")
_ARGUMENTS = {**_SPELLED, **{name: name for name in (*_SAME, *_SWITCHES)}}
_NAMED = ("class", "author")  # what follows these is their value, whatever it looks like

_QUOTED = re.compile(r"`([^`]*)`")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ([^\s,;()]*[^\s,;().]))?")


def for_callers(sentence: str, arguments: Container[str] | None = None) -> str:
    """`arguments` are those that the caller has; an option that is none of them stays as it is."""
    pieces = []
    end = 0
    for command in _QUOTED.finditer(sentence):
        pieces += [_options(sentence[end : command.start()], arguments), _COMMANDS.get(command[1], command[0])]
        end = command.end()
    return "".join([*pieces, _options(sentence[end:], arguments)])


def _options(words: str, arguments: Container[str] | None) -> str:
    for ours, theirs in _INSTEAD:
        words = words.replace(ours, theirs)

    def say(found: re.Match[str]) -> str:
        name, value = _ARGUMENTS.get(found[1]), found[2] or ""
        if name is None or (arguments is not None and name not in arguments):
            return found[0]
        if found[1] in _NAMED or re.search(r"[:=\d]", value):
            return _assigned(name, value) if value else name
        return (f"{name}=true" if name in _SWITCHES else name) + (f" {value}" if value else "")

    return _OPTION.sub(say, words)


def _assigned(name: str, value: str) -> str:
    if name == "parameters":
        key, _, given = value.partition("=")
        return f'parameters={{"{key}": {given}}}'
    return f"{name}={value}" if re.fullmatch(r"[\d.]+", value) else f'{name}="{value}"'
