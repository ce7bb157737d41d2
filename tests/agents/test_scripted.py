"""The scripted agent replays, says so, and ends when its recording does."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence.agents import open_agent
from ringfence.agents.brief import Role
from ringfence.agents.scripted import read_recording, record
from ringfence.base.errors import AgentError, SettingsError
from ringfence.testing import AgentCase, AgentSuite
from ringfence.testing.agent import PROGRAM

from tests.agents.models import CASE, FENCED, SHAPED


def write(path: Path, entries: object) -> str:
    path.write_text(json.dumps(entries))
    return f"scripted:{path}"


class TestScripted(AgentSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> AgentCase:
        shaped = [{"role": role, "text": json.dumps(answer), "repeat": True} for role, answer in SHAPED.items()]
        good = write(tmp_path / "good.json", [*shaped, {"text": FENCED, "repeat": True}])
        cut = write(tmp_path / "cut.json", [{"text": FENCED[:180]}])
        over = open_agent(write(tmp_path / "over.json", [{"role": "judge", "text": "{}"}]))
        return AgentCase(agent=open_agent(good), deterministic=True, cut=open_agent(cut), unreachable=over)


def test_replies_come_by_role_and_in_order(tmp_path: Path) -> None:
    entries = [
        {"role": "debug", "text": "d1"},
        {"role": "code", "text": "c1"},
        {"role": "code", "text": "c2"},
        {"text": "anybody's"},
    ]
    agent = open_agent(write(tmp_path / "x.json", entries))
    asked: list[Role] = ["code", "debug", "code", "optimise"]
    assert [agent.act(CASE.brief(role)).text for role in asked] == ["c1", "d1", "c2", "anybody's"]
    with pytest.raises(AgentError, match=r"x\.json has no code reply left \(4 of 4 replies were used\)"):
        agent.act(CASE.brief())


def test_it_is_never_taken_for_a_model(tmp_path: Path) -> None:
    reply = open_agent(write(tmp_path / "x.json", [{"text": FENCED, "cost_usd": 0.25, "output_tokens": 7}])).act(
        CASE.brief()
    )
    assert (reply.model, reply.code) == ("scripted", PROGRAM)
    assert reply.notices[0] == "this reply was replayed from x.json: no model was asked"
    assert (reply.cost_usd, reply.usage.output_tokens) == (0.25, 7)


def test_a_reply_is_kept_for_its_idea(tmp_path: Path) -> None:
    agent = open_agent(write(tmp_path / "x.json", [{"idea": "RSI", "text": "r"}, {"idea": "MACD", "text": "m"}]))
    macd = replace(CASE.brief(), idea="Buy when MACD crosses its signal")
    assert agent.act(macd).text == "m"
    with pytest.raises(AgentError, match="no code reply left"):
        agent.act(macd)
    assert agent.act(CASE.brief()).text == "r"


def test_a_brief_must_say_what_the_recording_expects(tmp_path: Path) -> None:
    entries = [{"role": "debug", "text": FENCED, "expect": [words]} for words in ("'rsii' is not defined", "KeyError")]
    agent = open_agent(write(tmp_path / "x.json", entries))
    assert agent.act(CASE.brief("debug")).code == PROGRAM
    with pytest.raises(AgentError, match="expected 'KeyError' in the debug brief"):
        agent.act(CASE.brief("debug"))


def test_each_reply_is_given_once_to_many_threads(tmp_path: Path) -> None:
    agent = open_agent(write(tmp_path / "x.json", [{"text": str(n)} for n in range(60)]))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads get in each other's way
    try:
        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(lambda _: agent.act(CASE.brief()).text, range(60)))
    finally:
        sys.setswitchinterval(usual)
    assert sorted(texts, key=int) == [str(n) for n in range(60)]


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    briefs = [CASE.brief(), CASE.brief("debug")]
    first = [CASE.agent.act(brief) for brief in briefs]
    for brief, reply in zip(briefs, first, strict=True):
        record(tape, brief, reply)
    again = open_agent(f"scripted:{tape}")
    assert [again.act(brief).code for brief in briefs] == [reply.code for reply in first] == [PROGRAM] * 2


@pytest.mark.parametrize(
    "text",
    [
        '[{"text": "a"}, {"text": "b"}]',
        '{"replies": [{"text": "a"}, {"text": "b"}]}',
        '{"text": "a"}\n\n{"text": "b"}\n',
    ],
)
def test_json_and_json_lines_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert [entry.text for entry in read_recording(tmp_path / "x")] == ["a", "b"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "no text"),
        ({"text": 1}, "text of the wrong kind"),
        ({"text": "", "role": "boss"}, "'boss'"),
        ({"text": "", "stop_reason": "tired"}, "stop_reason"),
        ({"text": "", "colour": "red"}, "'colour'"),
        ({"text": "", "expect": "words"}, "expect"),
        ({"text": "", "cost_usd": -1}, "cost_usd"),
        ({"text": "", "input_tokens": True}, "input_tokens"),
        ("text", "no object"),
    ],
)
def test_a_recording_that_cannot_be_is_named_by_its_entry(
    tmp_path: Path, entry: Mapping[str, object] | str, words: str
) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        open_agent(write(tmp_path / "x.json", [{"text": "fine"}, entry]))
    assert "reply 2 of" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "not json"])
def test_a_file_without_replies_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SettingsError, match=r"x\.json"):
        open_agent(f"scripted:{tmp_path / 'x.json'}")


@pytest.mark.parametrize("spec", ["scripted", "scripted:nowhere.json", "scripted:colour=red"])
def test_it_is_opened_with_a_file_or_not_at_all(spec: str) -> None:
    with pytest.raises(SettingsError, match=r"scripted|nowhere"):
        open_agent(spec)
