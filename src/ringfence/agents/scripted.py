"""Replays recorded replies: for tests and demonstrations. It is never used unless it is asked for by name.

The file is JSON (an array, or an object whose `replies` is one) or JSON lines; an entry is a `RecordedReply`:

    {"role": "code", "text": "…", "expect": ["NameError"]}

A brief gets the first unused entry of its role, in the order of the file. An entry without a role serves any; `idea`
keeps it for briefs whose idea contains those words; `repeat` lets it serve for ever. `expect` lists what must be in the
prompt that a model would have been sent, and the replay fails where it is not. Texts are read as a model's are, so a
recorded reply that breaks off is no program here either.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ringfence.agents.brief import Brief, Reply, Role, StopReason, Usage
from ringfence.agents.prompt import brief_prompt
from ringfence.agents.reading import read_answer
from ringfence.base.errors import AgentError, SettingsError

if TYPE_CHECKING:
    from ringfence.trade.run import Json

NOTICE = "this reply was replayed from {name}: no model was asked"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    text: str
    role: Role | None = None
    idea: str = ""
    expect: tuple[str, ...] = ()
    repeat: bool = False
    stop_reason: StopReason = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0  # of the recording; a replay costs nothing


def create(options: Mapping[str, str]) -> ScriptedAgent:
    unknown = sorted(set(options) - {"target", "file"})
    if unknown:
        raise SettingsError(f"scripted has no option {unknown[0]!r}: write scripted:FILE")
    name = options.get("file") or options.get("target")
    if not name:
        raise SettingsError("scripted needs the file with the replies: write scripted:FILE")
    path = Path(name)
    return ScriptedAgent(read_recording(path), name=path.name)


class ScriptedAgent:
    def __init__(self, replies: tuple[RecordedReply, ...], *, name: str = "a recording") -> None:
        self._replies = replies
        self._name = name
        self._used: set[int] = set()
        self._lock = threading.Lock()

    def act(self, brief: Brief) -> Reply:
        entry = self._take(brief)
        prompt = brief_prompt(brief)
        missing = [words for words in entry.expect if words not in prompt]
        if missing:
            raise AgentError(
                f"{self._name} expected {missing[0]!r} in the {brief.role} brief, and it is not there: "
                "correct the recording, or find out why the brief does not say it"
            )
        answer = read_answer(brief.role, entry.text, entry.stop_reason)
        return Reply(
            text=entry.text,
            code=answer.code,
            parsed=answer.parsed,
            stop_reason=answer.stop_reason,
            usage=Usage(input_tokens=entry.input_tokens, output_tokens=entry.output_tokens, requests=1),
            cost_usd=entry.cost_usd,
            model="scripted",
            notices=(NOTICE.format(name=self._name), *answer.notices),
        )

    def _take(self, brief: Brief) -> RecordedReply:
        with self._lock:
            for n, entry in enumerate(self._replies):
                if n in self._used or entry.role not in (None, brief.role) or entry.idea not in brief.idea:
                    continue
                if not entry.repeat:
                    self._used.add(n)
                return entry
            used = len(self._used)
        raise AgentError(
            f"{self._name} has no {brief.role} reply left ({used} of {len(self._replies)} replies were used): "
            "record more, or ask an author that can answer, such as rules or llm"
        )


def record(path: Path, brief: Brief, reply: Reply) -> None:
    """Append a reply to a file of JSON lines that this agent can replay."""
    entry: dict[str, Json] = {
        "role": brief.role,
        "text": reply.text,
        "stop_reason": reply.stop_reason,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost_usd": reply.cost_usd or 0.0,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")  # one write: lines of several threads do not mix


def read_recording(path: Path) -> tuple[RecordedReply, ...]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{str(path)!r} is larger than {_MOST_BYTES >> 20} MB: replay a part of it")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SettingsError(f"{str(path)!r} cannot be read ({e}): name a JSON file of recorded replies") from e
    entries = _entries(path, text)
    if not entries:
        raise SettingsError(f"{str(path)!r} holds no reply: record some")
    return tuple(_entry(path, n, raw) for n, raw in enumerate(entries, 1))


def _entries(path: Path, text: str) -> list[object]:
    try:
        whole = json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as e:
            raise SettingsError(f"{str(path)!r} is neither JSON nor JSON lines ({e}): correct it") from e
    if isinstance(whole, dict) and isinstance(whole.get("replies"), list):
        whole = whole["replies"]
    return whole if isinstance(whole, list) else [whole]


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    number: int
    kinds: Mapping[str, type | tuple[type, ...]] = field(
        default_factory=lambda: {"text": str, "idea": str, "repeat": bool, "input_tokens": int, "output_tokens": int}
    )

    def wrong(self, what: str) -> SettingsError:
        return SettingsError(f"reply {self.number} of {str(self.path)!r} {what}: correct it")


def _entry(path: Path, number: int, raw: object) -> RecordedReply:
    place = _Place(path, number)
    if not isinstance(raw, dict):
        raise place.wrong("is no object")
    known = {f.name for f in fields(RecordedReply)}
    unknown = sorted(set(raw) - known)
    if unknown:
        raise place.wrong(f"has a field {unknown[0]!r}, which is none of {', '.join(sorted(known))}")
    if "text" not in raw:
        raise place.wrong("has no text")
    for name, kind in place.kinds.items():
        if name in raw and (not isinstance(raw[name], kind) or (kind is int and isinstance(raw[name], bool))):
            raise place.wrong(f"has a {name} of the wrong kind")
    if raw.get("role") not in (None, *get_args(Role)):
        raise place.wrong(f"has the role {raw['role']!r}, which is none of {', '.join(get_args(Role))}")
    if raw.get("stop_reason", "end") not in get_args(StopReason):
        raise place.wrong(f"has a stop_reason that is none of {', '.join(get_args(StopReason))}")
    expect = raw.get("expect", ())
    cost = raw.get("cost_usd", 0.0)
    if not isinstance(expect, list | tuple) or not all(isinstance(words, str) for words in expect):
        raise place.wrong("has an expect that is no list of texts")
    if not isinstance(cost, int | float) or isinstance(cost, bool) or not 0 <= cost < float("inf"):
        raise place.wrong("has a cost_usd that is no amount of money")
    make: type = RecordedReply
    entry: RecordedReply = make(**{**raw, "expect": tuple(expect)})
    return entry
