"""The native backend on a kernel that has version 2 of control groups only, as root and as a user with a delegated
group. The machine is emulated and booted once; cgroup2_guest.py is what runs in it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import ROOT, require

MACHINE = str(ROOT / "scripts" / "cgroup2-vm")
MACHINE_SECONDS = 570
MB = 1 << 20

pytestmark = pytest.mark.timeout(MACHINE_SECONDS + 60)


class Told:
    """What was told in the machine, by name."""

    def __init__(self, said: str) -> None:
        self._said = said
        lines = [json.loads(line) for line in said.splitlines() if line.startswith('{"name"')]
        self._facts: Mapping[str, Any] = {line["name"]: line["fact"] for line in lines}

    def __getitem__(self, name: str) -> Any:
        if name not in self._facts:
            other = [line for line in self._said.splitlines() if not line.startswith('{"name"')]
            pytest.fail(f"nothing was told about {name!r}, only:\n" + "\n".join(other[-60:]))
        return self._facts[name]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One boot for all workers: the first one makes it, the others wait for what it was told."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with open(shared / "cgroup2.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = shared / "cgroup2.txt"
        if not said.exists():
            said.write_text(boot())
        return Told(said.read_text())


def boot() -> str:
    ready = subprocess.run([MACHINE, "--prepare"], capture_output=True, text=True, check=False)
    require(f"a virtual machine ({ready.stderr.strip()})", present=ready.returncode == 0)
    done = subprocess.run(
        [MACHINE, sys.executable, "-m", "tests.sandbox.cgroup2_guest"],
        capture_output=True,
        text=True,
        check=False,
        timeout=MACHINE_SECONDS + 30,
        env=os.environ | {"CGROUP2_VM_SECONDS": str(MACHINE_SECONDS)},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(params=["root", "user"])
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_doctor_finds_version_2(told: Told) -> None:
    report = told["doctor"]
    groups = next(check for check in report["checks"] if check["name"] == "control groups")
    assert groups["ok"] and groups["how"].startswith("version 2: memory, pids, cpu")
    assert report["usable"]
    assert report["isolation"]["memory"] == "cgroup v2, no swap"


def test_each_job_has_a_network_of_its_own(told: Told, who: str) -> None:
    assert "of its own" in told[f"{who} ok"]["outcome"]["isolation"]["network"]
    assert told[f"{who} meeting"] == ["ok", "ConnectionRefusedError"]


def test_an_ordinary_user_is_one(told: Told) -> None:
    namespaces = {who: told[f"{who} ok"]["outcome"]["isolation"]["namespaces"] for who in ("root", "user")}
    assert namespaces["user"] == namespaces["root"] + ", user"


def test_a_job_runs_in_a_group_with_its_limits(told: Told, who: str) -> None:
    job = told[f"{who} ok"]
    assert (job["outcome"]["status"], job["outcome"]["result"]) == ("ok", 42)
    (seen,) = job["seen"]
    assert len(seen["cgroup.procs"].split()) == 1
    assert seen["memory.max"].strip() == str(512 * MB)
    assert seen["memory.swap.max"].strip() == "0"
    assert seen["memory.oom.group"].strip() == "1"
    assert seen["pids.max"].strip() == "33"
    assert seen["cpu.max"].split() == ["100000", "100000"]


def test_a_heap_over_the_limit_is_a_memory_limit(told: Told, who: str) -> None:
    outcome = told[f"{who} heap"]["outcome"]
    assert (outcome["status"], outcome["signal"]) == ("memory_limit", 9)
    assert 60 * MB <= outcome["usage"]["peak_memory_bytes"] <= 64 * MB


def test_children_add_up(told: Told, who: str) -> None:
    outcome = told[f"{who} family"]["outcome"]
    assert (outcome["status"], outcome["signal"]) == ("memory_limit", 9)
    assert outcome["usage"]["processes"] > 2


def test_the_kernel_killed_each_of_those_groups_as_a_whole(told: Told) -> None:
    killed = [line.split()[2] for line in told["kernel"]]
    assert len([group for group in killed if group.startswith("/ringfence-")]) == 3
    assert len([group for group in killed if group.startswith("/delegated/ringfence-")]) == 3


def test_children_that_cannot_be_read_add_up_too(told: Told, who: str) -> None:
    assert told[f"{who} hidden"]["outcome"]["status"] == "memory_limit"


def test_a_fork_bomb_gets_no_more_than_its_processes(told: Told, who: str) -> None:
    outcome = told[f"{who} bomb"]["outcome"]
    assert outcome["status"] in ("timeout", "process_limit")
    assert outcome["usage"]["processes"] <= 10


def test_daemons_go_with_their_job(told: Told, who: str) -> None:
    assert told[f"{who} daemons"]["outcome"]["status"] == "ok"
    assert told[f"{who} groups left"] == []  # a group with a process in it cannot be removed


def test_a_job_does_not_reach_its_own_group(told: Told, who: str) -> None:
    outcome = told[f"{who} lift"]["outcome"]
    assert (outcome["status"], outcome["result"]) == ("ok", [])


def test_memory_that_is_in_use_is_not_lowered(told: Told, who: str) -> None:
    said, kept = told[f"{who} lowered"]
    assert "less than what is in use" in said
    assert kept == 100


def test_jobs_leave_no_dead_groups(told: Told) -> None:
    jobs, dead = told["dead groups"]
    assert jobs == 20
    assert dead < jobs // 2


def test_a_refused_fork_is_a_process_limit(told: Told, who: str) -> None:
    outcome = told[f"{who} forks"]["outcome"]
    assert outcome["status"] == "process_limit"
    assert outcome["usage"]["processes"] == 10


def test_cpu_seconds_are_counted_and_end_the_job(told: Told, who: str) -> None:
    outcome = told[f"{who} cpu"]["outcome"]
    assert outcome["status"] == "cpu_limit"
    assert 500 <= outcome["usage"]["cpu_ms"] < 5000


def test_a_fifth_of_a_cpu_is_no_more(told: Told, who: str) -> None:
    job = told[f"{who} quota"]
    assert job["outcome"]["status"] == "ok"
    usage = job["outcome"]["usage"]
    assert usage["cpu_ms"] >= 400
    assert usage["cpu_ms"] / usage["wall_ms"] < 0.3
    (seen,) = job["seen"]
    assert seen["cpu.max"].split() == ["20000", "100000"]
    counted = dict(line.split() for line in seen["cpu.stat"].splitlines())
    assert int(counted["nr_throttled"]) > 5


@pytest.mark.parametrize("name", ["root usage", "user usage", "no peaks"])
def test_usage_is_what_was_used(told: Told, name: str) -> None:
    """Also on kernels that keep no peaks, where the highest of many looks has to do."""
    outcome = told[name]["outcome"]
    assert outcome["status"] == "ok"
    usage = outcome["usage"]
    assert 80 * MB <= usage["peak_memory_bytes"] < 130 * MB
    assert 300 <= usage["cpu_ms"] <= usage["wall_ms"]
    assert usage["processes"] == 4


def test_no_group_is_left(told: Told, who: str) -> None:
    assert told[f"{who} groups left"] == []
    assert told["groups at the end"] == []


def test_the_warden_sweeps_after_a_killed_supervisor(told: Told) -> None:
    seen = told["root supervisor killed"]
    assert len(seen["before"]) == 1
    assert seen["after"] == seen["closed"] == []


def test_the_next_sandbox_sweeps_when_the_warden_was_killed_too(told: Told, who: str) -> None:
    seen = told[f"{who} both killed"]
    assert seen["after"] == seen["before"] != []
    assert len(seen["opened"]) == 1 and seen["opened"] != seen["before"]
    assert seen["closed"] == []


def test_restless_processes_are_swept(told: Told) -> None:
    assert told["sweep"]["processes"] > 1
    assert told["sweep"]["left"] == []


def test_a_user_finds_a_delegated_group_by_itself_once_it_hands_controllers_down(told: Told) -> None:
    assert told["user finds by itself"] == ["/sys/fs/cgroup/delegated"]


def test_a_user_whose_own_process_is_in_the_way_is_told_what_to_do(told: Told) -> None:
    assert "move the processes" in told["user in the way"]
