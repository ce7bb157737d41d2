"""Each rule of completeness and range, with a description that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringfence.evaluators.case import Case
from ringfence.evaluators.schema import create, problems
from ringfence.trade.description import model as m
from ringfence.trade.draft import read_draft

from tests.evaluators.built import case_of, make_bars
from tests.evaluators.texts import native

RSI = m.Line(name="rsi", values=(14,))
LOW = m.Compare(left=RSI, level="below", right=m.Number(value=35))
HIGH = m.Compare(left=RSI, level="above", right=m.Number(value=65))
FIVE = m.Distance(kind="percent", value=5)


def signals(when: m.Condition = LOW, exit_: m.Condition = HIGH, **more: object) -> m.Description:
    entries = (m.Entry(side="long", when=when),)
    plan = m.Signals(entries=entries, exits=(m.Exit(side="long", when=exit_),))
    return m.Description(plan=replace(plan, **more), symbols=("GOOG",))  # type: ignore[arg-type]  # fields of Signals


def guarded(**guards: object) -> m.Description:
    return signals(guards=m.Guards(**guards))  # type: ignore[arg-type]  # fields of Guards


def line(name: str, *values: float, **more: object) -> m.Description:
    held = m.Line(name=name, values=values, **more)  # type: ignore[arg-type]  # fields of Line
    return signals(m.Compare(left=held, level="above", right=m.Line(name="close")))


def plan(what: m.Plan, *symbols: str) -> m.Description:
    return m.Description(plan=what, symbols=symbols)


def level(name: str, value: float, *values: float) -> m.Description:
    return signals(m.Cross(left=m.Line(name=name, values=values), direction="above", right=m.Number(value=value)))


WEIGHTS = m.Allocation(weights=(60, 40))
RANK = m.Line(name="roc", values=(20,))

# what is fine, what is not, and a word of what is said of it
CASES: list[tuple[m.Description, m.Description, str]] = [
    (line("rsi", 14), line("rsi", 1), "period of 1"),
    (line("rsi", 14), line("rsi", 14.5), "a whole number"),
    (line("rsi", 14), line("rsi"), "0 settings"),
    (line("rsi", 14), line("nothing", 14), "no indicator"),
    (line("macd", 12, 26, 9, part="line"), line("macd", 26, 12, 9, part="line"), "swap them"),
    (line("macd", 12, 26, 9, part="line"), line("macd", 12, 26, 9, part="middle"), "no part"),
    (line("close"), line("close", ago=-1), "ahead"),
    (level("rsi", 35, 14), level("rsi", 135, 14), "goes from 0 to 100"),
    (level("williams_r", -80, 14), level("williams_r", 80, 14), "goes from -100 to 0"),
    (
        signals(m.Between(left=RSI, low=m.Number(value=30), high=m.Number(value=40))),
        signals(m.Between(left=RSI, low=m.Number(value=40), high=m.Number(value=30))),
        "nothing lies between",
    ),
    (guarded(stop=FIVE), guarded(stop=m.Distance(kind="percent", value=0)), "above 0"),
    (guarded(stop=FIVE), guarded(stop=m.Distance(kind="percent", value=100)), "never reached"),
    (guarded(stop=FIVE), guarded(stop=m.Distance(kind="risk", value=2)), "multiple of itself"),
    (
        guarded(stop=FIVE, target=m.Distance(kind="risk", value=2)),
        guarded(target=m.Distance(kind="risk", value=2)),
        "needs a stop",
    ),
    (
        guarded(stop=m.Distance(kind="atr", value=2, period=14)),
        guarded(stop=m.Distance(kind="atr", value=2)),
        "give its period",
    ),
    (
        guarded(partials=(m.Partial(portion=50, at=FIVE), m.Partial(portion=50, at=FIVE))),
        guarded(partials=(m.Partial(portion=60, at=FIVE), m.Partial(portion=50, at=FIVE))),
        "110 %",
    ),
    (guarded(partials=(m.Partial(portion=50, at=FIVE),)), guarded(partials=(m.Partial(portion=0, at=FIVE),)), "of 0 %"),
    (
        guarded(partials=(m.Partial(portion=50, at=FIVE),), trail=m.Trail(distance=FIVE, rest=True)),
        guarded(trail=m.Trail(distance=FIVE, rest=True)),
        "needs a partial exit",
    ),
    (guarded(time_stop_bars=5), guarded(time_stop_bars=-5), "time stop"),
    (
        guarded(stop=FIVE, break_even=m.BreakEven(after=m.Distance(kind="risk", value=1))),
        guarded(break_even=m.BreakEven(after=m.Distance(kind="risk", value=1))),
        "needs a stop",
    ),
    (
        guarded(partials=(m.Partial(portion=50, at=FIVE),), break_even=m.BreakEven()),
        guarded(break_even=m.BreakEven()),
        "needs a partial exit",
    ),
    (
        signals(exits=(m.Exit(side="long", when=HIGH, portion=50), m.Exit(side="long", when=LOW, portion=50))),
        signals(exits=(m.Exit(side="long", when=HIGH, portion=50), m.Exit(side="long", when=LOW, portion=60))),
        "110 %",
    ),
    (signals(), signals(exits=(m.Exit(side="long", when=HIGH, portion=150),)), "150 %"),
    (signals(), signals(exits=(m.Exit(side="short", when=HIGH),)), "no entry into one"),
    (signals(), signals(entries=()), "no entry"),
    (guarded(stop=FIVE), signals(exits=()), "no way out"),
    (signals(exits=(), adds=True), signals(exits=()), "no way out"),
    (signals(sizing=m.PercentOfEquity(percent=50)), signals(sizing=m.PercentOfEquity(percent=150)), "150 %"),
    (signals(sizing=m.FixedCash(amount=500)), signals(sizing=m.FixedCash(amount=0)), "position of 0"),
    (signals(sizing=m.FixedShares(count=5)), signals(sizing=m.FixedShares(count=-5)), "position of -5"),
    (
        signals(sizing=m.RiskPerTrade(percent=1), guards=m.Guards(stop=FIVE)),
        signals(sizing=m.RiskPerTrade(percent=1)),
        "needs a stop",
    ),
    (
        signals(sizing=m.RiskCash(amount=500), guards=m.Guards(stop=FIVE)),
        signals(sizing=m.RiskCash(amount=500)),
        "needs a stop",
    ),
    (signals(m.Trend(line=RSI, way="up", bars=3)), signals(m.Trend(line=RSI, way="up", bars=0)), "0 bars"),
    (signals(m.EveryBars(bars=5)), signals(m.EveryBars(bars=0)), "0 bars"),
    (signals(m.OnWeekdays(days=("monday",))), signals(m.OnWeekdays(days=("payday",))), "no weekday"),
    (signals(m.InHours(start="09:30", end="16:00")), signals(m.InHours(start="16:00", end="09:30")), "no time"),
    (signals(m.AllOf(parts=(LOW,))), signals(m.AllOf(parts=())), "at least one"),
    (plan(WEIGHTS, "A", "B"), plan(WEIGHTS, "A"), "one for each"),
    (plan(WEIGHTS, "A", "B"), plan(m.Allocation(weights=(60, 50)), "A", "B"), "110 %"),
    (plan(WEIGHTS, "A", "B"), plan(WEIGHTS, "A", "A"), "named twice"),
    (plan(m.Rotation(count=2, rank=RANK), "A", "B"), plan(m.Rotation(count=3, rank=RANK), "A", "B"), "3 of 2"),
    (plan(m.Pair(), "A", "B"), plan(m.Pair(), "A"), "name two"),
    (plan(m.Pair(), "A", "B"), plan(m.Pair(entry=1, exit=2), "A", "B"), "further out"),
    (plan(m.Pair(stop=4), "A", "B"), plan(m.Pair(stop=1), "A", "B"), "further out"),
    (signals(), replace(signals(), version=99), "version 99"),
]


@pytest.mark.parametrize(("fine", "wrong", "told"), CASES, ids=range(len(CASES)))
def test_a_rule_finds_its_fault_and_nothing_like_it(fine: m.Description, wrong: m.Description, told: str) -> None:
    assert problems(fine) == []
    assert any(told in sentence for sentence in problems(wrong)), problems(wrong)
    draft = read_draft(native(), name="x")
    verdict = create().judge(Case(idea="", draft=draft, description=wrong))
    assert verdict.status == "failed"
    assert create().judge(Case(idea="", draft=draft, description=fine)).status in ("passed", "warning")


def test_a_line_that_the_data_is_too_short_for_fails() -> None:
    words = "Buy GOOG when the close is above the 50 day sma. Stop loss 5 %."
    assert create().judge(case_of(words, make_bars(rows=80))).status == "passed"
    short = create().judge(case_of(words, make_bars(rows=40)))
    assert short.errors == ("the 50-bar SMA needs 51 bars and there are 40: load a longer stretch",)


def test_what_makes_little_sense_is_a_warning() -> None:
    same = create().judge(Case(idea="", draft=read_draft(native(), name="x"), description=signals(LOW, LOW)))
    assert (same.status, len(same.warnings)) == ("warning", 1)
    short = m.Signals(entries=(m.Entry(side="short", when=HIGH),), exits=(m.Exit(side="short", when=LOW),))
    naked = create().judge(Case(idea="", draft=read_draft(native(), name="x"), description=m.Description(plan=short)))
    assert "has no end" in naked.warnings[0]


def test_parameters_are_held_to_the_ranges_they_declare() -> None:
    def judged(value: str) -> str:
        draft = read_draft(native(attributes=f"p = param({value}, 1, 20)", init="self.p"), name="x")
        return create().judge(Case(idea="", draft=draft)).status

    assert judged("5") == "warning"  # the rules are only in the program
    assert judged("50") == "failed"
    case = case_of("Buy GOOG when RSI drops below 35, sell when it rises above 65", parameters={"entry_rsi": 49})
    assert create().judge(case).status == "passed"
    case = case_of("Buy GOOG when RSI drops below 35, sell when it rises above 65", parameters={"entry_rsi": 51})
    assert create().judge(case).errors == (
        "entry_rsi=51 is above its range, which ends at 50: change the value or its range",
    )
