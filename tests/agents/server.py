"""A server on this machine that speaks OpenAI's chat completions and Anthropic's messages, from a script of replies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
Event = tuple[str, Mapping[str, object]]


@dataclass(frozen=True, kw_only=True)
class Say:
    """One answer, and what goes wrong with it."""

    text: str = ""
    call: object = None  # arguments for the tool that the request offers; a text goes out as it is, JSON or not
    finish: str = "stop"  # in OpenAI's words
    status: int = 200
    retry_after: str | None = None
    body: str | None = None  # sent in place of a well-formed one
    message: str = "the server says no"  # of a status that is an error
    input_tokens: int = 100
    output_tokens: int = 50
    model: str | None = None  # the one that was asked for
    hang_up_after: int | None = None  # pieces of a stream; the connection is closed in the middle of it
    end_after: int | None = None  # pieces of a stream; it ends there as if it were over
    drip_seconds: float = 0.0  # between the bytes of a body, or the pieces of a stream


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def text(self) -> str:
        """All that was said, as one text."""
        return json.dumps(self.body, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))


Script = Callable[[Asked], Say]


@dataclass
class ModelServer:
    script: Script
    asked: list[Asked] = field(default_factory=list)
    url: str = ""  # without /v1, as Anthropic's clients want it
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"


class InOrder:
    """One answer after the other; asked for more than there are, it says so in words that a test will find."""

    def __init__(self, answers: Sequence[Say]) -> None:
        self._answers, self._next, self._lock = list(answers), 0, threading.Lock()

    def __call__(self, asked: Asked) -> Say:
        with self._lock:
            self._next += 1
            if self._next > len(self._answers):
                return Say(status=400, message="the script of the test is over")
            return self._answers[self._next - 1]


@contextmanager
def serve(script: Script | Sequence[Say]) -> Iterator[ModelServer]:
    models = ModelServer(script if callable(script) else InOrder(script))

    class Handler(_Handler):
        server_of = models

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    models.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield models
    finally:
        models.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_of: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(path=self.path.partition("?")[0], headers=headers, body=json.loads(raw))
        self.server_of.asked.append(asked)
        say = self.server_of.script(asked)
        try:
            if say.status != 200:
                error = {"type": "error", "error": {"type": "an_error", "message": say.message, "code": None}}
                self._send(say, say.body or json.dumps(error))
            elif say.body is not None:
                self._send(say, say.body)
            elif asked.streamed:
                self._stream(asked, say)
            else:
                make = anthropic_message if asked.path.endswith("/messages") else chat_completion
                self._send(say, json.dumps(make(asked, say)))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the other side has given up, as it may

    def _send(self, say: Say, body: str) -> None:
        raw = body.encode()
        self.send_response(say.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        if say.retry_after is not None:
            self.send_header("Retry-After", say.retry_after)
        self.end_headers()
        for n in range(len(raw)) if say.drip_seconds else ():
            if self.server_of.closing.wait(say.drip_seconds):
                return
            self.wfile.write(raw[n : n + 1])
            self.wfile.flush()
        if not say.drip_seconds:
            self.wfile.write(raw)

    def _stream(self, asked: Asked, say: Say) -> None:
        anthropic = asked.path.endswith("/messages")
        events = list((anthropic_events if anthropic else chat_chunks)(asked, say))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for n, (name, data) in enumerate(events):
            if n == say.hang_up_after:
                self.close_connection = True
                self.connection.shutdown(2)
                return
            if n == say.end_after:
                break
            if say.drip_seconds and self.server_of.closing.wait(say.drip_seconds):
                return
            self._piece((f"event: {name}\n" if anthropic else "") + f"data: {json.dumps(data)}\n\n")
        else:
            if not anthropic:
                self._piece("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _piece(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        pass


def chat_completion(asked: Asked, say: Say) -> Mapping[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": say.text or None}
    if say.call is not None:
        called = {"name": tool_name(asked), "arguments": arguments(say)}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": called}]
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": say.model or asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": say.finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": say.input_tokens,
            "completion_tokens": say.output_tokens,
            "total_tokens": say.input_tokens + say.output_tokens,
        },
    }


def chat_chunks(asked: Asked, say: Say) -> Iterator[Event]:
    base = {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": asked.body["model"],
    }

    def piece(delta: Mapping[str, object], finish: str | None = None) -> Event:
        return "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield piece({"role": "assistant", "content": ""})
    for part in pieces(say.text):
        yield piece({"content": part})
    if say.call is not None:
        called = {"name": tool_name(asked), "arguments": arguments(say)}
        yield piece({"tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": called}]})
    yield piece({}, say.finish)
    usage = {"prompt_tokens": say.input_tokens, "completion_tokens": say.output_tokens}
    total = say.input_tokens + say.output_tokens
    yield "", {**base, "choices": [], "usage": {**usage, "total_tokens": total}}


def anthropic_message(asked: Asked, say: Say) -> Mapping[str, object]:
    content: list[Mapping[str, object]] = [{"type": "text", "text": say.text}] if say.text else []
    if say.call is not None:
        content.append({"type": "tool_use", "id": "call-1", "name": tool_name(asked), "input": say.call})
    return {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": say.model or asked.body["model"],
        "content": content,
        "stop_reason": "tool_use" if say.call is not None else _STOPS[say.finish],
        "stop_sequence": None,
        "usage": {"input_tokens": say.input_tokens, "output_tokens": say.output_tokens},
    }


def anthropic_events(asked: Asked, say: Say) -> Iterator[Event]:
    start = {**anthropic_message(asked, Say(input_tokens=say.input_tokens, output_tokens=1)), "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": start}
    if say.call is not None:
        block: Mapping[str, object] = {"type": "tool_use", "id": "call-1", "name": tool_name(asked), "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in pieces(arguments(say))]
    else:
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in pieces(say.text)]
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    for delta in deltas:
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": _STOPS[say.finish], "stop_sequence": None}
    usage = {"output_tokens": say.output_tokens}
    yield "message_delta", {"type": "message_delta", "delta": stop, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def pieces(text: str, size: int = 40) -> Iterator[str]:
    return (text[n : n + size] for n in range(0, len(text), size))


def tool_name(asked: Asked) -> str:
    tools = asked.body.get("tools")
    assert isinstance(tools, list) and tools, "the request offers no tool to call"
    [tool] = tools
    return str(tool["function"]["name"] if "function" in tool else tool["name"])


def arguments(say: Say) -> str:
    return say.call if isinstance(say.call, str) else json.dumps(say.call)
