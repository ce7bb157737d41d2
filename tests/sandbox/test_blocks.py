"""Blocks: each sandbox has its own, and the next owner sweeps after a dead one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import Limits
from ringfence.sandbox.native import blocks, cgroup

from tests.conftest import require
from tests.patience import PATIENCE_SECONDS

DAMAGED = {
    "empty": b"",
    "cut short": b'{"pid": 1, "groups": ["/sys/fs/cgroup/mem',
    "no JSON": b"\x00\xff\xfe not a note",
    "a list": b"[1, 2]",
    "null": b"null",
    "a number": b"7",
    "no groups": b'{"pid": 1}',
    "groups is a number": b'{"groups": 5}',
    "groups is null": b'{"groups": null}',
    "a group is a number": b'{"groups": [5]}',
    "a group is null": b'{"groups": [null]}',
    "deep": b"[" * 200_000,
    "a group with NUL": b'{"groups": ["/tmp/ringfence-\\u0000"]}',
}


def dead_owner(folder: Path, groups: list[Path]) -> Path:
    """The file of an owner that was killed: its note is there and nobody holds its lock."""
    path = folder / "block-0.json"
    path.write_text(json.dumps({"pid": 1, "groups": [str(group) for group in groups]}))
    return path


class TestTaking:
    def test_two_takers_get_different_blocks(self, tmp_path: Path) -> None:
        first, second = blocks.take_block(tmp_path), blocks.take_block(tmp_path)
        assert (first.number, second.number) == (0, 1)
        assert first.name != second.name
        first.release()
        third = blocks.take_block(tmp_path)
        assert third.number == 0
        assert third.name != first.name  # a late sweep after the first must not find the third's groups
        second.release()
        third.release()
        assert os.listdir(tmp_path) == []

    def test_many_takers_at_once_get_different_blocks(self, tmp_path: Path) -> None:
        taken: list[blocks.Block] = []
        start = threading.Barrier(8)

        def take() -> None:
            start.wait()
            for _ in range(20):
                taken.append(blocks.take_block(tmp_path))

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({block.number for block in taken}) == 160
        for block in taken:
            block.release()
        assert os.listdir(tmp_path) == []

    def test_takers_and_givers_at_once_never_share_a_block(self, tmp_path: Path) -> None:
        held: set[int] = set()
        shared: list[int] = []
        lock, start = threading.Lock(), threading.Barrier(6)

        def churn() -> None:
            start.wait()
            for _ in range(60):
                block = blocks.take_block(tmp_path)
                with lock:
                    shared.extend({block.number} & held)
                    held.add(block.number)
                with lock:
                    held.discard(block.number)
                block.release()

        threads = [threading.Thread(target=churn) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not shared
        assert os.listdir(tmp_path) == []

    def test_a_lock_dies_with_its_holder(self, tmp_path: Path) -> None:
        code = (
            "import os, signal, sys; from pathlib import Path; from ringfence.sandbox.native import blocks;"
            "blocks.take_block(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)"
        )
        path = os.pathsep.join(filter(None, sys.path))
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env={"PYTHONPATH": path}, check=False)
        assert done.returncode == -9
        assert os.listdir(tmp_path) == ["block-0.json"]
        block = blocks.take_block(tmp_path)
        assert block.number == 0
        block.release()

    def test_a_process_that_inherits_the_lock_keeps_the_block(self, tmp_path: Path) -> None:
        block = blocks.take_block(tmp_path)
        heir = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE,
                                pass_fds=[block.fd])  # fmt: skip
        os.close(block.fd)
        other = blocks.take_block(tmp_path)
        assert other.number == 1
        heir.communicate()
        other.release()
        after = blocks.take_block(tmp_path)
        assert after.number == 0
        after.release()

    def test_the_giver_does_not_take_a_new_owners_file_away(self, tmp_path: Path) -> None:
        """Both the warden and the supervisor give a block back, and somebody may take it in between."""
        first = blocks.take_block(tmp_path)
        copy = os.dup(first.fd)
        first.release()
        second = blocks.take_block(tmp_path)
        assert second.number == first.number
        blocks.Block(-1, first.path, copy).release()
        assert second.path.exists()
        third = blocks.take_block(tmp_path)
        assert third.number == 1
        second.release()
        third.release()


class TestSweeping:
    def test_a_dead_owners_groups_are_swept_with_what_is_in_them(self, tmp_path: Path) -> None:
        own, mounts = Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text()
        hierarchy = cgroup.find_hierarchy(own, mounts)
        require("a control group that we may write", present=hierarchy is not None)
        assert hierarchy is not None
        folder = cgroup.GroupFolder(hierarchy, f"ringfence-0-test{os.getpid()}")
        dead_owner(tmp_path, folder.places)
        folder.make()
        group = folder.new("run-1", Limits())
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as left:
            for place in group.places:
                (place / "cgroup.procs").write_text(str(left.pid))
            block = blocks.take_block(tmp_path)
            assert left.wait(PATIENCE_SECONDS) == -9
        assert not any(place.exists() for place in folder.places)
        block.release()
        assert os.listdir(tmp_path) == []

    def test_a_noted_group_that_was_never_made_is_no_trouble(self, tmp_path: Path) -> None:
        dead_owner(tmp_path, [Path("/sys/fs/cgroup/memory/ringfence-0-never")])
        blocks.take_block(tmp_path).release()
        assert os.listdir(tmp_path) == []

    def test_a_living_owners_groups_are_left_alone(self, tmp_path: Path) -> None:
        mine = tmp_path / "groups" / "ringfence-0-mine"
        mine.mkdir(parents=True)
        block = blocks.take_block(tmp_path)
        block.note([mine])
        other = blocks.take_block(tmp_path)
        assert mine.exists()
        other.release()
        block.release()
        assert not mine.exists()

    @pytest.mark.parametrize("note", DAMAGED.values(), ids=DAMAGED.keys())
    def test_a_damaged_note_is_harmless(self, tmp_path: Path, note: bytes) -> None:
        (tmp_path / "block-0.json").write_bytes(note)
        (tmp_path / "block-7.json").write_bytes(note)
        block = blocks.take_block(tmp_path)
        assert block.number == 0
        block.release()
        assert os.listdir(tmp_path) == []

    def test_only_our_own_groups_are_ever_removed(self, tmp_path: Path) -> None:
        folder = tmp_path / "run"
        for name in ("run", "precious", "ours", "ringfence-up"):
            (tmp_path / name).mkdir()
        dead_owner(folder, [tmp_path / "precious", tmp_path / "ours" / ".." / "ringfence-up"])
        blocks.take_block(folder).release()
        assert (tmp_path / "precious").exists()
        assert (tmp_path / "ringfence-up").exists()

    def test_a_group_that_cannot_be_emptied_does_not_stop_the_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stuck(place: Path, **_: float) -> None:
            raise SandboxError(f"control group {place} is not empty")

        (tmp_path / "ringfence-0-stuck").mkdir()
        left = dead_owner(tmp_path, [tmp_path / "ringfence-0-stuck"])
        with monkeypatch.context() as patch:
            patch.setattr(cgroup, "remove_group", stuck)
            block = blocks.take_block(tmp_path)
            assert block.number == 1
            assert left.exists()  # for whoever comes later
            block.release()
        blocks.take_block(tmp_path).release()
        assert os.listdir(tmp_path) == []

    def test_what_is_noted_is_there_before_the_groups_are(self, tmp_path: Path) -> None:
        block = blocks.take_block(tmp_path)
        block.note([Path("/sys/fs/cgroup/a-long-name/ringfence-0-x")])
        block.note([Path("/x/ringfence-0-y")])  # shorter than the one before, of which nothing may stay
        note = json.loads(block.path.read_text())
        assert note == {"pid": os.getpid(), "groups": ["/x/ringfence-0-y"]}
        block.release()


class TestRuntimeDir:
    def test_it_is_made_for_its_user_alone(self, tmp_path: Path) -> None:
        place = blocks.runtime_dir(tmp_path / "a" / "b", os.getuid(), None)
        assert place.stat().st_mode & 0o777 == 0o700
        assert blocks.runtime_dir(place, os.getuid(), None) == place

    def test_a_users_own_is_in_xdg_or_else_in_tmp(self, tmp_path: Path) -> None:
        assert blocks.runtime_dir(None, os.getuid(), str(tmp_path)) in (tmp_path / "ringfence", Path("/run/ringfence"))

    def test_somebody_elses_is_refused(self, tmp_path: Path) -> None:
        require("root")
        os.chown(tmp_path, 12345, 12345)
        with pytest.raises(SandboxError, match="RINGFENCE_RUNTIME_DIR"):
            blocks.runtime_dir(tmp_path, os.getuid(), None)

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
    def test_one_that_others_may_write_is_refused(self, tmp_path: Path, mode: int) -> None:
        tmp_path.chmod(mode)
        with pytest.raises(SandboxError, match="only we can write"):
            blocks.runtime_dir(tmp_path, os.getuid(), None)
        tmp_path.chmod(0o700)

    def test_a_link_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with pytest.raises(SandboxError, match="not a directory"):
            blocks.runtime_dir(tmp_path / "link", os.getuid(), None)
