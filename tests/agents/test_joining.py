"""A reply in pieces is put together as it was meant, wherever it was cut and whatever the model repeats."""

from __future__ import annotations

import pytest

from ringfence.agents.llm.joining import continue_prompt, join, whole_lines
from ringfence.testing.agent import PROGRAM

FENCED = f"Here:\n```python\n{PROGRAM}```\n"
CUTS = range(20, len(FENCED) - 4, 3)


@pytest.mark.parametrize("cut", CUTS)
def test_what_follows_is_put_behind(cut: int) -> None:
    so_far = whole_lines(FENCED[:cut])
    rest = FENCED[len(so_far) :]
    assert join(so_far, rest) == FENCED
    assert join(so_far, f"```python\n{rest}") == FENCED
    assert join(so_far, f"Going on:\n\n```python\n{rest}") == FENCED


@pytest.mark.parametrize("cut", CUTS)
def test_lines_that_are_repeated_are_there_once(cut: int) -> None:
    so_far = whole_lines(FENCED[:cut])
    lines = so_far.split("\n")
    again = "\n".join(lines[2:])[-70:]
    if "\n" in again:
        again = again.partition("\n")[2]
    if len("".join(again.split())) < 24 or "class " in again:
        return
    assert join(so_far, f"```python\n{again}{FENCED[len(so_far) :]}") == FENCED


def test_a_model_that_begins_anew_is_taken_at_its_word() -> None:
    assert join(whole_lines(FENCED[:200]), FENCED) == FENCED


def test_a_short_line_that_comes_twice_may_be_meant() -> None:
    assert (
        join("```python\ndef f():\n    x()\n", "```python\n    x()\n```")
        == "```python\ndef f():\n    x()\n    x()\n```"
    )


def test_it_is_told_where_it_stopped() -> None:
    assert "\n        if self.rsi[-1] < 35:\n" in continue_prompt(whole_lines(FENCED[:205]))
    assert "Give it again" in continue_prompt(whole_lines("cut in the first line"))
