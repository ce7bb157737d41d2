"""What programs left: list it, read it."""

from __future__ import annotations

import base64

from pydantic import Field

from ringfence.base.errors import InputError
from ringfence.mcp.answers import ArtifactListAnswer, ArtifactPartAnswer, KeptAnswer
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.leavings import is_small_png, link, picture
from ringfence.mcp.shelf import Kept
from ringfence.mcp.text import NAMES, one_line, untrusted
from ringfence.mcp.tool import Arguments, Reply, reading

_MOST_LISTED = 200
_MOST_READ = 1 << 20
_TEXT = ("application/json", "application/xml", "application/javascript", "application/x-ndjson")


class ListArguments(Arguments):
    run_id: str | None = Field(default=None, description="Only those of this run; without it, of all your runs.")


class ReadArguments(Arguments):
    run_id: str = Field(description="The run that left it.")
    name: str = Field(description="Its name, as the run's answer gave it.")
    offset: int = Field(default=0, description="The byte to begin with.", ge=0)
    max_bytes: int = Field(default=64 << 10, description="At most so many bytes.", ge=1, le=_MOST_READ)


def _list(desk: Desk, given: ListArguments, call: Call) -> Reply:
    kept = desk.shelf.list(call.client, given.run_id)[:_MOST_LISTED]
    answer = ArtifactListAnswer(artifacts=[KeptAnswer.model_validate(_values(item)) for item in kept])
    names = "\n".join(f"{item.run_id} {one_line(item.name)} ({item.bytes} bytes, {item.mime})" for item in kept)
    text = f"{len(kept)} artifacts are kept.\n{untrusted({'names': names}, by=NAMES)}".rstrip()
    return Reply(answer=answer, text=text)


def _read(desk: Desk, given: ReadArguments, call: Call) -> Reply:
    item = desk.shelf.find(call.client, given.run_id, given.name)
    if given.offset > item.bytes:
        raise InputError(f"offset={given.offset} is behind the end of {item.bytes} bytes: give a lower one")
    data = desk.shelf.read(item, given.offset, given.max_bytes)
    text = as_text(item.mime, data, whole=given.offset + len(data) >= item.bytes)
    end = given.offset + (len(data) if text is None else len(text.encode()))
    answer = ArtifactPartAnswer(
        **KeptAnswer.model_validate(_values(item)).model_dump(),
        offset=given.offset,
        encoding="base64" if text is None else "text",
        content=base64.b64encode(data).decode() if text is None else text,
        next_offset=end if end < item.bytes else None,
    )
    shown = f"bytes {given.offset} to {end} of {item.bytes}, {item.mime}."
    if text is not None:
        return Reply(answer=answer, text=f"{shown}\n{untrusted({'content': text}, most=given.max_bytes)}".rstrip())
    if given.offset == 0 and end == item.bytes and is_small_png(item.mime, data):
        return Reply(answer=answer, text=shown, blocks=(picture(data),))
    return Reply(answer=answer, text=f"{shown} It is no text: see content.", blocks=(link(item),))


def as_text(mime: str, data: bytes, *, whole: bool) -> str | None:
    """The text, or None for what is none. A character that is cut by the end of a part belongs to the next one."""
    if not mime.startswith("text/") and mime not in _TEXT:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        return data[: e.start].decode() if not whole and e.start > 0 and e.start >= len(data) - 3 else None


def _values(item: Kept) -> dict[str, str | int]:
    names = ("run_id", "name", "bytes", "sha256", "mime", "uri")
    return {name: getattr(item, name) for name in names}


_FIRST = "the files are looked up"
_LISTS = "List the files that programs left and the server still keeps, the newest run first."
_READS = "Read a file that a program left: text as it is, bytes in base64, a small PNG as a picture."

TOOLS = (
    reading(
        "artifact_list",
        "List files that programs left",
        _LISTS,
        ListArguments,
        ArtifactListAnswer,
        _list,
        first=_FIRST,
        quick=True,
    ),
    reading(
        "artifact_read",
        "Read a file that a program left",
        _READS,
        ReadArguments,
        ArtifactPartAnswer,
        _read,
        first=_FIRST,
        quick=True,
    ),
)
