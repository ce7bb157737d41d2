"""Each limit holds for the whole process tree, is told apart from the others, and is echoed in the Outcome."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from ringfence.base.errors import LimitError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Limits
from ringfence.testing.jobs import assert_ok, assert_stopped, script, shared_mount

# A child in a session of its own beats once in 20 ms; the host sees whether it still does.
_HEART = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            with open('/shared/beats', 'ab') as beats:
                beats.write(b'.')
            time.sleep(0.02)
    os._exit(0)
while not os.path.exists('/shared/beats'):
    time.sleep(0.01)
"""


def assert_heart_stopped(directory: Path) -> None:
    beats = directory / "beats"
    at_return = beats.stat().st_size
    assert at_return > 0
    time.sleep(0.3)
    assert beats.stat().st_size == at_return


class LimitBehaviours:
    def test_a_sleeping_program_is_stopped_at_the_wall_limit(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import time\ntime.sleep(60)", wall_seconds=0.3))
        assert_stopped(outcome, "timeout")
        assert outcome.usage.wall_ms >= 250
        assert outcome.result is None

    def test_a_busy_program_is_stopped_at_the_wall_limit(self, sandbox: Sandbox) -> None:
        assert_stopped(sandbox.run(script("while True: pass", wall_seconds=0.3)), "timeout")

    def test_a_program_that_ignores_signals_is_stopped(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import signal
            for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
                try:
                    signal.signal(number, signal.SIG_IGN)
                except OSError:
                    pass
            while True:
                try:
                    while True: pass
                except BaseException:
                    pass
            """,
            wall_seconds=0.3,
        )
        assert_stopped(sandbox.run(job), "timeout")

    def test_a_library_call_that_never_returns_is_stopped(self, sandbox: Sandbox) -> None:
        job = script("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')", wall_seconds=0.3)
        assert_stopped(sandbox.run(job), "timeout")

    def test_a_hanging_exit_is_stopped(self, sandbox: Sandbox) -> None:
        job = script("import atexit, time\natexit.register(time.sleep, 60)", wall_seconds=0.5)
        assert_stopped(sandbox.run(job), "timeout")

    def test_a_program_that_stops_itself_is_stopped_for_good(self, sandbox: Sandbox) -> None:
        job = script("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", wall_seconds=0.3)
        assert_stopped(sandbox.run(job), "timeout")

    def test_a_timeout_ends_the_whole_process_tree(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)
        job = replace(script(_HEART + "time.sleep(60)", wall_seconds=1.0), mounts=[mount])
        assert_stopped(sandbox.run(job), "timeout")
        assert_heart_stopped(mount.host)

    def test_an_ending_program_leaves_no_process(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)
        assert_ok(sandbox.run(replace(script(_HEART), mounts=[mount])))
        assert_heart_stopped(mount.host)

    def test_cpu_time_is_limited(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("while True: pass", cpu_seconds=0.3, wall_seconds=20))
        assert_stopped(outcome, "cpu_limit")
        assert outcome.usage.wall_ms < 15_000

    def test_cpu_time_of_children_adds_up(self, sandbox: Sandbox) -> None:
        # None of the four alone would reach the limit before the wall clock does.
        job = script(
            """
            import os
            for _ in range(2): os.fork()
            while True: pass
            """,
            cpu_seconds=0.8,
            wall_seconds=20,
        )
        outcome = sandbox.run(job)
        assert_stopped(outcome, "cpu_limit")
        assert outcome.usage.wall_ms < 15_000

    def test_cpu_time_of_ended_children_counts(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import os, time
            while True:
                pid = os.fork()
                if pid == 0:
                    end = time.process_time() + 0.05
                    while time.process_time() < end: pass
                    os._exit(0)
                os.waitpid(pid, 0)
            """,
            cpu_seconds=0.5,
            wall_seconds=20,
        )
        assert_stopped(sandbox.run(job), "cpu_limit")

    def test_sleeping_uses_no_cpu_time(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(script("import time\ntime.sleep(0.6)", cpu_seconds=0.4)))

    def test_memory_is_limited(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("hoard = [bytearray(8 << 20) for _ in range(64)]", memory_mb=96))
        assert_stopped(outcome, "memory_limit")
        assert "96" in outcome.reason

    def test_memory_of_numpy_is_limited(self, sandbox: Sandbox) -> None:
        job = script("import numpy as np\nhoard = [np.ones(1 << 20) for _ in range(64)]", memory_mb=96)
        assert_stopped(sandbox.run(job), "memory_limit")

    def test_memory_of_children_adds_up(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import os, sys, time
            for _ in range(4):
                if os.fork() == 0:
                    hoard = bytearray(48 << 20)
                    time.sleep(10)
                    os._exit(0)
            pid, status = os.wait()
            sys.exit(3 if os.WIFSIGNALED(status) else 0)
            """,
            memory_mb=96,
            wall_seconds=15,
        )
        assert_stopped(sandbox.run(job), "memory_limit")

    def test_memory_under_the_limit_is_free_to_use(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(script("block = bytearray(160 << 20)", memory_mb=256)))

    def test_a_memory_error_is_an_error(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("bytearray(1 << 60)"))
        assert outcome.status == "error"
        assert outcome.error is not None
        assert outcome.error.type == "MemoryError"

    def test_a_memory_error_may_be_handled(self, sandbox: Sandbox) -> None:
        job = script("try:\n    bytearray(1 << 60)\nexcept MemoryError:\n    result = 'asked for less'")
        outcome = sandbox.run(job)
        assert_ok(outcome)
        assert outcome.result == "asked for less"

    def test_processes_are_limited(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import os, time
            for _ in range(100):
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
            """,
            processes=8,
            wall_seconds=20,
        )
        assert_stopped(sandbox.run(job), "process_limit")

    def test_threads_count_as_processes(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import threading, time
            for _ in range(100):
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
            """,
            processes=8,
            wall_seconds=20,
        )
        assert_stopped(sandbox.run(job), "process_limit")

    def test_a_refused_fork_may_be_handled(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import os, time
            result = 0
            try:
                for _ in range(100):
                    if os.fork() == 0:
                        time.sleep(30)
                        os._exit(0)
                    result += 1
            except OSError:
                pass
            """,
            processes=8,
        )
        outcome = sandbox.run(job)
        assert_ok(outcome)
        assert isinstance(outcome.result, int)
        assert 1 <= outcome.result <= 7  # the program itself is the eighth

    def test_disk_bytes_are_limited(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("with open('big', 'wb') as f:\n    f.write(bytes(4 << 20))", disk_mb=2))
        assert_stopped(outcome, "disk_limit")

    def test_disk_inodes_are_limited(self, sandbox: Sandbox) -> None:
        code = "import itertools\nfor i in itertools.count(): open(f'/tmp/{i}', 'w').close()"
        assert_stopped(sandbox.run(script(code, disk_mb=1)), "disk_limit")

    def test_all_scratch_places_share_one_disk_limit(self, sandbox: Sandbox) -> None:
        job = script(
            """
            for place in ('/tmp/a', '/dev/shm/b', 'c'):
                with open(place, 'wb') as f:
                    f.write(bytes(3 << 20))
            """,
            disk_mb=4,
        )
        assert_stopped(sandbox.run(job), "disk_limit")

    def test_a_full_disk_may_be_handled(self, sandbox: Sandbox) -> None:
        job = script(
            """
            import os
            try:
                with open('big', 'wb') as f:
                    f.write(bytes(4 << 20))
            except OSError as e:
                os.remove('big')
                result = e.errno
            """,
            disk_mb=2,
        )
        outcome = sandbox.run(job)
        assert_ok(outcome)
        assert outcome.result == 28

    def test_the_limits_are_echoed(self, sandbox: Sandbox) -> None:
        limits = Limits(
            wall_seconds=7.5, cpu_seconds=3.5, memory_mb=300, cpus=0.5, processes=20, disk_mb=9, output_bytes=5000
        )
        outcome = sandbox.run(replace(script("x = 1"), limits=limits))
        assert_ok(outcome)
        assert outcome.limits == limits

    def test_a_limit_out_of_range_is_refused(self, sandbox: Sandbox) -> None:
        with pytest.raises(LimitError, match="memory_mb"):
            sandbox.run(script("x = 1", memory_mb=0))

    def test_the_next_run_works_after_every_limit(self, sandbox: Sandbox) -> None:
        sandbox.run(script("while True: pass", wall_seconds=0.2))
        sandbox.run(script("hoard = [bytearray(8 << 20) for _ in range(64)]", memory_mb=64))
        sandbox.run(script("import os\nwhile True: os.write(2, bytes(4096))", output_bytes=10))
        outcome = sandbox.run(script("result = 1"))
        assert_ok(outcome)
        assert outcome.result == 1
