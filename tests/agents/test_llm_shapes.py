"""Answers of a fixed shape: the server's own schema, then a tool, then words; and what is told when none will do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from ringfence.agents.brief import Role
from ringfence.agents.llm import LlmAgent
from ringfence.agents.llm.config import LlmConfig, Target
from ringfence.agents.shapes import SHAPES, ShapeError, check_shape, read_shape
from ringfence.base.errors import AgentError
from ringfence.testing.agent import PROGRAM

from tests.agents.models import CASE, FENCED, PRICED, SHAPED, VERDICT, llm
from tests.agents.server import Asked, Say, serve


def mode_of(asked: Asked) -> str:
    if asked.body.get("tools"):
        return "tool"
    wanted = asked.body.get("response_format") or asked.body.get("output_config") or {}
    return "native" if "schema" in json.dumps(wanted) else "prompted"


def refusing(*modes: str) -> Callable[[Asked], Say]:
    def script(asked: Asked) -> Say:
        mode = mode_of(asked)
        if mode in modes:
            return Say(status=400, message=f"{mode} is not for us")
        return Say(call=VERDICT, finish="tool_calls") if mode == "tool" else Say(text=json.dumps(VERDICT))

    return script


@pytest.mark.parametrize("model", ["local", PRICED])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("refused", "tried"),
    [((), ["native"]), (("native",), ["native", "tool"]), (("native", "tool"), ["native", "tool", "prompted"])],
)
def test_a_server_is_asked_in_the_ways_it_takes(
    tmp_path: Path, model: str, stream: bool, refused: tuple[str, ...], tried: list[str]
) -> None:
    with serve(refusing(*refused)) as server:
        agent = llm(server, tmp_path, model=model, stream=stream)
        reply = agent.act(CASE.brief("judge"))
        again = agent.act(CASE.brief("judge"))
    assert reply.parsed == again.parsed == VERDICT
    assert [mode_of(asked) for asked in server.asked] == [*tried, tried[-1]]  # what was refused is not tried twice
    assert all('"explanation"' in asked.text for asked in server.asked), "each way tells the schema"
    assert (reply.stop_reason, reply.code) == ("end", None)


def test_a_server_that_takes_nothing_is_an_error(tmp_path: Path) -> None:
    with serve(refusing("native", "tool", "prompted")) as server, pytest.raises(AgentError, match="is not for us"):
        llm(server, tmp_path).act(CASE.brief("judge"))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (Say(text="I would rather not say."), "no JSON"),
        (Say(text=json.dumps({**VERDICT, "score": 7})), "not within 0 and 1"),
        (Say(text=json.dumps({**VERDICT, "status": "splendid"})), "'splendid'"),
        (Say(text=json.dumps({"status": "passed"})), "has no 'score'"),
    ],
)
def test_a_wrong_shape_is_asked_for_again_and_told_why(tmp_path: Path, bad: Say, said: str) -> None:
    with serve([bad, Say(call=VERDICT, finish="tool_calls")]) as server:
        reply = llm(server, tmp_path).act(CASE.brief("judge"))
    assert reply.parsed == VERDICT
    assert said in server.asked[1].text
    assert any(said in notice for notice in reply.notices)


def test_a_call_with_broken_arguments_is_asked_for_again(tmp_path: Path) -> None:
    script = [Say(status=400), Say(call='{"status": "pas', finish="tool_calls"), Say(text=json.dumps(VERDICT))]
    with serve(script) as server:
        reply = llm(server, tmp_path).act(CASE.brief("judge"))
    assert reply.parsed == VERDICT and "no JSON" in server.asked[2].text


def test_a_model_that_never_finds_the_shape_has_no_verdict(tmp_path: Path) -> None:
    def nonsense(asked: Asked) -> Say:
        return Say(call={"wrong": 1}, finish="tool_calls") if mode_of(asked) == "tool" else Say(text="passed!")

    with serve(nonsense) as server:
        reply = llm(server, tmp_path).act(CASE.brief("judge"))
    assert (reply.parsed, reply.stop_reason) == (None, "refused")
    assert len(server.asked) == 4


def test_half_an_object_is_asked_for_again_with_more_room(tmp_path: Path) -> None:
    half = Say(text=json.dumps(VERDICT)[:30], finish="length")
    with serve([half, Say(text=json.dumps(VERDICT))]) as server:
        assert llm(server, tmp_path).act(CASE.brief("judge")).parsed == VERDICT
    first, second = (asked.body["max_completion_tokens"] for asked in server.asked)
    assert isinstance(first, int) and second == 2 * first
    with serve([half, half]) as server:
        reply = llm(server, tmp_path).act(CASE.brief("judge"))
    assert (reply.parsed, reply.stop_reason) == (None, "length")


@pytest.mark.parametrize("role", list(SHAPES))
def test_json_is_found_where_models_put_it(role: Role) -> None:
    answer = SHAPED[role]
    text = json.dumps(answer, indent=1)
    for written in (
        text,
        f"```json\n{text}\n```",
        f"Here:\n```\n{text}\n```\nDone.",
        f"The answer is {text}, I think.",
    ):
        assert read_shape(role, written) == answer
    for wrong in ("", "{", "[]", "null", text.replace("{", "[", 1), "NaN"):
        with pytest.raises(ShapeError):
            read_shape(role, wrong)


def test_a_score_is_a_number_and_not_a_yes() -> None:
    for score in (True, "1", None, float("nan"), float("inf"), -0.1):
        with pytest.raises(ShapeError, match="score"):
            check_shape("judge", {**VERDICT, "score": score})


def agent_of(model: FunctionModel | TestModel, home: Path) -> LlmAgent:
    config = LlmConfig(targets=(Target(model="made:up"),), ledger_dir=home)
    return LlmAgent(config, opener=lambda target: model)


def test_the_librarys_own_models_do(tmp_path: Path) -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert "RSI(14)" in str(messages[0])
        return ModelResponse(parts=[TextPart(FENCED)], finish_reason="stop")

    assert agent_of(FunctionModel(answer), tmp_path).act(CASE.brief()).code == PROGRAM
    reply = agent_of(TestModel(custom_output_text="no idea"), tmp_path).act(CASE.brief())
    assert (reply.code, reply.stop_reason) == (None, "refused")
