"""A supervisor in a process of its own, kept busy from several threads, for tests that kill it or its family.

As a program (`python -m tests.sandbox.busy`) it is that supervisor; `Busy` starts one and knows who is who in it.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from ringfence import Job, Limits, open_sandbox
from ringfence.base.errors import SandboxError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.host import Host, descendants
from tests.conftest import ROOT, require
from tests.patience import PATIENCE_SECONDS, wait_until

UID_BASE = 0x71000000  # not those of sandboxes that other tests have open in the usual runtime directory
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Kind:
    job: Job
    ends: Status


def _kind(code: str, ends: Status = "ok", mounts: Sequence[str] = (), **limits: float) -> Kind:
    given = {"wall_seconds": 20.0, **limits}
    return Kind(Job(code=code, mounts=mounts, limits=Limits(**given)), ends)  # type: ignore[arg-type]


KINDS = (
    _kind("result = 1"),
    _kind("import time\ntime.sleep(0.03)"),
    _kind("raise ValueError('as it must')", "error"),
    _kind("while True: pass", "timeout", wall_seconds=0.03),
    _kind("import os, time\nfor _ in range(3):\n    if os.fork() == 0: time.sleep(60)"),
    _kind("print('x' * 300_000)\nopen('left.txt', 'w').write('y' * 1000)"),
    _kind("result = 1", disk_mb=7),
    _kind("import os\nresult = os.listdir('/data')", mounts=[f"{ROOT / 'tests'}:/data:ro"]),
)


@dataclass(slots=True)
class Tally:
    """What the threads of a busy supervisor saw."""

    runs: int = 0
    signalled: int = 0  # runs that ended by SIGKILL, which only a test's own kill explains
    failures: int = 0  # SandboxErrors
    wrong: list[str] = field(default_factory=list)


class Crew:
    """Threads that run mixed jobs until they are stopped, or until their sandbox is closed."""

    def __init__(self, sandbox: Sandbox, threads: int) -> None:
        self._sandbox, self._stopping, self._lock = sandbox, threading.Event(), threading.Lock()
        self.tally = Tally()
        self._threads = [threading.Thread(target=self._work, args=(i,)) for i in range(threads)]
        for thread in self._threads:
            thread.start()

    def _work(self, offset: int) -> None:
        for turn in itertools.count(offset):
            if self._stopping.is_set():
                return
            kind = KINDS[turn % len(KINDS)]
            try:
                outcome = self._sandbox.run(kind.job)
            except SandboxError as e:
                with self._lock:
                    self.tally.failures += 1
                if "closed" in str(e):
                    return
                continue
            except Exception as e:  # noqa: BLE001 - whatever else it raises is what the test looks for
                with self._lock:
                    self.tally.wrong.append(f"{type(e).__name__}: {e}")
                continue
            with self._lock:
                self.tally.runs += 1
                if outcome.signal == signal.SIGKILL and outcome.status == "signal":
                    self.tally.signalled += 1
                elif outcome.status != kind.ends:
                    self.tally.wrong.append(f"{outcome.status} ({outcome.reason}) and not {kind.ends}")

    def stop(self) -> Tally:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        return self.tally


def probe(sandbox: Sandbox, tries: int = 5) -> int:
    """Run one job until it succeeds; how often it failed before. Anything but SandboxError is let out."""
    for failures in range(tries):
        try:
            outcome = sandbox.run(Job(code="result = 'probe'"))
        except SandboxError:
            continue
        if outcome.result != "probe":
            raise AssertionError(f"a run after a crash ended with {outcome.status}: {outcome.reason}")
        return failures
    return tries


def main() -> None:
    # Whoever started the tests may ignore these, as nohup does, and a process that it starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    spec, threads = sys.argv[1], int(sys.argv[2])
    with open_sandbox(spec) as sandbox:
        crew = Crew(sandbox, threads)
        _say("up")
        for line in sys.stdin:
            if line == "probe\n":
                _say(str(probe(sandbox)))
            elif line == "stop\n":
                break
        tally = crew.stop()
    _say(json.dumps(asdict(tally)))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Busy:
    """A running `main`. Its block files are in `runtime`, which nobody else uses."""

    def __init__(self, runtime: Path, *, threads: int = 3, park: int = 2) -> None:
        self._known = set(children(os.getpid()))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.sandbox.busy", f"native:profile=plain,park={park}", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
            env=environment(runtime),
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    def up(self) -> None:
        line = self._hear()
        assert line == "up", line + self._complaints()

    def probe(self) -> int:
        """How many runs failed before one succeeded."""
        self._tell("probe")
        line = self._hear()
        assert line.isdecimal(), line + self._complaints()
        return int(line)

    def stop(self) -> Tally:
        self._tell("stop")
        line = self._hear()
        assert line.startswith("{"), line + self._complaints()
        assert self._process.wait(PATIENCE_SECONDS) == 0, self._complaints()
        return Tally(**json.loads(line))

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        return self._process.wait(PATIENCE_SECONDS)

    def roles(self) -> Mapping[str, list[int]]:
        """Who is there now: the warden is the supervisor's only child, the zygote one of the warden's, and so on."""
        wardens = children(self.pid)
        zygotes = [pid for warden in wardens for pid in children(warden) if comm(pid) == "rf-zygote"][:1]
        below = [pid for zygote in zygotes for pid in children(zygote)]
        inits = [pid for pid in below if comm(pid) == "init"]
        return {
            "supervisor": [self.pid],
            "warden": wardens,
            "zygote": zygotes,
            "init": inits,
            "program": [pid for pid in below if pid not in inits],
        }

    def await_gone(self, pids: Sequence[int]) -> None:
        """Wait for the end of some of the family; a zygote ends only when orphans of its namespace are reaped."""

        def gone() -> bool:
            reap_orphans(self._known | {self.pid})
            return all(state(pid) in ("", "Z") for pid in pids)

        assert wait_until(gone, pause_seconds=0.001), {pid: (comm(pid), state(pid)) for pid in pids}

    def assert_family_gone(self) -> None:
        """Nothing that this process or its orphans started is left. Orphans come to us (see adopting_orphans)."""
        gone = wait_until(lambda: not self._left())
        assert gone, f"survived their supervisor: {self._left()}"

    def _left(self) -> Mapping[int, str]:
        """What is below this process, but for what is below the children that it had before."""
        self._process.poll()
        reap_orphans(self._known | {self.pid})
        roots = [pid for pid in children(os.getpid()) if pid not in self._known]
        return {pid: what for root in roots for pid, what in [(root, comm(root)), *descendants(root).items()]}

    def close(self) -> None:
        """End it, and whatever a failing test left of it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        deadline = time.monotonic() + 2.0
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what it had not read when it was killed

    def _tell(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def _complaints(self) -> str:
        """What it wrote to stderr; it is ended for that."""
        self._process.kill()
        assert self._process.stderr is not None
        return "\n" + self._process.stderr.read()

    def __enter__(self) -> Busy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def environment(runtime: Path) -> Mapping[str, str]:
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    own = {"RINGFENCE_RUNTIME_DIR": str(runtime), "RINGFENCE_UID_BASE": str(UID_BASE), "PYTHONPATH": paths}
    return os.environ | own


def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of the test's own, for sandboxes opened here and in processes that it starts. A fixture."""
    require("linux")
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("RINGFENCE_RUNTIME_DIR", str(place))
    monkeypatch.setenv("RINGFENCE_UID_BASE", str(UID_BASE))
    return place


def adopting_orphans() -> Iterator[None]:
    """Make this process the parent of every orphan below it, so that none gets out of sight. For a fixture."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    was = ctypes.c_int()
    assert prctl(37, ctypes.byref(was), 0, 0, 0) == 0  # PR_GET_CHILD_SUBREAPER
    assert prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    assert prctl(_PR_SET_CHILD_SUBREAPER, was.value, 0, 0, 0) == 0


def reap_orphans(known: set[int]) -> None:
    """Reap what came to us as an orphan and has ended; our own children are left to their owners."""
    for pid in children(os.getpid()):
        if pid not in known and state(pid) == "Z":
            os.waitpid(pid, os.WNOHANG)


def children(pid: int) -> list[int]:
    """The children of every thread of `pid`, oldest first."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except (FileNotFoundError, ProcessLookupError):
        return []  # it ended while we looked
    return sorted(found, key=lambda child: int((_stat(child) or ["0"] * 20)[19]))


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def state(pid: int) -> str:
    """One letter, as in /proc/PID/stat; none when it has ended and was reaped."""
    return (_stat(pid) or [""])[0]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; none when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def kill(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended between the look and the kill, which is one of the moments to try


def assert_nothing_left(before: Host, runtime: Path) -> None:
    """No process, group, mount, file or lock that was not there before."""
    before.assert_same_after()
    assert os.listdir(runtime) == []


def next_open_works(before: Host, runtime: Path) -> None:
    """The next owner sweeps what nobody was left to sweep."""
    with open_sandbox("native:profile=plain,park=1") as sandbox:
        assert probe(sandbox) == 0
    assert_nothing_left(before, runtime)


if __name__ == "__main__":
    main()
