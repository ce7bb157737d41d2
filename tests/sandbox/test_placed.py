"""Files placed in a directory of the run's own: whole or not at all, with plain bits."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from ringfence.base.errors import InputError

from tests.sandbox.collecting import names, reasons, take


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def test_files_are_written_with_plain_bits(work: Path, tmp_path: Path) -> None:
    into = tmp_path / "not/there/yet"
    (work / "sub").mkdir()
    (work / "sub/run.sh").write_bytes(b"#!" * (1 << 20))
    (work / "sub/run.sh").chmod(0o6755)
    got = take(work, into)
    (made,) = got.artifacts
    (own,) = into.iterdir()
    assert made.path == str(own / "sub/run.sh")
    assert made.data is None
    assert Path(made.path).read_bytes() == b"#!" * (1 << 20)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (own, own / "sub", own / "sub/run.sh")] == [0o755, 0o755, 0o644]
    assert os.listdir(own / "sub") == ["run.sh"]


def test_a_file_as_the_artifacts_directory_is_a_bad_request(work: Path, tmp_path: Path) -> None:
    (work / "f").touch()
    (tmp_path / "into").touch()
    with pytest.raises(InputError, match="choose another"):
        take(work, tmp_path / "into")


def test_what_cannot_be_written_leaves_nothing(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "sub/deep").mkdir(parents=True)
    (work / "sub/deep/f").write_bytes(b"x" * 100)

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        got = take(work, tmp_path / "into")
    assert got.artifacts == ()
    assert "free space" in reasons(got)["sub/deep/f"]
    assert list((tmp_path / "into").iterdir()) == []
    (work / "sub/deep/f").unlink()
    assert take(work, tmp_path / "into").artifacts == ()
    assert list((tmp_path / "into").iterdir()) == []


def test_a_name_that_the_file_system_refuses_is_refused(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "fine").touch()
    (work / "long").touch()
    real = os.open

    def picky(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "long" and flags & os.O_CREAT:
            raise OSError(errno.ENAMETOOLONG, "File name too long")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", picky)
    got = take(work, tmp_path / "into")
    assert (names(got), list(reasons(got))) == (["fine"], ["long"])
    assert "takes no such name" in reasons(got)["long"]
