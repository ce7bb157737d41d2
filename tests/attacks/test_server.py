"""Attacks on the MCP server over HTTP: each would shut out others, or see what is theirs. Judged by another client."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import ROOT, require
from tests.mcp.serving import BEGIN, Json, Served, http_server, wait_until
from tests.mcp.wire import Caller, connect, message

BACKEND = "native:profile=plain,park=1"
MANY = 300
HEAD = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
OPENINGS = {
    "nothing": b"",
    "half a line": b"POST /mc",
    "half a head": HEAD,
    "no body": HEAD + b"content-length: 100\r\n\r\n",
    "half a body": HEAD + b"content-length: 100\r\n\r\n{",
    "a chunk and no more": HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    "a body that nobody waits for": HEAD + b"content-length: 99999999\r\n\r\n{",
}
STRATEGY = (ROOT / "examples" / "rsi_dip.py").read_text()
_PRICED = {"monte_carlo": {}, "backtest_run": {"code": STRATEGY}, "research_run": {"idea": "buy when RSI is below 30"}}
TOKENS = ("first-token", "second-token")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("mcp")
    require("linux")
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Served]:
    """With little patience, so that a test need not wait for its end."""
    patience = {"RINGFENCE_MCP_HEAD_SECONDS": "2", "RINGFENCE_MCP_BODY_SECONDS": "2"}
    with http_server(home, BACKEND, **patience) as served:
        yield served


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[Served]:
    few = {"RINGFENCE_MCP_MAX_CLIENTS": "2"}
    with http_server(home, BACKEND, RINGFENCE_MCP_TOKEN=",".join(TOKENS), **few) as served:
        yield served


@pytest.fixture
def caller(server: Served) -> Iterator[Callable[..., Caller]]:
    """Makes clients that greet, each of its own."""
    with ExitStack() as stack:

        def make(**how: Json) -> Caller:
            made = Caller(server.url, **how)
            stack.callback(made.close)
            assert made.greet().status_code == 200
            return made

        yield make


def test_half_open_requests_shut_nobody_out(server: Served, caller: Callable[..., Caller]) -> None:
    """300 of them at once, of every kind; each is ended in time, also one that goes on dripping."""
    with ExitStack() as stack:
        kinds = list(OPENINGS.values())
        lines = [stack.enter_context(connect(server.url, kinds[n % len(kinds)])) for n in range(MANY)]
        # The answers of one that waits for its program meanwhile must not be cut, however long it takes.
        long = caller()
        answered: list[Json] = []
        running = threading.Thread(target=lambda: answered.append(long.call("run_python", code=_SLEEPS)))
        running.start()
        for modern in (True, False):
            assert caller(modern=modern).call("artifact_list")["structuredContent"] == {"artifacts": []}
        with ThreadPoolExecutor(len(OPENINGS)) as pool:
            ended = pool.map(lambda opening: _is_ended(server, opening), kinds)
        assert [kind for kind, over in zip(OPENINGS, ended) if not over] == []
        assert [n for n, line in enumerate(lines) if not _ends(line)] == []
        running.join()
        assert answered[0]["structuredContent"]["stdout"] == "done\n"


_SLEEPS = "import time; time.sleep(5); print('done')"


def _is_ended(server: Served, opening: bytes) -> bool:
    """While a byte drips now and then, which must not buy it more time."""
    with connect(server.url, opening) as line:
        over = threading.Event()

        def drip() -> None:
            while not over.wait(0.5):
                try:
                    line.sendall(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            return _ends(line)
        finally:
            over.set()
            dripping.join()


def _ends(line: socket.socket) -> bool:
    try:
        while line.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_greetings_shut_nobody_out(server: Served, caller: Callable[..., Caller]) -> None:
    """Nor do they end the session of a client that uses it."""
    first = caller(modern=False)
    assert first.call("artifact_list")["structuredContent"] == {"artifacts": []}
    flood = Caller(server.url, modern=False)
    with ThreadPoolExecutor(8) as pool:
        answered = pool.map(lambda _: flood.post(message("initialize", BEGIN)).status_code, range(MANY))
    assert set(answered) == {200}
    flood.close()
    assert caller(modern=False).call("artifact_list")["structuredContent"] == {"artifacts": []}
    assert first.call("artifact_list")["structuredContent"] == {"artifacts": []}


def test_without_a_token_nothing_is_made(locked: Served) -> None:
    """The server keeps few protocol sessions, and one that was made for a stranger would end that of who is known."""
    stranger, known = Caller(locked.url, modern=False), Caller(locked.url, modern=False, headers=_bearer(TOKENS[0]))
    assert known.greet().status_code == 200
    bodies = [*[message("initialize", BEGIN)] * 5, b"[" * (1 << 20)]
    assert {stranger.post(body).status_code for body in bodies} == {401}
    assert {stranger.post(body, known.session).status_code for body in bodies} == {401}
    assert known.call("artifact_list")["structuredContent"] == {"artifacts": []}
    stranger.close()
    known.close()


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


CALL = message("tools/call", {"name": "run_python", "arguments": {"code": "1", "inputs": {"x": "@"}}})
BODIES = {
    "brackets": b"[" * (1 << 20),
    "braces": b'{"a":' * (1 << 18),
    "closing brackets": b"]" * (4 << 20),
    "lists": b"[" + b"[]," * (1 << 20) + b"[]]",
    "a deep argument": CALL.replace(b'"@"', b"[" * 5000 + b"]" * 5000),
    "many values": CALL.replace(b'"@"', b"[" + b"0," * (1 << 20) + b"0]"),
    "quotes": b'"' * (4 << 20),
    "keys": b"{" + b'"":0,' * (1 << 19) + b'"":0}',
}  # fmt: skip


def test_bodies_that_are_large_once_read_are_refused_unread(caller: Callable[..., Caller]) -> None:
    wrong = {}
    for modern in (True, False):
        client = caller(modern=modern)
        headers = {"mcp-protocol-version": "2026-07-28"} if modern else client.session
        for kind, body in BODIES.items():
            answered = client.post(body, headers)
            if answered.status_code != 400 or "the body is not taken" not in answered.text:
                wrong[kind, modern] = (answered.status_code, answered.text[:200])
    assert wrong == {}


def test_a_cell_with_a_large_result_is_answered_with_a_file(caller: Callable[..., Caller]) -> None:
    """The same for a cell as for a run, by its bytes and by its values."""
    client, wrong = caller(), {}
    session = client.call("session_create")["structuredContent"]["session_id"]
    for value in ("'x' * 3_000_000", "[0] * 1_000_000", "[[]] * 30_000", "'small'"):
        answers = {
            "cell": client.call("session_run", session_id=session, code=value),
            "run": client.call("run_python", code=f"result = {value}"),
        }
        for kind, answer in answers.items():
            found = answer["structuredContent"]
            uris = [file["uri"] for file in found["artifacts"] if file["name"] == "result.json"]
            if value == "'small'":
                seen = (found["result"], uris) == ("small", [])
            else:
                said = "too large for an answer" in found["reason"] and "too large for an answer" in str(answer)
                seen = found["result"] is None and said and len(str(answer)) < 20_000 and len(uris) == 1
                seen = seen and _content(client, uris[0]) == eval(value)  # ours, above
            if not seen:
                wrong[kind, value] = str(answer)[:500]
    assert wrong == {}


def _content(client: Caller, uri: str) -> Json:
    [content] = client.ask("resources/read", {"uri": uri})["contents"]
    return json.loads(content["text"])


def _secrets(client: Caller) -> Json:
    """What a client has that is nobody else's."""
    run = client.call("run_python", code="open('mine.txt', 'w').write('secret')")["structuredContent"]
    [file] = run["artifacts"]
    session = client.call("session_create")["structuredContent"]["session_id"]
    assert client.call("session_run", session_id=session, code="x = 1")["structuredContent"]["alive"]
    return {"run": run["run_id"], "uri": file["uri"], "session": session}


NOBODYS = {"run": "0" * 16, "uri": f"ringfence://artifacts/{'0' * 16}/mine.txt", "session": "0" * 32}


def _tries(client: Caller, at: Json) -> dict[str, str]:
    """What each way to get at it is answered with, without the ids that were asked for."""
    tries: dict[str, Callable[[], Json]] = {
        "list": lambda: client.call("artifact_list", run_id=at["run"]),
        "read": lambda: client.call("artifact_read", run_id=at["run"], name="mine.txt"),
        "resource": lambda: client.ask("resources/read", {"uri": at["uri"]}),
        "cell": lambda: client.call("session_run", session_id=at["session"], code="x"),
        "close": lambda: client.call("session_close", session_id=at["session"]),
    }
    found = {name: json.dumps(attempt()) for name, attempt in tries.items()}
    for name, answer in found.items():
        for id_ in sorted(at.values(), key=len, reverse=True):
            found[name] = answer = answer.replace(id_, "ID")
    found["all"] = json.dumps([client.call("artifact_list")["structuredContent"]])
    found["resources"] = json.dumps(client.ask("resources/list", {})["resources"])
    return found


def test_another_clients_files_and_sessions_are_as_if_they_were_not(
    locked: Served, caller: Callable[..., Caller]
) -> None:
    with ExitStack() as stack:

        def known(token: str) -> Caller:
            made = Caller(locked.url, headers=_bearer(token))
            stack.callback(made.close)
            return made

        pairs = {
            "protocol sessions": (caller(modern=False), caller(modern=False)),
            "without sessions": (caller(), caller()),
            "both": (caller(modern=False), caller()),
            "a borrowed session": _borrowing(caller),
            "tokens": (known(TOKENS[0]), known(TOKENS[1])),
        }
        wrong: dict[tuple[str, str], str] = {}
        for kind, (owner, other) in pairs.items():
            mine = _secrets(owner)
            seen, unknown = _tries(other, mine), _tries(other, NOBODYS)
            wrong |= {(kind, name): said for name, said in seen.items() if said != unknown[name]}
            own = _tries(owner, mine)
            wrong |= {(kind, f"own {name}"): said for name, said in own.items() if "mine.txt" not in own["all"]}
            if '"alive": true' not in own["cell"]:
                wrong[kind, "own cell"] = own["cell"]
        assert wrong == {}


def _borrowing(caller: Callable[..., Caller]) -> tuple[Caller, Caller]:
    """One that sends an id in the protocol that has none, where nothing else would look at it."""
    owner, other = caller(modern=False), caller()
    other.http.headers["mcp-session-id"] = "0" * 32
    return owner, other


def test_prices_of_a_callers_own_making_are_bounded_and_not_kept(home: Path, caller: Callable[..., Caller]) -> None:
    client = caller()
    many = ",".join(f"S{n}" for n in range(90))
    asked: dict[str, Json] = {
        "rows": {"data": "synthetic:gbm?rows=2000000&timeframe=1m"},
        "symbols": {"data": f"synthetic:gbm?rows=100000&timeframe=1m&symbols={many}"},
        "symbols beside": {"data": "synthetic:jump?rows=100000&timeframe=1m", "symbols": many.split(",")},
        "several": {"data": [f"synthetic:gbm?rows=100000&timeframe=1m&seed={n}&symbols=S{n}" for n in range(9)]},
    }
    wrong = {}
    for kind, data in asked.items():
        for tool, more in _PRICED.items():
            said = client.call(tool, **data, **more)
            if not said["isError"] or "over this server's maximum of 200,000" not in str(said):
                wrong[kind, tool] = str(said)[:300]
    assert wrong == {}
    before = _files(home)
    found = client.call("backtest_run", code=STRATEGY, data="synthetic:gbm?rows=300", lookahead=False)
    assert found["structuredContent"]["status"] == "ok"
    assert client.call("indicator_compute", name="sma", data="synthetic:gbm?rows=300")["structuredContent"]
    wait_until(lambda: _files(home) == before, "no prices are left")


def _files(home: Path) -> set[str]:
    return {str(file) for file in home.rglob("*.arrow")}


def test_texts_are_bounded(caller: Callable[..., Caller]) -> None:
    client, large = caller(), "x = 1\n" * 60_000
    tools = {
        "check_code": {"code": large},
        "run_python": {"code": large},
        "docker_run_python": {"script": large},
        "backtest_run": {"code": large},
        "session_run": {"session_id": "0", "code": large},
    }
    said = {tool: str(client.call(tool, **arguments)) for tool, arguments in tools.items()}
    assert [tool for tool, words in said.items() if "360,000 bytes, and this server takes 262,144" not in words] == []
