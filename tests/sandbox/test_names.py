"""The rule for names, and what it is for: whatever passes it is inert, wherever it goes."""

from __future__ import annotations

import shlex
import unicodedata
from urllib.parse import urlsplit

import pytest
from hypothesis import assume, example, given, strategies as st

from ringfence.sandbox.names import MOST_BYTES, Names, fault, shown

ANY = st.text(max_size=40) | st.text(st.sampled_from("abc.-+=@^_( )~$:%/\u0301\u2488\uff04\u202e"), max_size=8)


@given(ANY)
@example("..")
@example("a/b")
@example("\u2488")
@example("\ud800")
def test_a_fit_name_is_inert(part: str) -> None:
    if fault(part) is not None:
        return
    for text in (part, unicodedata.normalize("NFKC", part), unicodedata.normalize("NFD", part)):
        assert text and text.isprintable()
        assert text[0] not in ".-+~=@ (," and text[-1] not in ". "
        assert not set(text) & set("/\0\n\r\x1b\x7f$`;&|<>*?!\"'\\#[]{}~:%")
        url = urlsplit(text)
        assert (url.scheme, url.netloc, url.path) == ("", "", text)
    assert len(part.encode()) <= MOST_BYTES
    assert shlex.join(shlex.split(shlex.quote(part))) == shlex.quote(part)
    assert shown(part) == part


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=60))
def test_ordinary_names_are_fit(name: str) -> None:
    assume(len(name.encode()) < 200 and shown(unicodedata.normalize("NFKC", name)) == name)
    assume(not set(name) & set("\u115f\u1160\u3164\uffa0"))  # they show as nothing
    assert fault(f"x{name}.csv") is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Report.csv", "report.csv"),
        ("caf\u00e9", "cafe\u0301"),
        ("stra\u00dfe", "STRASSE"),
        ("\ufb01x", "fix"),
        ("Out/a.csv", "out/b.csv"),
        ("a", "A/b.csv"),
        ("twice", "twice"),
        ("file", "file/a"),
        ("folder/a", "folder"),
    ],
    ids=str,
)
def test_names_that_a_file_system_takes_for_one_are_claimed_once(first: str, second: str) -> None:
    names = Names()
    assert names.claim(first) is None
    assert "is the same to some" in (names.claim(second) or "")
    assert names.claim("another/a.csv") is None and names.claim("another/b.csv") is None
