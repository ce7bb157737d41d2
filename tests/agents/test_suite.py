"""The suite that every agent runs finds what it is there to find; and the offline author runs it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringfence.agents import open_agent
from ringfence.agents.brief import Brief, Reply, Usage
from ringfence.base.errors import AgentError
from ringfence.testing import AgentCase, AgentSuite
from ringfence.testing.agent import PROGRAM, check_reply

from tests.agents.models import FENCED

GOOD = Reply(text=FENCED, code=PROGRAM, model="m", usage=Usage(requests=1))


class TestRules(AgentSuite):
    """The offline author has no model that could be cut off or out of reach."""

    @pytest.fixture
    def case(self) -> AgentCase:
        return AgentCase(agent=open_agent("rules"), deterministic=True, offline=True)


class Made:
    def __init__(self, act: Callable[[Brief], Reply]) -> None:
        self.act = act


def said(text: str) -> Callable[[Brief], Reply]:
    def act(brief: Brief) -> Reply:
        raise AgentError(text)

    return act


def crash(brief: Brief) -> Reply:
    raise ValueError("not one of ours")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(text="x", code=PROGRAM, stop_reason="length", model="m"), "holds no program"),
        (Reply(text="x", code=PROGRAM, stop_reason="refused", model="m"), "holds no program"),
        (Reply(text="x", code=" \n", model="m"), "an empty program"),
        (Reply(text="x", code=PROGRAM), "who wrote it"),
        (Reply(text="x", model="m", cost_usd=float("nan")), "no amount of money"),
        (Reply(text="x", model="m", cost_usd=-1.0), "no amount of money"),
        (Reply(text="x", model="m", usage=Usage(output_tokens=-1)), "below 0"),
        (Reply(text="x", model="m", notices=("",)), "an empty notice"),
        (Reply(text="x", parsed={"reason": "cut"}, stop_reason="length", model="m"), "holds no answer"),
        (Reply(text="x", parsed={"rules": ["buy"]}, stop_reason="refused", model="m"), "else than its reason"),
    ],
)
def test_a_reply_that_cannot_be_is_found(reply: Reply, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_reply(reply)
    check_reply(GOOD)


@pytest.mark.parametrize(
    ("act", "test"),
    [
        (lambda b: Reply(text="no", stop_reason="refused", model="m"), "test_a_code_brief_is_answered_with_a_strategy"),
        (lambda b: Reply(text=FENCED, code=FENCED, model="m"), "test_a_code_brief_is_answered_with_a_strategy"),
        (lambda b: Reply(text="x", code="x = 1", model="m"), "test_a_code_brief_is_answered_with_a_strategy"),
        (crash, "test_a_brief_is_left_as_it_was"),
        (said(" "), "test_a_brief_is_left_as_it_was"),
        (lambda b: Reply(text="x", model="m"), "test_many_threads_may_ask_at_once"),
    ],
)
def test_an_agent_that_does_wrong_fails(act: Callable[[Brief], Reply], test: str) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)):
        getattr(AgentSuite(), test)(AgentCase(agent=Made(act)))
    getattr(AgentSuite(), test)(AgentCase(agent=Made(lambda brief: GOOD)))


def test_the_other_behaviours_fail_too() -> None:
    suite, good = AgentSuite(), Made(lambda brief: GOOD)
    counted = iter(range(100))
    fickle = Made(lambda brief: Reply(text=f"{next(counted)}", code=PROGRAM, model="m"))
    with pytest.raises(AssertionError):
        suite.test_the_same_brief_gets_the_same_answer_where_that_is_promised(
            AgentCase(agent=fickle, deterministic=True)
        )
    with pytest.raises(AssertionError):
        suite.test_a_reply_that_was_cut_off_is_no_program(AgentCase(agent=good, cut=good))
    with pytest.raises(pytest.fail.Exception):
        suite.test_what_cannot_be_reached_is_an_error_with_a_remedy(AgentCase(agent=good, unreachable=good))
    bare = Made(said("it did not work"))
    with pytest.raises(AssertionError, match="no remedy"):
        suite.test_what_cannot_be_reached_is_an_error_with_a_remedy(AgentCase(agent=good, unreachable=bare))
    silent = Made(lambda brief: Reply(text=" ", stop_reason="refused", model="m"))
    with pytest.raises(AssertionError, match="says why"):
        suite.test_every_role_is_answered_or_refused_in_words(AgentCase(agent=silent), "code")
    dear = Made(lambda brief: Reply(text="x", code=PROGRAM, model="m", cost_usd=0.0, usage=Usage(requests=1)))
    with pytest.raises(AssertionError):
        suite.test_an_agent_that_asks_nobody_costs_nothing(AgentCase(agent=dear, offline=True), "code")
    half = Made(lambda brief: Reply(text="x", model="m"))
    with pytest.raises(AssertionError):
        suite.test_a_role_that_writes_gives_a_program_or_a_refusal(AgentCase(agent=half), "debug")
