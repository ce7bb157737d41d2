"""A supervisor in a process of its own, so that a test can kill it while its guest runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from ringfence import Limits, open_sandbox

from tests.attacks import containers
from tests.attacks.backends import prefix_of, spec_of
from tests.attacks.host import descendants, running_as
from tests.patience import wait_until

# Streams what its guest prints, so that the test knows when the guest is where it wants it.
_PROGRAM = """
import json, sys
from ringfence import Job, Limits, open_sandbox
spec, code, limits = json.load(sys.stdin)
with open_sandbox(spec) as sandbox:
    def show(stream, data):
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    outcome = sandbox.run(Job(code=code, limits=Limits(**limits)), on_output=show)
    print("status", outcome.status, flush=True)
"""


class Supervisor:
    """Runs `code` in a sandbox of its own. `ready` waits until the guest has printed a line."""

    def __init__(self, backend: str, code: str, limits: Limits) -> None:
        self._backend, self._others = backend, descendants()
        self._uids: list[range] = []  # of its containers, once it has some
        self._process = subprocess.Popen(
            [*prefix_of(backend), sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd="/",
        )
        assert self._process.stdin is not None
        fields = {name: getattr(limits, name) for name in Limits.__slots__}
        self._process.stdin.write(json.dumps([spec_of(backend), code, fields]).encode())
        self._process.stdin.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line == b"ready\n", line
        self._uids = containers.uids_of(self.pid)
        containers.uids({self.pid})  # for whoever counts what is left
        assert descendants(self.pid) or running_as(self._uids), "the guest runs, but nothing of it is to be seen"

    def kill(self, number: int) -> None:
        os.kill(self.pid, number)
        self._process.wait()

    def assert_family_gone(self) -> None:
        """Assert that everything that was below the supervisor has ended.

        Orphans come to this process (see adopt_orphans), which has to reap the ones that have ended.
        """
        gone = wait_until(lambda: not self._left(), pause_seconds=0.02)
        assert gone, f"survived their supervisor: {self._left()}"

    def _left(self) -> dict[int, str]:
        """What came below this process since the supervisor was started, after reaping the dead."""
        for pid in descendants():
            if pid not in self._others and pid != self.pid:
                _reap(pid)
        below = {pid: what for pid, what in descendants().items() if pid not in self._others and pid != self.pid}
        return below | running_as(self._uids)

    def close(self) -> None:
        """End the supervisor, and what a failing backend let outlive it, so that no bomb stays on the machine."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pid in self._left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
        if self._process.stdout is not None:
            self._process.stdout.close()
        come_next(self._backend)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def come_next(backend: str) -> None:
    """What a supervisor does that comes after a dead one: a container has ended by itself, and is removed now."""
    if backend == "docker":
        open_sandbox("docker:profile=plain,park=0").close()


def _reap(pid: int) -> None:
    """Reap `pid` if it is an orphan that came to us and has ended; our own children are left to their owners."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return
    if stat[0] == "Z" and int(stat[1]) == os.getpid():
        os.waitpid(pid, os.WNOHANG)
