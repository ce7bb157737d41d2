"""Neighbours: a hostile run beside an honest one, a greedy client, attacks on the zygote, and oversize requests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ringfence import Job, Limits, Outcome, RingfenceError
from ringfence.base.errors import SourceTooLarge
from ringfence.sandbox import Sandbox

from tests.attacks.attack import IGNORE_ALL, QUICK, REPEATS, assert_serves, limits, memory_bound, run_promptly
from tests.attacks.backends import open_on, prefix_of, spec_of
from tests.attacks.beside import Background, beside
from tests.attacks.canary import Canary
from tests.attacks.host import Host, Watch, descendants, jailed, own_processor_seconds
from tests.attacks.remote import RemoteSandbox
from tests.attacks.supervisor import Supervisor
from tests.patience import PATIENCE_SECONDS

# An honest program that needs what the attackers try to take: processes, disk, memory, descriptors and output.
HONEST = """
import os, subprocess, sys, tempfile
hold = bytearray(b"x" * (20 << 20))
for n in range(20):
    with open(f"/job/part{n}", "wb") as f:
        f.write(b"x" * 100_000)
    os.unlink(f"/job/part{n}")
files = [tempfile.TemporaryFile() for _ in range(50)]
pids = []
for n in range(8):
    pid = os.fork()
    if pid == 0:
        os._exit(n)
    pids.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
print("x" * 10_000)
result = sum(n * n for n in range(1000)) + sum(codes) + len(hold)
"""
HONEST_RESULT = sum(n * n for n in range(1000)) + sum(range(8)) + (20 << 20)


def assert_honest_run(sandbox: Sandbox) -> Outcome:
    outcome = run_promptly(sandbox, Job(code=HONEST, limits=Limits(wall_seconds=15, memory_mb=128, disk_mb=8)))
    assert (outcome.status, outcome.result) == ("ok", HONEST_RESULT), outcome
    assert not outcome.truncated.stdout
    return outcome


HOGS = {
    "forks": "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "threads": """
import threading
while True:
    try:
        threading.Thread(target=time.sleep, args=(60,)).start()
    except RuntimeError:
        pass
""",
    "disk": """
while True:
    try:
        with open("/tmp/hog", "ab", buffering=0) as f:
            while True: f.write(b"x" * 65536)
    except OSError:
        os.truncate("/tmp/hog", 0)
""",
    "inodes": """
n = 0
while True:
    try:
        n += 1
        open(f"/tmp/{n}", "w").close()
    except OSError:
        time.sleep(0.001)
""",
    "memory": """
while True:
    if os.fork() == 0:
        hog = []
        while True: hog.append(bytearray(b"x" * (1 << 20)))
    os.wait()
""",
    "output": "while True:\n    os.write(1, b'x' * 65536)\n    os.write(2, b'x' * 65536)\n    time.sleep(0.002)",
    "processor": "for _ in range(4): os.fork()\nwhile True: pass",
    "descriptors": """
held = []
while True:
    try:
        held += os.pipe()
        held.append(os.open("/dev/null", 0))
    except OSError:
        time.sleep(0.001)
""",
    "input_and_output": """
while True:
    with open("/job/storm", "wb") as f:
        f.write(b"x" * 4_000_000)
        f.flush()
        os.fsync(f.fileno())
    os.rename("/job/storm", "/job/other")
    os.sync()
""",
    "file_events": """
import glob
while True:
    for path in glob.glob("/usr/lib/**", recursive=True)[:5000]:
        try:
            os.stat(path)
        except OSError:
            pass
""",
}


@pytest.mark.container_sample("forks", "disk", "memory", "processor", why="the limits are those of its control group")
@pytest.mark.parametrize("what", HOGS)
def test_a_hog_does_not_starve_its_neighbour(sandbox: Sandbox, canary: Canary, backend: str, what: str) -> None:
    before = Host.settled()
    greedy = limits(wall_seconds=3.0 if backend == "docker" else 1.5, processes=24)
    hog = Job(code=IGNORE_ALL + "print('go', flush=True)\n" + HOGS[what], limits=greedy)
    with beside(sandbox, hog) as hogs:
        for _ in range(REPEATS[backend]):
            assert_honest_run(sandbox)
    allowed = ("timeout", "memory_limit", "output_limit", "process_limit", "disk_limit", "error", "signal")
    assert hogs[0].outcomes[0].status in allowed
    before.assert_same_after()
    canary.untouched()


def test_many_attackers_at_once(sandbox: Sandbox, canary: Canary) -> None:
    before = Host.settled()
    jobs = [
        Job(code=IGNORE_ALL + "print('go', flush=True)\n" + HOGS[what], limits=limits(wall_seconds=3.0, processes=16))
        for what in ("forks", "disk", "memory", "output", "descriptors", "threads")
    ]
    attackers = [Background(sandbox, job) for job in jobs]
    honest = [Background(sandbox, Job(code=HONEST, limits=Limits(wall_seconds=25, memory_mb=128))) for _ in range(4)]
    for run in honest:
        outcome = run.join()
        assert (outcome.status, outcome.result) == ("ok", HONEST_RESULT), outcome
    for run in attackers:
        assert run.join().status != "ok"
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


def test_one_client_cannot_drain_the_pool(backend: str, canary: Canary) -> None:
    before = Host.settled()
    with open_on(backend) as sandbox:
        sleeper = Job(code="import time\nprint('go', flush=True)\ntime.sleep(60)", limits=limits(wall_seconds=60.0))
        with beside(sandbox, *[sleeper] * 12) as greedy:
            for _ in range(5):
                assert_serves(sandbox)
            assert not any(run.outcomes for run in greedy), "the other client had to wait for the greedy one"
            for run in greedy:
                run.cancel.set()
        assert {run.outcomes[0].status for run in greedy} == {"cancelled"}
    before.assert_same_after()
    canary.untouched()


def _sleeper(seconds: float) -> Job:
    code = f"import time\nprint('go', flush=True)\ntime.sleep({seconds})\nresult = 'alive'"
    return Job(code=code, limits=limits(wall_seconds=20))


MURDERS = {
    "by_pid": """
for n in range(1, 40_000):
    for number in (19, 9):
        if n != os.getpid():
            try:
                os.kill(n, number)
            except OSError:
                pass
""",
    "all_at_once": "os.fork()\nos.setsid() if os.getpid() != me else None\nos.kill(-1, 9)",
    "by_group_and_session": """
for n in range(2, 40_000):
    try:
        os.killpg(n, 9)
    except OSError:
        pass
""",
    "under_another_uid": """
for uid in [0, 1, 65534, os.getuid() - 1, os.getuid() + 1, *range(0x70000000, 0x70000040)]:
    for step in (lambda: os.setuid(uid), lambda: os.setresuid(uid, uid, uid), lambda: os.setfsuid(uid),
                 lambda: os.setresgid(uid, uid, uid), lambda: os.setgroups([uid])):
        try:
            step()
        except (OSError, AttributeError):
            continue
        if uid != real:
            print("became", uid, flush=True)
            os.kill(-1, 9)
""",
    "by_the_out_of_memory_killer": """
for pid in [*range(1, 400)]:
    try:
        open(f"/proc/{pid}/oom_score_adj", "w").write("1000")
    except OSError:
        pass
hog = []
while True: hog.append(bytearray(b"x" * (1 << 20)))
""",
}


@pytest.mark.parametrize("how", MURDERS)
def test_neighbours_and_the_zygote_cannot_be_killed(sandbox: Sandbox, canary: Canary, how: str) -> None:
    before = Host.settled()
    machinery = set(descendants()) - set(jailed())
    with beside(sandbox, _sleeper(2)) as victims:
        head = "import os\nme, real = os.getpid(), os.getuid()\n"
        killer = run_promptly(sandbox, Job(code=head + MURDERS[how], limits=QUICK))
    victim = victims[0].outcomes[0]
    assert (victim.status, victim.result) == ("ok", "alive"), victim
    assert "became" not in killer.stdout
    assert machinery <= set(descendants()), "part of our own machinery was killed"
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


def test_the_death_of_one_supervisor_is_no_concern_of_another(backend: str, sandbox: Sandbox, canary: Canary) -> None:
    """Neither the sweep after a crash nor the sweep at the next start may touch runs that are alive."""
    before = Host.settled()
    code = "import time\nprint('ready', flush=True)\ntime.sleep(60)"
    with beside(sandbox, _sleeper(4)) as victims, Supervisor(backend, code, limits(wall_seconds=60)) as other:
        other.ready()
        other.kill(signal.SIGKILL)
        with open_on(backend) as third:
            assert_serves(third)
        other.assert_family_gone()
    victim = victims[0].outcomes[0]
    assert (victim.status, victim.result) == ("ok", "alive"), victim
    before.assert_same_after()
    assert_serves(sandbox)
    canary.untouched()


TINY_WRITES = {
    "bytes": "import os\nwhile True: os.write(1, b'x')",
    "on_the_channel": "import os\nos.write(3, b'\\0\\x80\\0\\0')\nwhile True: os.write(3, b'x')",
}


def _supervisor_seconds(sandbox: Sandbox) -> float:
    """What it has used of a processor. It is this very thread, or a process of its own."""
    return own_processor_seconds(sandbox.pid) if isinstance(sandbox, RemoteSandbox) else time.thread_time()


@pytest.mark.parametrize("how", TINY_WRITES)
def test_tiny_writes_do_not_keep_the_supervisor_busy(sandbox: Sandbox, how: str) -> None:
    """What the supervisor spends on draining a run is on nobody's account, and is taken from all the others."""
    before = Host.settled()
    start = _supervisor_seconds(sandbox)
    outcome = run_promptly(sandbox, Job(code=TINY_WRITES[how], limits=limits(wall_seconds=2.0)))
    spent = _supervisor_seconds(sandbox) - start
    assert outcome.status in ("timeout", "output_limit", "error", "signal")
    assert spent < 0.3 * outcome.usage.wall_ms / 1000, f"{spent:.1f} s of the supervisor's processor time"
    before.assert_same_after()


FLOODS = """
import os, socket
sent = 0
for fd in range(1, 16):
    try:
        line = socket.socket(fileno=os.dup(fd))
        line.setblocking(False)
        for _ in range(200):
            socket.send_fds(line, [b"x"], [os.open("/dev/null", 0)] * 200)
            sent += 200
    except OSError:
        pass
result = sent
"""


def test_descriptors_sent_to_the_supervisor_are_not_kept(
    sandbox: Sandbox, supervisor: int, canary: Canary, backend: str
) -> None:
    """Whoever reads a unix socket may find open files in it: a few messages could use up the supervisor's table."""
    folder = f"/proc/{supervisor}/fd"
    before, open_before = Host.settled(), len(os.listdir(folder))
    with Watch(lambda: len(os.listdir(folder))) as watch:
        for _ in range(2 + REPEATS[backend]):
            run_promptly(sandbox, Job(code=FLOODS, limits=QUICK))
    assert max(watch.seen) < open_before + 100
    assert_serves(sandbox)
    before.assert_same_after()
    canary.untouched()


COMES_AND_GOES = """
import sys, time
from ringfence import Job, open_sandbox
end = time.monotonic() + 6
while time.monotonic() < end:
    with open_sandbox(sys.argv[1]) as sandbox:
        for _ in range(3):
            outcome = sandbox.run(Job(code="result = 40 + 2"))
            assert (outcome.status, outcome.result) == ("ok", 42), outcome
            time.sleep(0.03)
"""


def test_supervisors_that_come_and_go_do_not_sweep_each_other(backend: str, sandbox: Sandbox) -> None:
    """Names and user ids are handed from one supervisor to the next: the last act of one must not hit the other."""
    before = Host.settled()
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [*prefix_of(backend), sys.executable, "-c", COMES_AND_GOES, spec_of(backend)]
    others = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    complaints = [other.communicate(timeout=2 * PATIENCE_SECONDS)[1] for other in others]
    assert [other.returncode for other in others] == [0] * 4, "\n".join(complaints)
    assert_serves(sandbox)
    before.assert_same_after()


OVERSIZE = {
    "inputs": lambda: Job(code="result = len(big)", inputs={"big": "x" * (80 << 20)}, limits=QUICK),
    "deep_inputs": lambda: Job(code="pass", inputs={"deep": json.loads("[" * 900 + "]" * 900)}, limits=QUICK),
    "files": lambda: Job(code="pass", files={"big.bin": b"x" * (80 << 20)}, limits=QUICK),
    "many_files": lambda: Job(code="pass", files={f"d{n}/f{n}": b"" for n in range(30_000)}, limits=QUICK),
    "long_file_name": lambda: Job(code="pass", files={"x" * 5000: b""}, limits=QUICK),
    "deep_file_name": lambda: Job(code="pass", files={"d/" * 3000 + "f": b""}, limits=QUICK),
    "argv": lambda: Job(code="pass", argv=["x" * 1000] * 20_000, limits=QUICK),
    "long_argument": lambda: Job(argv=["/bin/echo", "x" * (8 << 20)], limits=QUICK),
    "code": lambda: Job(code="x = 1\n" * 600_000, limits=QUICK),
    "output_limit": lambda: Job(
        code="import os\nwhile True: os.write(1, b'x' * 65536)", limits=limits(wall_seconds=1, output_bytes=1 << 30)
    ),
}


@pytest.mark.container_sample(
    "inputs", "files", "long_file_name", "output_limit", why="most are refused before a container is asked for"
)
@pytest.mark.parametrize("what", OVERSIZE)
def test_oversize_requests(sandbox: Sandbox, canary: Canary, backend: str, what: str) -> None:
    """Either it is refused with one of our own errors before anything runs, or it runs within its limits."""
    before = Host.settled()
    try:
        outcome = sandbox.run(OVERSIZE[what]())
    except RingfenceError:
        pass  # refused with a reason: as good as contained
    else:
        assert outcome.usage.peak_memory_bytes <= memory_bound(backend, outcome)
    assert_serves(sandbox)
    before.assert_same_after()
    canary.untouched()


def test_too_much_program_text_is_refused_before_anything_runs() -> None:
    with pytest.raises(SourceTooLarge):
        Job(code="#" + "x" * (5 << 20))
