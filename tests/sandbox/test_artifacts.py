"""Files left by a hostile program: what is taken, what is refused, and that nothing else is touched."""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ringfence.sandbox import artifacts
from ringfence.sandbox.artifacts import collect, stamps
from ringfence.sandbox.keeping import in_memory

from tests.conftest import require
from tests.sandbox.collecting import names, opened, reasons, take


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def test_files_are_kept_in_memory(work: Path) -> None:
    (work / "b.csv").write_bytes(b"x,y\n")
    (work / "sub/deep").mkdir(parents=True)
    (work / "sub/deep/a.png").write_bytes(b"\x89PNG")
    (work / "empty").touch()
    got = take(work)
    found: list[object] = [(a.name, a.bytes, a.mime, a.path, a.data) for a in got.artifacts]
    assert found == [
        ("b.csv", 4, "text/csv", None, b"x,y\n"),
        ("empty", 0, "application/octet-stream", None, b""),
        ("sub/deep/a.png", 4, "image/png", None, b"\x89PNG"),
    ]
    assert got.artifacts[0].sha256 == hashlib.sha256(b"x,y\n").hexdigest()
    assert (got.rejected, got.truncated) == ((), False)


def test_an_o_path_descriptor_will_do(work: Path) -> None:
    (work / "a").write_bytes(b"1")
    with opened(work, os.O_PATH) as fd:
        assert names(collect(fd, keep=in_memory, baseline=stamps(fd))) == []
        assert names(collect(fd, keep=in_memory, baseline={})) == ["a"]


def test_unchanged_files_are_left_out(work: Path) -> None:
    for name in ("same", "grown", "replaced", "touched"):
        (work / name).write_bytes(b"old")
        os.utime(work / name, ns=(1, 1))
    with opened(work) as fd:
        baseline = stamps(fd)
        assert set(baseline) == {"same", "grown", "replaced", "touched"}
        with open(work / "grown", "ab") as f:
            f.write(b"er")
        (work / "new").write_bytes(b"old")
        os.utime(work / "new", ns=(1, 1))
        os.rename(work / "new", work / "replaced")
        (work / "touched").write_bytes(b"OLD")
        assert names(collect(fd, keep=in_memory, baseline=baseline)) == ["grown", "replaced", "touched"]


def test_what_is_no_regular_file_is_refused_unopened(work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (work / "link").symlink_to(secret / "key")
    (work / "linkdir").symlink_to(secret)
    (work / "dangling").symlink_to("/nowhere")
    (work / "self").symlink_to("self")
    os.mkfifo(work / "fifo")
    os.link(secret / "key", work / "hard")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(work / "socket"))
    got = take(work)
    assert got.artifacts == ()
    assert reasons(got) == {
        **dict.fromkeys(("link", "linkdir", "dangling", "self"), "a symbolic link"),
        "fifo": "a fifo",
        "hard": "a hard link",
        "socket": "a socket",
    }


def test_device_nodes_are_refused(work: Path) -> None:
    require("root")
    try:
        os.mknod(work / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        require("the right to make device nodes", present=False)
    assert reasons(take(work)) == {"zero": "a device"}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"new\nline", "new\\nline"),
        (b"\x1b[31m", "\\x1b[31m"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("\u202egnp.exe".encode(), "\\u202egnp.exe"),
        ("line\u2028end".encode(), "line\\u2028end"),
    ],
    ids=["newline", "escape", "bytes", "bidi", "separator"],
)
def test_bad_names_are_refused_and_shown_harmlessly(work: Path, raw: bytes, shown: str) -> None:
    folder = os.fsencode(work) + b"/" + raw
    os.mkdir(folder)
    with open(folder + b"/inside", "wb"):
        pass
    got = reasons(take(work))
    assert list(got) == [shown] and "its name" in got[shown]
    os.unlink(folder + b"/inside")
    os.rmdir(folder)
    with open(folder, "wb"):
        pass
    got = reasons(take(work))
    assert list(got) == [shown] and "its name" in got[shown]


def test_files_that_were_given_may_have_any_name(work: Path) -> None:
    for name in ("S&P 500.csv", ".data/in.csv", ".data/other.csv"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes(b"given")
        os.utime(work / name, ns=(1, 1))
    with opened(work) as fd:
        baseline = stamps(fd)
        (work / "out.csv").touch()
        got = collect(fd, keep=in_memory, baseline=baseline)
        assert (names(got), reasons(got)) == (["out.csv"], {})
        (work / ".data/new.csv").touch()
        (work / ".data/other.csv").write_bytes(b"changed")
        (work / ".new").mkdir()
        (work / ".new/a").touch()
        (work / ".new/b").touch()
        got = collect(fd, keep=in_memory, baseline=baseline)
        assert (names(got), list(reasons(got))) == (["out.csv"], [".data/new.csv", ".data/other.csv", ".new"])


def test_long_paths_are_refused(work: Path) -> None:
    folder = work
    for _ in range(5):
        folder = folder / ("x" * 250)
        folder.mkdir()
    (folder / "f").touch()
    got = take(work)
    assert got.artifacts == ()
    assert ["longer than 1000 characters" in r.reason for r in got.rejected] == [True]
    assert len(got.rejected[0].name) <= 300


def descend(work: Path, levels: int) -> None:
    fd = os.open(work, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=fd))
    os.close(fd)


def remove(folder: Path) -> None:
    """Take a tree away that is too deep for shutil: by moving each level up."""
    top = os.open(folder, os.O_RDONLY)
    with suppress(FileNotFoundError):
        while True:
            os.rename("d", "gone", src_dir_fd=top, dst_dir_fd=top)
            inner = os.open("gone", os.O_RDONLY, dir_fd=top)
            if "d" in os.listdir(inner):
                os.rename("d", "d", src_dir_fd=inner, dst_dir_fd=top)
            for name in os.listdir(inner):
                os.unlink(name, dir_fd=inner)
            os.close(inner)
            os.rmdir("gone", dir_fd=top)
    os.close(top)


@pytest.mark.parametrize(("levels", "found"), [(31, True), (32, False), (3000, False)])
def test_depth_is_capped(work: Path, levels: int, found: bool) -> None:
    descend(work, levels)
    try:
        got = take(work)
        assert bool(got.artifacts) == found
        assert got.truncated == (not found)
        assert ("deeper than 32 levels" in reasons(got).values()) == (not found)
    finally:
        remove(work)


def test_entries_are_capped(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "MAX_ENTRIES", 50)
    (work / "a").mkdir()
    for i in range(80):
        (work / "a" / f"{i:03}").touch()
    got = take(work)
    assert len(got.artifacts) == 49
    assert got.truncated
    assert reasons(got) == {"a": "holds entries past the first 50"}


def test_twenty_thousand_directories_end_quickly(work: Path) -> None:
    for i in range(20_000):
        os.mkdir(work / str(i))
    start = time.process_time()
    got = take(work)
    assert time.process_time() - start < 20
    assert got.truncated


def test_count_and_bytes_are_capped(work: Path) -> None:
    for i in range(5):
        (work / f"f{i}").write_bytes(b"x" * 10)
    got = take(work, max_count=3)
    assert names(got) == ["f0", "f1", "f2"]
    assert reasons(got) == dict.fromkeys(("f3", "f4"), "over the limit of 3 artifacts")
    assert got.truncated
    (work / "f1").write_bytes(b"x" * 100)
    got = take(work, max_bytes=40)
    assert names(got) == ["f0", "f2", "f3", "f4"]
    assert got.truncated
    assert "100 bytes do not fit" in reasons(got)["f1"]


def test_a_sparse_file_counts_in_full(work: Path) -> None:
    with open(work / "sparse", "wb") as f:
        f.truncate(1 << 40)
    start = time.process_time()
    got = take(work)
    assert time.process_time() - start < 5
    assert got.artifacts == ()
    assert got.truncated


def test_the_list_of_the_refused_is_capped(work: Path) -> None:
    for i in range(300):
        (work / str(i)).symlink_to("x")
    got = take(work)
    assert len(got.rejected) == 200
    assert got.truncated


def test_the_unreadable_is_refused(work: Path) -> None:
    (work / "file").touch(0o000)
    (work / "folder").mkdir(0o000)
    (work / "fine").touch()
    child = os.fork()
    if child == 0:  # as an ordinary user, who is also denied by the mode of the files
        status = 1
        try:
            with opened(work) as fd:
                if os.geteuid() == 0:
                    os.setresuid(65534, 65534, 65534)
                got = collect(fd, keep=in_memory, baseline={})
            expected = dict.fromkeys(("file", "folder"), "cannot be opened (Permission denied)")
            status = 0 if names(got) == ["fine"] and reasons(got) == expected else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("a.csv.gz", "application/gzip"),
        ("a.json", "application/json"),
        ("data,evil", "application/octet-stream"),
        ("a.weird", "application/octet-stream"),
    ],
)
def test_mime(work: Path, name: str, mime: str) -> None:
    (work / name).touch()
    assert [a.mime for a in take(work).artifacts] == [mime]


def test_a_file_that_changes_while_it_is_read_is_refused(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "f").write_bytes(b"x" * 100)
    read = os.read

    def slow(fd: int, size: int) -> bytes:
        data = read(fd, size)
        if data.startswith(b"x"):
            (work / "f").write_bytes(b"y" * 101)
        return data

    monkeypatch.setattr(os, "read", slow)
    assert reasons(take(work)) == {"f": "changed while it was collected"}


def test_on_a_tmpfs_and_not_into_what_is_mounted_there(work: Path, tmp_path: Path) -> None:
    require("root")
    libc = ctypes.CDLL(None, use_errno=True)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "of-the-host").write_text("not an artifact")

    def mount(source: bytes, target: Path, kind: bytes, flags: int) -> None:
        if libc.mount(source, os.fsencode(target), kind, flags, None) != 0:
            require("the right to mount", present=False)

    mount(b"tmpfs", work, b"tmpfs", 0)
    try:
        (work / "data").mkdir()
        mount(os.fsencode(shared), work / "data", b"", 4096)  # MS_BIND
        (work / "f").write_text("1")
        (work / "sub").mkdir()
        (work / "sub/g").write_text("2")
        got = take(work)
        assert names(got) == ["f", "sub/g"]
        assert got.rejected == ()
    finally:
        libc.umount2(os.fsencode(work / "data"), 2)
        libc.umount2(os.fsencode(work), 2)
