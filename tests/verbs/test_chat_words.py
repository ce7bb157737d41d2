"""No word is dropped: what changes the question is answered as it was meant, or refused by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.verbs.chat import Answer, chat
from ringfence.verbs.simulate import DataRequest

from tests.verbs.asking import desk, samples
from tests.verbs.judged import STRATEGY_SANDBOX


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def ask(text: str, data: str, sandbox: Sandbox, home: Path) -> Answer:
    return chat(text, desk=desk(sandbox, home), data=samples(data) if data else None)


# What is said, the data at hand, and what the refusal says.
REFUSED = [
    ("20-day EMA of the volume of GOOG", "GOOG", "'volume'"),
    ("RSI of the open of GOOG", "GOOG", "'open'"),
    ("14-week RSI of GOOG", "GOOG", "14-week"),
    ("RSI of GOOG in 2010", "GOOG", "'2010'"),
    ("RSI and MACD of GOOG", "GOOG", "'macd'"),
    ("is the RSI of GOOG above 70?", "GOOG", "'above'"),
    ("smoothed RSI of GOOG", "GOOG", "I do not know what 'smoothed' means in it"),
    ("rolling correlation between AAPL and MSFT", "AAPL,MSFT", "'rolling'"),
    ("correlation between AAPL and MSFT in a crash", "AAPL,MSFT", "'crash'"),
    ("95% VaR of a short position in GOOG over 10 days", "GOOG", "'short'"),
    ("weekly 95% VaR of GOOG", "GOOG", "'weekly'"),
    ("95% interval for GOOG by the end of next quarter, not 30 days", "GOOG", "'not'"),
    ("95% interval for GOOG by the end of next quarter", "GOOG", "'end'"),
    ("95% interval for GOOG on 2013-05-06", "GOOG", "'2013-05-06'"),
    ("probability that GOOG never falls below 700 in 30 days", "GOOG", "'never falls below 700'"),
    ("probability that GOOG touches 700 in 30 days", "GOOG", "'touches'"),
    ("probability that GOOG drops below 700 in 30 days", "GOOG", "on the way"),
    ("95% interval for half of GOOG in 30 hours", "GOOG", "'half'"),
    ("95% interval for GOOG in 30 days if the market crashes", "GOOG", "'if'"),
    ("95% interval for GOOG in 30 days in euros", "GOOG", "'euros'"),
    ("price an American call on GOOG strike 800 in 30 days", "GOOG", "'american'"),
    ("price an Asian put on GOOG strike 800 in 30 days", "GOOG", "'asian'"),
    ("price a GOOG straddle, strike 800, 30 days", "GOOG", "'straddle'"),
    ("price a short GOOG call, strike 800, 30 days", "GOOG", "'short'"),
    ("price a down-and-out call on GOOG, strike 800, 30 days", "GOOG", "'down-and-out'"),
    ("position size, short, risking 1% with entry 100 and stop 95", "", "'short'"),
    ("quarter kelly for 60% wins at 2:1", "", "'quarter'"),
    ("simulate a leveraged portfolio of AAPL and MSFT for 1 year", "AAPL,MSFT", "'leveraged'"),
    ("simulate a portfolio of AAPL and MSFT for 1 year, rebalanced monthly", "AAPL,MSFT", "'rebalanced'"),
    ("price a GOOG call, strike 800, 30 trading days", "GOOG", "'30 trading days'"),
    ("interval for 50% of GOOG in 30 days", "GOOG", "'50% of'"),
    ("find outliers in the volume of the GOOG data", "GOOG", "'volume'"),
]


@pytest.mark.parametrize(("text", "data", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_word_that_changes_the_question_is_not_dropped(
    text: str, data: str, words: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    answer = ask(text, data, sandbox, tmp_path)
    assert answer.kind == "asked" and not answer.numbers and answer.code is None, answer.text
    assert words in answer.text


# What is said, the data at hand, what the answer says and what it was read as.
MEANT = [
    ("weekly RSI of GOOG", "GOOG", "bars of 1w", "1w bars"),
    ("monthly correlation between AAPL and MSFT", "AAPL,MSFT", "log returns of 1mo closes", "1mo bars"),
    ("daily RSI of GOOG", "GOOG", "bars of 1d", "rsi on GOOG"),
    ("RSI of GOOG on 2010-05-06", "GOOG", "(period 14) on 2010-05-06", "2010-05-06"),
    ("95% interval for GOOG in 30 days without drift", "GOOG", "a mean log return of nothing", "without drift"),
    ("bootstrap GOOG 30 days with no drift", "GOOG", "a mean log return of nothing", "without drift"),
    ("chance that GOOG doubles in a year", "GOOG", "It ends above 1,612.38 in ", "twice the last close"),
    ("chance that GOOG halves in a year", "GOOG", "It ends below 403.10 in ", "half the last close"),
    ("probability that GOOG is below 700 in 30 days", "GOOG", "It ends below 700.00 in ", "ends below 700"),
    ("chance that GOOG falls in 10 days", "GOOG", ", and lower in ", "price interval"),
    (
        "I would love to know the odds that GOOG ends above 900 in 5 days",
        "GOOG",
        "It ends above 900",
        "above 900",
    ),
    ("Hello! Could you please tell me the RSI of GOOG? Thank you very much", "GOOG", "rsi of GOOG", "rsi on GOOG"),
    ("position size, short, risking 1% with entry 100 and stop 105", "", "sold short", "stop 105"),
]


@pytest.mark.parametrize(("text", "data", "words", "read_as"), MEANT, ids=[row[0] for row in MEANT])
def test_a_word_that_is_understood_is_answered(
    text: str, data: str, words: str, read_as: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    answer = ask(text, data, sandbox, tmp_path)
    assert answer.kind == "answered", answer.text
    assert words in answer.text and read_as in answer.read_as


def test_the_side_that_was_asked_about_is_the_one_that_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    below = ask("probability that GOOG is below 700 in 30 days", "GOOG", sandbox, tmp_path)
    above = ask("probability that GOOG is above 700 in 30 days", "GOOG", sandbox, tmp_path)
    chance, rest = below.numbers["p_below"], above.numbers["p_above"]
    assert chance is not None and rest is not None and chance + rest == pytest.approx(1.0)
    assert f"It ends below 700.00 in {100 * chance:.1f} % of them" in below.text and "above 700" not in below.text


# Prices that were not used are not named, although there are some.
GIVEN = [
    "kelly criterion with a 40% win rate and payoff 1",
    "risking 1% with entry 100 and stop 105",
    "price a put strike 100 spot 100 vol 20% expires in 30 days",
]


@pytest.mark.parametrize("text", GIVEN)
def test_prices_that_were_not_used_are_not_named(text: str, sandbox: Sandbox, tmp_path: Path) -> None:
    answer = ask(text, "GOOG", sandbox, tmp_path)
    assert answer.kind == "answered", answer.text
    assert "GOOG" not in answer.text and "Data: the numbers that were given, no prices" in answer.text
    assert answer.source is not None and answer.source.sha256 is None


def test_prices_that_stand_still_lose_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = "".join(f"2020-{1 + n // 28:02}-{1 + n % 28:02},50,50,50,50,10\n" for n in range(60))
    (tmp_path / "still.csv").write_text(f"date,open,high,low,close,volume\n{rows}")
    data = DataRequest(specs=(f"csv:{tmp_path}/still.csv",))
    answer = chat("95% VaR of the price in 10 days", desk=desk(sandbox, tmp_path), data=data)
    assert answer.kind == "answered", answer.text
    assert "-0.0 %" not in answer.text and "(VaR) is 0.0 %" in answer.text
