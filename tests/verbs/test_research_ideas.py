"""Where ideas come from: files, folders, pages, PDFs and transcripts, and what cannot be read."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ringfence.base.errors import InputError
from ringfence.verbs.research.documents import caption_track, fetch, html_text, transcript_text
from ringfence.verbs.research.ideas import read_ideas

from tests.cli.command import environment, ringfence

PAGE = (
    "<html><head><title>T</title><script>var x = 1;</script></head><body><nav>Menu</nav>"
    "<h1>A strategy</h1><p>Buy when RSI is<br>below 30 &amp; sell above 70.</p><style>p{}</style></body></html>"
)


class _Pages(BaseHTTPRequestHandler):
    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that has had enough hangs up
            super().handle()

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "ftp://127.0.0.1/x")
            self.end_headers()
            return
        kinds = {
            "/page": "text/html",
            "/pdf": "application/pdf",
            "/plain": "text/plain",
            "/watch": "text/html",
            "/png": "image/png",
        }
        if self.path == "/missing":
            self.send_error(404)
            return
        body = pdf("Buy when RSI is below 30.") if self.path == "/pdf" else PAGE.encode()
        body = b"x" * 3000 if self.path == "/long" else body
        body = self._said().encode() if self.path.startswith(("/watch", "/captions", "/strange")) else body
        self.send_response(200)
        self.send_header("Content-Type", kinds.get(self.path, "text/plain"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _said(self) -> str:
        if self.path.startswith("/strange"):
            return "Buy GOOG when the frobnicator sings\n"
        if self.path.startswith("/captions"):
            assert "fmt=vtt" in self.path and "lang=en" in self.path
            said = ("Buy GOOG when the <c>cow</c>", "Buy GOOG when the cow", "jumps &amp; sings")
            return "WEBVTT\n\n" + "\n\n".join(f"00:0{n}.000 --> 00:0{n}.900\n{words}" for n, words in enumerate(said))
        track = json.dumps({"baseUrl": "/captions?v=1&lang=en", "languageCode": "en"}).replace("&", "\\u0026")
        return f'<html><script>var p = {{"captionTracks":[{track}],"x":1}};</script>Like and subscribe</html>'

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def pdf(words: str) -> bytes:
    """A PDF with one line of text, written by hand."""
    stream = f"BT /F1 24 Tf 72 700 Td ({words}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table))
    return out.getvalue()


def test_one_idea_to_a_line(tmp_path: Path) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text("\ufeff# a remark\nBuy low\n\n   Sell high  \n#Buy high\nBuy low\n", encoding="utf-8")
    ideas = read_ideas(str(path))
    assert [idea.text for idea in ideas] == ["Buy low", "Sell high", "Buy low"]
    assert [idea.place.rpartition(":")[2] for idea in ideas] == ["2", "4", "6"]
    assert len({idea.key for idea in ideas}) == 3 and ideas[0].content == ideas[2].content
    path.write_text("New\nBuy low\nSell high\n")
    assert {idea.key for idea in read_ideas(str(path))} >= {ideas[0].key, ideas[1].key}, "a line that moved is the same"


def test_a_page_a_pdf_and_plain_text_from_the_network(site: str) -> None:
    [page] = read_ideas(f"{site}/page")
    assert page.text == "A strategy\nBuy when RSI is\nbelow 30 & sell above 70."
    [paper] = read_ideas(f"{site}/pdf")
    assert "Buy when RSI is below 30." in paper.text
    assert read_ideas(f"{site}/plain")[0].text == PAGE


@pytest.mark.parametrize(
    ("path", "said"),
    [("/missing", "cannot be fetched"), ("/away", "no page"), ("/png", "image/png"), ("", "cannot be fetched")],
)
def test_what_cannot_be_fetched_says_why(site: str, path: str, said: str) -> None:
    address = f"{site}{path}" if path else "http://127.0.0.1:1/x"
    with pytest.raises(InputError, match=said):
        read_ideas(address)


@pytest.mark.parametrize(
    ("address", "said"),
    [("ftp://x/y", "no http"), ("http://", "no http")],
)
def test_what_is_no_page_is_not_fetched(address: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fetch(address)


def test_what_is_said_in_a_video_is_read_from_its_captions(site: str) -> None:
    [said] = read_ideas(f"{site}/watch")
    assert said.text == "Buy GOOG when the cow jumps & sings"


@pytest.mark.parametrize(
    ("tracks", "wanted"),
    [
        ('[{"baseUrl": "a", "languageCode": "de"}, {"baseUrl": "b?l=1", "languageCode": "en-GB"}]', "b?l=1&fmt=vtt"),
        (
            '[{"baseUrl": "a", "languageCode": "en", "kind": "asr"}, {"baseUrl": "b", "languageCode": "en"}]',
            "b?fmt=vtt",
        ),
        ("[]", None),
        ('[{"languageCode": "en"}]', None),
        ('{"x": 1}', None),
        ("[broken", None),
    ],
)
def test_captions_are_those_of_a_person_in_english(tracks: str, wanted: str | None) -> None:
    assert caption_track(f'<script>var x = {{"captionTracks":{tracks}, "y": 2}}</script>') == wanted
    assert caption_track("<html>no video</html>") is None


def test_lines_that_are_addresses_are_fetched(site: str, tmp_path: Path) -> None:
    """The words of a page count, not its address: also when the same is asked twice in different ways."""
    path = tmp_path / "ideas.txt"
    addresses = (f"{site}/watch", f"{site}/missing", f"{site}/strange", f"{site}/strange?again")
    path.write_text("\n".join([*addresses, "Buy GOOG when the frobnicator sings"]) + "\n")
    plain = {k: v for k, v in environment().items() if not k.startswith("RINGFENCE_MODEL")}
    env = {**plain, "RINGFENCE_HOME": str(tmp_path / "home")}
    done = ringfence("research", "--ideas", str(path), "--data", "sample:GOOG", "--json", env=env)
    assert done.code == 1, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    by = {line["place"].rpartition(":")[2]: (line["verdict"], line["reason"]) for line in lines}
    assert [by[str(n)][0] for n in range(1, 4)] == ["not_understood", "unreadable", "not_understood"]
    assert "cow" in by["1"][1] and "frobnicator" in by["3"][1]
    assert [by[n][0] for n in ("4", "5")] == ["duplicate"] * 2


def test_size_and_time_are_bounded(site: str) -> None:
    with pytest.raises(InputError, match="larger than"):
        fetch(f"{site}/long", most_bytes=1000)
    with pytest.raises(InputError, match=r"in time|cannot be fetched"):
        fetch(f"{site}/page", seconds=1e-9)


def test_documents_of_a_folder_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Title\n\nBuy low.\nSell high.\n")
    (tmp_path / "b.html").write_text(PAGE)
    (tmp_path / "c.pdf").write_bytes(pdf("Hold."))
    (tmp_path / "d.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "e.json").write_text('[{"text": "buy", "start": 0.1}, {"text": "low", "start": 2}]')
    (tmp_path / "f.srt").write_text(
        "1\n00:00:01,000 --> 00:00:02,000\nbuy low\n\n2\n00:00:02,000 --> 00:00:03,000\nbuy low\n"
    )
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    ideas = {Path(idea.place).name: idea for idea in read_ideas(str(tmp_path))}
    assert set(ideas) == {"a.md", "b.html", "c.pdf", "d.pdf", "e.json", "f.srt"}
    assert ideas["a.md"].text.startswith("# Title") and ideas["c.pdf"].text == "Hold."
    assert ideas["d.pdf"].trouble and not ideas["d.pdf"].text
    assert ideas["e.json"].text == "buy low" == ideas["f.srt"].text


def test_an_empty_folder_and_a_missing_file_say_so(tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "none.txt"):
        with pytest.raises(InputError, match=r"no idea in|cannot be read"):
            read_ideas(str(source))


def test_what_pages_do_beside_words_is_left_out() -> None:
    assert html_text("<p>a</p><script>b<p>c</script><p>d") == "a\nd"
    assert html_text("<nav>x<p>y") == ""
    assert transcript_text("[00:01]\nhello\n0:02\nworld\n") == "hello world"
