"""What a run left, put on the shelf and shown: a link to each file, and small pictures in place.

A result that is too large for an answer is one of these files: the answer goes into a model's context, and is made and
sent by an event loop that all clients share.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcp_types import ContentBlock, ImageContent, ResourceLink

from ringfence.mcp.clients import Client
from ringfence.mcp.desk import Desk
from ringfence.mcp.json_shape import find_excess
from ringfence.mcp.shelf import Kept
from ringfence.sandbox.outcome import Artifact, Outcome

_MOST_INLINE_BYTES = 256 << 10
_MOST_INLINE = 4
_MOST_LINKS = 20
_MOST_VALUES = 20_000  # of a result: the protocol's library copies them several times on the event loop
_MOST_DEPTH = 1_000  # the sandbox takes far less
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """`outcome` is the run's; a result that is too large for an answer is one of its artifacts."""

    outcome: Outcome
    kept: Mapping[str, Kept]
    blocks: tuple[ContentBlock, ...]
    moved: str | None = None  # says so, in a sentence of ours


def keep(desk: Desk, client: Client, outcome: Outcome) -> Left:
    large = _large_result(outcome, desk.settings.mcp_answer_kb << 10)
    moved = None
    if large is not None:
        moved = (
            f"the result ({large.bytes:,} bytes of JSON) is too large for an answer: it is the artifact {large.name}"
        )
        reason = f"{outcome.reason}; {moved}" if outcome.reason else moved
        outcome = replace(outcome, result=None, reason=reason, artifacts=(*outcome.artifacts, large))
    kept = desk.shelf.put(client, outcome.run_id, outcome.artifacts)
    pictures = [artifact for artifact in outcome.artifacts if is_small_png(artifact.mime, artifact.data or b"")]
    return Left(
        outcome=outcome,
        kept={item.name: item for item in kept},
        blocks=(*map(link, kept[:_MOST_LINKS]), *map(_picture, pictures[:_MOST_INLINE])),
        moved=moved,
    )


def _large_result(outcome: Outcome, most_bytes: int) -> Artifact | None:
    """The result as a file, where it is too large for an answer."""
    if outcome.result is None:
        return None
    data = json.dumps(outcome.result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(data) <= most_bytes and find_excess(data, depth=_MOST_DEPTH, values=_MOST_VALUES) is None:
        return None
    return make_file(_free_name(outcome), "application/json", data)


def _free_name(outcome: Outcome) -> str:
    taken = {artifact.name for artifact in outcome.artifacts}
    names = ("result.json", *(f"result-{number}.json" for number in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


def make_file(name: str, mime: str, data: bytes) -> Artifact:
    return Artifact(name=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), mime=mime, data=data)


def link(item: Kept) -> ResourceLink:
    return ResourceLink(
        type="resource_link",
        name=item.name,
        uri=item.uri,
        mime_type=item.mime,
        size=item.bytes,
        description="Written by a sandboxed program: untrusted.",
    )


def is_small_png(mime: str, data: bytes) -> bool:
    """By its first bytes too: a name ends as its program likes."""
    return mime == "image/png" and len(data) <= _MOST_INLINE_BYTES and data.startswith(_PNG)


def picture(data: bytes) -> ImageContent:
    return ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type="image/png")


def _picture(artifact: Artifact) -> ImageContent:
    return picture(artifact.data or b"")
