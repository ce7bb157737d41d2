"""Whatever is typed, the author answers: nothing crashes, and what it accepts reads again as the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.agents.rules.compiler import Misread, Understood, compile_request
from ringfence.agents.rules.lexicon import lexicon
from ringfence.agents.rules.messages import refuses, says
from ringfence.trade.description.code import to_code
from ringfence.trade.description.echo import echo

from tests.agents.read_requests import requests

SAID = [case.said for name in ("rules", "plans", "phrasings") for case in requests(name)]
RULES = [case.said for case in requests("rules")]
WORDS = sorted(lexicon().kinds)


def answered(text: str) -> None:
    found = compile_request(text)
    if isinstance(found, Misread):
        assert found.reason
        assert refuses(found)
        assert found.unread in text
        return
    assert says(found)
    again = compile_request(echo(found.description))
    assert isinstance(again, Understood), text
    assert again.description == found.description, text
    compile(to_code(found.description), "compiled", "exec")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    answered(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*WORDS, "30", "5 %", "GOOG", "$500", "10:00", ",", ".", "(", ")"]), max_size=14))
def test_any_order_of_known_words_is_answered(words: list[str]) -> None:
    answered(" ".join(words))


def test_requests_with_a_word_lost_doubled_or_moved_are_answered() -> None:
    rng = random.Random(5)
    for said in SAID:
        words = said.split()
        place = rng.randrange(len(words))
        kind = rng.randrange(3)
        if kind == 0:
            del words[place]
        elif kind == 1:
            words.insert(place, words[place])
        else:
            words.insert(rng.randrange(len(words)), words.pop(place))
        answered(" ".join(words))


def test_no_word_is_dropped_silently() -> None:
    """A word that nobody knows, put anywhere into a request that is understood, is never passed over."""
    rng = random.Random(7)
    for said in SAID:
        words = said.split()
        words.insert(rng.randrange(len(words) + 1), "flurbish")
        text = " ".join(words)
        found = compile_request(text)
        assert isinstance(found, Misread), text
        assert found.place <= text.index("flurbish"), text  # or before it, where it broke a phrase


SAME = ("Buy $250 of GOOG weekly on Fridays",)  # where the word says again what was said
MEANINGFUL = ("not", "unless", "except", "twice", "yesterday", "weekly", "short", "between", "77", "13 %", "otherwise")


@pytest.mark.parametrize("word", MEANINGFUL)
def test_a_word_that_means_something_never_leaves_the_reading_as_it_was(word: str) -> None:
    rng = random.Random(11)
    for said in RULES:
        before = compile_request(said)
        assert isinstance(before, Understood)
        words = said.split()
        words.insert(rng.randrange(1, len(words)), word)
        text = " ".join(words)
        after = compile_request(text)
        assert isinstance(after, Misread) or after.description != before.description or text in SAME, text


def test_very_long_and_very_deep_requests_are_refused() -> None:
    assert isinstance(compile_request("buy " * 5_000), Misread)
    assert isinstance(compile_request("Buy when " + "(" * 900 + "RSI < 30" + ")" * 900), Misread)
    assert isinstance(compile_request("Buy when " + "not " * 900 + "RSI < 30"), Misread)
