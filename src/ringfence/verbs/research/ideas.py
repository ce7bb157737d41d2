"""Where ideas come from: a file with one to a line, a folder, a page, a PDF, a transcript."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import InputError
from ringfence.verbs.research.documents import MOST_BYTES, page_text, read_address, transcript_text
from ringfence.verbs.research.versions import idea_key

_LINES = (".txt", ".ideas", "")  # one idea to a line, # begins a comment
_TRANSCRIPTS = (".vtt", ".srt", ".json")
_DOCUMENTS = {".md": "text/plain", ".html": "text/html", ".htm": "text/html", ".pdf": "application/pdf"}
_KNOWN = (*_LINES[:2], *_TRANSCRIPTS, *_DOCUMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """One idea and where it stands. `key` tells it from others also when lines before it come or go."""

    text: str
    place: str  # file:line, or the document
    key: str
    trouble: str = ""  # why there is no text

    @property
    def content(self) -> str:
        return idea_key(self.text)

    @property
    def words(self) -> str:
        """The idea itself: where the text is an address, what stands there. InputError where that cannot be had."""
        return read_address(self.text) if is_address(self.text) else self.text


def is_address(text: str) -> bool:
    return text.startswith(("http://", "https://")) and len(text.split()) == 1


def read_ideas(source: str) -> list[Idea]:
    """All ideas of the source as it is now, in its order. A document of a folder that cannot be read is among them."""
    found: list[Idea] = []
    counts: dict[str, int] = {}
    for text, place, origin, trouble in _all(source):
        content = idea_key(text or trouble)
        name = f"{origin}\0{content}"
        counts[name] = counts.get(name, 0) + 1
        found.append(Idea(text=text, place=place, key=idea_key(f"{name}\0{counts[name]}"), trouble=trouble))
    return found


Row = tuple[str, str, str, str]  # text, place, origin, trouble


def _all(source: str) -> Iterator[Row]:
    if is_address(source):
        yield read_address(source), source, source, ""
    elif os.path.isdir(source):
        paths = sorted(p for p in Path(source).rglob("*") if p.suffix.lower() in _KNOWN and p.is_file())
        if not paths:
            raise InputError(f"there is no idea in {source!r}: put files there that end in {', '.join(_KNOWN)}")
        for path in paths:
            try:
                yield from _file(path)
            except InputError as e:
                yield "", str(path), str(path), str(e)
    else:
        yield from _file(Path(source))


def _file(path: Path) -> Iterator[Row]:
    suffix, name, origin = path.suffix.lower(), str(path), os.path.abspath(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{name!r} is larger than {MOST_BYTES >> 20} MB: give the part that matters")
        raw = path.read_bytes()
    except OSError as e:
        raise InputError(f"{name!r} cannot be read ({e.strerror}): give a file, a folder or an address") from e
    if suffix in _DOCUMENTS or raw[:5] == b"%PDF-":
        yield page_text(raw, _DOCUMENTS.get(suffix, "application/pdf"), name), name, origin, ""
        return
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    if suffix in _TRANSCRIPTS:
        yield transcript_text(text), name, origin, ""
        return
    for number, line in enumerate(text.splitlines(), 1):
        idea = line.strip()
        if idea and not idea.startswith("#"):
            yield idea, f"{name}:{number}", origin, ""
