"""Research, Monte Carlo and indicators over the protocol: what is answered, what is refused, and what is left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio
import jsonschema  # type: ignore[import-untyped]  # publishes no types
import pytest
from mcp_types import ImageContent, ResourceLink

from tests.agents.server import InOrder, Say, serve
from tests.cli.command import ringfence
from tests.mcp.serving import (
    Json,
    Peer,
    answer,
    connected,
    connected_http,
    environment,
    http_server,
    lean,
    make_mark,
    processes_with,
    refusal,
    stdio,
    text,
    wait_until,
)
from tests.verbs.researching import IDEA, fenced, strategy

GOOG = {"data": "sample:GOOG", "end": "2006-12-31"}
NONSENSE = "Buy GOOG when the frobnicator sings"
GENERATE = {
    "job_id", "status", "reason", "strategy", "code", "code_sha", "final_backtest", "evaluation_results", "iterations",
    "best_iteration", "objective", "split", "holdout", "selection", "data_sets", "stopped", "usage", "seconds",
    "warnings",
}  # fmt: skip


def whole_of(peer: Peer, found: Json) -> Json:
    """The document that the answer was cut from, read in parts as a client must."""
    parts, offset = [], 0
    while offset is not None:
        asked = {"run_id": found["job_id"], "name": "research.json", "offset": offset, "max_bytes": 1 << 20}
        part = answer(peer.call("artifact_read", **asked))
        parts.append(part["content"])
        offset = part["next_offset"]
    return json.loads("".join(parts))


def keeps_to_schema(peer: Peer, name: str, found: Json) -> None:
    [tool] = [tool for tool in peer.ask(peer.client.list_tools).tools if tool.name == name]
    jsonschema.validate(found, tool.output_schema)


def test_words_become_a_strategy_that_ran(peer: Peer) -> None:
    result = peer.call("research_run", idea=IDEA, report=True, fractional=True, **GOOG)
    found = answer(result)
    keeps_to_schema(peer, "research_run", found)
    assert set(found) == GENERATE | {"advice", "left_out", "document"}
    assert found["status"] in ("passed", "ran") and found["strategy"]["author"] == "rules"
    assert found["strategy"]["reading"].startswith("I read this as: Trade GOOG.")
    assert "class RsiCross(Strategy)" in found["code"] and "class RsiCross(Strategy)" in text(result)
    assert {row["name"] for row in found["evaluation_results"]["results"]} >= {"parameters", "lookahead", "intent"}
    shown = found["final_backtest"]["results"]
    assert set(shown) == {"summary", "trades", "equity_curve", "indicators", "execution"}
    assert f"sharpe {shown['summary']['sharpe']:.4g}" in text(result)
    assert shown["execution"]["provenance"] == "verified" and found["holdout"]["bars"] > 0
    assert any(trade["qty"] % 1 for trade in shown["trades"]), "parts of a share were allowed"
    stored = answer(peer.call("runs_get", run_id=shown["execution"]["run_id"]))
    assert stored["metrics"] == shown["summary"]
    full = whole_of(peer, found)
    assert set(full) == GENERATE
    curve = full["final_backtest"]["results"]["equity_curve"]
    assert shown["equity_curve"][-1] == curve[-1] and len(shown["equity_curve"]) < len(curve)
    assert found["left_out"]["equity_curve"] == len(curve) - len(shown["equity_curve"])
    assert len(json.dumps(found)) < 64_000 < len(json.dumps(full))
    assert found["document"] in {str(block.uri) for block in result.content if isinstance(block, ResourceLink)}
    sheet = answer(peer.call("artifact_read", run_id=found["job_id"], name="report.html", max_bytes=100))
    assert sheet["content"].startswith("<!doctype html>")


def test_words_that_are_not_understood_are_a_normal_answer(peer: Peer) -> None:
    result = peer.call("research_run", idea=NONSENSE, **GOOG)
    found = answer(result)
    assert (found["status"], found["code"], found["final_backtest"]) == ("not_understood", None, None)
    for said in (found["reason"], text(result)):
        assert "frobnicator" in said and "For example: Buy" in said
    assert "RINGFENCE_MODEL" in found["advice"]


def test_the_command_line_goes_on_with_it(one: Peer, home: Path) -> None:
    """What was begun here is on record as the command line records it, so it can be told again there."""
    found = answer(one.call("research_run", idea=NONSENSE, data="sample:GOOG", also=["synthetic:gbm?seed=1"]))
    done = ringfence("research", "--resume", found["job_id"], "--json", env=environment(home))
    assert done.code == 2, done.err
    assert json.loads(done.out) == whole_of(one, found)


def test_what_never_trades_is_no_success(one: Peer) -> None:
    idea = "Buy GOOG when RSI drops below 1, sell when it rises above 99"
    found = answer(one.call("research_run", idea=idea, **GOOG))
    assert found["status"] == "failed" and "never traded" in found["reason"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("research_run", {"data": "sample:GOOG"}, "'idea' is missing"),
        ("research_run", {"idea": IDEA}, "'data' is missing"),
        ("research_run", {"idea": " ", **GOOG}, "the idea is empty"),
        ("research_run", {"idea": IDEA, "data": "csv:/etc/passwd"}, "RINGFENCE_MCP_DATA_DIR"),
        ("research_run", {"idea": IDEA, **GOOG, "also": ["csv:/etc/passwd"]}, "RINGFENCE_MCP_DATA_DIR"),
        ("research_run", {"idea": IDEA, **GOOG, "author": "command:sh"}, "'rules' or 'llm'"),
        ("research_run", {"idea": IDEA, **GOOG, "author": "llm"}, "no model is configured"),
        ("research_run", {"idea": IDEA, **GOOG, "model": "x,url=http://127.0.0.1:1"}, "'model' is no argument"),
        ("research_run", {"idea": IDEA, **GOOG, "objective": "luck"}, "sharpe"),
        ("research_run", {"idea": IDEA, **GOOG, "iterations": 5000}, "less than or equal to 20"),
        ("research_run", {"idea": IDEA, **GOOG, "fees": -1}, "fees"),
        ("research_run", {"idea": IDEA, **GOOG, "timeout": 301}, "ask for 300 or less"),
        ("monte_carlo", {}, "'data' is missing"),
        ("monte_carlo", {"data": "csv:/etc/passwd"}, "RINGFENCE_MCP_DATA_DIR"),
        ("monte_carlo", {**GOOG, "horizon": "soon"}, "30d"),
        ("monte_carlo", {**GOOG, "method": "magic"}, "'bootstrap'"),
        ("monte_carlo", {**GOOG, "confidence": 1.5}, "from 0.5 to 0.999"),
        ("monte_carlo", {**GOOG, "timeout": 60}, "ask for 15 or less"),
        ("monte_carlo", {"data": ["sample:GOOG", "synthetic:gbm?seed=1"]}, "name the one you mean with symbols"),
        ("indicator_compute", {"name": "rsy", **GOOG}, "did you mean rsi?"),
        ("indicator_compute", {"name": "rsi", **GOOG, "parameters": {"fast": 3}}, "it has period"),
        ("indicator_compute", {"name": "macd", **GOOG, "period": 3}, 'give parameters={"'),
        ("indicator_compute", {"name": "rsi", "data": "csv:/etc/passwd"}, "RINGFENCE_MCP_DATA_DIR"),
        ("indicator_compute", {"name": "rsi", **GOOG, "rows": 0}, "greater than or equal to 1"),
    ],
)
def test_a_bad_call_is_an_error_that_says_what_to_do(
    one: Peer, tool: str, arguments: Mapping[str, Json], told: str
) -> None:
    assert told in refusal(one.call(tool, **arguments))


def test_a_price_interval_says_what_it_rests_on(peer: Peer) -> None:
    result = peer.call("monte_carlo", data="sample:GOOG", horizon="30d", above=900, below=700, drift=False)
    found = answer(result)
    keeps_to_schema(peer, "monte_carlo", found)
    told = found["interval"]
    assert (found["status"], found["backend"], found["result"]) == ("ok", peer.backend, None)
    assert told["lower"] < told["median"] < told["upper"] and told["spot"] == 806.19
    assert told["lower"] == pytest.approx(told["closed_lower"], rel=0.03)  # drawn, and by the formula
    assert told["upper"] == pytest.approx(told["closed_upper"], rel=0.03)
    assert 0 < told["p_above"] < told["p_up"] < 1 and 0 < told["p_below"] < told["p_down"] < 1
    assert told["median"] == pytest.approx(told["spot"], rel=0.01), "the drift was to be left out"
    assert 0 < told["value_at_risk"] < told["expected_shortfall"] < 1
    assert told["fan"]["values"][2][-1] == told["median"] and told["fan"]["bars"][-1] == told["horizon_bars"] == 30
    assert (told["observations"], told["horizon"]) == (2147, "30 trading days, taken as 30 bars of 1d")
    assert "geometric Brownian motion" in told["assumptions"][0]
    assert (found["source"]["spec"], found["source"]["last"]) == ("sample:GOOG", "2013-03-01")
    for words in ("Horizon: 30 trading days", "Assumptions: ", "Observations: 2,147", "Data: sample:GOOG"):
        assert words in text(result)
    [picture] = [block for block in result.content if isinstance(block, ImageContent)]
    assert picture.mime_type == "image/png"
    assert [artifact["name"] for artifact in found["artifacts"]] == ["fan.png"]


def test_a_bootstrap_draws_from_the_past_and_a_long_fan_is_thinned(one: Peer) -> None:
    asked = {"method": "bootstrap", "horizon": "500", "paths": 500, "block": 10, "plot": False, "seed": 3}
    first, again = (answer(one.call("monte_carlo", **GOOG, **asked)) for _ in range(2))
    told = first["interval"]
    assert told == again["interval"]
    assert "blocks of 10 bars" in told["assumptions"][0] and told["closed_lower"] is None
    assert len(told["fan"]["bars"]) == 61 and told["fan"]["bars"][-1] == 500
    assert all(len(row) == 61 for row in told["fan"]["values"])
    assert first["artifacts"] == []


def test_a_computation_that_fails_gives_no_number(one: Peer) -> None:
    result = one.call("monte_carlo", **GOOG, memory_mb=24)
    found = answer(result)
    assert found["status"] != "ok" and found["interval"] is None
    assert "there are no numbers to give" in text(result)


def test_every_indicator_of_the_command_line_is_there(one: Peer) -> None:
    from ringfence.verbs.simulate.indicator import names

    [tool] = [tool for tool in one.ask(one.client.list_tools).tools if tool.name == "indicator_compute"]
    assert tool.input_schema["properties"]["name"]["enum"] == names()
    for name in names():
        told = answer(one.call("indicator_compute", name=name, rows=1, **GOOG))["indicator"]
        assert told["name"] == name and told["close"] > 0
        assert all(isinstance(value, float) for value in told["last"].values())


def test_an_indicator_is_that_of_the_engine(peer: Peer) -> None:
    from ringfence.markets import load_bars
    from ringfence.trade.indicators import rsi

    result = peer.call("indicator_compute", name="rsi", period=7, rows=3, plot=True, **GOOG)
    found = answer(result)
    keeps_to_schema(peer, "indicator_compute", found)
    told = found["indicator"]
    closes = load_bars(["sample:GOOG"], end="2006-12-31").candles["GOOG"].close
    assert told["lines"]["rsi"] == pytest.approx(list(rsi(closes, 7)[-3:]))
    assert told["last"]["rsi"] == told["lines"]["rsi"][-1] and told["time"][-1] == "2006-12-29T00:00:00Z"
    assert (told["parameters"], told["observations"]) == ({"period": 7}, len(closes))
    assert "rsi of GOOG (period 7) on 2006-12-29" in text(result)
    assert len([block for block in result.content if isinstance(block, ImageContent)]) == 1


def test_ichimoku_says_how_it_maps_one_period(one: Peer) -> None:
    told = answer(one.call("indicator_compute", name="ichimoku", period=14, **GOOG))["indicator"]
    assert told["parameters"] == {"conversion": 14, "base": 40, "span": 80, "ahead": 40}
    assert "9 : 26 : 52 : 26" in told["assumptions"][0]


@contextmanager
def asking_a_model(wire: str, backend: str, home: Path, url: str) -> Iterator[Peer]:
    """A client of a server of its own, which has a model."""
    (home / "tmp").mkdir()
    model = {"MODEL": "openai:tester", "MODEL_URL": url, "MODEL_KEY": "none", "MODEL_RUN_TOKENS": "100000"}
    env = {"TMPDIR": str(home / "tmp"), **{f"RINGFENCE_{name}": value for name, value in model.items()}}
    if wire == "stdio":
        with connected(stdio(home, lean(backend), **env), backend) as peer:
            yield peer
    else:
        with http_server(home, lean(backend), **env) as served, connected_http(served, backend, "auto") as peer:
            yield peer


@pytest.mark.parametrize(("wire", "bars"), [("stdio", 1), ("http", 300)])  # in a first trial; in a run to be stored
def test_a_research_that_is_cancelled_leaves_nothing(wire: str, bars: int, tmp_path: Path, backend: str) -> None:
    """The model's program hangs once it has seen so many bars, with a child that the host can see."""
    mark, told, answered = make_mark(), list[str](), list[str]()
    hang = (
        f"        if len(self.data) >= {bars}:\n"
        "            import subprocess, sys, time\n"
        f"            subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n"
        "            time.sleep(600)\n"
    )

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    with (
        serve(InOrder([Say(text=fenced(strategy(extra=hang)))])) as models,
        asking_a_model(wire, backend, tmp_path, models.openai) as peer,
    ):
        asked = {"idea": IDEA, "author": "llm", **GOOG}
        assert "ask for 100000 or less" in refusal(peer.call("research_run", **asked, max_tokens=200_000))

        def is_running() -> bool:
            assert not answered
            return bool(processes_with(mark)) and any("version 1 is written" in message for message in told)

        async def call() -> None:
            answered.append(text(await peer.client.call_tool("research_run", asked, progress_callback=listen)))

        async def body() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await anyio.to_thread.run_sync(wait_until, is_running, "the program runs")
                group.cancel_scope.cancel()

        peer.portal.call(body)
        wait_until(lambda: not processes_with(mark), "the program is gone")
        wait_until(lambda: not list((tmp_path / "tmp").glob("ringfence-research-*")), "its prices are gone")
        assert answer(peer.call("runs_list"))["stored"] == 0
        assert peer.run("result = 1")["result"] == 1
        assert len(models.asked) == 1
    assert told[-1].startswith("research ") and not answered
