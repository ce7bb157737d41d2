"""Every number, ticker and rule that was asked for is looked for, in programs of ours and of others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringfence.evaluators.case import Case
from ringfence.evaluators.parameters import create
from ringfence.evaluators.verdict import Verdict
from ringfence.testing.evaluator import look
from ringfence.trade.description.code import to_code
from ringfence.trade.draft import read_draft

from tests.evaluators.built import case_of, describe, make_bars

RSI = "Buy GOOG when RSI drops below 35, sell when it rises above 65"
GUARDED = "Buy GOOG when RSI is below 35. Stop loss 3 %. Take profit 8 %. Trailing stop 6 %."
OTHER = """\
import talib
from ringfence import Strategy

OVERSOLD = 35


class Mine(Strategy):
    def init(self):
        self.strength = self.I(talib.RSI, self.data.close, timeperiod=14)

    def next(self):
        price = self.data.close[-1]
        if not self.position and self.strength[-2] >= OVERSOLD > self.strength[-1]:
            self.buy()
        elif self.position and self.strength[-1] > 65:
            self.position.close()
"""


def judged(
    words: str, text: str | None = None, *, described: bool = True, symbols: tuple[str, ...] = ("GOOG",)
) -> Verdict:
    """Of a program that was not run: only its text counts."""
    description = describe(words)
    draft = read_draft(text or to_code(description), name="dip")
    bars = make_bars(symbols, rows=60)
    case = Case(idea=words, draft=draft, description=description if described else None, bars=bars)
    return create().judge(look(case))


def changed(words: str, before: str, after: str) -> str:
    text = to_code(describe(words))
    assert before in text, text
    return text.replace(before, after)


@pytest.mark.parametrize(
    "words",
    [
        RSI,
        GUARDED,
        "Buy GOOG when the 10 day sma crosses above the 30 day sma, stop 2 times ATR, target 3 times the risk",
        "Buy GOOG when the close falls 3 % in 4 days. Sell after 5 days.",
        "Buy GOOG when RSI is below 40. Sell half at 5 %, the rest with a 3 % trailing stop.",
        "Buy GOOG when the close is above the 20 day sma for 3 days in a row. Exit after 9 days.",
        "Buy GOOG when volume is above 1.2 times its 20 day average, stop loss 4 %",
        "Sell short GOOG when RSI is above 65. Cover when RSI drops below 45.",
        "Buy GOOG when the price closes below the lower Bollinger band, sell 30 % when RSI is above 55. Stop loss 9 %.",
    ],
)  # fmt: skip
def test_our_own_programs_have_all_that_was_asked_for(words: str) -> None:
    verdict = judged(words)
    assert (verdict.status, verdict.errors, verdict.score) == ("passed", (), 1.0)
    assert verdict.details["by"] == "description"


@pytest.mark.parametrize(
    ("words", "before", "after", "told"),
    [
        ("Buy GOOG with 20 % of the account when RSI is below 45", "param(0.2, ", "param(0.3, ", "20 %"),
        ("Buy 30 shares of GOOG when RSI is below 45", "shares = param(30, ", "shares = param(31, ", "30 shares"),
        ("Buy GOOG when RSI is between 30 and 45", "low_rsi = param(30, 15", "low_rsi = param(20, 15", "30"),
        ("Buy GOOG when RSI is between 30 and 45", "high_rsi = param(45, 30", "high_rsi = param(50, 30", "45"),
        ("Buy GOOG when the price is 3 % below the 20-day moving average", "param(0.03, ", "param(0.04, ", "3 % away"),
        ("Buy GOOG when RSI is below 45 and the price is above the 20-day sma", "param(20, ", "param(21, ", "20"),
        ("Buy GOOG when RSI is below 45, with a volatility target of 15 %", "param(15, ", "param(16, ", "15"),
    ],
)  # fmt: skip
def test_sizes_bounds_margins_and_both_halves_of_a_condition_are_looked_for(
    words: str, before: str, after: str, told: str
) -> None:
    asked = f"{words}. Sell when RSI is above 55."
    assert judged(asked).status == "passed"
    wrong = judged(asked, changed(asked, before, after))
    assert wrong.status == "failed" and told in wrong.errors[0]


def test_rsi_99_for_a_requested_35_fails() -> None:
    verdict = judged(RSI, changed(RSI, "entry_rsi = param(35, 20, 50)", "entry_rsi = param(99, 20, 99)"))
    assert verdict.status == "failed"
    assert verdict.errors == ("RSI below 35 was asked for and the program has 65, 99: write 35",)
    assert verdict.score < 0.5


def test_a_number_that_stands_elsewhere_does_not_count() -> None:
    text = changed(RSI, "entry_rsi = param(35, 20, 50)", "entry_rsi = param(99, 20, 99)\n    unused = 35")
    assert judged(RSI, text).status == "failed"


def test_the_range_of_a_parameter_does_not_count() -> None:
    text = changed(RSI, "entry_rsi = param(35, 20, 50)", "entry_rsi = param(36, 35, 50)")
    assert judged(RSI, text).status == "failed"


def test_the_value_that_the_run_had_counts() -> None:
    case = case_of(RSI)
    assert create().judge(case).status == "passed"
    assert create().judge(case_of(RSI, parameters={"entry_rsi": 30})).errors == (
        "RSI below 35 was asked for and the program has 30, 65: write 35",
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("stop = param(0.03", "stop = param(0.05", "a stop of 3 % was asked for and the program has 5 %: write 0.03"),
        ("target = param(0.08", "target = param(0.8", "a target of 8 % was asked for"),
        ("trail = param(0.06", "trail = param(0.006", "a trailing stop of 6 % was asked for and the program has 0.6 %"),
        (", sl=self.stop", "", None),
    ],
)
def test_guards_are_looked_for_in_their_own_place(before: str, after: str, told: str | None) -> None:
    verdict = judged(GUARDED, changed(GUARDED, before, after))
    if told is None:  # the number is still a parameter called stop
        assert verdict.status == "passed"
        return
    assert verdict.status == "failed"
    assert verdict.errors[0].startswith(told)


def test_a_missing_ticker_fails() -> None:
    words = "Buy AAPL and MSFT when RSI drops below 35, sell when it rises above 65"
    assert judged(words, symbols=("AAPL", "MSFT")).status == "passed"
    short = judged(words, symbols=("AAPL",))
    assert short.errors == ("MSFT was asked for and the data has AAPL: load MSFT too",)
    text = changed(words, 'SYMBOLS = ("AAPL", "MSFT")', 'SYMBOLS = ("AAPL",)')
    assert judged(words, text, symbols=("AAPL", "MSFT")).errors == (
        "MSFT was asked for and the program never trades it: name it",
    )


def test_a_program_for_one_instrument_need_not_name_it() -> None:
    assert judged(RSI, OTHER).status == "passed"
    other = judged(RSI, OTHER, symbols=("AAPL", "GOOG"))
    assert other.errors == ("GOOG was asked for and the program never trades it: name it",)
    nowhere = create().judge(look(Case(idea=RSI, draft=read_draft(OTHER, name="x"), description=describe(RSI))))
    assert (nowhere.status, nowhere.errors) == ("warning", ())


def test_somebody_elses_program_is_read_too() -> None:
    assert judged(RSI, OTHER).score == 1.0
    assert judged(RSI, OTHER.replace("OVERSOLD = 35", "OVERSOLD = 53")).status == "failed"
    assert judged(RSI, OTHER.replace("timeperiod=14", "timeperiod=21")).status == "warning"
    said = judged(
        "Buy GOOG when the 14 day RSI drops below 35, sell when it rises above 65", OTHER.replace("=14", "=21")
    )
    assert said.errors == ("RSI with a period of 14 was asked for and the program has 21: write 14",)


def test_an_indicator_that_is_not_there_fails() -> None:
    text = OTHER.replace("talib.RSI", "talib.CCI").replace("35", "35.0")
    assert "the RSI was asked for and is not in the program: compute it" in judged(RSI, text).errors


def test_a_missing_rule_fails() -> None:
    assert judged("Sell short GOOG when RSI is above 65. Cover when RSI is below 35.", OTHER).errors == (
        "a short position was asked for and the program never orders it: add it",
    )
    assert "an exit was asked for" in judged(RSI, OTHER.replace("self.position.close()", "pass")).errors[0]


def test_the_other_side_of_a_level_is_a_doubt() -> None:
    verdict = judged("Buy GOOG when RSI is below 35. Sell when RSI is above 65.", OTHER.replace("> 65", "< 65"))
    assert verdict.status == "warning"
    assert verdict.warnings[0].startswith("RSI above 65 was asked for and the program asks for the other side")


def test_docstrings_are_no_program() -> None:
    text = '"""RSI below 35, GOOG"""\n' + OTHER.replace("35", "53")
    assert judged(RSI, text).status == "failed"


WORDS = "Buy $KO when RSI(9) falls under 27.5 and get out 4 % higher or after 3 months, from 2019 on"


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ((9, 27.5, 0.04, 63), []),
        ((9, 72.5, 0.04, 63), ["27.5"]),
        ((9, 27.5, 0.05, 63), ["4 %"]),
        ((9, 27.5, 1.04, 3), []),
        ((8, 27.5, 0.04, 60), ["9"]),
    ],
)
def test_words_that_nobody_understood_are_searched_for_their_numbers(
    numbers: tuple[float, ...], missing: list[str]
) -> None:
    period, low, gain, hold = numbers
    text = OTHER.replace("35", f"{low}").replace("14", f"{period}").replace("> 65", f"> 50 * {gain} or {hold}")
    case = Case(idea=WORDS, draft=read_draft(text, name="x"), bars=make_bars(("KO",), rows=60))
    verdict = create().judge(look(case))
    assert [error.partition(" was asked")[0] for error in verdict.errors] == missing
    assert verdict.details["by"] == "words"
    assert verdict.status == ("failed" if missing else "warning")
    moved = create().judge(look(replace(case, bars=make_bars(("PEP",), rows=60))))
    assert "KO was asked for and the data has PEP: load KO too" in moved.errors


def test_words_without_anything_to_look_for_are_skipped() -> None:
    case = Case(idea="make me rich", draft=read_draft(OTHER, name="x"))
    assert create().judge(case).status == "skipped"
