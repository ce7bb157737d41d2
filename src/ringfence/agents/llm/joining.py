"""A reply in pieces: what a model wrote until it was cut off, and how it went on.

Pieces are joined at the ends of lines. A line that was cut is dropped and asked for again, in a fence, because what is
cut inside a line or begins outside a fence loses its indentation on the way, and indentation is meaning.
"""

from __future__ import annotations

import re

_FENCE_LINE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_OPENING = re.compile(r"^[ \t]*```[ \t]*(?:python3?|py)[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_BARE_OPENING = re.compile(r"\A\s*```[^\n`]*\n")
_CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE)
_LEAST_OVERLAP = 24  # characters of repeated lines; fewer may be meant
_MOST_OVERLAP = 60  # lines


def whole_lines(text: str) -> str:
    """The text up to the end of its last line that is surely whole."""
    return text[: text.rfind("\n") + 1]


def continue_prompt(so_far: str) -> str:
    lines = [line for line in so_far.split("\n") if line.strip()]
    if not lines:
        return "Your reply was cut off before a line of it arrived. Give it again, without the words before the block."
    return (
        "Your reply was cut off. The last whole line of it that arrived is\n\n"
        f"{lines[-1]}\n\n"
        "Go on with the line after that one, in a ```python block that begins with that next line and all of its "
        "indentation. Repeat nothing, say nothing else, and close the block when the program is complete."
    )


def join(so_far: str, more: str) -> str:
    """`so_far`, which is whole lines, with `more` behind it, once."""
    begun = set(_CLASS.findall(so_far))
    if begun & set(_CLASS.findall(more)):
        return more  # it began anew
    if len(_FENCE_LINE.findall(so_far)) % 2:  # it was cut inside a block
        opening = _OPENING.search(more) or _BARE_OPENING.search(more)
        more = more[opening.end() :] if opening else more
    there, here = so_far.split("\n")[:-1], more.split("\n")
    return so_far + "\n".join(here[_repeated(there, here) :])


def _repeated(there: list[str], here: list[str]) -> int:
    """How many lines at the head of `here` are the tail of `there` again."""
    for count in range(min(len(there), len(here), _MOST_OVERLAP), 0, -1):
        if there[-count:] == here[:count]:
            return count if sum(len(line.strip()) for line in here[:count]) >= _LEAST_OVERLAP else 0
    return 0
