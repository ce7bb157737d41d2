"""How a research ends: what the best version is told with, what takes its place, and what is not known."""

from __future__ import annotations

from ringfence.agents import open_agent
from ringfence.agents.brief import Brief, Reply, Usage
from ringfence.verbs.research import Aim, Budget
from ringfence.verbs.research.replies import Spent

from tests.verbs.researching import (
    BROKEN_NAME,
    BROKEN_SYNTAX,
    GOOD,
    IDEA,
    Bench,
    advice,
    fenced,
    says,
    strategy,
)

KEPT = IDEA.replace("35", "40").replace("65", "60")  # what GOOD does


def test_the_one_version_of_the_offline_author_is_told_with_its_final_run(bench: Bench) -> None:
    result, _ = bench.research(open_agent("rules"), revises=False, name="rules")
    told = result.to_json()
    versions, final = told["iterations"], told["final_backtest"]
    assert isinstance(versions, list) and isinstance(final, dict)
    [version] = versions
    assert version["trades"] == len(final["results"]["trades"]) > 0 and version["version"] == 1
    assert version["run_id"] == final["results"]["execution"]["run_id"]
    assert version["evaluation"] == told["evaluation_results"] and version["reason"] == f"{version['trades']} trades"


def test_too_few_trades_shut_a_gate_and_leave_no_best(bench: Bench) -> None:
    result, _ = bench.research(open_agent("rules"), revises=False, name="rules", aim=Aim(min_trades=500))
    told = result.to_json()
    gates = told["evaluation_results"]
    assert isinstance(gates, dict) and told["best_iteration"] is None and told["status"] == "failed"
    assert gates["all_passed"] is False and "fewer than the 500 asked for" in gates["gates_shut"]["min_trades"]
    assert "All gates passed" not in gates["summary"] and told["final_backtest"] is not None
    [version] = result.found.versions
    assert version.status == "few_trades" and "fewer than the 500" in version.reason


def test_what_keeps_the_numbers_of_the_idea_is_better_than_what_does_not(bench: Bench) -> None:
    replies = [
        says("code", fenced(strategy(45, 65))),
        says("analyst", advice("entry")),
        says("optimise", fenced(strategy(40, 60))),
    ]
    result, _ = bench.research(replies, idea=KEPT, budget=Budget(iterations=2))
    changed, kept = result.found.versions
    assert changed.score is not None and kept.score is not None
    assert changed.score > kept.score, "the data no longer makes the other numbers better"
    assert result.best is not None and result.best.number == 2
    assert any("version 1" in told and "numbers of the idea" in told for told in result.warnings)


def test_a_target_is_not_reached_with_other_numbers_than_the_idea_has(bench: Bench) -> None:
    replies = [
        says("code", fenced(strategy(45, 65))),
        says("analyst", advice("entry")),
        says("optimise", fenced(strategy(40, 60))),
    ]
    result, _ = bench.research(replies, idea=KEPT, aim=Aim(target=-100.0), budget=Budget(iterations=9))
    assert "target is reached" in result.found.stopped and [v.number for v in result.found.versions] == [1, 2]


def test_a_reply_without_a_program_is_an_error_like_any_other(bench: Bench) -> None:
    replies = [
        says("code", fenced(BROKEN_NAME)),
        says("debug", "I am sorry, that is beyond me."),
        says("debug", fenced(GOOD), "NoProgram"),
    ]
    result, agent = bench.research(replies)
    assert result.produced and agent.roles == ["code", "debug", "debug"]
    assert [v.status for v in result.found.versions] == ["failed", "failed", "ran"]
    assert agent.briefs[2].code == BROKEN_NAME and result.found.versions[2].parent == 1
    assert result.found.versions[1].to_json()["trades"] is None


def test_what_fails_on_all_of_the_data_gives_way_to_the_next_best(bench: Bench) -> None:
    late = "        if len(self.data.close) > 560:\n            raise ValueError('too late')\n"
    replies = [
        says("code", fenced(strategy(45, 65, extra=late))),
        says("analyst", advice("entry")),
        says("optimise", fenced(strategy(40, 60))),
    ]
    result, _ = bench.research(replies, budget=Budget(iterations=2))
    first, second = result.found.versions
    assert first.score is not None and second.score is not None and first.score > second.score
    assert result.produced and result.best is not None and result.best.number == 2, result.reason
    assert first.status == "failed" and "too late" in first.reason and result.code == second.code
    again, agent = bench.research([], budget=Budget(iterations=2))
    assert not agent.briefs and again.to_json() == result.to_json()


def test_notices_stay_with_their_version(bench: Bench) -> None:
    result, _ = bench.research([says("code", fenced(BROKEN_SYNTAX)), says("debug", fenced(GOOD))])
    assert result.produced and not [told for told in result.warnings if "expected ':'" in told]
    assert any("replayed" in told for told in result.warnings)
    first = result.found.versions[0]
    assert first.reason.startswith("SyntaxError at line 12") and not [n for n in first.notices if "expected ':'" in n]
    assert result.found.stopped == "1 iteration is done"


class Unpriced:
    def act(self, brief: Brief) -> Reply:
        return Reply(text=fenced(BROKEN_SYNTAX), code=BROKEN_SYNTAX, usage=Usage(input_tokens=5), cost_usd=None)


def test_a_bound_in_money_that_cannot_hold_is_told_with_one_that_can(bench: Bench) -> None:
    result, _ = bench.research(Unpriced(), budget=Budget(usd=1.0))
    assert [told for told in result.warnings if "--max-cost cannot hold" in told and "--max-tokens" in told]
    result, _ = bench.research(Unpriced(), research_id="free")
    assert not [told for told in result.warnings if "--max-cost" in told]


def test_money_that_nobody_counted_is_not_zero() -> None:
    unknown = Reply(text="", usage=Usage(input_tokens=5, output_tokens=2, requests=1), cost_usd=None)
    spent = Spent().plus(unknown)
    assert spent.to_json() == {"tokens": 7, "usd": None, "requests": 1, "unpriced": 1}
    assert spent.money == "price unknown"
    assert (
        spent.add(Spent(usd=0.5)).money == "at least 0.5000 USD" and spent.add(Spent(usd=0.5)).to_json()["usd"] == 0.5
    )
    assert Spent().to_json()["usd"] == 0.0 and Spent(usd=0.25).money == "0.2500 USD"
