"""One research from end to end by its command: judges speak in the loop, trials are counted, lineage has no holes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ringfence.store import open_store

from tests.cli.command import environment, ringfence
from tests.conftest import require
from tests.verbs.researching import GOOD, IDEA, advice, fenced, strategy

TOO_LATE = "it buys a bar too late"


def verdict(status: str, *errors: str) -> str:
    score = 0.1 if errors else 1.0
    return json.dumps({"status": status, "score": score, "explanation": "", "errors": errors, "warnings": []})


def replies() -> list[dict[str, object]]:
    broken = strategy(48, 52, extra="        level = undefined_level\n")
    passed: dict[str, object] = {"role": "judge", "text": verdict("passed")}
    return [
        {"role": "code", "text": fenced(GOOD), "expect": ["I read this as: Trade GOOG.", "crosses below 35"]},
        {"role": "judge", "text": verdict("failed", TOO_LATE)}, passed, passed,
        {"role": "analyst", "text": advice("exit"), "expect": [f"intent: failed; {TOO_LATE}", "parameters: failed"]},
        {"role": "optimise", "text": fenced(broken, "Leave sooner."), "expect": [TOO_LATE]},
        {"role": "debug", "text": fenced(strategy(48, 52)), "expect": ["undefined_level"]},
        {"role": "analyst", "text": advice("entry"), "expect": ["version 3 (exit)", "parameters failed: "]},
        {"role": "optimise", "text": fenced(strategy(45, 65))},
        passed, passed, passed,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def told(home: Path) -> Mapping[str, object]:
    require("linux")
    (home / "replies.json").write_text(json.dumps(replies()))
    plain = {k: v for k, v in environment().items() if not k.startswith("RINGFENCE_MODEL")}
    words = ("--data", "sample:GOOG", "--end", "2006-12-31", "--author", f"scripted:{home}/replies.json")
    done = ringfence(
        "research", IDEA, *words, "--iterations", "3", "--json", env={**plain, "RINGFENCE_HOME": str(home)}
    )
    assert done.code == 0, done.err
    found: Mapping[str, object] = json.loads(done.out)
    return found


def judged(evaluation: object) -> dict[str, tuple[str, str]]:
    assert isinstance(evaluation, dict)
    return {row["name"]: (row["status"], "".join([*row["errors"], *row["warnings"]])) for row in evaluation["results"]}


def test_what_models_say_reaches_the_next_brief_and_only_the_best_are_shown_to_them(
    told: Mapping[str, object],
) -> None:
    versions = told["iterations"]
    assert isinstance(versions, list)
    assert [v["status"] for v in versions] == ["ran", "failed", "ran", "ran"]
    first, third, last = (judged(versions[n]["evaluation"]) for n in (0, 2, 3))
    assert first["intent"] == ("failed", TOO_LATE) and first["coherence"][0] == "passed"
    assert third["intent"] == ("skipped", "no model was asked: it is not the best so far")
    assert last["intent"] == ("skipped", "no model was asked: the best version is judged at the end")
    assert judged(told["evaluation_results"])["intent"][0] == "passed"
    usage = told["usage"]
    assert isinstance(usage, dict) and usage["requests"] == len(replies())


def test_a_model_is_held_to_the_rules_that_the_words_have(told: Mapping[str, object]) -> None:
    """Also to those that the digits alone do not show; what was changed on request is held to the words only."""
    versions, asked = told["iterations"], told["strategy"]
    assert isinstance(versions, list) and isinstance(asked, dict) and asked["description"] is not None
    first, third = (judged(versions[n]["evaluation"]) for n in (0, 2))
    assert first["correctness"][0] == "failed" and third["correctness"][0] == "warning"


def test_a_run_tells_of_how_many_it_is_the_best(told: Mapping[str, object]) -> None:
    document, selection = told["final_backtest"], told["selection"]
    assert isinstance(document, dict) and isinstance(selection, dict)
    metrics = document["results"]["summary"]
    assert metrics["trials"] == selection["trials"] == 3
    assert metrics["deflated_sharpe"] == selection["deflated_sharpe"] < metrics["probabilistic_sharpe"]
    versions = told["iterations"]
    assert isinstance(versions, list) and [v["train"].get("trials") for v in versions] == [1, None, 2, 3]


def test_the_same_program_run_by_itself_does_not_replace_the_best_of_many(
    told: Mapping[str, object], home: Path, tmp_path: Path
) -> None:
    document, code, asked = told["final_backtest"], told["code"], told["strategy"]
    assert isinstance(document, dict) and isinstance(code, str) and isinstance(asked, dict)
    stored = document["results"]["execution"]["run_id"]
    program = tmp_path / f"{asked['name']}.py"
    program.write_text(code)
    words = ("backtest", str(program), "--data", "sample:GOOG", "--end", "2006-12-31", "--json")
    alone = json.loads(ringfence(*words, env={**environment(), "RINGFENCE_HOME": str(home)}).out)
    assert alone["run_id"] != stored and alone["metrics"]["trials"] == 1
    with open_store(f"sqlite:///{home}/ringfence.db") as store:
        assert store.get_run(stored).json["metrics"]["trials"] == 3  # type: ignore[index, call-overload]


def test_lineage_has_no_holes_where_a_change_had_to_be_mended(told: Mapping[str, object], home: Path) -> None:
    asked, versions = told["strategy"], told["iterations"]
    assert isinstance(asked, dict) and isinstance(versions, list)
    with open_store(f"sqlite:///{home}/ringfence.db") as store:
        lines = {line.child_version: line for line in store.list_lineage(asked["name"])}
    first, third = (versions[n]["version"] for n in (0, 2))
    mended = lines[third]
    assert (mended.parent_version, mended.optimization_type) == (first, "exit")
    assert "-    high = 60" in mended.changes_made and versions[2]["reason"] in mended.changes_made
    assert "undefined_level" not in mended.changes_made and mended.performance_delta
