"""Whose turn it is, and what is done while it is: in this process, so that it can be held up at will."""

from __future__ import annotations

import asyncio
import pkgutil
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from ringfence.base.config import Settings
from ringfence.base.errors import RefusedError, SandboxError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.sandbox.outcome import Outcome
from ringfence.testing.fake import FakeSandbox, outcome

from tests.conftest import require
from tests.mcp.serving import SECONDS

require("mcp")

from mcp_types import CallToolRequestParams  # noqa: E402

from ringfence.mcp import server as face  # noqa: E402  # it needs what was just asked for
from ringfence.mcp.calls import Caller  # noqa: E402
from ringfence.mcp.clients import Client  # noqa: E402
from ringfence.mcp.desk import Desk, make_desk  # noqa: E402
from ringfence.mcp.fence import Fence  # noqa: E402
from ringfence.mcp.json_shape import find_excess  # noqa: E402
from ringfence.mcp.tools import TOOLS  # noqa: E402
from ringfence.mcp.turns import Turns  # noqa: E402

A, B, C = Client("a"), Client("b"), Client("c")


async def _say_nothing(*_: object) -> None:
    pass


def make(home: Path, sandbox: Callable[[], Sandbox]) -> Desk:
    return make_desk(Settings(home=home), {}, Fence("fake", sandbox), lambda: "secret")


# What makes an answer, by the tool whose answer it makes and where it is looked up.
RENDERING = {
    "tools.python.outcome_values": ("run_python", {"code": "1"}),
    "tools.python.describe": ("run_python", {"code": "1"}),
    "leavings.find_excess": ("run_python", {"code": "1"}),
    "server._result": ("run_python", {"code": "1"}),
    "tool.Tool.read": ("run_python", {"code": "1"}),
    "shelf.Shelf.list": ("artifact_list", {}),
    "shelf.Shelf.find": ("artifact_read", {"run_id": "x", "name": "y"}),
    "sessions.Sessions.find": ("session_run", {"session_id": "x", "code": "1"}),
    "tools.check.check_source": ("check_code", {"code": "x = 1"}),
}


def test_answers_are_made_off_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each maker waits until the loop has done something else, which it cannot while it makes an answer."""
    wrong = []
    for place, (tool, arguments) in RENDERING.items():
        desk = make(tmp_path, lambda: FakeSandbox(lambda _: outcome(result=[1, 2])))
        met = asyncio.run(_meet(desk, place, tool, arguments, monkeypatch))
        desk.close()
        monkeypatch.undo()
        wrong += [] if met else [place]
    assert wrong == []


async def _meet(
    desk: Desk, place: str, tool: str, arguments: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> bool:
    loop, target, met = asyncio.get_running_loop(), f"ringfence.mcp.{place}", list[bool]()
    real: Callable[..., object] = pkgutil.resolve_name(target)

    def held(*words: object, **named: object) -> object:
        moved = threading.Event()
        loop.call_soon_threadsafe(moved.set)
        met.append(moved.wait(2))
        return real(*words, **named)

    monkeypatch.setattr(target, held)
    params = CallToolRequestParams(name=tool, arguments=dict(arguments))
    monkeypatch.setattr(face, "_caller", lambda _: Caller(report=_say_nothing))
    await face.Face(desk).call_tool(None, params)  # type: ignore[arg-type]  # the caller is ours, above
    return met != [] and all(met)


def test_every_tool_works_in_a_thread() -> None:
    assert [tool.name for tool in TOOLS if asyncio.iscoroutinefunction(tool.work)] == []


def test_turns_go_to_who_has_the_fewest() -> None:
    """One client fills all places and the queue; two others come, wait behind nobody, and each may wait once."""

    async def body() -> tuple[list[Client], list[Client]]:
        turns, began, refused = Turns(most=2, waiting=3), [], []
        go = asyncio.Semaphore(0)

        async def call(client: Client) -> None:
            try:
                async with turns.taken(client):
                    began.append(client)
                    await go.acquire()
            except RefusedError:
                refused.append(client)

        async with asyncio.TaskGroup() as group:
            for client in (A, A, A, A, A, A, B, B, C):
                group.create_task(call(client))
            for _ in range(20):
                await asyncio.sleep(0)
                go.release()
        return began, refused

    began, refused = asyncio.run(body())
    assert began[:2] == [A, A]
    assert sorted(client.owner for client in began[2:5]) == ["a", "b", "c"]
    assert (began.count(A), refused) == (5, [A, B])


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def body() -> str:
        turns = Turns(most=1, waiting=1)
        async with turns.taken(A):
            waits = asyncio.create_task(_enter(turns, B))
            await asyncio.sleep(0)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)
            waits = asyncio.create_task(_enter(turns, B))
            await asyncio.sleep(0)
        waits.cancel()  # called and cancelled at once
        await asyncio.gather(waits, return_exceptions=True)
        return await asyncio.wait_for(_enter(turns, C), SECONDS)

    assert asyncio.run(body()) == "in"


async def _enter(turns: Turns, client: Client) -> str:
    async with turns.taken(client):
        return "in"


def _picky(job: Job) -> Outcome:
    if job.code == "impossible":
        raise SandboxError("this one cannot be run")
    return outcome()


def test_only_a_dead_sandbox_is_opened_again() -> None:
    opened: list[FakeSandbox] = []
    dead = threading.Event()

    def fate(job: Job) -> Outcome:
        if dead.is_set():
            raise SandboxError("the zygote is gone")
        return _picky(job)

    def open_() -> FakeSandbox:
        opened.append(FakeSandbox(fate))
        return opened[-1]

    def run(code: str) -> None:
        with fence.lease() as sandbox:
            sandbox.run(Job(code=code))

    fence = Fence("fake", open_)
    for _ in range(3):
        with pytest.raises(SandboxError, match="this one"):
            run("impossible")
    run("1")
    assert len(opened) == 1
    dead.set()
    with pytest.raises(SandboxError, match="zygote"):
        run("1")
    dead.clear()
    run("1")
    assert len(opened) == 2
    fence.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": [1, 2, {"b": "[[[[[["}]}', None),
        ('["\\"[[[[[[", "\\\\"]', None),
        ("[[[[[]]]]]", "nested deeper than 4 levels"),
        ('{"a":' * 5, "nested deeper than 4 levels"),
        ("[0" + ",0" * 20 + "]", "more than 10 values"),
        ("]" * 11, "more than 10 values"),
        ('"' * 30, "more than 10 values"),
    ],
)
def test_what_is_large_once_it_is_read_is_found(text: str, found: str | None) -> None:
    said = find_excess(text.encode(), depth=4, values=10)
    assert (said is None) if found is None else (said is not None and found in said)


def test_pieces_of_a_deep_text_are_added_up() -> None:
    """Deep only over the borders of what is looked at at once."""
    text = b" " * 65_000 + b"[" * 600 + b" " * 70_000 + b"[" * 600
    check = partial(find_excess, text, values=1 << 20)
    assert (check(depth=1200), check(depth=1199) is None) == (None, False)
