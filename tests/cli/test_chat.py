"""`ringfence chat` through the front door: once, piped, and at a prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Done, environment, on_terminal, ringfence
from tests.conftest import require

QUESTION = "95 % interval for GOOG in 30 days"
DIP = """from ringfence import Strategy, rsi

class Dip(Strategy):
    def init(self):
        self.rsi = self.I(rsi, self.data.close, 5)

    def next(self):
        if self.rsi < 30 and not self.position:
            self.buy()
        elif self.rsi > 60 and self.position:
            self.position.close()
"""
PROGRAM = """import numpy as np
result = {"numbers": {"answer": 42.0}, "horizon": "none", "assumptions": ["it is known"], "observations": 1}
"""


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = environment(RINGFENCE_HOME=str(tmp_path / "home"), XDG_STATE_HOME=str(tmp_path / "state"))
    return {name: value for name, value in kept.items() if not name.startswith("RINGFENCE_MODEL")}


def ask(*words: str, env: dict[str, str], stdin: str = "", cwd: Path | None = None) -> Done:
    return ringfence("chat", *words, env=env, stdin=stdin, cwd=cwd)


def test_an_answer_shows_how_it_was_come_by(env: dict[str, str]) -> None:
    done = ask(QUESTION, "--data", "sample:GOOG", env=env)
    assert done.code == 0, done.err
    parts = [
        "Read as a 95 % price interval for GOOG, 30 days ahead",
        '    SYMBOL = "GOOG"',
        "Limits: 15 s, 256 MB of memory",
        "10000 futures of 30 bars from 2147 returns of GOOG",
        "GOOG closed at 806.19",
        "Horizon: 30 trading days",
        "Assumptions: ",
        "Observations: 2,147",
        "Data: sample:GOOG",
    ]
    places = [done.out.find(part) for part in parts]
    assert -1 not in places and places == sorted(places)


def test_json_is_one_answer_and_piped_text_is_the_same_question(env: dict[str, str], tmp_path: Path) -> None:
    words = ("--data", "sample:GOOG", "--json")
    done = ask(QUESTION, *words, "--plot", "fan.png", env=env, cwd=tmp_path)
    answer = json.loads(done.out)
    assert (done.code, answer["kind"], answer["intent"], answer["by"]) == (
        0,
        "answered",
        "price",
        "template:monte_carlo",
    )
    assert answer["numbers"]["observations"] == 2147 and answer["limits"]["memory_mb"] == 256
    assert answer["source"]["spec"] == "sample:GOOG" and answer["outcome"]["status"] == "ok"
    assert (tmp_path / "fan.png").read_bytes().startswith(b"\x89PNG")
    piped = json.loads(ask(*words, env=env, stdin=QUESTION + "\n").out)
    assert piped["text"] == answer["text"]


@pytest.mark.parametrize(
    ("text", "kind", "code", "words"),
    [
        ("What is Tesla's business model?", "refused", 2, "These work offline"),
        ("kelly criterion with a 60% win rate", "asked", 2, "payoff"),
        ("smoothed RSI of sample:GOOG", "asked", 2, "I do not know what 'smoothed' means in it"),
        ("correlation of sample:AAPL,NOSUCH", "failed", 1, "NOSUCH"),
    ],
)
def test_what_is_not_answered_has_an_exit_code(
    text: str, kind: str, code: int, words: str, env: dict[str, str]
) -> None:
    done = ask(text, "--json", env=env)
    answer = json.loads(done.out)
    assert (done.code, answer["kind"], answer["numbers"], answer["code"]) == (code, kind, {}, None)
    assert words in answer["text"]
    assert ask(text, env=env).code == code


def test_no_text_is_a_wrong_command_line(env: dict[str, str]) -> None:
    done = ask(env=env)
    assert done.code == 2 and "there is no text" in done.err
    done = ask("x", "--model", "a", "--agent", "b", env=env)
    assert done.code == 2 and "not both" in done.err


def test_a_model_writes_what_no_template_does(env: dict[str, str], tmp_path: Path) -> None:
    replies = [
        {"role": "compute", "text": "```python\nimport nothing_here\nresult = 1\n```"},
        {"role": "compute", "text": f"```python\n{PROGRAM}```", "expect": ["ModuleNotFoundError", "nothing_here"]},
        {"role": "summarise", "text": "The answer is 42.", "expect": ["answer: 42"]},
    ]
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    words = ("what is the meaning of it all?", "--agent", f"scripted:{tmp_path}/replies.json", "--json")
    done = ask(*words, env=env)
    assert done.code == 0, done.err + done.out
    answer = json.loads(done.out)
    assert answer["numbers"] == {"answer": 42.0} and answer["text"].startswith("The answer is 42.")
    assert answer["by"] == "model:scripted" and "Assumptions: it is known" in answer["text"]
    assert any("replayed" in notice for notice in answer["notices"])


def test_files_that_were_made_are_kept_or_said_to_be_gone(env: dict[str, str], tmp_path: Path) -> None:
    words = ("clean the GOOG data", "--data", "sample:GOOG")
    done = ask(*words, env=env)
    assert done.code == 0 and "changes.csv" in done.out
    assert done.err == "ringfence: made and not kept: changes.csv, cleansed.csv; --artifacts DIR keeps files\n"
    kept = ask(*words, "--artifacts", "kept", env=env, cwd=tmp_path)
    (log,) = tmp_path.glob("kept/*/changes.csv")
    assert f"artifact changes.csv: {log.relative_to(tmp_path)}" in kept.err and "not kept" not in kept.err
    assert log.read_text().count("2008-04-18") == 1


def test_the_trades_of_a_stored_run(env: dict[str, str], tmp_path: Path) -> None:
    made = ringfence("backtest", "-", "--data", "sample:GOOG", "--no-lookahead", "--json", env=env, stdin=DIP)
    run_id = json.loads(made.out)["run_id"]
    done = ask(f"risk of ruin of the trades of run {run_id}, ruin at 30%, 200 trades", "--json", env=env)
    answer = json.loads(done.out)
    assert (done.code, answer["intent"], answer["numbers"]["ruin"]) == (0, "strategy", 0.3), answer["text"]
    assert answer["numbers"]["drawn"] == 200 and run_id in answer["source"]["spec"]
    missing = ask("monte carlo on the trades of run 12ab34cd", "--json", env=env)
    assert missing.code == 1 and "12ab34cd" in json.loads(missing.out)["text"]


def test_a_prompt_with_history(env: dict[str, str], tmp_path: Path) -> None:
    typed = ["RSI of GOOG\n", "nonsense about cheese\n", "95 % interval for NOSUCH in 3 days\n", ":help\n", ":quit\n"]
    done = on_terminal("chat", "--data", "sample:GOOG", env=env, typed=typed)
    assert done.code == 0, done.out
    assert "rsi of GOOG (period 14) on 2013-03-01" in done.out
    assert "These work offline" in done.out and "NOSUCH is not in sample:GOOG" in done.out
    assert "Ctrl-C stops" in done.out
    assert "RSI of GOOG" in (tmp_path / "state" / "ringfence" / "chat_history").read_text()
