"""Chat knows by its meaning what a text asks for, and what it does not."""

from __future__ import annotations

import pytest

from ringfence.verbs.chat.intent import Intent, read_intent
from ringfence.verbs.chat.symbols import find_symbols

from tests.verbs.chat_utterances import ASKED, IDEAS, NOT_ASKED


def routed(row: str) -> Intent:
    text, _, known = row.partition(" | ")
    return read_intent(text, known.split()).intent


@pytest.mark.parametrize(("row", "intent"), [*ASKED, *IDEAS])
def test_what_is_asked_for_is_found(row: str, intent: Intent) -> None:
    assert routed(row) == intent


@pytest.mark.parametrize("row", NOT_ASKED)
def test_what_is_not_asked_for_is_left_alone(row: str) -> None:
    assert routed(row) == "none"


def test_the_table_is_worth_its_name() -> None:
    assert len(ASKED) >= 60 and len(NOT_ASKED) >= 50


def test_instruments_are_found_and_words_are_not() -> None:
    assert find_symbols("$nvda, TSLA's and BRK.B but no VAR in LA").symbols == ("NVDA", "TSLA", "BRK.B")
    assert find_symbols("goog and Msft", ["GOOG", "MSFT"]).symbols == ("GOOG", "MSFT")
    assert find_symbols("simulate all of it on a day", ["ALL", "IT", "ON", "A"]).symbols == ()
    assert find_symbols("simulate ALL ON IT", ["ALL", "IT", "ON"]).symbols == ("ALL", "ON", "IT")
    named = find_symbols("compare sample:AAPL,MSFT and Tesla with csv:/a/b.csv?x=1.")
    assert named.specs == ("sample:AAPL,MSFT", "csv:/a/b.csv?x=1") and named.symbols == ("TSLA",)


@pytest.mark.parametrize("word", ["remodelling", "callous", "optional", "invariant", "alphabet soup", "simulacrum"])
def test_a_part_of_a_word_means_nothing(word: str) -> None:
    assert read_intent(f"{word} AAPL in 30 days at 95%").intent == "none"
