"""`ringfence research`: words in, a strategy that ran out, and an exit code that says which of the three it was."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.agents.server import Asked, Say, serve
from tests.cli.command import Done, argv, environment, on_terminal, ringfence
from tests.conftest import require
from tests.verbs.researching import BROKEN_IMPORT, BROKEN_NAME, BROKEN_SYNTAX, GOOD, IDEA, NEVER, fenced

DATA = ("--data", "sample:GOOG", "--end", "2006-12-31")


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    plain = {k: v for k, v in environment().items() if not k.startswith(("RINGFENCE_MODEL", "OPENAI", "ANTHROPIC"))}
    return {**plain, "RINGFENCE_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}


def test_words_become_a_strategy_that_ran(env: dict[str, str], tmp_path: Path) -> None:
    sheet = tmp_path / "out.html"
    done = ringfence("research", IDEA, *DATA, "--report", str(sheet), env=env)
    assert done.code == 0, done.err
    for words in ("I read this as: Trade GOOG.", "class RsiCross(Strategy)", "Sharpe ratio", "verified", "hold-out"):
        assert words in done.out
    assert re.search(r"robustness\s+(passed|warning|failed)", done.out) and "no model is configured" in done.out
    assert sheet.read_text().startswith("<!doctype html>") and "--resume" in done.err
    found = re.search(r"research (\w+):", done.err)
    assert found is not None
    again = ringfence("research", "--resume", found[1], "--json", env=env)
    shown = " ".join(done.out.split())
    judged = json.loads(again.out)["evaluation_results"]["results"]
    assert max(len(row["errors"]) + len(row["warnings"]) for row in judged) > 1, "the data no longer shows it"
    for row in judged:
        for said in (*row["errors"], *row["warnings"]):
            assert " ".join(said.split()) in shown, "every doubt is shown, whole"


def test_json_is_the_shape_of_generate_and_nothing_else(env: dict[str, str]) -> None:
    done = ringfence("research", IDEA, *DATA, "--json", env=env)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert set(told["final_backtest"]["results"]) == {"summary", "trades", "equity_curve", "indicators", "execution"}
    assert set(told["evaluation_results"]) >= {"all_passed", "pass_rate", "average_score", "results"}
    assert {row["name"] for row in told["evaluation_results"]["results"]} >= {"parameters", "robustness", "intent"}
    assert told["best_iteration"] == 1 and len(told["iterations"]) == 1 and told["strategy"]["author"] == "rules"
    assert told["status"] in ("passed", "ran") and told["code_sha"] == told["iterations"][0]["code_sha"]
    again = ringfence("research", "--resume", told["job_id"], "--json", env=env)
    assert again.code == 0, again.err
    assert json.loads(again.out) == told, "what is done is told again and not done again"


def test_what_is_not_understood_says_what_would_be_and_what_works_offline(env: dict[str, str]) -> None:
    done = ringfence("research", "Buy GOOG when the frobnicator sings", *DATA, env=env)
    assert done.code == 2
    assert "frobnicator" in done.out and "For example" in done.out
    assert "no model is configured" in done.err and "RINGFENCE_MODEL" in done.err and "`batch`" in done.err


def test_what_never_trades_is_no_success(env: dict[str, str]) -> None:
    done = ringfence("research", "Buy GOOG when RSI drops below 1, sell when it rises above 99", *DATA, env=env)
    assert done.code == 1 and "no strategy passed" in done.out and "never traded" in done.out


def test_too_little_money_is_not_blamed_on_the_entry(env: dict[str, str]) -> None:
    poor = ringfence("research", IDEA, *DATA, "--cash", "10", env=env)
    assert poor.code == 1 and "see --cash and --fractional" in poor.out and "loosen the entry" not in poor.out
    parts = ringfence("research", IDEA, *DATA, "--cash", "10", "--fractional", env=env)
    assert parts.code == 0, parts.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give an idea in words"),
        ((IDEA,), "--data sample:GOOG"),
        ((IDEA, *DATA, "--ideas", "x.txt"), "one of them only"),
        ((IDEA, *DATA, "--watch"), "--ideas SRC"),
        ((IDEA, *DATA, "--objective", "luck"), "sharpe"),
        ((IDEA, *DATA, "--iterations", "5000"), "1,000"),
        ((IDEA, *DATA, "--iterations", "0"), "from 1 to 1,000"),
        ((IDEA, *DATA, "--fees", "-1"), "fees=-1"),
        ((IDEA, *DATA, "--author", "poet"), "rules, llm, command, scripted"),
        ((IDEA, *DATA, "--author", "llm"), "no model is configured"),
        (("--resume", "nothing"), "there is no research 'nothing'"),
        (("--resume", "../x"), "no research"),
        (("--ideas", "/no/such/file", *DATA), "cannot be read"),
    ],
)
def test_a_bad_request_says_what_to_do(words: tuple[str, ...], said: str, env: dict[str, str]) -> None:
    done = ringfence("research", *words, env=env)
    assert done.code not in (0, 1, 125) and said in done.err, done.err
    assert "Traceback" not in done.err and "goes on with it" not in done.err


def reply_to(asked: Asked, broken: str, error: str) -> Say:
    """As a model would: the first program fails, and one that is shown the error mends it."""
    said = asked.text
    if "You check one question" in said:
        answer = {"status": "passed", "score": 0.9, "explanation": "as asked", "errors": [], "warnings": []}
        return Say(call=answer, finish="tool_calls") if asked.body.get("tools") else Say(text=json.dumps(answer))
    return Say(text=fenced(GOOD if error in said else broken))


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (BROKEN_SYNTAX, "SyntaxError"),
        (BROKEN_IMPORT, "ModuleNotFoundError"),
        (BROKEN_NAME, "name 'undefined_level' is not defined"),
        (NEVER, "it ran to the end and never traded"),
    ],
    ids=["syntax", "import", "runtime", "no trades"],
)
def test_a_model_mends_what_the_real_error_told_it(broken: str, error: str, env: dict[str, str]) -> None:
    require("pydantic_ai")
    with serve(lambda asked: reply_to(asked, broken, error)) as server:
        words = (IDEA, *DATA, "--author", "llm", "--model", "tester", "--iterations", "1", "--json")
        done = ringfence("research", *words, env={**env, "RINGFENCE_MODEL_URL": server.openai})
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert [v["status"] for v in told["iterations"]] == ["failed", "ran"] and told["best_iteration"] == 2
    assert any(error in asked.text for asked in server.asked[1:])
    judged = {row["name"]: row["status"] for row in told["evaluation_results"]["results"]}
    assert judged["intent"] == judged["coherence"] == "passed"
    assert told["usage"]["tokens"] > 0 and told["strategy"]["models"] == ["tester"]
    assert told["usage"]["usd"] is None, "nobody knows its price"


def test_a_model_is_asked_for_what_the_rules_cannot_read(env: dict[str, str]) -> None:
    require("pydantic_ai")
    rules = {
        "title": "Dips", "summary": "s", "rules": ["Buy when RSI(14) is below 40", "Sell when it is above 60"],
        "symbols": [], "assumptions": [], "data_needed": [],
    }  # fmt: skip

    def script(asked: Asked) -> Say:
        if "into rules that can be tested" in asked.text:
            return Say(call=rules, finish="tool_calls") if asked.body.get("tools") else Say(text=json.dumps(rules))
        return reply_to(asked, GOOD, "")

    with serve(script) as server:
        more = {**env, "RINGFENCE_MODEL_URL": server.openai, "RINGFENCE_MODEL": "tester"}
        done = ringfence("research", "Panic passes, so buy it", *DATA, "--iterations", "1", env=more)
        plain = ringfence("research", IDEA, *DATA, "--json", env=more)
    assert done.code == 0, done.err
    assert "Buy when RSI(14) is below 40" in done.out
    assert "tokens, price unknown)" in done.out and "0.0000 USD" not in done.out
    assert json.loads(plain.out)["strategy"]["author"] == "rules"


def ideas_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "ideas.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def read_lines(done: Done) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_ideas_of_a_file_get_a_verdict_each_and_are_not_done_again(env: dict[str, str], tmp_path: Path) -> None:
    path = ideas_file(
        tmp_path, "# ours", IDEA, "", "Buy GOOG when the frobnicator sings", f"  {IDEA.upper()}  ",
        "Buy GOOG when RSI drops below 1, sell when it rises above 99",
    )  # fmt: skip
    done = ringfence("research", "--ideas", str(path), *DATA, "--also", "sample:IBM", "--json", env=env)
    assert done.code == 0, done.err
    lines = {str(line["place"]).rpartition(":")[2]: line for line in read_lines(done)}
    assert {place: line["verdict"] in ("passed", "ran") or line["verdict"] for place, line in lines.items()} == {
        "2": True, "4": "not_understood", "5": "duplicate", "6": "failed",
    }  # fmt: skip
    found = re.search(r"research (\w+):", done.err)
    assert found is not None
    path.write_text(path.read_text() + "Buy GOOG when RSI drops below 40, sell when it rises above 60\n")
    again = ringfence("research", "--resume", found[1], "--json", env=env)
    assert again.code == 0, again.err
    known = {str(line["key"]): line for line in read_lines(done)}
    later = read_lines(again)
    assert [line for line in later if line["key"] in known] == [{**line, "resumed": True} for line in known.values()]
    assert len(later) == 5 and not later[-1]["resumed"]


def test_ideas_of_a_folder_and_its_documents(env: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "ideas"
    folder.mkdir()
    ideas_file(folder, IDEA)
    (folder / "said.vtt").write_text(f"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n{IDEA.partition(', ')[0]},\n\n"
                                     f"00:00:02.000 --> 00:00:03.000\n<c>{IDEA.partition(', ')[2]}</c>\n")  # fmt: skip
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 not really")
    done = ringfence("research", "--ideas", str(folder), *DATA, env=env)
    assert done.code == 0, done.err
    assert "unreadable" in done.out and "duplicate" in done.out and "broken.pdf" in done.out
    assert "3 ideas" in done.err


def test_ideas_of_which_none_ran(env: dict[str, str], tmp_path: Path) -> None:
    path = ideas_file(tmp_path, "Buy GOOG when the frobnicator sings")
    done = ringfence("research", "--ideas", str(path), *DATA, env=env)
    assert done.code == 1 and "1 idea: 1 not_understood" in done.err and 'Not read: "frobnicator"' in done.out


def test_a_terminal_sees_the_table(env: dict[str, str], tmp_path: Path) -> None:
    path = ideas_file(tmp_path, IDEA)
    done = on_terminal("research", "--ideas", str(path), *DATA, env=env)
    assert done.code == 0 and "verdict" in done.out and "hold-out" in done.out and "ideas.txt:1" in done.out


def test_watch_takes_up_what_is_added_until_it_is_stopped(env: dict[str, str], tmp_path: Path) -> None:
    path = ideas_file(tmp_path, "Buy GOOG when the frobnicator sings")
    command = argv("research", "--ideas", str(path), *DATA, "--watch", "--json")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
    with process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        path.write_text(f"Buy GOOG when the cow jumps\n{path.read_text()}")
        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=60)
    assert process.returncode == 130 and not rest and "--resume" in err and "does the others" not in err
    assert [first["verdict"], second["verdict"]] == ["not_understood"] * 2 and "cow" in second["idea"]


def test_data_that_has_changed_is_not_gone_on_with(env: dict[str, str], tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    rows = [f"2020-{1 + n // 28:02}-{1 + n % 28:02},10,11,9,{10 + n % 2},100" for n in range(60)]
    prices.write_text("\n".join(["Date,Open,High,Low,Close,Volume", *rows]) + "\n")
    words = ("research", "Buy when the frobnicator sings", "--data", f"csv:{prices}", "--json")
    begun = ringfence(*words, env=env)
    assert begun.code == 2, begun.err
    prices.write_text("\n".join(["Date,Open,High,Low,Close,Volume", *rows[:-1]]) + "\n")
    again = ringfence("research", "--resume", json.loads(begun.out)["job_id"], env=env)
    assert again.code == 69 and "has changed since" in again.err


def test_a_recording_is_replayed_when_it_is_asked_for(env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "replies.json"
    replies = [
        {"role": "code", "text": fenced(BROKEN_NAME)},
        {"role": "debug", "text": fenced(GOOD), "expect": ["NameError"]},
    ]
    path.write_text(json.dumps(replies))
    words = (IDEA, *DATA, "--author", f"scripted:{path}", "--iterations", "1")
    done = ringfence("research", *words, env=env)
    assert done.code == 0, done.err
    assert re.search(r"1\s+code\s+failed.*NameError", done.out) and re.search(r"2\s+debug\s+ran.*best", done.out)
    assert "replayed from replies.json" in done.out
    path.write_text(json.dumps(replies[:1]))
    short = ringfence("research", *words, env=env)
    assert short.code == 74 and "no debug reply left" in short.err and "--resume" in short.err
    told = json.loads((machine := ringfence("research", *words, "--json", env=env)).out)
    assert machine.code == 74 and set(told) == {"status", "reason", "job_id"} and told["status"] == "error"
    assert "no debug reply left" in told["reason"] and told["job_id"] in machine.err
