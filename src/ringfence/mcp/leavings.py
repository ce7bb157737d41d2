"""What a run left, put on the shelf and shown: a link to each file, and small pictures in place."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import ContentBlock, ImageContent, ResourceLink

from ringfence.mcp.shelf import Kept, Shelf
from ringfence.sandbox.outcome import Artifact, Outcome

_MOST_INLINE_BYTES = 256 << 10
_MOST_INLINE = 4
_MOST_LINKS = 20
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    kept: Mapping[str, Kept]
    blocks: tuple[ContentBlock, ...]


def keep(shelf: Shelf, outcome: Outcome) -> Left:
    kept = shelf.put(outcome.run_id, outcome.artifacts)
    pictures = [artifact for artifact in outcome.artifacts if is_small_png(artifact.mime, artifact.data or b"")]
    return Left(
        kept={item.name: item for item in kept},
        blocks=(*map(link, kept[:_MOST_LINKS]), *map(_picture, pictures[:_MOST_INLINE])),
    )


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
