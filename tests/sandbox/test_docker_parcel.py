"""Artifacts as the host takes them from a container whose keeper says whatever it likes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.parcel import receive_artifacts
from ringfence.sandbox.placing import leavings_in

Frame = tuple[bytes, bytes]


def offer(name: str, content: bytes = b"x") -> Iterator[Frame]:
    yield frames.KEPT, json.dumps({"name": name, "bytes": len(content)}).encode()
    yield frames.CHUNK, content
    yield frames.TAKEN, b""


def done(*rejected: tuple[str, str]) -> Frame:
    return frames.DONE, json.dumps({"rejected": rejected, "truncated": False}).encode()


def sent(*names: str) -> Iterator[Frame]:
    for name in names:
        yield from offer(name)


BAD = (
    *("../up", "/etc/cron.d/x", "a/../../b", "", "a//b", ".git/config", "sub/.env", "-rf", "a;b", "a\nb"),
    *("HEAD", "fine.csv", "FINE.csv", "fine.csv/x", "new\x1b[31m"),
)


@pytest.mark.parametrize("on_disk", [True, False])
def test_names_are_judged_again_outside(tmp_path: Path, on_disk: bool) -> None:
    """What an old or a hostile keeper lets through is refused, and the rest is taken."""
    arriving = iter([*sent("fine.csv", *BAD, "last.csv"), done(("link\n", "a \x1b link"))])
    into = tmp_path / "into" if on_disk else None
    with leavings_in(into) as left:
        got = receive_artifacts(arriving, left.keep)
    assert [a.name for a in got.artifacts] == ["fine.csv", "last.csv"]
    assert all(r.name.isprintable() and r.reason.isprintable() for r in got.rejected)
    assert len(got.rejected) == len(BAD) + 1
    if into is not None:
        assert {p.name for p in into.glob("*/*")} == {"fine.csv", "last.csv"}
        assert list(tmp_path.iterdir()) == [into]


def test_offers_are_counted_whether_or_not_they_are_taken() -> None:
    with leavings_in(None) as left, pytest.raises(SandboxError, match="run the job again"):
        receive_artifacts(iter([*sent(*[".x"] * 101), done()]), left.keep)
