"""What models may cost: per run, per day and over all processes."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringfence.agents.llm.budget import Budget, Limits
from ringfence.base.errors import AgentError, BudgetError

from tests.agents.models import CASE, FENCED, PRICED, llm
from tests.agents.server import Say, serve

NOW = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
UNPRICED = Limits(run_usd=1.0, day_usd=2.0)


def spent(budget: Budget, tokens: int = 100, usd: float | None = 0.5) -> Budget:
    budget.spend("m", input_tokens=tokens - 10, output_tokens=10, usd=usd)
    return budget


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(run_usd=0.5), "RINGFENCE_MODEL_RUN_USD"),
        (Limits(day_usd=0.5), "RINGFENCE_MODEL_DAY_USD"),
        (Limits(run_tokens=100), "RINGFENCE_MODEL_RUN_TOKENS"),
        (Limits(day_tokens=100), "RINGFENCE_MODEL_DAY_TOKENS"),
    ],
)
def test_each_limit_holds_and_names_itself(tmp_path: Path, limits: Limits, name: str) -> None:
    budget = Budget(limits, tmp_path)
    budget.check()
    with pytest.raises(BudgetError, match=name):
        spent(budget).check()


def test_a_run_is_one_agent_and_a_day_is_everybodys(tmp_path: Path) -> None:
    spent(Budget(Limits(), tmp_path, now=lambda: NOW))
    Budget(Limits(run_usd=0.5), tmp_path, now=lambda: NOW).check()
    with pytest.raises(BudgetError, match="today"):
        Budget(Limits(day_usd=0.5), tmp_path, now=lambda: NOW).check()
    Budget(Limits(day_usd=0.5), tmp_path, now=lambda: NOW + timedelta(minutes=2)).check()  # it is the next day in UTC


def test_what_nobody_knows_the_price_of_counts_in_tokens(tmp_path: Path) -> None:
    budget = spent(Budget(Limits(day_usd=0.1), tmp_path), usd=None)
    budget.check()
    assert (budget.today().tokens, budget.today().unpriced, budget.today().usd) == (100, 1, 0.0)


def test_a_torn_line_costs_itself_and_not_the_next(tmp_path: Path) -> None:
    spent(Budget(Limits(), tmp_path, now=lambda: NOW))
    [ledger] = tmp_path.iterdir()
    with ledger.open("ab") as file:
        file.write(b'{"at": "2026-03-01T')  # where a kill -9 came
    assert spent(Budget(Limits(), tmp_path, now=lambda: NOW)).today().requests == 2


def test_no_request_is_lost_between_threads_and_processes(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime\n"
        "from ringfence.agents.llm.budget import Budget, Limits\n"
        "b = Budget(Limits(), Path(sys.argv[1]), now=lambda: datetime(2026, 3, 1, tzinfo=UTC))\n"
        "for _ in range(50): b.spend('m', input_tokens=1, output_tokens=1, usd=0.01)\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(2)]
    budget = Budget(Limits(), tmp_path, now=lambda: NOW)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: spent(budget, tokens=12, usd=0.01), range(40)))
    assert [other.wait(60) for other in others] == [0, 0]
    assert (budget.today().requests, budget.today().tokens) == (140, 680)
    assert budget.today().usd == pytest.approx(1.4)
    assert budget.run.requests == 40


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AgentError, match="RINGFENCE_HOME"):
        spent(Budget(Limits(), tmp_path / "file" / "models"))


def test_a_spent_budget_asks_nobody(tmp_path: Path) -> None:
    with serve(lambda asked: Say(text=FENCED, output_tokens=1_000)) as server:
        agent = llm(server, tmp_path, model=PRICED, limits=Limits(run_tokens=1_000))
        assert agent.act(CASE.brief()).code
        with pytest.raises(BudgetError):
            agent.act(CASE.brief())
    assert len(server.asked) == 1
    [line] = next((tmp_path / "models").iterdir()).read_text().splitlines()
    entry = json.loads(line)
    assert (entry["model"], entry["input_tokens"], entry["output_tokens"]) == ("claude-sonnet-5", 100, 1_000)
    assert entry["usd"] > 0


def test_a_spent_budget_does_not_fall_back_to_another_model(tmp_path: Path) -> None:
    with serve(lambda asked: Say(text=FENCED)) as server:
        agent = llm(server, tmp_path, model=PRICED, limits=Limits(run_usd=0.0))
        with pytest.raises(BudgetError, match=r"0\.0000 of 0 USD"):
            agent.act(CASE.brief())
    assert not server.asked


def test_a_budget_that_ends_within_a_reply_leaves_no_program(tmp_path: Path) -> None:
    with serve(lambda asked: Say(text=FENCED[:180], finish="length")) as server:
        reply = llm(server, tmp_path, limits=Limits(run_tokens=150)).act(CASE.brief())
    assert (reply.code, reply.stop_reason, reply.usage.requests) == (None, "length", 1)
    assert any("RINGFENCE_MODEL_RUN_TOKENS" in notice for notice in reply.notices)


def test_a_limit_in_money_that_cannot_hold_is_said(tmp_path: Path) -> None:
    with serve(lambda asked: Say(text=FENCED)) as server:
        reply = llm(server, tmp_path, limits=UNPRICED).act(CASE.brief())
    assert reply.cost_usd is None
    assert any("price of local is not known" in notice for notice in reply.notices)
