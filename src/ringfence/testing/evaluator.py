"""EvaluatorSuite: what every evaluator must do, as named tests that an evaluator's test class inherits.

    class TestMine(EvaluatorSuite):
        @pytest.fixture
        def evaluator(self) -> Evaluator:
            return create()

The cases are odd on purpose: half a run, no run, bars of something else, words that nobody understands. Whatever is
given, an evaluator answers with a verdict. One that is `about_trading` never passes what traded nothing. A behaviour
that an evaluator cannot have is declared in `known_gaps` with its reason, and is then expected to fail.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from functools import cache
from types import MappingProxyType
from typing import ClassVar, get_args

import numpy as np
import pytest

from ringfence.evaluators.case import Case
from ringfence.evaluators.verdict import Evaluator, Kind, Status, Verdict
from ringfence.testing.runs import make_metrics, make_run, make_trade
from ringfence.testing.suite import Suite
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.description import model as m
from ringfence.trade.draft import Draft, read_draft
from ringfence.trade.lint.findings import lint
from ringfence.trade.orders import Trade
from ringfence.trade.run import BarsRef, Curve, EngineRef, Failing, Lookahead, Run
from ringfence.trade.times import DAY, parse_moment
from ringfence.trade.written import read_program

IDEA = "Buy GOOG when RSI drops below 35, sell when it rises above 65"
PROGRAM = """\
from ringfence import Strategy, crossover, crossunder, rsi


class Dip(Strategy):
    def init(self):
        self.rsi = self.I(rsi, self.data.close, 14)

    def next(self):
        if not self.position and crossunder(self.rsi, 35):
            self.buy()
        elif self.position and crossover(self.rsi, 65):
            self.position.close()
"""
SCRIPT = """\
from backtesting import Backtest, Strategy
from backtesting.test import GOOG


class Dip(Strategy):
    def init(self):
        pass

    def next(self):
        self.buy(sl=self.data.Close[-1] * 0.97)


print(Backtest(GOOG, Dip).run())
"""
DEEP = (
    "from ringfence import Strategy\nclass A(Strategy):\n    x = " + "-" * 60 + "1\n    def next(self):\n        y = "
)
HOSTILE = (
    "",
    " \n\t",
    "\0",
    "\ud800",
    "{idea} %s 99 %",
    "купить, wenn der RSI fällt 📈 -1e999 %",
    "9" * 400,
    "buy 5 " * 5_000,
)

_RSI = m.Line(name="rsi", values=(14,))
_RULES = m.Description(
    plan=m.Signals(
        entries=(m.Entry(side="long", when=m.Cross(left=_RSI, direction="below", right=m.Number(value=35))),),
        exits=(m.Exit(side="long", when=m.Cross(left=_RSI, direction="above", right=m.Number(value=65))),),
    ),
    symbols=("GOOG",),
)


def look(case: Case) -> Case:
    """With what is to be seen in its text, which is ours: anybody else's is looked at behind the fence."""
    given = case.run.draft.parameters if case.run is not None else {}
    return replace(case, findings=lint(case.draft), written=read_program(case.draft, given))


@cache
def odd_cases() -> Mapping[str, Case]:
    """Made once: each is a value."""
    draft, bars = read_draft(PROGRAM, name="dip"), _bars()
    run = make_run(draft=replace(make_run().draft, sha256=draft.sha256, parameters={}))
    on_bars = replace(run, bars=replace(_bars_ref(run), sha256=bars.sha256))
    whole = Case(idea=IDEA, draft=draft, description=_RULES, run=on_bars, bars=bars)
    failed = replace(
        run, verdict="failed", reason="ValueError: x", metrics=None, trades=(), fills=(), orders=(), equity=None,
        outcome=replace(run.outcome, status="error", failing=Failing(type="ValueError", message="x", line=3, bar=0,
                                                                     time=0, traceback="")),
    )  # fmt: skip
    claimed = replace(
        run, provenance="claimed", fills=(), orders=(), bars=None, statistics={"Sharpe Ratio": None},
        engine=EngineRef(version="1", rules=None, fed="history", libraries={}),
    )  # fmt: skip
    cases = {
        "nothing but a program": Case(idea="", draft=draft),
        "whole": whole,
        "other bars": replace(whole, run=run),
        "no bars": replace(whole, bars=None),
        "failed": replace(whole, run=failed),
        "nothing traded": replace(whole, run=_idle(on_bars)),
        "claimed": replace(whole, run=claimed, description=None),
        "mismatch": replace(whole, run=replace(on_bars, provenance="mismatch")),
        "suspect": replace(whole, run=replace(on_bars, lookahead=Lookahead(status="suspect", reason="x"))),
        "not checked": replace(whole, run=replace(on_bars, lookahead=Lookahead(status="not_checked", reason=""))),
        "numbers that are none": replace(whole, run=_broken(on_bars)),
        "a script": replace(whole, draft=read_draft(SCRIPT, name="script"), run=claimed),
        "deep": replace(whole, draft=_deep()),
        "reruns": replace(
            whole, reruns={"holdout": failed, "perturbed:low=3": on_bars, "costs_doubled": _idle(run), "?": run}
        ),
        "indicators": replace(whole, indicators={"rsi": (None, math.nan, 3.0), "": ()}),
    }
    for n, trade in enumerate(_odd_trades()):
        cases[f"odd trade {n}"] = replace(whole, run=replace(on_bars, trades=(trade,)))
    for n, plan in enumerate(_odd_plans()):
        cases[f"odd plan {n}"] = replace(whole, description=m.Description(plan=plan))
        cases[f"odd plan {n} of strangers"] = replace(whole, description=m.Description(plan=plan, symbols=("A", "B")))
        cases[f"odd plan {n} of ours"] = replace(whole, description=m.Description(plan=plan, symbols=("GOOG", "KO")))
    for n, words in enumerate(HOSTILE):
        cases[f"words {n}"] = replace(whole, idea=words, description=None)
    seen = {f"{name}, looked at": look(case) for name, case in cases.items()}
    return MappingProxyType({**cases, **seen})


def _bars() -> Bars:
    days = np.arange(40, dtype=np.int64)
    close = 1000 + 100 * np.sin(days / 3.0)
    made = {
        symbol: Candles(parse_moment("2020-01-01") + days * DAY, close, close + 5, close - 5, close, close)
        for symbol in ("GOOG", "KO")
    }
    return Bars(candles=made, timeframe="1d", source="synthetic:odd")


def _bars_ref(run: Run) -> BarsRef:
    assert run.bars is not None
    return run.bars


def _idle(run: Run) -> Run:
    metrics = make_metrics(trades=0, total_return=0.0, final_equity=100_000.0, fees=0.0, win_rate=None)
    return replace(run, verdict="no_trades", trades=(), fills=(), orders=(), metrics=metrics)


def _broken(run: Run) -> Run:
    metrics = make_metrics(sharpe=math.nan, total_return=math.inf, win_rate=7.0, max_drawdown=0.5, fees=-1.0)
    empty = Curve(np.array([], dtype=np.int64), np.array([]))
    return replace(run, metrics=metrics, equity=empty)


def _deep() -> Draft:
    return read_draft(DEEP + "(" * 80 + "1" + "+ 1)" * 80 + "\n", name="deep")


def _odd_trades() -> tuple[Trade, ...]:
    first = make_trade()
    return (
        make_trade(qty=0.0),
        make_trade(entry_price=0.0),
        make_trade(exit_time=first.entry_time - DAY),
        make_trade(exit_price=None),
        make_trade(symbol="NONE"),
        make_trade(entry_time=0, exit_time=None, exit_price=None),
        make_trade(pnl=math.nan, pnl_pct=math.nan),
    )


def _odd_plans() -> tuple[m.Plan, ...]:
    strange = m.Compare(left=m.Line(name="rsi", values=(0,)), level="above", right=m.Number(value=1e9))
    unset = m.Compare(left=m.Line(name="macd"), level="below", right=m.Line(name="nothing", values=(1,)))
    far = m.Compare(left=m.Line(name="sma", values=(5_000,)), level="below", right=m.Line(name="close", ago=99))
    guards = m.Guards(
        stop=m.Distance(kind="risk", value=0), trail=m.Trail(distance=m.Distance(kind="price", value=5), rest=True)
    )
    return (
        m.Signals(entries=()),
        m.Signals(entries=(m.Entry(side="long", when=strange),)),
        m.Signals(entries=(m.Entry(side="short", when=unset),)),
        m.Signals(entries=(m.Entry(side="long", when=m.Not(part=far)),), guards=guards),
        m.Signals(entries=(m.Entry(side="long", when=m.AllOf(parts=())),)),
        m.Signals(entries=(m.Entry(side="long", when=m.EveryBars(bars=0)),)),
        m.Signals(entries=(m.Entry(side="long", when=m.OnWeekdays(days=("someday",))),)),
        m.Signals(entries=(m.Entry(side="long", when=m.InHours(start="late", end="early")),)),
        m.Signals(
            entries=(
                m.Entry(side="long", when=m.Compare(left=m.Line(name="close", symbol="X"), level="above", right=_RSI)),
            )
        ),
        m.Allocation(weights=(50, 60, 70)),
        m.Rotation(count=0, rank=m.Line(name="roc", values=(-1,))),
        m.Pair(period=0, entry=-1, exit=3),
    )


class EvaluatorSuite(Suite):
    about_trading: ClassVar[bool] = False

    @property
    def cases(self) -> Mapping[str, Case]:
        return odd_cases()

    def test_it_has_a_name_and_a_kind(self, evaluator: Evaluator) -> None:
        assert evaluator.name.isidentifier()
        assert evaluator.kind in get_args(Kind)

    def test_every_case_gets_a_verdict(self, evaluator: Evaluator) -> None:
        for name, case in self.cases.items():
            verdict = evaluator.judge(case)
            assert (verdict.name, verdict.kind) == (evaluator.name, evaluator.kind), name
            assert verdict.status in get_args(Status), name
            assert 0 <= verdict.score <= 1, name

    def test_a_status_agrees_with_what_is_said(self, evaluator: Evaluator) -> None:
        for name, case in self.cases.items():
            verdict = evaluator.judge(case)
            assert bool(verdict.errors) == (verdict.status in ("failed", "error")), name
            if verdict.errors:
                assert verdict.score < 0.5, name
            elif verdict.status != "passed":
                assert verdict.warnings, name

    def test_an_error_says_what_to_do(self, evaluator: Evaluator) -> None:
        for name, case in self.cases.items():
            verdict = evaluator.judge(case)
            if verdict.kind == "model" and verdict.status == "failed" and case.traded:
                continue  # these are the model's own words
            for sentence in verdict.errors:
                what, colon, remedy = sentence.rpartition(": ")
                assert colon and what.strip() and remedy.strip(), f"{name}: no remedy in {sentence!r}"

    def test_the_same_case_gets_the_same_verdict(self, evaluator: Evaluator) -> None:
        for name, case in self.cases.items():
            assert evaluator.judge(case).to_json() == evaluator.judge(case).to_json(), name

    def test_a_case_is_left_as_it_was(self, evaluator: Evaluator) -> None:
        for name in ("whole", "reruns", "indicators"):
            before = repr(self.cases[name])
            evaluator.judge(self.cases[name])
            assert repr(self.cases[name]) == before, name

    def test_a_verdict_is_json(self, evaluator: Evaluator) -> None:
        for name, case in self.cases.items():
            verdict = evaluator.judge(case).to_json()
            assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict, name

    def test_a_verdict_is_frozen(self, evaluator: Evaluator) -> None:
        verdict: Verdict = evaluator.judge(odd_cases()["whole"])
        with pytest.raises(FrozenInstanceError):
            verdict.score = 1.0  # type: ignore[misc]
        with pytest.raises(TypeError):
            verdict.details["x"] = 1  # type: ignore[index]

    def test_what_traded_nothing_never_passes(self, evaluator: Evaluator) -> None:
        verdict = evaluator.judge(odd_cases()["nothing traded"])
        assert not self.about_trading or verdict.status == "failed"
