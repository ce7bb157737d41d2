"""What is said to a model: the role's prompt, which is a file, and the Brief as text.

A Brief holds what users, pages and programs said. Each piece is put between marks that it does not contain itself, so
that a model can tell where it ends.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from ringfence.agents.brief import Brief, DataFacts, ErrorSeen, Role

# Characters; what is over is left out of the middle, and the text says how much.
_MOST_IDEA, _MOST_CODE, _MOST_TRACEBACK, _MOST_NOTE = 200_000, 200_000, 6_000, 2_000
_QUESTIONS: frozenset[Role] = frozenset({"compute", "summarise"})


@cache
def role_prompt(role: Role) -> str:
    """The standing instructions of a role, from prompts/ROLE.md."""
    folder = resources.files("ringfence.agents") / "prompts"
    text = (folder / f"{role}.md").read_text(encoding="utf-8")
    return text.replace("{{native}}", (folder / "native.md").read_text(encoding="utf-8").rstrip()).strip() + "\n"


def brief_prompt(brief: Brief) -> str:
    """All that the brief knows, and nothing about what it does not."""
    question = brief.role in _QUESTIONS
    idea = _part("Question" if question else "Idea", _fenced(brief.idea, _MOST_IDEA))
    parts = [idea, _part("Data", _data(brief.data))]
    parts.append(_part("Program", _fenced(brief.code, _MOST_CODE, "python")))
    if brief.error is not None:
        parts.append(_part("Error", _error(brief.error)))
    # What is quoted must be whole; of a metric six figures are enough.
    figures = [f"- {name}: {_figure(value, 12 if question else 6)}" for name, value in brief.metrics.items()]
    parts.append(_part("Numbers" if question else "Metrics", "\n".join(figures)))
    parts.append(_part("Trades", _fenced("\n".join(brief.trades), _MOST_IDEA)))
    said = [f"- {v.name}: {v.status}" + "".join(f"; {_short(e)}" for e in v.errors) for v in brief.verdicts]
    parts.append(_part("Checks", "\n".join(said)))
    parts.append(_part("Kind of change", brief.change or ""))
    parts.append(_part("Notes", "\n".join(f"- {_short(note)}" for note in brief.notes if note.strip())))
    return clean("\n\n".join(part for part in parts if part)) or "There is nothing to go by."


def clean(text: str) -> str:
    """Text that can be sent: halves of characters become question marks, NULs go."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _part(title: str, body: str) -> str:
    return f"## {title}\n{body}" if body.strip() else ""


def _figure(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"{value:.{digits}g}"


def _data(facts: DataFacts) -> str:
    if not facts.bars and not facts.symbols:
        return ""
    span = f" from {facts.first} to {facts.last}" if facts.first else ""
    return (
        f"{', '.join(facts.symbols) or 'one instrument'}: {facts.bars:,} bars of {facts.timeframe}{span}; "
        f"columns {', '.join(facts.columns)}"
    )


def _error(error: ErrorSeen) -> str:
    where = f" at line {error.line}" if error.line else ""
    head = f"{error.type}{where}, seen {error.times} times in a row" if error.times > 1 else f"{error.type}{where}"
    trace = _fenced(error.traceback, _MOST_TRACEBACK)
    return "\n".join(part for part in (head, _fenced(error.message, _MOST_TRACEBACK), trace) if part)


def _fenced(text: str, most: int, language: str = "") -> str:
    if not text.strip():
        return ""
    text = _cut(text, most)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def _short(text: str) -> str:
    return " ".join(_cut(text, _MOST_NOTE).split())


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    left_out = len(text) - most
    return f"{text[: most // 2]}\n[{left_out:,} characters were left out here]\n{text[-most // 2 :]}"
