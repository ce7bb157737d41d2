"""Where groups are made: the finder on the texts that real machines show; and the groups of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox.evidence import Counters
from ringfence.sandbox.job import Limits
from ringfence.sandbox.native import cgroup
from ringfence.sandbox.native.cgroup import Hierarchy, find_hierarchy

from tests.conftest import require
from tests.patience import PATIENCE_SECONDS

# ROOT stands for /sys/fs/cgroup, so that a test can have a tree of its own there.
V1_OWN = """\
12:pids:/user.slice/user-1000.slice/session-2.scope
11:cpuset:/
10:perf_event:/
9:memory:/user.slice/user-1000.slice/session-2.scope
8:devices:/user.slice
7:hugetlb:/
6:freezer:/
5:blkio:/user.slice
4:rdma:/
3:cpu,cpuacct:/user.slice
2:net_cls,net_prio:/
1:name=systemd:/user.slice/user-1000.slice/session-2.scope
"""
V1_MOUNTS = """\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
tmpfs ROOT tmpfs ro,nosuid,nodev,noexec,mode=755 0 0
cgroup ROOT/systemd cgroup rw,nosuid,nodev,noexec,relatime,xattr,name=systemd 0 0
cgroup ROOT/memory cgroup rw,nosuid,nodev,noexec,relatime,memory 0 0
cgroup ROOT/cpu,cpuacct cgroup rw,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0
cgroup ROOT/pids cgroup rw,nosuid,nodev,noexec,relatime,pids 0 0
cgroup ROOT/net_cls,net_prio cgroup rw,nosuid,nodev,noexec,relatime,net_cls,net_prio 0 0
/dev/sda1 / ext4 rw,relatime,errors=remount-ro 0 0
"""
HYBRID_OWN = V1_OWN + "0::/user.slice/user-1000.slice/session-2.scope\n"
HYBRID_MOUNTS = V1_MOUNTS + "cgroup2 ROOT/unified cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
V2_MOUNTS = """\
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
cgroup2 ROOT cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot 0 0
tmpfs /run tmpfs rw,nosuid,nodev,size=1624140k,mode=755 0 0
"""
V2_OWN = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/ringfence.scope\n"
# A container of version 1: its own groups are mounted at the top, but it is told the path on the host.
CONTAINER_V1_OWN = """\
4:pids:/docker/8c7653d3833422626062e02c928d62a0
3:memory:/docker/8c7653d3833422626062e02c928d62a0
2:cpu,cpuacct:/docker/8c7653d3833422626062e02c928d62a0
1:name=systemd:/docker/8c7653d3833422626062e02c928d62a0
"""
CONTAINER_V1_MOUNTS = """\
overlay / overlay rw,relatime,lowerdir=/l1:/l2,upperdir=/u,workdir=/w 0 0
tmpfs ROOT tmpfs rw,nosuid,nodev,noexec,relatime,mode=755 0 0
cgroup ROOT/memory cgroup ro,nosuid,nodev,noexec,relatime,memory 0 0
cgroup ROOT/cpu,cpuacct cgroup ro,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0
cgroup ROOT/pids cgroup ro,nosuid,nodev,noexec,relatime,pids 0 0
"""
CONTAINER_V2_OWN = "0::/\n"


def tree(root: Path, *folders: str, given: str = "") -> Path:
    """A tree that looks like /sys/fs/cgroup to the finder; its root hands down the controllers in `given`."""
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "cgroup.subtree_control").write_text(given + "\n")
    return root


def find(root: Path, own: str, mounts: str) -> Hierarchy | None:
    return find_hierarchy(own, mounts.replace("ROOT", str(root)))


SESSION = "user.slice/user-1000.slice/session-2.scope"


class TestFinder:
    @pytest.mark.parametrize(
        ("own", "mounts"), [(V1_OWN, V1_MOUNTS), (HYBRID_OWN, HYBRID_MOUNTS)], ids=["v1", "hybrid"]
    )
    def test_version_1_is_each_controllers_own_place(self, tmp_path: Path, own: str, mounts: str) -> None:
        tree(tmp_path, f"memory/{SESSION}", f"pids/{SESSION}", "cpu,cpuacct/user.slice", f"unified/{SESSION}")
        found = find(tmp_path, own, mounts)
        assert found is not None
        assert found.version == 1
        assert found.dirs == {
            "memory": tmp_path / "memory" / SESSION,
            "pids": tmp_path / "pids" / SESSION,
            "cpu": tmp_path / "cpu,cpuacct/user.slice",
            "cpuacct": tmp_path / "cpu,cpuacct/user.slice",
        }
        assert len(found.places) == 3

    def test_version_1_without_a_pids_controller_is_not_enough(self, tmp_path: Path) -> None:
        tree(tmp_path, f"memory/{SESSION}", "cpu,cpuacct/user.slice")
        without = "\n".join(line for line in V1_OWN.splitlines() if "pids" not in line)
        assert find(tmp_path, without, V1_MOUNTS) is None

    def test_version_2_is_the_nearest_ancestor_that_hands_controllers_down(self, tmp_path: Path) -> None:
        service = "user.slice/user-1000.slice/user@1000.service"
        tree(tmp_path, f"{service}/app.slice/ringfence.scope")
        for folder, given in ((".", "cpuset cpu io memory pids"), (service, "cpu memory pids"), ("user.slice", "pids")):
            (tmp_path / folder / "cgroup.subtree_control").write_text(given)
        found = find(tmp_path, V2_OWN, V2_MOUNTS)
        assert found is not None
        assert (found.version, found.places) == (2, [tmp_path / service])
        assert set(found.dirs) == {"memory", "pids", "cpu"}

    def test_version_2_needs_all_three_controllers(self, tmp_path: Path) -> None:
        tree(tmp_path, "user.slice", given="cpu io memory")
        assert find(tmp_path, "0::/user.slice\n", V2_MOUNTS) is None

    def test_version_2_does_not_climb_out_of_the_mount(self, tmp_path: Path) -> None:
        outer = tree(tmp_path, "mount/inner", given="cpu memory pids")
        assert find(outer / "mount", "0::/inner\n", V2_MOUNTS) is None

    def test_a_container_of_version_2_that_may_write_uses_its_root(self, tmp_path: Path) -> None:
        found = find(tree(tmp_path, given="cpu memory pids"), CONTAINER_V2_OWN, V2_MOUNTS)
        assert found is not None
        assert found.places == [tmp_path]

    def test_a_container_of_version_1_with_the_hosts_paths_has_none(self, tmp_path: Path) -> None:
        tree(tmp_path, "memory", "pids", "cpu,cpuacct")
        assert find(tmp_path, CONTAINER_V1_OWN, CONTAINER_V1_MOUNTS) is None

    @pytest.mark.parametrize(
        ("own", "mounts"), [("", ""), ("0::/\n", "proc /proc proc rw 0 0\n"), ("", V1_MOUNTS), ("0::/\n", V2_MOUNTS)]
    )
    def test_a_machine_without_has_none(self, tmp_path: Path, own: str, mounts: str) -> None:
        assert find(tmp_path, own, mounts) is None

    def test_an_override_is_taken_as_version_2(self, tmp_path: Path) -> None:
        (tmp_path / "cgroup.procs").touch()
        found = find_hierarchy(V1_OWN, V1_MOUNTS, tmp_path)
        assert found is not None
        assert (found.version, found.places) == (2, [tmp_path])

    def test_an_override_that_is_no_group_of_ours_is_refused_and_not_passed_over(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "missing"):
            with pytest.raises(SettingsError, match="RINGFENCE_CGROUP"):
                find_hierarchy(V1_OWN, V1_MOUNTS, path)


class TestCounters:
    def test_what_came_before_is_taken_off_and_peaks_stay(self) -> None:
        now = Counters(cpu_seconds=3.0, peak_memory_bytes=9, oom_kills=2, refused_forks=5, processes=4)
        before = Counters(cpu_seconds=1.0, peak_memory_bytes=7, oom_kills=2, refused_forks=1, processes=3)
        since = now.since(before)
        assert (since.cpu_seconds, since.oom_kills, since.refused_forks) == (2.0, 0, 4)
        assert (since.peak_memory_bytes, since.processes) == (9, 4)


@pytest.fixture
def folder() -> cgroup.GroupFolder:
    """A folder of groups on this very machine."""
    hierarchy = find_hierarchy(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text())
    require("a control group that we may write", present=hierarchy is not None)
    assert hierarchy is not None
    return cgroup.GroupFolder(hierarchy, f"ringfence-test-{os.getpid()}")


class TestRealGroups:
    def test_a_group_holds_counts_and_goes(self, folder: cgroup.GroupFolder) -> None:
        folder.make()
        try:
            group = folder.new("run-1", Limits(memory_mb=64, processes=5, cpus=0.5))
            procs = group.open_procs()
            code = "import os, sys\nfor fd in sys.argv[1:]: os.write(int(fd), b'0')\nx = b'y' * (8 << 20)"
            subprocess.run([sys.executable, "-c", code, *map(str, procs)], pass_fds=procs, check=True)
            for fd in procs:
                os.close(fd)
            counted = group.counters()
            assert counted.peak_memory_bytes > 8 << 20
            assert counted.cpu_seconds > 0
            assert counted.oom_kills == counted.refused_forks == 0
            group.apply(Limits(memory_mb=32, processes=6))  # down
            group.apply(Limits(memory_mb=512, processes=6))  # and up, which version 1 wants in the other order
            group.remove()
            assert not any(place.exists() for place in group.places)
        finally:
            cgroup.sweep(folder.places)
        assert not any(place.exists() for place in folder.places)

    def test_a_sweep_kills_what_is_left_at_any_depth(self, folder: cgroup.GroupFolder) -> None:
        folder.make()
        group = folder.new("run-1", Limits())
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        for place in group.places:
            (place / "cgroup.procs").write_text(str(sleeper.pid))
        cgroup.sweep(folder.places)
        assert sleeper.wait(PATIENCE_SECONDS) == -9
        assert not any(place.exists() for place in folder.places)
        cgroup.sweep(folder.places)  # nothing there is nothing to do

    def test_a_group_in_use_is_not_removed_and_is_named(self, folder: cgroup.GroupFolder) -> None:
        folder.make()
        (place, *_) = folder.places
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeper:
            inner = folder.new("run-1", Limits())
            (inner.places[0] / "cgroup.procs").write_text(str(sleeper.pid))
            with pytest.raises(SandboxError, match=str(inner.places[0])):
                cgroup.remove_group(inner.places[0], patience_seconds=0.05)
            sleeper.kill()
        cgroup.sweep(folder.places)
        assert not place.exists()
