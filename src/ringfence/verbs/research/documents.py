"""Text out of pages, PDFs and transcripts. The network is the host's; what comes from it is text and nothing else."""

from __future__ import annotations

import html
import io
import json
import logging
import re
import time
import urllib.error
import urllib.request
from html.parser import HTMLParser
from http.client import HTTPException, HTTPMessage
from typing import IO, cast
from urllib.parse import urljoin, urlsplit

from ringfence.base.errors import InputError

MOST_BYTES = 20 << 20
MOST_CHARACTERS = 200_000  # what a prompt carries of an idea
SECONDS = 30.0  # for all of a page
_MOST_PAGES = 300  # of a PDF
_CHUNK = 1 << 16
_STAMP = re.compile(r"^(?:\d+|WEBVTT.*|NOTE\b.*|[\d:.,]+ --> .*|\[?\d{1,2}:\d{2}(?::\d{2})?\]?)$")
_TAG = re.compile(r"<[^<>]{1,200}>")
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "nav", "header", "footer", "head"})
_VIDEO = ("youtube.com", "youtu.be")


def read_address(url: str) -> str:
    """The words behind an address: of a page or a PDF, or what is said in a video whose page names its captions."""
    raw, kind = fetch(url)
    track = caption_track(raw.decode("utf-8", "replace")) if kind == "text/html" else None
    if track is None and _is_video(url):
        raise InputError(f"{url!r} names no captions: save the transcript as .vtt, .srt or .txt and give that file")
    if track is None:
        return page_text(raw, kind, url)
    said, _ = fetch(urljoin(url, track))
    words = transcript_text(said.decode("utf-8", "replace"))
    if not words:
        raise InputError(f"the captions of {url!r} are not handed out: save the transcript and give that file")
    return words


def caption_track(page: str) -> str | None:
    """Where the page of a video says its captions are: English before others, a person's before a machine's."""
    _, found, rest = page.partition('"captionTracks":')
    if not found:
        return None
    try:
        tracks, _ = json.JSONDecoder().raw_decode(rest.lstrip())
        best = min(tracks, key=lambda t: (not str(t.get("languageCode", "")).startswith("en"), t.get("kind") == "asr"))
        address = cast(str, best["baseUrl"])
        return f"{address}{'&' if '?' in address else '?'}fmt=vtt"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # it is written otherwise than we know


def _is_video(url: str) -> bool:
    return (urlsplit(url).hostname or "").lower().removeprefix("www.").removeprefix("m.") in _VIDEO


def fetch(url: str, *, seconds: float = SECONDS, most_bytes: int = MOST_BYTES) -> tuple[bytes, str]:
    """The body of a page and its kind; InputError where it cannot be had."""
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise InputError(f"{url!r} is no http or https address: correct it, or save the page and give the file")
    opener = urllib.request.build_opener(_WebOnly())
    ends = time.monotonic() + seconds
    asked = urllib.request.Request(
        url, headers={"User-Agent": "ringfence", "Accept": "text/html,text/plain,application/pdf"}
    )
    try:
        with opener.open(asked, timeout=seconds) as answer:
            kind = str(answer.headers.get_content_type())
            return _read(answer, url, ends, most_bytes), kind
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as e:
        if isinstance(e, urllib.error.HTTPError):
            e.close()
        why = getattr(e, "reason", None) or e
        raise InputError(f"{url!r} cannot be fetched ({why}): save the page and give the file") from e


def _read(answer: IO[bytes], url: str, ends: float, most_bytes: int) -> bytes:
    """Piece by piece: a server that drips would otherwise hold us for as long as it likes."""
    got = bytearray()
    while piece := answer.read(_CHUNK):
        got += piece
        if len(got) > most_bytes:
            raise InputError(
                f"{url!r} is larger than {most_bytes >> 20} MB: save the part that matters and give the file"
            )
        if time.monotonic() > ends:
            raise InputError(f"{url!r} did not come to its end in time: save the page and give the file")
    return bytes(got)


class _WebOnly(urllib.request.HTTPRedirectHandler):
    """A page may send us to another page, and nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            fp.close()
            raise InputError(f"{req.full_url!r} leads to {newurl!r}, which is no page: give the page itself")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def page_text(raw: bytes, kind: str, name: str) -> str:
    """The words of a document, whatever it is."""
    if kind == "application/pdf" or raw[:5] == b"%PDF-":
        return pdf_text(raw, name)
    text = raw.decode("utf-8", "replace")
    if kind in ("text/html", "application/xhtml+xml"):
        return html_text(text)
    if kind.startswith("text/") or kind in ("application/json", "application/octet-stream"):
        return text.strip()[:MOST_CHARACTERS]
    raise InputError(f"{name!r} is {kind}, which holds no text that can be read: give a page, a PDF or a text file")


def pdf_text(raw: bytes, name: str) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError as e:
        raise InputError(f"reading {name!r} needs pypdf: run `pip install 'ringfence[research]'`") from e
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it remarks on every flaw that it can read past
    try:
        reader = PdfReader(io.BytesIO(raw))
        pages: list[str] = []
        for n, page in enumerate(reader.pages):
            if n >= _MOST_PAGES or sum(map(len, pages)) > MOST_CHARACTERS:
                break
            pages.append(page.extract_text())
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OSError) as e:
        raise InputError(f"{name!r} is no PDF that can be read ({e}): save its text and give that file") from e
    text = "\n".join(pages).strip()[:MOST_CHARACTERS]
    if not text:
        raise InputError(f"{name!r} has no text, only pictures of it: save its text and give that file")
    return text


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipping.append(tag)
        elif tag in ("p", "br", "li", "div", "tr", "h1", "h2", "h3", "h4"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipping:
            del self._skipping[self._skipping.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data)


def html_text(page: str) -> str:
    words = _Words()
    words.feed(page)
    words.close()
    lines = (" ".join(line.split()) for line in "".join(words.parts).splitlines())
    return "\n".join(line for line in lines if line)[:MOST_CHARACTERS]


def transcript_text(text: str) -> str:
    """What was said, without when: WebVTT, SubRip, or the JSON list that transcript tools write."""
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
            text = "\n".join(str(row["text"]) for row in rows)
        except (ValueError, KeyError, TypeError):
            pass  # it began like JSON and is plain text
    text = text.replace("</text>", "</text>\n")  # captions as XML come in one line
    lines = [html.unescape(_TAG.sub("", line)).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _STAMP.match(line)]
    # Subtitles that roll repeat each line.
    once = [line for n, line in enumerate(said) if not n or line != said[n - 1]]
    return " ".join(once)[:MOST_CHARACTERS]
