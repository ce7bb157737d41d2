"""The parts of the research loop by themselves: what is new, which change is next, how data is split, whom to ask."""

from __future__ import annotations

import numpy as np
import pytest

from ringfence.agents import Agent
from ringfence.agents.brief import DataFacts
from ringfence.agents.scripted import RecordedReply, ScriptedAgent
from ringfence.base.errors import SettingsError
from ringfence.evaluators.judging import NotAsked, Question
from ringfence.markets import load_bars
from ringfence.trade.draft import read_draft
from ringfence.trade.fingerprint import fingerprint
from ringfence.verbs.research.authors import Authors
from ringfence.verbs.research.bandit import KINDS, Bandit
from ringfence.verbs.research.final import neighbours, retargeted
from ringfence.verbs.research.judging import AgentJudge, verdicts_seen
from ringfence.verbs.research.novelty import overlap
from ringfence.verbs.research.objective import Aim
from ringfence.verbs.research.replies import Spent
from ringfence.verbs.research.request import Budget
from ringfence.verbs.research.splits import SMOKE_BARS, split
from ringfence.verbs.research.versions import idea_key, strategy_name

from tests.verbs.researching import GOOD, strategy


@pytest.mark.parametrize(
    "same",
    [
        GOOD.replace("class Dip", "class Other"),
        GOOD.replace("self.rsi", "self.line"),
        GOOD.replace("low", "lower").replace("period", "length"),
        GOOD.replace("class Dip(Strategy):", 'class Dip(Strategy):\n    """Buys dips."""\n'),
        f"# a remark\n{GOOD}\n\n",
    ],
    ids=["class", "attribute", "parameters", "docstring", "comment"],
)
def test_names_and_remarks_make_no_new_program(same: str) -> None:
    assert same != GOOD and fingerprint(same) == fingerprint(GOOD)


@pytest.mark.parametrize(
    "other",
    [
        strategy(low=41),
        GOOD.replace("<", "<="),
        GOOD.replace("rsi[-1] < ", "rsi[-2] < "),
        GOOD.replace("close", "high"),
    ],
    ids=["number", "comparison", "bar", "column"],
)
def test_what_decides_differently_is_new(other: str) -> None:
    assert fingerprint(other) != fingerprint(GOOD)


def test_what_is_no_program_has_no_fingerprint() -> None:
    assert fingerprint("def broken(:") == "" and fingerprint("\0") == ""


def test_trades_overlap_by_what_both_make() -> None:
    assert overlap(["a", "b"], ["b", "a"]) == 1 and overlap(["a", "b"], ["b", "c"]) == pytest.approx(1 / 3)
    assert overlap([], ["a"]) == 0


def test_every_kind_of_change_is_tried_before_one_is_preferred() -> None:
    bandit = Bandit()
    first = bandit.choose(advised=["risk"])
    assert first == "risk"
    seen = set()
    for _ in KINDS:
        kind = bandit.choose(crossover=True)
        seen.add(kind)
        bandit.reward(kind, parent=1.0, child=2.0 if kind == "exit" else 0.5)
    assert seen == set(KINDS)
    chosen = [bandit.choose(crossover=True) for _ in range(1)]
    assert chosen == ["exit"]
    assert "crossover" not in {Bandit().choose() for _ in range(9)}


def test_rewards_are_clipped() -> None:
    bandit = Bandit()
    assert bandit.reward("entry", parent=0.5, child=5000.0) == 1.0
    assert bandit.reward("entry", parent=0.5, child=-5000.0) == 0.0
    assert bandit.reward("entry", parent=1.0, child=1.25) == pytest.approx(0.25)
    assert bandit.reward("entry", parent=1.0, child=None) == 0.0


def test_the_parts_follow_each_other_and_the_last_is_in_no_other() -> None:
    parts = split(load_bars(["sample:GOOG"]))
    assert parts.validation is not None and parts.holdout is not None and parts.short is not None
    assert parts.train.end < (parts.validation.tradable_from or 0) <= parts.validation.end
    assert parts.before is not None and parts.before.tradable_from == parts.whole.tradable_from
    assert (
        parts.before.end
        == parts.validation.end
        < (parts.holdout.tradable_from or 0)
        <= parts.holdout.end
        == parts.whole.end
    )
    assert len(parts.smoke.timeline()) == SMOKE_BARS and parts.short.end < parts.train.end
    count = len(parts.whole.timeline())
    assert len(parts.train.timeline()) == int(count * 0.6)


def test_an_instrument_that_begins_late_is_not_missing_from_the_smoke_test() -> None:
    bars = load_bars(["sample:GOOG", "sample:IBM"], end="2008-12-31")
    parts = split(bars)
    assert set(parts.smoke.symbols) == set(bars.symbols)
    assert all(len(candles) >= SMOKE_BARS for candles in parts.smoke.candles.values())


def test_few_bars_are_not_split_and_that_is_said() -> None:
    parts = split(load_bars(["sample:GOOG"], end="2004-12-31"))
    assert parts.holdout is None and parts.train is parts.whole and "too few" in parts.notes[0]


def test_history_before_the_start_is_in_no_part() -> None:
    parts = split(load_bars(["sample:GOOG"], start="2008-01-01", end="2009-12-31"))
    assert parts.train.tradable_from is not None and len(parts.smoke.timeline()) > SMOKE_BARS
    traded = int(np.sum(parts.smoke.timeline() >= parts.train.tradable_from))
    assert traded == SMOKE_BARS


def test_neighbours_are_a_tenth_away_and_within_their_range() -> None:
    text = GOOD.replace("low = 40", "low = param(40, 39, 50)").replace("import Strategy", "import Strategy, param")
    found = neighbours(read_draft(text, name="x").parameters)
    assert ("period", 13) in found and ("period", 15) in found and ("low", 44) in found
    assert not [value for name, value in found if name == "low" and value < 39]


def test_a_program_that_names_its_instrument_trades_that_of_other_data() -> None:
    named = read_draft(GOOD.replace("    low = 40", '    symbol = "GOOG"\n    low = 40'), name="x").parameters
    assert retargeted(named, ("GOOG",), ("IBM",)) == {"symbol": "IBM"}
    assert not retargeted(named, ("GOOG",), ("GOOG",)) and not retargeted(named, ("GOOG",), ("IBM", "AAPL"))
    assert not retargeted(named, ("AAPL",), ("IBM",)), "words that name no instrument stay"


@pytest.mark.parametrize("objective", ["max_drawdown", "total_return", "win_rate"])
def test_doing_nothing_has_no_score(objective: str) -> None:
    aim = Aim(objective=objective)
    assert aim.score({objective: 0.0, "trades": 0.0}) is None
    assert aim.score({objective: 0.0, "trades": 3.0}) == 0.0


def test_judges_stop_where_the_budget_does() -> None:
    text = '{"status": "passed", "score": 1, "explanation": "", "errors": [], "warnings": []}'
    agent = ScriptedAgent((RecordedReply(role="judge", text=text, repeat=True, input_tokens=900, cost_usd=0.25),))
    budget = Budget(tokens=2_500, usd=0.6)
    judge = AgentJudge(agent, DataFacts(), lambda spent: budget.spent_out(Spent(tokens=700, usd=0.1).add(spent), 0.0))
    question = Question(asked="Is it so?", idea="", code=GOOD)
    assert judge(question).parsed is not None and judge(question).parsed is not None
    with pytest.raises(NotAsked, match=r"no model was asked: 0\.6000 of 0\.6 USD are spent"):
        judge(question)
    assert judge.spent == Spent(tokens=1_800, usd=0.5, requests=2)


def test_the_next_brief_is_told_what_failed_first() -> None:
    rows = [
        {"name": name, "status": status, "errors": errors, "warnings": ["hm"]}
        for name, status, errors in (("a", "warning", []), ("b", "passed", []), ("c", "failed", ["no"]))
    ]
    seen = verdicts_seen({"results": rows})
    assert [(v.name, v.status, v.errors) for v in seen] == [("c", "failed", ("no", "hm")), ("a", "warning", ("hm",))]


def test_an_idea_is_known_by_its_words() -> None:
    assert idea_key("Buy  the dip") == idea_key("buy the DIP\n") != idea_key("buy the dips")
    assert strategy_name("Buy the dip!").startswith("buy-the-dip-") and strategy_name("\u00e9\u00e9").startswith(
        "idea-"
    )


def opened(specs: list[str]) -> object:
    def open_it(spec: str) -> Agent:
        specs.append(spec)
        from ringfence.agents import open_agent

        return open_agent("rules")

    return open_it


@pytest.mark.parametrize(
    ("spec", "model", "environ", "name", "specs"),
    [
        (None, None, {}, "rules", ["rules"]),
        (None, "m", {}, "llm", ["rules", "llm:model=m,run_usd=2"]),
        (None, None, {"RINGFENCE_MODEL": "x:y"}, "llm", ["rules", "llm:model=x:y,run_usd=2"]),
        ("rules", "m", {}, "rules", ["rules", "llm:model=m,run_usd=2"]),
        ("llm", None, {}, "llm", ["rules", "llm"]),
        ("llm:model=a,url=u", None, {}, "llm", ["rules", "llm:model=a,url=u,run_usd=2"]),
        ("command:claude", None, {}, "command", ["rules", "command:claude"]),
        ("scripted", "f.json", {}, "scripted", ["rules", "scripted:f.json"]),
    ],
)
def test_the_author_that_is_asked_for_writes(
    spec: str | None, model: str | None, environ: dict[str, str], name: str, specs: list[str]
) -> None:
    seen: list[str] = []
    authors = Authors(spec, model=model, max_usd=2, environ=environ, opener=opened(seen))  # type: ignore[arg-type]
    assert seen == specs
    assert authors.pick("the sky is falling", DataFacts()).name == name
    if spec is None:
        assert authors.pick("Buy when RSI drops below 30, sell above 70", DataFacts(symbols=("GOOG",))).name == "rules"


@pytest.mark.parametrize(("spec", "said"), [("poet", "poet"), ("command", "command:claude"), ("scripted", "scripted:")])
def test_an_author_that_cannot_be_meant_is_refused(spec: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Authors(spec, environ={})
