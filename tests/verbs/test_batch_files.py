"""Which files a batch finds, and what it says of those that hold no strategy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ringfence.verbs.batch.files import MOST_BYTES, Content, Unfit, find_files, places, printable, read_file


def found(*words: Path | str) -> list[str]:
    return [str(path) for path in find_files([str(word) for word in words])]


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_a_directory_gives_what_may_hold_a_strategy_in_the_order_of_names(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.md", "a/b/c.txt", "c.json", "a.PY", ".hidden.py", ".git/x.py", "d.pyc")
    wanted = ["a/b/c.txt", "a/z.md", "b.py"]
    assert found(tmp_path) == [str(tmp_path / name) for name in wanted]


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "strategy", ".hidden.json")
    assert found(tmp_path / "strategy", tmp_path / ".hidden.json") == [
        str(tmp_path / "strategy"),
        str(tmp_path / ".hidden.json"),
    ]


def test_what_is_given_twice_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "x/a.py", "x/b.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "x/a.py")
    (tmp_path / "y").symlink_to(tmp_path / "x")
    monkeypatch.chdir(tmp_path)
    assert found("x/b.py", tmp_path / "x" / ".." / "x" / "b.py", "x", tmp_path, "y") == ["x/b.py", "x/a.py"]


def test_links_in_circles_end(tmp_path: Path) -> None:
    make(tmp_path, "x/a.py")
    (tmp_path / "x" / "up").symlink_to(tmp_path)
    (tmp_path / "x" / "here").symlink_to(tmp_path / "x")
    (tmp_path / "self.py").symlink_to("self.py")
    names = found(tmp_path)
    assert names == [str(tmp_path / "self.py"), str(tmp_path / "x/a.py")]
    assert isinstance(read_file(Path(names[0])), Unfit)


def test_the_listing_is_lazy(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py")
    paths = find_files([str(tmp_path)])
    assert next(paths).name == "a.py"
    make(tmp_path, "b/d.py")
    assert [path.name for path in paths] == ["c.py", "d.py"]


def test_text_is_read_with_its_hash(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("\ufeffx = 'é'\r\n".encode())
    content = read_file(tmp_path / "a.py")
    assert isinstance(content, Content)
    assert content.text == "x = 'é'\r\n"
    (tmp_path / "b.py").write_text("x = 'é'\r\n", newline="")
    assert read_file(tmp_path / "b.py").sha256 != content.sha256


@pytest.mark.parametrize(
    ("raw", "verdict", "words"),
    [
        (b"", "not_a_strategy", "empty"),
        (b" \n\t\n", "not_a_strategy", "empty"),
        (b"\x7fELF\0\0\0", "not_a_strategy", "binary"),
        ("x = 'é'".encode("utf-16"), "not_a_strategy", "UTF-8"),
        ("x = 'é'".encode("latin-1"), "failed", "byte 5"),
        (b"#" * (MOST_BYTES + 1), "failed", "1 MB"),
    ],
    ids=["empty", "blank", "binary", "utf-16", "latin-1", "large"],
)
def test_what_is_no_text_has_a_verdict(tmp_path: Path, raw: bytes, verdict: str, words: str) -> None:
    (tmp_path / "a.py").write_bytes(raw)
    unfit = read_file(tmp_path / "a.py")
    assert isinstance(unfit, Unfit)
    assert (unfit.verdict, words in unfit.reason) == (verdict, True), unfit


def test_the_largest_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"#" * MOST_BYTES)
    assert isinstance(read_file(tmp_path / "a.py"), Content)


def test_what_cannot_be_read_has_a_verdict_and_nothing_hangs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.py").mkdir()
    assert found(tmp_path) == [str(tmp_path / "gone.py"), str(tmp_path / "pipe.py")]
    reasons = {}
    for name in ("pipe.py", "gone.py", "folder.py", "never-was.py"):
        unfit = read_file(tmp_path / name)
        assert isinstance(unfit, Unfit) and unfit.verdict == "failed"
        reasons[name] = unfit.reason
    assert "no regular file" in reasons["pipe.py"] and "No such file" in reasons["gone.py"]
    assert "No such file" in reasons["never-was.py"] and "directory" in reasons["folder.py"]


def test_a_batch_is_about_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "x/a.py", "x/b.py", "y/c.py")
    monkeypatch.chdir(tmp_path)
    assert places(["x"]) == places(["x/a.py"]) == places([str(tmp_path / "x/b.py"), "x/a.py"]) == [f"{tmp_path}/x"]
    assert places(["x", "y/c.py"]) == [f"{tmp_path}/x", f"{tmp_path}/y"]


def test_a_name_that_is_no_utf_8_can_be_printed(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    (tmp_path / name).write_text("x")
    (path,) = find_files([str(tmp_path)])
    assert printable(path.name) == "\\xff.py"
