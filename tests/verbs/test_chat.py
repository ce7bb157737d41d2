"""Chat: what is understood is worked out, what is missing is asked for, what is not understood is refused with what
would be; and watching changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.verbs.chat import Answer, Event, chat
from ringfence.verbs.chat.quoting import flatten, strange_numbers
from ringfence.verbs.simulate import DataRequest

from tests.verbs.asking import desk, samples
from tests.verbs.judged import STRATEGY_SANDBOX

GOOG = samples("GOOG")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def ask(text: str, sandbox: Sandbox, home: Path, data: DataRequest | None = GOOG) -> Answer:
    return chat(text, desk=desk(sandbox, home), data=data)


# What is said, the data at hand, the words of the reading, and numbers that must have been used as they were said.
UNDERSTOOD = [
    ("90 % interval for GOOG in 10 days", "GOOG", "90 % price interval for GOOG, 10 days", {"horizon_bars": 10}),
    ("80% interval over two weeks", "GOOG", "80 % price interval", {"horizon_bars": 10, "confidence": 0.8}),
    (
        "bootstrap goog 3 months ahead with 1,500 paths",
        "GOOG",
        "1,500 futures of a block bootstrap",
        {"horizon_bars": 63},
    ),
    ("99% VaR of GOOG over 10 trading days", "GOOG", "99 %", {"confidence": 0.99, "horizon_bars": 10}),
    ("probability that GOOG is above $900 in 30 days", "GOOG", "ends above 900", {"above": 900.0}),
    ("ninety-five percent interval for GOOG in thirty calendar days", "GOOG", "95 %", {"horizon_bars": 21}),
    (
        "simulate a portfolio of 60% AAPL and 30% MSFT for 1 year with $20k",
        "AAPL,MSFT",
        "60 % AAPL, 30 % MSFT",
        {"cash": 20_000.0},
    ),
    (
        "what will a 70/30 portfolio of AAPL and IBM be worth in 6 months?",
        "AAPL,IBM",
        "70 % AAPL, 30 % IBM",
        {"horizon_bars": 126},
    ),
    (
        "price a GOOG call, strike 800, expiring in 3 months, rate 5%",
        "GOOG",
        "a European call",
        {"strike": 800.0, "rate": 0.05},
    ),
    (
        "black scholes put: spot 100, strike 105, vol 20%, rate 5%, 1 year",
        "",
        "a European put",
        {"spot": 100.0, "volatility": 0.2},
    ),
    ("value of an at the money GOOG put, 45 days to expiry", "GOOG", "at the money", {"strike": 806.19}),
    ("correlation between AAPL and MSFT", "AAPL,MSFT", "correlation of AAPL with MSFT", {"observations": 3269}),
    ("beta of MSFT to AAPL", "AAPL,MSFT", "correlation of MSFT with AAPL", {"observations": 3269}),
    (
        "position size for a $50,000 account risking 1% with entry 100 and stop 95",
        "",
        "risk 0.01, entry 100, stop 95",
        {"fixed_units": 100.0, "equity": 50_000.0},
    ),
    ("kelly criterion with a 60% win rate and payoff 1", "", "win rate 0.6, payoff 1", {"kelly_fraction": 0.2}),
    ("half kelly for 60% wins at 2:1", "", "payoff 2", {"kelly_fraction": 0.4, "half_kelly_fraction": 0.2}),
    ("volatility target of 15% on GOOG with 100k", "GOOG", "target volatility 0.15", {"equity": 100_000.0}),
    (
        "compute a 14-period Ichimoku cloud for GOOG",
        "GOOG",
        "ichimoku of 14 bars on GOOG",
        {"conversion_parameter": 14},
    ),
    ("20 day moving average of GOOG", "GOOG", "sma of 20 bars", {"period_parameter": 20}),
    ("RSI of GOOG", "GOOG", "rsi on GOOG", {"period_parameter": 14}),
    ("simulate a portfolio with AAPL at 60% and 30% MSFT", "AAPL,MSFT", "60 % AAPL, 30 % MSFT", {"horizon_bars": 252}),
    ("chance that a portfolio of AAPL and MSFT loses 20% in 6 months", "AAPL,MSFT", "a loss of 20 %", {"ruin": 0.2}),
    (
        "How many shares of GOOG should I buy if I risk 1% of 80000 with a stop at 766.19?",
        "GOOG",
        "risk 0.01",
        {"fixed_units": 20.0},
    ),
    ("position sizing for GOOG: 1% risk, stop 5% below", "GOOG", "5 % below the last close", {"stop": 765.8805}),
    ("risk 2% of 100000, entry 50, stop loss 5%", "", "stop 47.5", {"fixed_units": 800.0}),
    ("risking 1% of a $25,000 account, buying at $50 with a $47 stop", "", "stop 47", {"equity": 25_000.0}),
    ("kelly: 60% win rate, 1.5 payoff ratio", "", "payoff 1.5", {"kelly_fraction": 1 / 3}),
    ("size a GOOG position for 10% annual volatility with $200k", "GOOG", "volatility 0.1", {"equity": 200_000.0}),
    ("European call: S=100, K=105, T=0.5, r=5%, sigma=20%", "", "expiring in 0.5 years", {"strike": 105.0}),
    ("put, 100 strike, stock at 102, 30 days to expiry, 25 vol, r=0.03", "", "rate 0.03", {"volatility": 0.25}),
    ("bollinger bands 20 2", "GOOG", "period 20, deviations 2", {"deviations_parameter": 2}),
    ("MACD 10/20/5", "GOOG", "fast 10, slow 20, signal 5", {"signal_parameter": 5}),
    ("portfolio monte carlo: 60% AAPL, 40% MSFT, 250k, 6 months", "AAPL,MSFT", "250,000.00", {"cash": 250_000.0}),
    ("find outliers in the GOOG data", "GOOG", "doubtful bars", {"observations": 2148}),
]


@pytest.mark.parametrize(("text", "data", "read_as", "numbers"), UNDERSTOOD, ids=[row[0] for row in UNDERSTOOD])
def test_what_is_understood_is_worked_out_with_the_numbers_that_were_said(
    text: str, data: str, read_as: str, numbers: dict[str, float], sandbox: Sandbox, home: Path
) -> None:
    answer = ask(text, sandbox, home, samples(data) if data else None)
    assert answer.kind == "answered", answer.text
    assert read_as in answer.read_as
    assert {name: answer.numbers.get(name) for name in numbers} == pytest.approx(numbers)
    for head in ("Horizon: ", "Assumptions: ", "Observations: ", "Data: "):
        assert f"\n{head}" in answer.text
    assert answer.code is not None and answer.limits is not None and answer.limits.memory_mb == 256
    assert answer.outcome is not None and answer.outcome.ok


UNCLEAR = [
    ("95 % interval in 30 days for the stock price", "", "Which instrument"),
    ("95 % interval for TSLA in 30 days", "GOOG", "TSLA is not in sample:GOOG"),
    ("95 % interval for AAPL and MSFT in 30 days", "AAPL,MSFT", "one instrument: which one"),
    ("95 % interval of the price in 30 days", "AAPL,MSFT", "which one do you mean"),
    ("95 % interval for GOOG in 30 days with 7 dwarfs", "GOOG", "'7'"),
    ("95 % interval for GOOG in 30 days, 3 sigma", "GOOG", "'3'"),
    ("99.99999% interval for GOOG in 30 days", "GOOG", "confidence"),
    ("price a GOOG option strike 800 in 30 days", "GOOG", "call or a put"),
    ("price a GOOG call or put option, strike 800, 30 days", "GOOG", "which of the two"),
    ("price a call option on GOOG with strike 800", "GOOG", "When does the option expire"),
    ("price a call option, strike 105, 30 days, spot 100", "", "spot and a volatility"),
    ("kelly criterion with a 60% win rate", "", "payoff"),
    ("chance that GOOG gains 60% in a year", "GOOG", "say the price"),
    ("probability of a 90% drop of GOOG in 30 days", "GOOG", "say the price"),
    ("fixed fraction with risk 1%", "", "no rule has all it needs"),
    ("simulate a 60/40 portfolio of AAPL, MSFT and IBM", "AAPL,MSFT,IBM", "two instruments"),
    ("portfolio of 50% AAPL and MSFT, simulate 1 year", "AAPL,MSFT", "which share is whose"),
    ("monte carlo on the trades of my strategy", "", "Which run"),
    ("14 period MACD of GOOG", "GOOG", "no single period"),
    ("bollinger bands 20, 2 years of GOOG", "GOOG", "'2'"),
    ("MACD 12/26/9/4 of GOOG", "GOOG", "fast, slow, signal"),
    ("correlation of AAPL, MSFT and IBM", "AAPL,MSFT,IBM", "which two"),
    ("a 14-period Ichimoku cloud", "", "Which instrument"),
    ("monte carlo simulation", "", "Which instrument"),
    ("correlation and beta", "", "Which 2 instruments"),
    ("option pricing with Greeks", "", "call or a put"),
    ("position sizing", "", "no rule has all it needs"),
    ("position sizing, 1% risk, 5% stop", "", "below which entry"),
    ("60/40 portfolio of AAPL and MSFT, 5 years, probability of ruin", "AAPL,MSFT", "at most 1,587 paths"),
]


@pytest.mark.parametrize(("text", "data", "question"), UNCLEAR, ids=[row[0] for row in UNCLEAR])
def test_what_is_missing_or_strange_is_asked_about(
    text: str, data: str, question: str, sandbox: Sandbox, home: Path
) -> None:
    answer = ask(text, sandbox, home, samples(data) if data else None)
    assert answer.kind == "asked"
    assert question in answer.text
    assert answer.code is None and not answer.numbers and answer.outcome is None


def test_what_no_template_does_is_refused_with_what_works(sandbox: Sandbox, home: Path) -> None:
    answer = ask("What is Tesla's business model?", sandbox, home, None)
    assert answer.kind == "refused" and answer.code is None
    for words in ("ringfence simulate monte-carlo", "ringfence indicator", "RINGFENCE_MODEL", "--model"):
        assert words in answer.text


def test_every_offer_of_a_refusal_is_understood() -> None:
    from ringfence.verbs.chat.intent import read_intent
    from ringfence.verbs.chat.refusals import OFFLINE

    assert [example for example, _ in OFFLINE if read_intent(example).intent in ("none", "idea")] == []


def test_a_strategy_in_words_is_sent_to_research(sandbox: Sandbox, home: Path) -> None:
    answer = ask("Buy AAPL when RSI drops below 35, sell when it rises above 65", sandbox, home, None)
    assert (answer.kind, answer.intent) == ("refused", "idea")
    assert "ringfence research" in answer.text


def test_prices_that_cannot_be_had_are_told(sandbox: Sandbox, home: Path) -> None:
    at = replace(desk(sandbox, home), environ={"YAHOO_API_URL": "http://127.0.0.1:9"})
    answer = chat("95 % interval for TSLA in 30 days", desk=at)
    assert answer.kind == "failed" and "no numbers to give" in answer.text and "TSLA" in answer.text
    assert not answer.numbers
    assert answer.intent == "price" and "95 % price interval for TSLA" in answer.read_as


def test_a_spec_in_the_text_is_the_data(sandbox: Sandbox, home: Path) -> None:
    answer = ask("correlation of sample:AAPL,MSFT", sandbox, home, None)
    assert answer.kind == "answered" and answer.source is not None
    assert answer.source.spec == "sample:AAPL,MSFT"


def test_a_company_is_taken_for_its_symbol_and_that_is_said(sandbox: Sandbox, home: Path) -> None:
    answer = ask("95% interval for Google's price in 5 days", sandbox, home)
    assert answer.kind == "answered" and "Google is taken for GOOG" in answer.read_as


@pytest.mark.parametrize(
    "text", ["95 % interval for GOOG in 30 days", "kelly with 55% wins", "tell me a joke", "RSI of GOOG"]
)
def test_watching_changes_nothing(text: str, sandbox: Sandbox, home: Path) -> None:
    seen: list[Event] = []
    plain = ask(text, sandbox, home)
    watched = chat(text, desk=desk(sandbox, home), data=GOOG, on_event=seen.append)
    assert steady(plain) == steady(watched)
    assert seen[-1] == Event(kind="text", text=plain.text)
    if plain.kind == "answered":
        assert plain.outcome is not None
        kinds = [event.kind for event in seen]
        assert kinds[:3] == ["read_as", "code", "limits"]
        assert [event.text for event in seen if event.kind == "code"] == [plain.code]
        assert "".join(event.text for event in seen if event.kind == "stdout") == plain.outcome.stdout != ""


def steady(answer: Answer) -> str:
    """All of it but what is measured."""
    document = answer.to_json()
    outcome = document["outcome"]
    if isinstance(outcome, dict):
        document["outcome"] = {k: v for k, v in outcome.items() if k in ("status", "stdout", "stderr", "error")}
    return json.dumps(document, sort_keys=True)


def test_numbers_are_compared_as_they_are_written() -> None:
    known = [808.9712, 0.1536, -0.0421, 2148, 1234567.8]
    for fine in ("808.97", "809", "15.4 %", "15.36%", "-4.2 %", "4.21", "2,148", "1,234,567.8", "1.2e6", "no number"):
        assert strange_numbers(fine, known) == [], fine
    for strange in ("808.98", "16 %", "-4.3", "2149", "7", "0"):
        assert strange_numbers(strange, known) == [strange.split()[0]], strange
    assert strange_numbers("in 30 days at 95 %", known, said="30 days, 95 %") == []
    assert flatten({"a": [1, {"b": 2.5}], "c": "x", "d": True, "e": None}) == {"a.0": 1, "a.1.b": 2.5}
