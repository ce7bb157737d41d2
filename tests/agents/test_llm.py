"""The llm agent against a server on this machine: real HTTP, both protocols, streaming and not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringfence.agents import open_agent
from ringfence.agents.llm.config import Target, read_config
from ringfence.agents.llm.joining import whole_lines
from ringfence.base.errors import AgentError, SettingsError
from ringfence.testing import AgentCase, AgentSuite
from ringfence.testing.agent import PROGRAM, check_reply

from tests.agents.models import CASE, FENCED, KEY, PRICED, Waits, by_role, llm
from tests.agents.server import Asked, Say, serve

HALF = FENCED[:180]  # in the middle of a line
REST = f"```python\n{FENCED[len(whole_lines(HALF)) :]}"
PROTOCOLS = [
    pytest.param(model, stream, id=f"{model.partition(':')[0]}-{'streamed' if stream else 'whole'}")
    for model in ("local", PRICED)
    for stream in (False, True)
]


@pytest.fixture(autouse=True)
def _no_model_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MODEL", "MODEL_URL", "MODEL_KEY", "MODEL_FALLBACK"):
        monkeypatch.delenv(f"RINGFENCE_{name}", raising=False)
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class TestLlm(AgentSuite):
    @pytest.fixture
    def case(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentCase]:
        monkeypatch.setenv("RINGFENCE_MODEL_KEY", KEY)
        with ExitStack() as stack:
            good = stack.enter_context(serve(by_role))
            cut = stack.enter_context(serve(lambda asked: Say(text=HALF, finish="length")))
            yield AgentCase(
                agent=open_agent(f"llm:model=local,url={good.openai}"),
                cut=open_agent(f"llm:model=local,url={cut.openai}"),
                unreachable=open_agent("llm:model=local,url=http://127.0.0.1:9/v1,retries=0"),
            )


@pytest.mark.parametrize(("model", "stream"), PROTOCOLS)
class TestOverHttp:
    def test_the_program_comes_out_of_its_fence(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve([Say(text=FENCED)]) as server:
            reply = llm(server, tmp_path, model=model, stream=stream).act(CASE.brief())
        assert (reply.code, reply.stop_reason) == (PROGRAM, "end")
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.requests) == (100, 50, 1)
        assert server.asked[0].streamed is stream
        assert "RSI(14) drops below 35" in server.asked[0].text and "class DipInTrend(Strategy)" in server.asked[0].text

    def test_a_reply_that_was_cut_off_is_continued(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve([Say(text=HALF, finish="length"), Say(text=REST)]) as server:
            reply = llm(server, tmp_path, model=model, stream=stream).act(CASE.brief())
        assert (reply.code, reply.stop_reason, reply.usage.requests) == (PROGRAM, "end", 2)
        last = whole_lines(HALF).split("\n")[-2]
        assert f"arrived is\n\n{last}\n\nGo on with the line after" in server.asked[1].text
        assert "cut off and continued" in reply.notices[0]

    def test_a_reply_that_stays_cut_is_no_program(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve(lambda asked: Say(text=HALF, finish="length")) as server:
            reply = llm(server, tmp_path, model=model, stream=stream, continuations=2).act(CASE.brief())
        assert (reply.code, reply.stop_reason, reply.usage.requests) == (None, "length", 3)
        check_reply(reply)

    def test_a_refusal_is_a_reply(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve([Say(text="", finish="content_filter")]) as server:
            reply = llm(server, tmp_path, model=model, stream=stream).act(CASE.brief())
        assert (reply.code, reply.stop_reason) == (None, "refused")
        assert "declined" in reply.text

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
    def test_what_passes_is_waited_for(self, tmp_path: Path, model: str, stream: bool, status: int) -> None:
        waits = Waits()
        with serve([Say(status=status), Say(status=status), Say(text=FENCED)]) as server:
            reply = llm(server, tmp_path, model=model, stream=stream, waits=waits).act(CASE.brief())
        assert reply.code == PROGRAM
        first, second = waits.seconds
        assert 0 < first < second

    def test_the_wait_that_the_server_asks_for_is_kept(self, tmp_path: Path, model: str, stream: bool) -> None:
        waits = Waits()
        with serve([Say(status=429, retry_after="7"), Say(text=FENCED)]) as server:
            llm(server, tmp_path, model=model, stream=stream, waits=waits).act(CASE.brief())
        assert waits.seconds == [7.0]

    def test_a_wait_beyond_the_clock_is_not_begun(self, tmp_path: Path, model: str, stream: bool) -> None:
        waits = Waits()
        with serve([Say(status=429, retry_after="3600")]) as server, pytest.raises(AgentError) as caught:
            llm(server, tmp_path, model=model, stream=stream, waits=waits).act(CASE.brief())
        assert waits.seconds == []
        assert "3.6e+03 s" in str(caught.value) and "RINGFENCE_MODEL_SECONDS" in str(caught.value)

    def test_trouble_that_stays_is_an_error(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve(lambda asked: Say(status=500)) as server, pytest.raises(AgentError) as caught:
            llm(server, tmp_path, model=model, stream=stream, retries=2).act(CASE.brief())
        assert len(server.asked) == 3
        assert "HTTP 500" in str(caught.value) and "after 3 tries" in str(caught.value)

    @pytest.mark.parametrize(
        ("status", "remedy"), [(401, "RINGFENCE_MODEL_KEY"), (404, "model's name"), (400, "model's name")]
    )
    def test_what_does_not_pass_is_not_tried_again(
        self, tmp_path: Path, model: str, stream: bool, status: int, remedy: str
    ) -> None:
        say = Say(status=status, message=f"not with {KEY}")
        with serve(lambda asked: say) as server, pytest.raises(AgentError) as caught:
            llm(server, tmp_path, model=model, stream=stream).act(CASE.brief())
        assert len(server.asked) == 1
        assert f"HTTP {status}" in str(caught.value) and remedy in str(caught.value)
        assert KEY not in str(caught.value)

    def test_an_answer_that_is_no_json_is_asked_for_again(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve([Say(body="<html>a proxy's page</html>"), Say(text=FENCED)]) as server:
            reply = llm(server, tmp_path, model=model, stream=stream).act(CASE.brief())
        assert reply.code == PROGRAM and len(server.asked) == 2

    def test_a_drip_is_ended_by_our_clock(self, tmp_path: Path, model: str, stream: bool) -> None:
        with serve([Say(text=FENCED, drip_seconds=0.3)]) as server, pytest.raises(AgentError) as caught:
            llm(server, tmp_path, model=model, stream=stream, seconds=0.8).act(CASE.brief())
        assert "did not answer within" in str(caught.value)


@pytest.mark.parametrize("model", ["local", PRICED])
class TestStreams:
    def test_one_that_is_hung_up_on_is_asked_for_again(self, tmp_path: Path, model: str) -> None:
        with serve([Say(text=FENCED, hang_up_after=5), Say(text=FENCED)]) as server:
            reply = llm(server, tmp_path, model=model, stream=True).act(CASE.brief())
        assert reply.code == PROGRAM and len(server.asked) == 2

    def test_one_that_just_ends_is_not_taken_for_complete(self, tmp_path: Path, model: str) -> None:
        """Its text parses: only the missing word that it is over tells."""
        whole = "x = 1\n" * 40
        with serve(lambda asked: Say(text=f"```python\n{whole}{whole}```", end_after=4)) as server:
            reply = llm(server, tmp_path, model=model, stream=True, continuations=0).act(CASE.brief())
        assert (reply.code, reply.stop_reason) == (None, "length")


def test_the_price_is_told_where_the_list_has_the_model(tmp_path: Path) -> None:
    with serve([Say(text=FENCED, input_tokens=1_000_000, output_tokens=100_000)]) as server:
        reply = llm(server, tmp_path, model=PRICED).act(CASE.brief())
    assert reply.model == "claude-sonnet-5"
    assert reply.cost_usd is not None and 0.5 < reply.cost_usd < 50

    with serve([Say(text=FENCED)]) as server:
        assert llm(server, tmp_path).act(CASE.brief()).cost_usd is None


def test_a_model_without_a_word_of_sense_is_refused_and_not_run(tmp_path: Path) -> None:
    with serve([Say(text="As an enthusiast of markets I feel that one should buy low.")]) as server:
        reply = llm(server, tmp_path).act(CASE.brief())
    assert (reply.code, reply.stop_reason) == (None, "refused")
    assert "enthusiast" in reply.text


def test_a_program_with_a_slip_is_handed_on_with_it(tmp_path: Path) -> None:
    """What is wrong with it is what the next brief is about."""
    with serve([Say(text="```python\nclass A(Strategy):\n    def next(self):\n        x = = 1\n```")]) as server:
        reply = llm(server, tmp_path).act(CASE.brief())
    assert reply.stop_reason == "end"
    assert reply.code is not None and "x = = 1" in reply.code


def test_the_fallback_answers_where_the_first_model_cannot(tmp_path: Path) -> None:
    def only_the_second(asked: Asked) -> Say:
        return Say(text=FENCED) if asked.body["model"] == "second" else Say(status=401)

    with serve(only_the_second) as server:
        fallback = (Target(model="second", url=server.openai, key=KEY),)
        reply = llm(server, tmp_path, fallback=fallback).act(CASE.brief())
    assert (reply.code, reply.model) == (PROGRAM, "second")
    assert "refused our key" in reply.notices[0] and "fallback" in reply.notices[0]


def test_keys_go_to_whom_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-providers-own")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-providers-own")
    with serve(lambda asked: Say(text=FENCED)) as server:
        open_agent(f"llm:model=openai:gpt-x,url={server.openai}").act(CASE.brief())
        open_agent(f"llm:model={PRICED},url={server.url}").act(CASE.brief())
        monkeypatch.setenv("RINGFENCE_MODEL_KEY", KEY)
        open_agent(f"llm:model=openai:gpt-x,url={server.openai}").act(CASE.brief())
    plain, anthropic, keyed = server.asked
    assert plain.body["model"] == "gpt-x" and plain.path == "/v1/chat/completions" and anthropic.path == "/v1/messages"
    assert "the-providers-own" not in f"{plain.headers} {anthropic.headers} {keyed.headers}"
    assert keyed.headers["authorization"] == f"Bearer {KEY}"


def test_without_a_model_it_says_what_works_and_how_to_have_one() -> None:
    with pytest.raises(AgentError) as caught:
        open_agent("llm")
    for words in ("--author rules", "backtest", "RINGFENCE_MODEL=", "RINGFENCE_MODEL_URL", "ANTHROPIC_API_KEY"):
        assert words in str(caught.value)


def test_without_its_key_a_provider_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(AgentError, match="ANTHROPIC_API_KEY"):
        open_agent(f"llm:{PRICED}").act(CASE.brief())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("model=x,colour=red", "colour"),
        ("model=x,key=abc", "RINGFENCE_MODEL_KEY in the environment"),
        ("model=x,seconds=soon", "seconds=soon"),
        ("model=x,retries=1.5", "whole number"),
        ("model=x,stream=perhaps", "yes or no"),
        ("model=x,url=localhost", "http://"),
    ],
)
def test_an_option_that_cannot_be_is_named(options: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        open_agent(f"llm:{options}")


@pytest.mark.parametrize("model", ["nosuch:model", "gpt"])
def test_an_unknown_provider_is_an_error_with_a_remedy(model: str) -> None:
    with pytest.raises(AgentError, match="provider:model"):
        open_agent(f"llm:{model}").act(CASE.brief())


def test_a_fallback_is_asked_where_it_belongs() -> None:
    def targets(**options: str) -> list[tuple[str, str | None, str | None]]:
        environ = {"RINGFENCE_MODEL_KEY": KEY, "HOME": "/nowhere"}
        return [(t.model, t.url, t.key) for t in read_config(options, environ).targets]

    here = "http://127.0.0.1/v1"
    assert targets(model="a:1", fallback="b:2") == [("a:1", None, KEY), ("b:2", None, None)]
    assert targets(model="llama:8b", url=here, fallback="anthropic:x")[1] == ("anthropic:x", None, None)
    assert targets(model="llama:8b", url=here, fallback="llama:1b")[1] == ("llama:1b", here, KEY)
    assert KEY not in repr(read_config({"model": "x"}, {"RINGFENCE_MODEL_KEY": KEY, "HOME": "/nowhere"}))
