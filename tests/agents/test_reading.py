"""What a text is worth to a role: a whole program, a broken one to be mended, half of one, or words."""

from __future__ import annotations

import pytest

from ringfence.agents.reading import read_answer
from ringfence.testing.agent import PROGRAM

FENCED = f"```python\n{PROGRAM}```"


@pytest.mark.parametrize(
    "text", [PROGRAM, FENCED, f"Sure!\n{FENCED}\nEnjoy.", f"<think>\nhm\n</think>\n{FENCED}", f"```\n{PROGRAM}```"]
)
def test_a_program_is_found_where_it_is(text: str) -> None:
    answer = read_answer("code", text)
    assert (answer.code, answer.stop_reason) == (PROGRAM, "end")


def test_what_was_left_out_is_noticed() -> None:
    assert read_answer("code", FENCED).notices == ()
    two = f"{FENCED}\n\nAnd to try it:\n\n```python\nprint('tried')\n```"
    assert "left out" in read_answer("code", two).notices[0]


@pytest.mark.parametrize(
    "text",
    [
        FENCED[: FENCED.index("self.buy")],  # in the middle of a statement
        FENCED[: FENCED.index("    def next")],  # it parses, and would never trade
        "<think>\nwhat would be",
    ],
)
def test_half_a_program_is_none(text: str) -> None:
    answer = read_answer("code", text)
    assert (answer.code, answer.stop_reason) == (None, "length")
    assert answer.notices


def test_a_program_that_was_said_to_be_cut_is_none_although_it_looks_whole() -> None:
    assert read_answer("code", FENCED, "length").code is None
    assert read_answer("judge", "{}", "refused").parsed is None


@pytest.mark.parametrize("text", ["", "No", "sorry", "I cannot help with that.", "1 + 1", "```\nplain words\n```"])
def test_words_are_a_refusal(text: str) -> None:
    answer = read_answer("code", text)
    assert (answer.code, answer.stop_reason) == (None, "refused")


@pytest.mark.parametrize(
    "broken",
    ["class A(Strategy):\n    def next(self)\n        self.buy()\n", "class A(Strategy):\n  def next(self):\n x = 1\n"],
)
def test_a_slip_of_the_pen_is_handed_on(broken: str) -> None:
    for text in (f"```python\n{broken}```", f"Mended:\n\n```python\n{broken}```\n\nIt works now."):
        answer = read_answer("debug", text)
        assert (answer.code, answer.stop_reason) == (broken, "end")
        assert "line" in answer.notices[0]
