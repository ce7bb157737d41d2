"""The offline author on English as people write it: each request with the description it must become."""

from __future__ import annotations

import pytest

from ringfence.agents import open_agent
from ringfence.agents.brief import Brief, DataFacts, Reply
from ringfence.base.errors import SettingsError
from ringfence.trade.checked import check_text
from ringfence.trade.description.echo import echo
from ringfence.trade.description.model import (
    AllOf,
    Beyond,
    Compare,
    Cross,
    Description,
    Distance,
    Entry,
    Exit,
    FixedCash,
    Guards,
    Line,
    Number,
    OnSchedule,
    Pair,
    Partial,
    RiskPerTrade,
    Rotation,
    Scaled,
    Signals,
    Trail,
)

from tests.agents.read_requests import Asked, requests

TABLE = [
    *requests("rules"),
    *requests("plans"),
    *requests("phrasings"),
    *requests("framings"),
    *requests("constructs"),
    *requests("turns"),
]
UNSEEN = requests("unseen")
REFUSED = requests("refused")


def act(said: str, data: DataFacts | None = None) -> Reply:
    return open_agent("rules").act(Brief(role="code", idea=said, data=data or DataFacts()))


def ids(case: Asked) -> str:
    return case.said[:60]


def test_the_tables_are_as_long_as_they_claim() -> None:
    assert len(TABLE) >= 200
    assert len({case.said for case in [*TABLE, *UNSEEN, *REFUSED]}) == len(TABLE) + len(UNSEEN) + len(REFUSED)


@pytest.mark.parametrize("case", [*TABLE, *UNSEEN], ids=ids)
def test_a_request_is_read_as_it_is_meant(case: Asked) -> None:
    reply = act(case.said)
    assert reply.description is not None, reply.text
    assert echo(reply.description) == case.read
    assert reply.stop_reason == "end"
    assert reply.code is not None
    assert check_text(reply.code, name="compiled").ok


RSI = Line(name="rsi", values=(14,))
CLOSE = Line(name="close")
MACD = Line(name="macd", values=(12, 26, 9), part="line")
TYPED = {
    "Buy GOOG when RSI drops below 35, sell when it rises above 65": Description(
        symbols=("GOOG",),
        plan=Signals(
            entries=(Entry(side="long", when=Cross(left=RSI, direction="below", right=Number(value=35))),),
            exits=(Exit(side="long", when=Cross(left=RSI, direction="above", right=Number(value=65))),),
        ),
    ),
    "Buy when MACD crosses above its signal line; sell half at 5 %, rest with a 3 % trailing stop": Description(
        plan=Signals(
            entries=(
                Entry(
                    side="long",
                    when=Cross(
                        left=MACD, direction="above", right=Line(name="macd", values=(12, 26, 9), part="signal")
                    ),
                ),
            ),
            guards=Guards(
                partials=(Partial(portion=50, at=Distance(kind="percent", value=5)),),
                trail=Trail(distance=Distance(kind="percent", value=3), rest=True),
            ),
        ),
    ),
    "Go long if price breaks above the 20-day high, stop 2 ATR, risk 1% per trade": Description(
        plan=Signals(
            entries=(
                Entry(
                    side="long",
                    when=Cross(left=CLOSE, direction="above", right=Line(name="highest", values=(20,), ago=1)),
                ),
            ),
            guards=Guards(stop=Distance(kind="atr", value=2, period=14)),
            sizing=RiskPerTrade(percent=1),
        ),
    ),
    "Short when volume is more than twice its 20-day average and the close is 2% below its 50 day average": Description(
        plan=Signals(
            entries=(
                Entry(
                    side="short",
                    when=AllOf(
                        parts=(
                            Compare(
                                left=Line(name="volume"),
                                level="above",
                                right=Scaled(line=Line(name="volume_average", values=(20,)), times=2),
                            ),
                            Compare(
                                left=CLOSE,
                                level="at_most",
                                right=Beyond(line=Line(name="sma", values=(50,)), percent=-2),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
    "Invest $500 in GOOG every Monday": Description(
        symbols=("GOOG",),
        plan=Signals(
            entries=(Entry(side="long", when=OnSchedule(every="week", on="monday")),),
            sizing=FixedCash(amount=500),
            adds=True,
        ),
    ),
    "Every month hold the top 3 of AAPL, MSFT, IBM and GOOG by 6-month momentum": Description(
        symbols=("AAPL", "MSFT", "IBM", "GOOG"),
        plan=Rotation(count=3, rank=Line(name="roc", values=(126,)), rebalance=OnSchedule(every="month", on="first")),
    ),
    "Pairs trade KO and PEP: enter at 2 standard deviations, exit at 0.5, 60-day window": Description(
        symbols=("KO", "PEP"), plan=Pair(measure="ratio", period=60, entry=2, exit=0.5)
    ),
}


@pytest.mark.parametrize("said", TYPED, ids=lambda said: said[:60])
def test_the_description_is_these_values(said: str) -> None:
    assert act(said).description == TYPED[said]


@pytest.mark.parametrize("case", REFUSED, ids=ids)
def test_what_is_not_understood_is_refused_with_the_words(case: Asked) -> None:
    reply = act(case.said)
    assert reply.stop_reason == "refused", reply.text
    assert reply.code is None and reply.description is None
    assert reply.parsed is not None
    assert case.unread in str(reply.parsed["unread"])
    assert case.ask in reply.text
    assert str(reply.parsed["example"]) in reply.text
    assert act(str(reply.parsed["example"])).stop_reason == "end"


def test_a_typing_error_is_named_with_its_place_and_what_is_near() -> None:
    reply = act("Buy GOOG when RSI drosp below 30")
    assert reply.parsed is not None
    assert (reply.parsed["unread"], reply.parsed["place"]) == ("drosp", 18)
    assert "drops" in str(reply.parsed["near"])
    assert reply.parsed["understood"] == "Buy GOOG when RSI"


def test_a_cross_without_a_direction_is_asked_about() -> None:
    reply = act("Buy when the 10 EMA crosses the 30 EMA")
    assert reply.stop_reason == "refused"
    assert "crosses above" in str(reply.parsed and reply.parsed["choices"])


def test_and_with_or_is_asked_about_and_each_answer_is_understood() -> None:
    reply = act("Buy when RSI < 30 and ADX > 25 or volume is above average")
    assert reply.parsed is not None
    choices = reply.parsed["choices"]
    assert isinstance(choices, list) and len(choices) == 2
    readings = [act(f"Buy when {choice}").description for choice in choices]
    assert None not in readings and readings[0] != readings[1]


def test_small_letters_are_a_ticker_where_the_data_has_it() -> None:
    data = DataFacts(symbols=("GOOG",))
    said = "buy goog when rsi < 30, sell when rsi > 70"
    found = act(said, data).description
    assert found is not None and found.symbols == ("GOOG",)
    assert act(said).stop_reason == "refused"


def test_days_are_counted_in_the_bars_of_the_data() -> None:
    weekly = DataFacts(timeframe="1w")
    found = act("Buy when RSI < 30, exit after 3 weeks", weekly).description
    assert found is not None and isinstance(found.plan, Signals) and found.plan.guards.time_stop_bars == 3
    assert act("Buy when RSI < 30, exit after 3 days", weekly).stop_reason == "refused"
    hourly = DataFacts(timeframe="1h")
    found = act("Buy when RSI < 30, exit after 6 hours", hourly).description
    assert found is not None and isinstance(found.plan, Signals) and found.plan.guards.time_stop_bars == 6


def test_bars_that_are_named_are_those_of_the_data_or_are_asked_about() -> None:
    said = "XRP: buy when the 24 hour change is above 5%, exit after 12 hours. 1h bars."
    reply = act(said)
    assert reply.description is not None and isinstance(reply.description.plan, Signals)
    assert reply.description.plan.guards.time_stop_bars == 12
    assert any("written for 1h bars" in notice for notice in reply.notices)
    assert act(said, DataFacts(symbols=("XRP",), timeframe="1h")).description == reply.description
    refused = act(said, DataFacts(symbols=("XRP",), timeframe="1d"))
    assert refused.stop_reason == "refused"
    for chart in ("Buy when RSI < 30 on the 5 minute chart", "Buy when RSI(14) on the 1h chart is below 30"):
        assert act(chart, DataFacts(symbols=("XRP",))).stop_reason == "refused"
    daily = act("Daily chart. Buy when RSI < 30.", DataFacts(symbols=("XRP",), timeframe="1h"))
    assert "written for 1d bars, and the data has 1h bars" in daily.text


def test_a_name_is_the_ticker_that_the_data_has() -> None:
    said = "Buy bitcoin when RSI < 30, sell when RSI > 70"
    plain, listed = act(said).description, act(said, DataFacts(symbols=("BTC-USD", "ETH-USD"))).description
    assert plain is not None and plain.symbols == ("BTC",)
    assert listed is not None and listed.symbols == ("BTC-USD",)
    assert act("Buy apple when RSI < 30").stop_reason == "refused"  # a name has a capital


def test_vwap_within_a_day_is_that_of_the_session_and_the_reply_says_so() -> None:
    reply = act("5 minute bars. Buy when price is below VWAP, sell when price is above VWAP.")
    assert "below the session VWAP" in reply.text
    assert any("of the session" in notice for notice in reply.notices)


def test_the_reply_says_how_it_was_read_and_what_it_assumed() -> None:
    reply = act("Buy when RSI is oversold, sell when RSI is overbought")
    assert "I read this as: Buy when the 14-bar RSI is below 30." in reply.text
    assert any("oversold is read as below 30" in notice for notice in reply.notices)
    assert (reply.cost_usd, reply.model) == (0.0, "rules")


def test_the_same_words_give_the_same_program() -> None:
    said = "Buy when RSI < 30 with a 5% stop, sell when RSI > 70"
    assert act(said) == act(said)


def test_other_roles_and_options_are_refused() -> None:
    reply = open_agent("rules").act(Brief(role="judge", idea="Buy when RSI < 30"))
    assert reply.stop_reason == "refused" and reply.code is None
    with pytest.raises(SettingsError, match="rules has no option 'target'"):
        open_agent("rules:fast")
