"""Chat with a model at a server on this machine: it writes a program, the fence runs it, its numbers alone are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.agents.prompt import role_prompt
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Cancel
from ringfence.verbs.chat import Answer, Event, chat
from ringfence.verbs.chat.freeform import REPAIRS

from tests.agents.models import llm
from tests.agents.server import Asked, ModelServer, Say, serve
from tests.verbs.asking import desk, samples
from tests.verbs.judged import STRATEGY_SANDBOX

GOOG = samples("GOOG")
QUESTION = "what was the record of this company?"
PROGRAM = """
from pathlib import Path
from ringfence.trade.arrow import read_bars
c = read_bars(Path("/bars/bars.arrow")).candles["GOOG"]
result = {"numbers": {"highest": float(c.high.max()), "days": len(c)}, "horizon": "the past",
          "assumptions": ["highs are as printed"], "observations": len(c)}
"""
ADVICE = "It was 808.97 and will be 999.99."


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def wrote(code: str) -> Say:
    return Say(text=f"```python\n{code.strip()}\n```")


def freely(server: ModelServer, sandbox: Sandbox, home: Path, text: str = QUESTION) -> Answer:
    return chat(text, desk=desk(sandbox, home), data=GOOG, agent=llm(server, home))


def roles(asked: list[Asked]) -> list[str]:
    """Which prompt each request carried."""
    known = ("compute", "summarise", "code", "debug", "analyst")
    return [next(r for r in known if role_prompt(r).partition("\n")[0] in request.text) for request in asked]


def test_a_model_is_asked_what_no_template_does(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve([wrote(PROGRAM), Say(text="The highest price\nin 2148 days was 808.97.")]) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "answered", answer.text
    assert answer.numbers == {"highest": 808.97, "days": 2148}
    assert answer.text.startswith("The highest price in 2148 days was 808.97.\n")
    for head in ("Horizon: the past", "Assumptions: highs are as printed", "Observations: 2,148", "Data: sample:GOOG"):
        assert head in answer.text
    assert answer.code is not None and (answer.code.strip(), answer.by) == (PROGRAM.strip(), "model:local")
    assert roles(server.asked) == ["compute", "summarise"]
    compute, summarise = (request.text for request in server.asked)
    assert QUESTION in compute and "GOOG: 2,148 bars of 1d" in compute and "/bars/bars.arrow" in compute
    assert "- highest: 808.97\n- days: 2148" in summarise
    assert not any("Strategy" in text or "trading strateg" in text for text in (compute, summarise))


def test_a_word_that_no_template_knows_is_for_the_model(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve([wrote(PROGRAM), Say(text="It was 808.97.")]) as server:
        answer = freely(server, sandbox, tmp_path, "smoothed RSI of GOOG")
    assert (answer.kind, answer.by) == ("answered", "model:local"), answer.text
    assert "smoothed RSI of GOOG" in server.asked[0].text


def test_a_program_that_fails_goes_back_to_the_same_role_with_its_error(sandbox: Sandbox, tmp_path: Path) -> None:
    broken = "import numpy as np\nx = np.log([])[0]"
    with serve(
        [wrote(broken), wrote("result = {'numbers': {}}"), wrote(PROGRAM), Say(text="It was 808.97.")]
    ) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "answered" and answer.code is not None and answer.code.strip() == PROGRAM.strip()
    assert roles(server.asked) == ["compute"] * 3 + ["summarise"]
    first, second = (request.text for request in server.asked[1:3])
    for words in (broken, "IndexError at line 2", "out of bounds", "Traceback"):
        assert words in first, words
    assert "ResultError" in second and "`numbers` holds no number" in second and broken not in second


def test_repairs_are_bounded_and_the_same_error_is_counted(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve(lambda asked: wrote("x = 1 / 0")) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "failed" and not answer.numbers
    assert f"failed {REPAIRS + 1} times, last with ZeroDivisionError: division by zero" in answer.text
    assert len(server.asked) == REPAIRS + 1
    assert "ZeroDivisionError at line 1, seen 3 times in a row" in server.asked[-1].text


def test_a_program_that_was_cancelled_is_not_repaired(sandbox: Sandbox, tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    with serve(lambda asked: wrote("x = 1\nwhile x: pass")) as server:
        at = replace(desk(sandbox, tmp_path), cancel=cancel)
        answer = chat(QUESTION, desk=at, data=GOOG, agent=llm(server, tmp_path))
    assert (answer.kind, len(server.asked)) == ("failed", 1)
    assert answer.outcome is not None and answer.outcome.status == "cancelled"
    assert "failed once with cancelled" in answer.text


def test_a_reply_that_stays_cut_off_is_never_run(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve(lambda asked: Say(text="```python\nresult = {'numbers': {'a': 1.0}}\n", finish="length")) as server:
        answer = freely(server, sandbox, tmp_path)
    assert (answer.kind, answer.outcome, answer.code) == ("failed", None, None)
    assert "no numbers to give" in answer.text and "cut off" in answer.text
    assert len(server.asked) > 1, "it was not continued"


@pytest.mark.parametrize(
    ("last", "notice"),
    [
        (Say(text=ADVICE), "spoke of 999.99"),
        (Say(text="It was 808.97, up ninety percent."), "spoke of 90"),
        (Say(text="It was 808.97 and then", finish="length"), "did not put"),
        (Say(status=401, message="no such key"), "did not put"),
    ],
)
def test_words_with_other_numbers_are_not_passed_on(last: Say, notice: str, sandbox: Sandbox, tmp_path: Path) -> None:
    with serve(lambda asked: wrote(PROGRAM) if roles([asked]) == ["compute"] else last) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "answered"
    assert answer.text.startswith("The program gave: highest 808.97; days 2,148.")
    assert not any(words in answer.text for words in ("999.99", "ninety", "and then"))
    assert any(notice in told for told in answer.notices), answer.notices


@pytest.mark.parametrize(
    ("said", "words"),
    [("That needs its accounts, which are not here.", "its accounts"), ("It made 77 billion.", "nobody worked out")],
)
def test_words_in_place_of_a_program_are_no_answer(said: str, words: str, sandbox: Sandbox, tmp_path: Path) -> None:
    with serve([Say(text=said)]) as server:
        answer = freely(server, sandbox, tmp_path)
    assert (answer.kind, answer.outcome) == ("refused", None)
    assert "Nothing was worked out" in answer.text and words in answer.text and "77" not in answer.text


def test_words_in_place_of_a_repair_are_told_with_the_error(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve([wrote("x = 1 / 0"), Say(text="I give up.")]) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "failed" and answer.outcome is not None
    assert "ZeroDivisionError" in answer.text and "It said: I give up." in answer.text


@pytest.mark.parametrize("numbers", ["{'a': float('nan')}", "{'a': float('inf')}", "[1, 2]", "{}"])
def test_a_result_without_numbers_is_a_failure(numbers: str, sandbox: Sandbox, tmp_path: Path) -> None:
    program = f"result = {{'numbers': {numbers}, 'horizon': 'h', 'assumptions': ['a'], 'observations': 1}}"
    with serve(lambda asked: wrote(program)) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "failed" and len(server.asked) == REPAIRS + 1
    json.dumps(answer.to_json(), allow_nan=False)


@pytest.mark.parametrize("text", ["What is our business model?", "explain the business model of Tesla"])
def test_talk_is_not_computed(text: str, sandbox: Sandbox, tmp_path: Path) -> None:
    with serve(lambda asked: wrote(PROGRAM)) as server:
        answer = freely(server, sandbox, tmp_path, text)
    assert (answer.kind, answer.code, server.asked) == ("refused", None, [])
    assert "numbers answer" in answer.text and "RINGFENCE_MODEL" not in answer.text


def test_a_template_goes_before_the_model(sandbox: Sandbox, tmp_path: Path) -> None:
    with serve([]) as server:
        answer = freely(server, sandbox, tmp_path, "RSI of GOOG")
    assert answer.kind == "answered" and server.asked == []


def test_a_model_program_is_behind_the_fence(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("1234")
    with serve(lambda asked: wrote(f"x = open({str(secret)!r}).read()")) as server:
        answer = freely(server, sandbox, tmp_path)
    assert answer.kind == "failed" and "FileNotFoundError" in answer.text


def test_the_example_of_the_prompt_runs_and_watching_shows_it(sandbox: Sandbox, tmp_path: Path) -> None:
    [example] = re.findall(r"```python\n(.*?)\n```", role_prompt("compute"), re.DOTALL)
    seen: list[Event] = []
    with serve([wrote(example), Say(text="")]) as server:
        answer = chat(
            QUESTION, desk=desk(sandbox, tmp_path), data=GOOG, agent=llm(server, tmp_path), on_event=seen.append
        )
    assert answer.kind == "answered", answer.text
    closes = desk(sandbox, tmp_path).load(GOOG).candles["GOOG"].close
    assert answer.numbers["annual_volatility"] == pytest.approx(np.diff(np.log(closes)).std(ddof=1) * 252**0.5)
    assert [event.kind for event in seen] == ["read_as", "code", "limits", "stdout", "text"]
