"""The panel over what a real backtest hands it, behind the fence and on real prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence import open_sandbox
from ringfence.evaluators.case import Case
from ringfence.evaluators.panel import evaluate
from ringfence.sandbox import Sandbox
from ringfence.testing.evaluator import look
from ringfence.trade.description.code import to_code
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Costs, FillRules

from tests.evaluators.built import describe
from tests.verbs.judged import STRATEGY_SANDBOX, judge, on_each_bar, sample

WORDS = "Buy GOOG when RSI is below 40. Sell half at 5 %, the rest with a 3 % trailing stop. Stop loss 4 %."


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


def test_a_compiled_idea_passes_on_real_prices(sandbox: Sandbox) -> None:
    description, bars = describe(WORDS), sample("GOOG")
    text = to_code(description)
    run = judge(sandbox, text, bars)
    reruns = {
        "holdout": judge(sandbox, text, sample("GOOG", start="2011-01-01"), lookahead=False),
        "costs_doubled": judge(
            sandbox, text, bars, rules=FillRules(costs=Costs(percent=0.002, slippage_bps=4.0)), lookahead=False
        ),
        "perturbed:entry_rsi=42": judge(sandbox, text, bars, parameters={"entry_rsi": 42}, lookahead=False),
    }
    case = Case(
        idea=WORDS, draft=read_draft(text, name="judged"), description=description, run=run, bars=bars, reruns=reruns
    )
    seen = evaluate(look(case))
    verdicts = {verdict.name: verdict for verdict in seen.verdicts}
    for name in ("schema", "parameters", "correctness", "execution", "lookahead"):
        assert (verdicts[name].status, verdicts[name].errors) == ("passed", ()), name
    assert verdicts["correctness"].details["entries"] == len({trade.entry_time for trade in run.trades})
    assert verdicts["robustness"].status in ("passed", "warning", "failed")  # which of them is the market's affair
    moved = evaluate(look(replace(case, run=reruns["perturbed:entry_rsi=42"])))
    assert {"parameters", "correctness"} <= set(moved.shut)


def test_a_look_into_the_future_shuts_its_gate(sandbox: Sandbox) -> None:
    text = on_each_bar(
        "if self.up[-1] > 0 and not self.position: self.buy(reason='up')",
        "elif self.up[-1] < 0 and self.position: self.position.close()",
        init="self.up = self.I(lambda c: np.append(np.diff(c), 0.0), self.data.close)",
    )
    run = judge(sandbox, text)
    seen = evaluate(
        look(Case(idea="buy before it rises", draft=read_draft(text, name="judged"), run=run, bars=sample("GOOG")))
    )
    assert "lookahead" in seen.shut
    assert "use only what is known at the close of a bar" in seen.shut["lookahead"]
    assert {verdict.name: verdict.status for verdict in seen.verdicts}[
        "correctness"
    ] == "warning"  # its books are right


def test_a_program_that_fails_is_told_where(sandbox: Sandbox) -> None:
    text = on_each_bar("x = 1 / 0")
    run = judge(sandbox, text)
    seen = evaluate(look(Case(idea="", draft=read_draft(text, name="judged"), run=run, bars=sample("GOOG"))))
    assert "on line 9" in seen.shut["execution"]
    assert "ZeroDivisionError" in seen.summary
