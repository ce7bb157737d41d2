"""The tear sheet as text: complete, self-contained, and deaf to what the strategy wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import fields, replace
from html.parser import HTMLParser

import pytest

from ringfence.base.errors import DataError
from ringfence.trade.metrics import METRIC_HINTS, Metrics
from ringfence.trade.run import Evidence, Json, Lookahead
from ringfence.verbs.report import tear_sheet
from ringfence.verbs.report.measures import GROUPS

from tests.trade.run_builder import TEXT, make_curve, make_metrics, make_run, make_trade
from tests.verbs.report_documents import HOSTILE, START, document, hostile_document, make_candles, many_trades


class Elements(HTMLParser):
    """What a browser would find: the tags with their attributes, and the words outside script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.held: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.held:
            self.held[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.held:
            self.held[self._inside][-1] += data
        else:
            self.words += data


def sheet(**changes: object) -> str:
    return tear_sheet(document(**changes), code=TEXT, candles={"GOOG": make_candles(252)})


def page_data(html: str) -> dict[str, Json]:
    found = json.loads(Elements(html).held["script"][0])
    assert isinstance(found, dict)
    return found


def test_a_page_says_what_was_run_and_what_came_of_it() -> None:
    words = Elements(sheet()).words
    for told in (
        "dip",
        "GOOG",
        "Verified",
        "No look-ahead",
        "+10.0%",
        "1 order was cancelled for margin",
        "sample:GOOG",
    ):
        assert told in words
    assert make_run().run_id in words


def test_nothing_on_the_page_is_loaded_from_elsewhere() -> None:
    for tag, attributes in Elements(sheet()).tags:
        assert "src" not in attributes and tag not in ("link", "iframe", "img", "object"), (tag, attributes)
        assert not attributes.get("href", "#" if tag != "a" else "").startswith("http") or tag == "a"  # type: ignore[union-attr]  # an href has a value


def test_the_policy_allows_these_very_scripts_and_this_very_style() -> None:
    found = Elements(sheet())
    [policy] = [a["content"] or "" for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for held in (*found.held["script"][1:], *found.held["style"]):
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_no_element_carries_a_style_or_a_handler_that_the_policy_would_block() -> None:
    for tag, attributes in Elements(sheet()).tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], (tag, attributes)


def test_hostile_words_become_no_markup() -> None:
    html = tear_sheet(hostile_document(), code=HOSTILE, candles={HOSTILE: make_candles(252)}, without_candles=HOSTILE)
    found, usual = Elements(html), Elements(sheet())
    assert {tag for tag, _ in found.tags} - {tag for tag, _ in usual.tags} <= {"pre", "details", "summary"}
    assert len(found.held["script"]) == 3
    assert not any("onerror" in a or "onmouseover" in a for _, a in found.tags)
    assert "window.pwned=1" in found.words  # it is shown
    assert "{{ 7*7 }}" in found.words
    html.encode()  # a lone surrogate would not let itself be written


def test_what_cannot_be_seen_is_spelled_out() -> None:
    html = tear_sheet(hostile_document(), code=HOSTILE)
    for character in "\x00\x1b\u202e\u2028\ud800":
        assert character not in html
    assert "\\x1b[31m" in html and "\\u202e" in html


def test_the_data_cannot_end_its_element() -> None:
    html = tear_sheet(hostile_document(), code="", candles={HOSTILE: make_candles(252)})
    held = re.search(r'id="run-data">(.*?)</script>', html, re.DOTALL)
    assert held is not None
    assert "<" not in held[1]
    [symbol] = json.loads(held[1])["symbols"]
    assert symbol["name"].startswith("</script>")


@pytest.mark.parametrize(("provenance", "tone"), [("verified", "good"), ("claimed", "warn"), ("mismatch", "bad")])
def test_provenance_has_its_colour(provenance: str, tone: str) -> None:
    assert f'<li class="badge {tone}"><strong>{provenance.capitalize()}</strong>' in sheet(provenance=provenance)


def test_a_mismatch_is_loud() -> None:
    assert 'class="banner mismatch"' in sheet(provenance="mismatch")
    assert 'class="banner mismatch"' not in sheet()


def test_synthetic_prices_are_called_so() -> None:
    bars = make_run().bars
    assert bars is not None
    assert 'class="banner synthetic"' in sheet(bars=replace(bars, synthetic=True))
    assert 'class="banner synthetic"' not in sheet()


def test_suspected_look_ahead_shows_its_evidence() -> None:
    seen = Evidence(time=START, test="truncated", cut=START, with_future="buy 5 GOOG", without_future="nothing at all")
    words = Elements(sheet(lookahead=Lookahead(status="suspect", reason="", cuts=1, evidence=(seen,)))).words
    assert "Look-ahead suspected" in words and "buy 5 GOOG" in words and "nothing at all" in words


def test_no_trades_come_with_guidance_and_are_no_success() -> None:
    words = Elements(sheet(verdict="no_trades", trades=(), guidance=("RSI came as low as 36: try 37",))).words
    assert "RSI came as low as 36: try 37" in words
    assert "says nothing about the strategy" in words


def test_orders_that_came_to_nothing_are_counted_by_reason() -> None:
    [order] = make_run().orders
    lost = tuple(replace(order, id=at, status="rejected", reason="not enough cash") for at in range(3))
    html = sheet(orders=lost)
    assert "rejected: not enough cash" in html
    assert '<td class="num">3</td>' in html


def test_every_metric_has_its_place_and_its_hint() -> None:
    placed = [name for members in GROUPS.values() for name in members]
    assert sorted(placed) == sorted(f.name for f in fields(Metrics))
    words = Elements(sheet(metrics=make_metrics(ruined_at="2020-05-05T00:00:00Z"))).words
    for hint in METRIC_HINTS.values():
        assert hint.hint in words, hint


def test_a_script_shows_its_own_statistics_and_needs_no_prices() -> None:
    run = document(
        bars=None, metrics=None, statistics={"Return [%]": 12.5, "# Trades": 3, "_inside": 1}, provenance="claimed",
        benchmark=None, orders=(), fills=(),
    )  # fmt: skip
    html = tear_sheet(run, code=TEXT, without_candles="The price chart is left out: the script brought its own data.")
    words = Elements(html).words
    assert "Return [%]" in words and "+12.5%" in words and "Claimed" in words
    assert "_inside" not in words
    assert "The price chart is left out: the script brought its own data." in words


def test_a_run_that_failed_shows_where() -> None:
    failed = dict(document(verdict="failed", metrics=None, equity=None, benchmark=None, indicators={}, trades=()))
    outcome: Json = {
        "status": "error",
        "failing": {"type": "IndexError", "message": "out", "line": 3, "bar": 12, "time": None},
    }
    html = tear_sheet(failed | {"outcome": outcome}, code=TEXT)
    assert "IndexError: out" in html and "line 3 · bar 12" in html
    assert re.search(r'<span class="line failing">\s', html)


def test_code_is_coloured_and_complete() -> None:
    html = sheet()
    assert '<span class="c-keyword">class</span>' in html
    shown = re.search(r'<pre class="code".*?</pre>', html, re.DOTALL)
    assert shown is not None
    assert Elements(shown[0]).words == TEXT


def test_code_that_is_no_python_is_shown_as_it_is() -> None:
    broken = "class A(:\n    x = '''never closed\n\n"
    shown = re.search(r'<pre class="code".*?</pre>', tear_sheet(document(), code=broken), re.DOTALL)
    assert shown is not None
    assert Elements(shown[0]).words == broken


def test_trades_are_on_the_axis_of_the_prices() -> None:
    data = page_data(sheet(trades=(make_trade(entry_time=START + 7 * 86_400 * 10**9),)))
    axis, trades = data["axis"], data["trades"]
    assert isinstance(axis, list) and isinstance(trades, list)
    [trade] = trades
    assert trade["entry_at"] == 7
    assert axis[7] == trade["entry_time"]


def test_an_indicator_near_the_prices_lies_on_them_and_another_does_not() -> None:
    indicators = {"sma": make_curve(252, start=100.0, step=1.0), "rsi": make_curve(252, start=2.0, step=0.1)}
    data = page_data(sheet(indicators=indicators))
    found = data["indicators"]
    assert isinstance(found, list)
    assert {one["name"]: one["on_prices"] for one in found} == {"sma": True, "rsi": False}


def test_a_year_of_daily_bars_stays_small() -> None:
    html = tear_sheet(
        document(equity=make_curve(2148), trades=many_trades(200)), code=TEXT, candles={"GOOG": make_candles(2148)}
    )
    assert len(html.encode()) < 1_000_000


def test_the_same_run_gives_the_same_page() -> None:
    assert sheet() == sheet()


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(DataError, match="America/New_York"):
        tear_sheet(document(), code="", timezone="Mars/Olympus")
