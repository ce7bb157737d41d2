"""Research that is killed at any moment goes on where it was; a hundred ideas get a hundred verdicts, hands off."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.agents.server import Asked, Say, serve
from tests.cli.command import argv, environment, ringfence
from tests.conftest import require
from tests.verbs.researching import BROKEN_NAME, GOOD, IDEA, advice, fenced, strategy

SECONDS = 280
SHORT = ("--data", "sample:GOOG", "--end", "2005-03-31")


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    plain = {k: v for k, v in environment().items() if not k.startswith("RINGFENCE_MODEL")}
    return {**plain, "RINGFENCE_HOME": str(tmp_path / "home")}


def role_of(asked: Asked) -> str:
    heads = {
        "by one change at a time": "optimise",
        "You judge how a trading strategy did": "analyst",
        "You repair trading strategies that fail": "debug",
        "You check one question": "judge",
    }
    return next((role for words, role in heads.items() if words in asked.text), "code")


def answer(asked: Asked) -> Say:
    role = role_of(asked)
    if role == "judge":
        told = {"status": "passed", "score": 1, "explanation": "", "errors": [], "warnings": []}
    elif role == "analyst":
        told = json.loads(advice("entry"))
    else:
        texts = {"code": BROKEN_NAME, "debug": GOOD, "optimise": strategy(45, 65)}
        return Say(text=fenced(texts[role]))
    return Say(call=told, finish="tool_calls") if asked.body.get("tools") else Say(text=json.dumps(told))


def id_of(err: str) -> str:
    found = re.search(r"research (\w+):", err)
    assert found is not None, err
    return found[1]


def test_kill_9_in_the_middle_goes_on_without_asking_again(env: dict[str, str]) -> None:
    require("pydantic_ai")
    reached, over = threading.Event(), threading.Event()

    def stuck(asked: Asked) -> Say:
        if role_of(asked) == "analyst":
            reached.set()
            over.wait(SECONDS)
        return answer(asked)

    words = ("research", IDEA, "--data", "sample:GOOG", "--end", "2006-12-31", "--author", "llm", "--model", "tester")
    with serve(stuck) as server:
        more = {**env, "RINGFENCE_MODEL_URL": server.openai}
        process = subprocess.Popen(
            argv(*words, "--iterations", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=more, text=True
        )
        with process:
            assert reached.wait(SECONDS)
            process.kill()
            _, err = process.communicate(timeout=SECONDS)
        assert process.returncode == -signal.SIGKILL
        over.set()
        assert [role_of(asked) for asked in server.asked] == ["code", "debug", *["judge"] * 3, "analyst"]
    with serve(answer) as server:
        more = {**env, "RINGFENCE_MODEL_URL": server.openai}
        done = ringfence("research", "--resume", id_of(err), "--json", env=more)
        assert done.code == 0, done.err
        assert [role_of(asked) for asked in server.asked][:2] == ["analyst", "optimise"]
    told = json.loads(done.out)
    assert [v["status"] for v in told["iterations"]] == ["failed", "ran", "ran"] and told["best_iteration"] == 3
    assert [v["role"] for v in told["iterations"]] == ["code", "debug", "optimise"]


def hundred() -> list[str]:
    """Those that can be read stand among the others: a kill meets some that are done and some that are not."""
    wanted = [f"Buy GOOG when RSI drops below {36 + n}, sell when it rises above {60 + n}" for n in range(2)]
    wanted += [
        f"Buy GOOG when the price closes above the {n}-day moving average, exit after 5 days" for n in range(5, 8)
    ]
    strange = [f"Buy GOOG when the moon is {n} days old" for n in range(80)]
    mixed = [idea for n, good in enumerate(wanted) for idea in (good, *strange[16 * n : 16 * (n + 1)])]
    return [*mixed, *(idea.upper() for idea in (*wanted, *strange[:10]))]


def test_a_hundred_ideas_get_a_hundred_verdicts_also_after_a_kill(env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text("# a hundred\n" + "\n".join(hundred()) + "\n")
    words = ("research", "--ideas", str(path), *SHORT, "--jobs", "2", "--json")
    process = subprocess.Popen(argv(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
    with process:
        assert process.stdout is not None
        told = "".join(process.stdout.readline() for _ in range(12))
        process.kill()
        rest, err = process.communicate(timeout=SECONDS)
    before = [json.loads(line) for line in (told + rest).splitlines(keepends=True) if line.endswith("\n")]
    command = argv("research", "--resume", id_of(err), "--jobs", "2", "--json")
    done = subprocess.run(command, capture_output=True, env=env, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    lines = {line["key"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert len(lines) == 100
    for line in before:
        assert lines[line["key"]] == {**line, "resumed": True}
    by = [sum(line["verdict"] in words for line in lines.values()) for words in (
        ("passed", "ran", "failed"), ("not_understood",), ("duplicate",))]  # fmt: skip
    assert by == [5, 80, 15]
    assert sum(line["verdict"] in ("passed", "ran") for line in lines.values()) >= 4
