"""The research loop: what fails is mended by its real error, the best version wins, and what was done is not redone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from ringfence.agents import open_agent
from ringfence.agents.brief import Brief, Reply
from ringfence.base.errors import AgentError, BudgetError, SettingsError
from ringfence.sandbox.job import Cancel
from ringfence.store import open_store
from ringfence.verbs.research import Aim, Budget

from tests.verbs.judged import leaving
from tests.verbs.researching import (
    BROKEN_IMPORT,
    BROKEN_NAME,
    BROKEN_SYNTAX,
    GOOD,
    IDEA,
    NEVER,
    Bench,
    advice,
    fenced,
    says,
    small_grounds,
    strategy,
)


def test_words_become_one_strategy_whose_numbers_are_kept(bench: Bench) -> None:
    result, agent = bench.research(open_agent("rules"), revises=False, name="rules")
    assert result.produced and len(result.found.versions) == 1 and agent.roles == ["code"]
    told = result.to_json()
    assert set(told) >= {"strategy", "code", "code_sha", "final_backtest", "evaluation_results", "iterations"}
    assert told["best_iteration"] == 1 and told["job_id"] == "test" and told["status"] == result.status
    document = told["final_backtest"]
    assert isinstance(document, dict) and set(document["results"]) == {
        "summary", "trades", "equity_curve", "indicators", "execution",
    }  # fmt: skip
    assert document["results"]["execution"]["provenance"] == "verified"
    assert document["results"]["execution"]["lookahead"]["status"] == "clean"
    assert "= param(35" in str(told["code"]) and "= param(65" in str(told["code"])
    assert result.found.reading.startswith("I read this as:") and told["holdout"] is not None
    assert result.final is not None
    reruns = result.final["reruns"]
    assert isinstance(reruns, dict)
    bars: dict[str, float] = {name: figures["bars"] for name, figures in reruns.items()}
    assert bars["before_holdout"] + bars["holdout"] == document["results"]["summary"]["bars"]
    others = {count for name, count in bars.items() if name not in ("before_holdout", "holdout")}
    assert others == {bars["before_holdout"]}, "only one run looks at the hold-out alone, and none is tuned on it"


def test_words_that_are_not_read_are_named(bench: Bench) -> None:
    result, _ = bench.research(open_agent("rules"), idea="Buy GOOG when the frobnicator sings", revises=False)
    assert result.status == "not_understood" and "frobnicator" in result.reason and "For example" in result.reason
    assert not result.produced and result.to_json()["code"] is None


@pytest.mark.parametrize(
    ("broken", "stage", "role", "seen"),
    [
        (BROKEN_SYNTAX, "parse", "debug", ["SyntaxError", "expected ':'"]),
        (BROKEN_IMPORT, "lint", "package", ["ModuleNotFoundError", "no_such_library"]),
        (BROKEN_NAME, "smoke", "debug", ["NameError", "undefined_level", "at line 13"]),
        (NEVER, "train", "debug", ["NoTrades", "never traded"]),
    ],
    ids=["syntax", "import", "runtime", "no trades"],
)
def test_what_fails_is_mended_by_its_real_error(
    bench: Bench, broken: str, stage: str, role: str, seen: list[str]
) -> None:
    result, agent = bench.research([says("code", fenced(broken)), says(role, fenced(GOOD), *seen)])
    assert result.produced, result.reason
    assert agent.roles == ["code", role]
    error = agent.briefs[1].error
    assert error is not None and error.type == seen[0] and all(words in f"{error}" for words in seen[:2])
    assert agent.briefs[1].code == broken.rstrip("\n") or agent.briefs[1].code == broken
    assert [v.status for v in result.found.versions] == ["failed", "ran"]
    assert result.found.versions[0].trial.stage == stage, "what fails early costs little"
    mended = result.found.versions[1]
    assert mended.parent == 1 and "-" in mended.diff and result.best is not None and result.best.number == 2


def test_a_reply_that_was_cut_off_is_asked_for_again(bench: Bench) -> None:
    half = fenced(GOOD).partition("and self.rsi[-1] >")[0]
    result, agent = bench.research([says("code", half), says("debug", fenced(GOOD), "Truncated", "cut off")])
    assert result.produced and agent.roles == ["code", "debug"]
    assert result.found.versions[0].trial.stage == "parse"


def test_the_same_error_twice_changes_the_approach(bench: Bench) -> None:
    again = BROKEN_NAME.replace("class Dip", "class Other")
    replies = [
        says("code", fenced(BROKEN_NAME)),
        says("debug", fenced(again), "NameError"),
        says("code", fenced(GOOD), "seen 2 times in a row", "in another way"),
    ]
    result, agent = bench.research(replies)
    assert result.produced and agent.roles == ["code", "debug", "code"]
    assert agent.briefs[2].code == "", "the program that could not be mended is not shown again"


def test_the_same_error_three_times_ends_it(bench: Bench) -> None:
    replies = [
        says(role, fenced(BROKEN_NAME.replace("Dip", f"D{n}"))) for n, role in enumerate(("code", "debug", "code"))
    ]
    result, agent = bench.research(replies)
    assert result.status == "failed" and "same error 3 times" in result.found.stopped and len(agent.roles) == 3
    assert result.to_json()["best_iteration"] is None
    with open_store(bench.url) as store:
        tried = [event for event in store.list_events("research:test") if event.type == "trial"]
    assert len(tried) == 1, "the same program under another name is not run again"


def test_different_errors_are_mended_at_most_ten_times(bench: Bench) -> None:
    texts = [strategy(extra=f"        x = missing_{n}\n") for n in range(12)]
    replies = [says("code", fenced(texts[0])), *(says("debug", fenced(text)) for text in texts[1:])]
    result, agent = bench.research(replies)
    assert result.status == "failed" and "10 repairs" in result.found.stopped and len(agent.roles) == 11


def test_the_best_version_is_returned_and_not_the_last(bench: Bench) -> None:
    versions = [strategy(40, 60), strategy(45, 65), strategy(48, 52)]
    replies = [says("code", fenced(versions[0]))]
    for text, kind in zip(versions[1:], ("entry", "exit")):
        replies += [says("analyst", advice(kind), "Metrics"), says("optimise", fenced(text), kind)]
    result, _ = bench.research(replies, budget=Budget(iterations=3))
    scores = {v.number: -1e9 if v.score is None else v.score for v in result.found.versions}
    best = max(scores, key=lambda number: scores[number])
    assert len(scores) == 3 and result.best is not None and result.best.number == best
    assert best != 3, f"the data no longer makes the last one worse: {scores}"
    assert result.code == versions[best - 1] and result.to_json()["best_iteration"] == best
    assert "3 iterations" in result.found.stopped
    with open_store(bench.url) as store:
        lineage = store.list_lineage(result.found.versions[0].trial.strategy)
    assert (lineage[0].parent_version, lineage[0].optimization_type) == (None, "code")
    assert {line.optimization_type for line in lineage} == {"code", "entry", "exit"}
    assert any("-    low = 40" in line.changes_made for line in lineage)


def test_what_is_not_new_is_refused(bench: Bench) -> None:
    renamed = GOOD.replace("class Dip", "class Renamed").replace("self.rsi", "self.line")
    same_trades = GOOD.replace("self.rsi[-1] < self.low", "self.rsi[-1] < self.low + 0.0000001")
    replies = [says("code", fenced(GOOD))]
    for text in (renamed, same_trades):
        replies += [says("analyst", advice("rewrite")), says("optimise", fenced(text))]
    result, _ = bench.research(replies, budget=Budget(iterations=3))
    assert [v.status for v in result.found.versions] == ["ran", "not_new", "not_new"]
    assert (
        "same program" in result.found.versions[1].reason and "trades of version 1" in result.found.versions[2].reason
    )
    assert result.best is not None and result.best.number == 1


def test_it_stops_when_nothing_gets_better(bench: Bench) -> None:
    replies = [says("code", fenced(GOOD))]
    for _ in range(9):
        replies += [says("analyst", advice("entry")), says("optimise", fenced(GOOD))]
    result, _ = bench.research(replies, budget=Budget(iterations=9), aim=Aim(patience=2))
    assert len(result.found.versions) == 3 and "nothing better" in result.found.stopped


def test_it_stops_at_its_target_and_when_the_analyst_says_so(bench: Bench) -> None:
    kept = "Buy GOOG when RSI drops below 40, sell when it rises above 60"
    replies = [says("code", fenced(strategy(40, 60)))]
    result, _ = bench.research(replies, idea=kept, aim=Aim(target=-100.0), budget=Budget(iterations=9))
    assert "target is reached" in result.found.stopped
    replies = [says("code", fenced(GOOD)), says("analyst", advice(stop=True))]
    result, _ = bench.research(replies, budget=Budget(iterations=9), research_id="other")
    assert result.produced and "analyst" in result.found.stopped


def test_it_stops_when_the_tokens_or_the_money_are_spent(bench: Bench) -> None:
    from ringfence.agents.scripted import RecordedReply

    paid = RecordedReply(role="code", text=fenced(BROKEN_NAME), input_tokens=900, output_tokens=200, cost_usd=0.5)
    for n, budget in enumerate((Budget(tokens=1000), Budget(usd=0.4))):
        result, agent = bench.research([paid], budget=budget, research_id=f"spent{n}")
        assert result.status == "failed" and agent.roles == ["code"]
        assert "tokens are used" in result.found.stopped or "USD are spent" in result.found.stopped
        assert result.to_json()["usage"] == {"tokens": 1100, "usd": 0.5, "requests": 1, "unpriced": 0}


def test_it_stops_when_its_time_is_over(bench: Bench) -> None:
    moments = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=20 * n) for n in count())
    replies = [says(role, fenced(BROKEN_SYNTAX)) for role in ("code", "debug")]
    result, agent = bench.research(replies, budget=Budget(minutes=0.5), now=lambda: next(moments))
    assert result.found.stopped == "0.5 minutes are over" and agent.roles == ["code"] and result.seconds == 60


def test_a_model_without_budget_ends_with_the_best_so_far(bench: Bench) -> None:
    class Poor:
        asked = 0

        def act(self, brief: Brief) -> Reply:
            self.asked += 1
            if self.asked > 1:
                raise BudgetError("1.00 of 1 USD are spent: wait")
            return Reply(text=fenced(GOOD), code=GOOD)

    result, _ = bench.research(Poor(), budget=Budget(iterations=5))
    assert result.produced and "USD are spent" in result.found.stopped


def test_what_uses_the_future_is_sent_back(bench: Bench) -> None:
    peeks = GOOD.replace(
        "self.I(rsi, self.data.close, self.period)",
        "self.I(lambda c, n: rsi(np.roll(c, -3), n), self.data.close, self.period)",
    ).replace("from ringfence", "import numpy as np\nfrom ringfence")
    result, _ = bench.research(
        [says("code", fenced(peeks)), says("debug", fenced(GOOD), "LookAhead", "uses the future")]
    )
    assert result.produced and result.found.versions[0].status == "failed"


def test_a_thought_is_turned_into_rules_first(bench: Bench) -> None:
    idea = "My uncle says that markets overreact when people panic, and then come back"
    rules = (
        '{"title": "Overreaction", "summary": "s", "rules": ["Buy when RSI(14) is below 40", "Sell above 60"],'
        ' "symbols": [], "assumptions": ["daily bars"], "data_needed": []}'
    )
    replies = [says("research", rules, "uncle"), says("code", fenced(GOOD), "Buy when RSI(14) is below 40")]
    result, agent = bench.research(replies, idea=idea)
    assert result.produced and agent.roles == ["research", "code"] and result.found.title == "Overreaction"
    nothing = rules.replace('["Buy when RSI(14) is below 40", "Sell above 60"]', "[]").replace(
        '"s"', '"no strategy here"'
    )
    result, _ = bench.research([says("research", nothing)], idea=idea, research_id="none")
    assert result.status == "not_understood" and result.reason == "no strategy here"


class Dies:
    """Answers as recorded until it is asked for once too often, as a process that is killed does."""

    def __init__(self, agent: object, answers: int) -> None:
        self._agent, self._left = agent, answers

    def act(self, brief: Brief) -> Reply:
        if not self._left:
            raise AgentError("the line is dead")
        self._left -= 1
        return self._agent.act(brief)  # type: ignore[attr-defined, no-any-return]


def test_what_is_on_record_is_not_done_again(bench: Bench) -> None:
    from ringfence.agents.scripted import ScriptedAgent

    replies = (
        says("code", fenced(BROKEN_NAME)),
        says("debug", fenced(strategy(40, 60))),
        says("analyst", advice("entry")),
        says("optimise", fenced(strategy(45, 65))),
    )
    whole, _ = bench.research(list(replies), budget=Budget(iterations=2), research_id="whole")
    for answers in (1, 3):  # after the failure, and before the last version
        with pytest.raises(AgentError):
            bench.research(
                Dies(ScriptedAgent(replies), answers), budget=Budget(iterations=2), research_id=f"at{answers}"
            )
        left = list(replies[answers:])
        resumed, agent = bench.research(left, budget=Budget(iterations=2), research_id=f"at{answers}")
        assert len(agent.briefs) == len(left), "only what was not on record was asked for"
        first, again = whole.to_json(), resumed.to_json()
        for name in ("job_id", "seconds", "final_backtest", "warnings", "usage"):
            first.pop(name), again.pop(name)
        assert again == first
    told, agent = bench.research([], budget=Budget(iterations=2), research_id="at3")
    assert told.produced and not agent.briefs and told.code == whole.code


def test_further_data_is_for_what_ran_on_the_first(bench: Bench) -> None:
    with small_grounds("sample:IBM", "2003-12-31") as other:
        result, _ = bench.research(open_agent("rules"), revises=False, also=(other,))
        assert result.final is not None
        rows = result.final["data_sets"]
        assert isinstance(rows, list) and [(row["data"], row["verdict"]) for row in rows] == [("sample:IBM", "traded")]
        result, _ = bench.research(
            [says(r, fenced(NEVER.replace("Dip", f"D{n}"))) for n, r in enumerate(("code", "debug", "code"))],
            also=(other,),
            research_id="filtered",
        )
        assert not result.to_json()["data_sets"]


def test_too_few_trades_cannot_be_the_best(bench: Bench) -> None:
    replies = [says("code", fenced(GOOD)), says("analyst", advice(stop=True))]
    result, _ = bench.research(replies, aim=Aim(min_trades=10_000), budget=Budget(iterations=2))
    assert result.status == "failed" and result.found.versions[0].status == "few_trades"


@pytest.mark.parametrize("wrong", [{"objective": "luck"}, {"min_trades": 0}])
def test_an_aim_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"luck|never a pass"):
        Aim(**wrong)  # type: ignore[arg-type]  # that is the point


def test_the_idea_is_the_same_for_all(bench: Bench) -> None:
    assert bench.research([says("code", fenced(GOOD))])[0].idea == IDEA


def test_a_run_that_is_cut_short_is_neither_kept_nor_held_against_the_strategy(bench: Bench) -> None:
    cancel = Cancel()
    cut = replace(bench, sandbox=leaving(bench.sandbox, cancel, during=3))  # the run on training data
    result, _ = cut.research([says("code", fenced(GOOD))], cancel=cancel)
    assert result.status == "cancelled" and "--resume test" in result.reason
    with open_store(bench.url) as store:
        assert not store.list_runs()
    result, _ = bench.research([says("code", fenced(GOOD))])
    assert result.produced
