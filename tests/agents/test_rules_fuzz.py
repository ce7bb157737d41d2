"""Whatever is typed, the author answers: nothing crashes, and what it accepts reads again as the same."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.agents.rules.compiler import Misread, Understood, compile_request
from ringfence.agents.rules.messages import refuses, says
from ringfence.agents.rules.text.lexicon import lexicon
from ringfence.trade.description.code import to_code
from ringfence.trade.description.echo import echo

from tests.agents.read_requests import requests

SAID = [case.said for name in ("rules", "plans", "phrasings", "framings") for case in requests(name)]
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
    """A word that nobody knows, put anywhere into a request that is understood: it is not read, or named as left."""
    rng = random.Random(7)
    for said in SAID:
        words = said.split()
        words.insert(rng.randrange(len(words) + 1), "flurbish")
        text = " ".join(words)
        found = compile_request(text)
        if isinstance(found, Understood):
            assert any("flurbish" in notice for notice in found.notices), text
            before = compile_request(said)
            assert isinstance(before, Understood) and before.description == found.description, text
            continue
        named = found.reason != "these words were not understood" or any("flurbish" in one for one in found.left)
        assert named or found.place <= text.index("flurbish"), text  # or before it, where it broke a phrase


TALK = (
    "I am a student from Lisbon.", "Hello there, my name is Ines!", "Could you have a look?", "What do you think?",
    "My uncle told me about this.", "Thanks a lot for your help.",
)  # fmt: skip


@pytest.mark.parametrize("talk", TALK)
def test_talk_changes_no_rule_and_is_named(talk: str) -> None:
    rng = random.Random(13)
    for said in rng.sample([one for one in SAID if one.endswith(".")], 40):
        before = compile_request(said)
        assert isinstance(before, Understood)
        for text in (f"{talk} {said}", f"{said} {talk}"):
            after = compile_request(text)
            assert isinstance(after, Understood), text
            assert after.description == before.description, text
            assert any(talk.rstrip(".?!") in notice for notice in after.notices), text


# What limits, counts, compares or orders is read or refused, in however many unknown words it is wrapped.
RULED = (
    "I would do that for 3 fortnights.", "My wish is above all frugality.", "You never grumble.", "Only gladly.",
    "I sell gladly.", "My cousin does it twice.", "I do it when the moon shines.", "My stop is snug.",
    "I like half of it.", "We use heikin ashi candles.", "My capital grows weekly.", "I look at KFC.",
)  # fmt: skip


@pytest.mark.parametrize("ruled", RULED)
def test_what_may_be_a_rule_is_never_left_aside(ruled: str) -> None:
    for said in ("Buy SPY when RSI < 30, sell when RSI > 70.", "Hold 60% SPY and 40% TLT, rebalanced quarterly."):
        before = compile_request(said)
        assert isinstance(before, Understood)
        for text in (f"{ruled} {said}", f"{said} {ruled}"):
            after = compile_request(text)
            assert isinstance(after, Misread) or after.description != before.description, text


FACTS = ("from 2010-01-01 to 2020-12-31", "10k starting capital", "0.1% commission", "initial capital $25,000")


@pytest.mark.parametrize("fact", FACTS)
def test_what_is_said_of_the_run_changes_no_rule_and_is_told(fact: str) -> None:
    for said in RULES[:60]:
        before = compile_request(said)
        assert isinstance(before, Understood)
        after = compile_request(f"{said.rstrip('. ')}. {fact.capitalize()}.")
        assert isinstance(after, Understood), said
        assert after.description == before.description, said
        assert any(fact.lower() in notice.lower() and "give it as --" in notice for notice in after.notices), said


# Where the word says again what was said, or is part of an idiom.
SAME = (
    "Buy $250 of GOOG weekly on Fridays",
    "Buy when RSI < 35. Cut losses short at 4%. Lock in profits at 12%.",
    "Buy when the 10 EMA is above the 30 EMA, otherwise sell when it's not",
)  # fmt: skip
MEANINGFUL = ("not", "unless", "except", "twice", "yesterday", "weekly", "short", "between", "77", "13 %", "otherwise")


@pytest.mark.parametrize("word", MEANINGFUL)
def test_a_word_that_means_something_never_leaves_the_reading_as_it_was(word: str) -> None:
    rng = random.Random(11)
    for said in RULES:
        before = compile_request(said)
        assert isinstance(before, Understood)
        words = said.split()
        place = rng.randrange(1, len(words))
        if word == "weekly" and re.search("week|every (mon|fri)day|weekly", said, re.IGNORECASE):
            continue  # it says so anyway
        words.insert(place, word)
        text = " ".join(words)
        after = compile_request(text)
        assert isinstance(after, Misread) or after.description != before.description or text in SAME, text


def test_very_long_and_very_deep_requests_are_refused() -> None:
    assert isinstance(compile_request("buy " * 5_000), Misread)
    assert isinstance(compile_request("Buy when " + "(" * 900 + "RSI < 30" + ")" * 900), Misread)
    assert isinstance(compile_request("Buy when " + "not " * 900 + "RSI < 30"), Misread)
