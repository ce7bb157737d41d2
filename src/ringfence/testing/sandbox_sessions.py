"""Sessions: cells share variables, each has its own limits, streams and Outcome, and the end is said clearly."""

from __future__ import annotations

import os
import time

import pytest

from ringfence.base.errors import LimitError, SandboxError
from ringfence.sandbox import Sandbox, Session, Stream
from ringfence.sandbox.job import Cancel, Job, Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.testing.jobs import assert_ok, assert_stopped, program

_QUICK = Limits(wall_seconds=0.4)


def cell(session: Session, code: str, limits: Limits | None = None) -> Outcome:
    """Run a cell that must go well."""
    outcome = session.run(program(code), limits=limits)
    assert_ok(outcome)
    return outcome


def assert_ended(session: Session) -> None:
    assert not session.alive
    with pytest.raises(SandboxError, match="open"):
        session.run("1")


class SessionBehaviours:
    def test_a_session_keeps_variables_functions_and_imports(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            cell(session, "import math\nx = 2\ndef square(v): return v * v\nclass Point: pass")
            assert cell(session, "result = [square(x), math.floor(2.5), Point.__name__]").result == [4, 2, "Point"]

    def test_a_cell_that_ends_in_an_expression_gives_its_value(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert cell(session, "x = 20\nx + 1").result == 21
            assert cell(session, "x").result == 20

    def test_a_cell_without_an_expression_has_no_result(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert cell(session, "x = 20").result is None

    def test_a_cells_result_has_the_bounds_of_a_runs(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            for code in ("result = [[]] * 500_000", "result = 'x' * (9 << 20)"):
                outcome = session.run(code)
                assert (outcome.status, outcome.result) == ("error", None)
                assert outcome.error is not None and outcome.error.type == "ResultError"
            assert cell(session, "result = 'x' * (4 << 20)").result == "x" * (4 << 20)

    def test_a_forged_report_that_is_refused_ends_the_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            outcome = session.run("import os\nos.write(3, b'\\xff' * 100)\nimport time\ntime.sleep(60)")
            assert (outcome.status, outcome.result) == ("error", None)
            assert outcome.error is not None and outcome.error.type == "ResultError"
            assert_ended(session)

    def test_an_expression_that_cannot_be_carried_is_no_failure(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert cell(session, "object()").result is None

    def test_the_result_variable_wins_over_the_expression(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert cell(session, "result = 'set'\n'expression'").result == "set"

    def test_a_result_belongs_to_its_cell_only(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert cell(session, "result = 1").result == 1
            assert cell(session, "y = 2").result is None
            assert cell(session, "ringfence_result(3)").result == 3
            assert cell(session, "y").result == 2

    def test_each_cell_has_its_own_streams_and_id(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            first = cell(session, "import sys\nprint('one')\nprint('aside', file=sys.stderr)")
            second = cell(session, "print('two')")
        assert (first.stdout, first.stderr, second.stdout, second.stderr) == ("one\n", "aside\n", "two\n", "")
        assert first.run_id != second.run_id

    def test_an_error_keeps_the_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            cell(session, "x = 1")
            outcome = session.run("y = 2\nx / 0\n")
            assert outcome.status == "error"
            assert outcome.error is not None
            assert (outcome.error.type, outcome.error.line) == ("ZeroDivisionError", 2)
            assert session.alive
            assert cell(session, "x + y").result == 3

    def test_a_syntax_error_keeps_the_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            outcome = session.run("a = 1\nb = = 2")
            assert outcome.error is not None
            assert (outcome.status, outcome.error.type, outcome.error.line) == ("error", "SyntaxError", 2)
            assert cell(session, "1 + 1").result == 2

    def test_a_traceback_shows_the_lines_of_an_earlier_cell(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            cell(session, "def f():\n    return undefined_name_here")
            outcome = session.run("f()")
        assert outcome.error is not None
        assert "return undefined_name_here" in outcome.error.traceback

    def test_a_timeout_interrupts_the_cell_and_keeps_the_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            cell(session, "x = 'kept'")
            outcome = session.run("print('so far')\nwhile True: pass", limits=_QUICK)
            assert_stopped(outcome, "timeout")
            assert outcome.stdout == "so far\n"
            assert session.alive
            assert cell(session, "x").result == "kept"

    def test_a_sleeping_cell_is_interrupted_too(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            assert_stopped(session.run("import time\ntime.sleep(60)", limits=_QUICK), "timeout")
            assert cell(session, "1").result == 1

    def test_a_cell_that_cannot_be_interrupted_ends_the_session(self, sandbox: Sandbox) -> None:
        code = program("""
            import time
            while True:
                try:
                    time.sleep(60)
                except KeyboardInterrupt:
                    pass
        """)
        with sandbox.open_session() as session:
            outcome = session.run(code, limits=_QUICK)
            assert_stopped(outcome, "timeout")
            assert "session" in outcome.reason
            assert_ended(session)

    def test_a_memory_kill_ends_the_session_and_it_can_be_reopened(self, sandbox: Sandbox) -> None:
        with sandbox.open_session(limits=Limits(memory_mb=96)) as session:
            cell(session, "x = 1")
            outcome = session.run("print('so far')\nhoard = [bytearray(8 << 20) for _ in range(64)]")
            assert_stopped(outcome, "memory_limit")
            assert outcome.stdout == "so far\n"
            assert_ended(session)
        with sandbox.open_session(limits=Limits(memory_mb=96)) as session:
            assert cell(session, "'x' in globals()").result is False

    def test_a_crash_ends_the_session_and_says_so(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            outcome = session.run("import os\nos.abort()")
            assert (outcome.status, outcome.signal) == ("signal", 6)
            assert_ended(session)

    def test_each_cell_may_have_its_own_limits(self, sandbox: Sandbox) -> None:
        with sandbox.open_session(limits=Limits(wall_seconds=20)) as session:
            small = cell(session, "print('x' * 100)", Limits(output_bytes=10))
            assert (len(small.stdout), small.truncated.stdout, small.limits.output_bytes) == (10, True, 10)
            large = cell(session, "print('x' * 100)")
            assert (len(large.stdout), large.truncated.stdout, large.limits.wall_seconds) == (101, False, 20)

    def test_a_cell_with_less_memory_than_is_in_use_is_refused_and_keeps_the_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session(limits=Limits(memory_mb=300)) as session:
            session.run("hoard = bytearray(120 << 20)")
            with pytest.raises(LimitError, match="in use"):
                session.run("1", limits=Limits(memory_mb=64))
            assert session.run("len(hoard) >> 20").result == 120

    def test_a_program_that_goes_on_in_a_thread_stands_still_between_cells(self, sandbox: Sandbox) -> None:
        beat = """
import threading, time
beats = 0
def beat():
    global beats
    while True:
        beats += 1
        time.sleep(0.001)
threading.Thread(target=beat, daemon=True).start()
"""
        with sandbox.open_session() as session:
            session.run(beat)
            before = session.run("beats").result
            time.sleep(0.5)
            after = session.run("beats").result
            assert isinstance(before, int) and isinstance(after, int)
            assert after - before < 100

    def test_usage_is_counted_per_cell(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            busy = cell(session, "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
            idle = cell(session, "print('x')")
        assert busy.usage.cpu_ms >= 200
        assert idle.usage.cpu_ms < busy.usage.cpu_ms
        assert (busy.usage.output_bytes, idle.usage.output_bytes) == (0, 2)

    def test_files_stay_and_are_artifacts_of_the_cell_that_wrote_them(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            first = cell(session, "with open('a.txt', 'w') as f: f.write('a')")
            second = cell(session, "with open('b.txt', 'w') as f: f.write(open('a.txt').read())")
            third = cell(session, "1")
        assert [[a.name for a in o.artifacts] for o in (first, second, third)] == [["a.txt"], ["b.txt"], []]

    def test_a_figure_is_an_artifact_of_its_cell(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            first = cell(session, "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")
            second = cell(session, "x = 1")
        assert [a.mime for a in first.artifacts] == ["image/png"]
        assert second.artifacts == ()

    def test_output_of_a_cell_is_handed_over(self, sandbox: Sandbox) -> None:
        chunks: list[bytes] = []

        def collect(stream: Stream, chunk: bytes) -> None:
            chunks.append(chunk)

        with sandbox.open_session() as session:
            assert_ok(session.run("for i in range(3): print(i)", on_output=collect))
        assert b"".join(chunks) == b"0\n1\n2\n"

    def test_a_cell_may_be_cancelled(self, sandbox: Sandbox) -> None:
        cancel = Cancel()

        def stop(stream: Stream, chunk: bytes) -> None:
            cancel.set()

        with sandbox.open_session() as session:
            outcome = session.run("import time\nprint('running')\ntime.sleep(60)", on_output=stop, cancel=cancel)
        cancel.close()
        assert_stopped(outcome, "cancelled")

    def test_a_cell_cancelled_before_it_starts_does_nothing(self, sandbox: Sandbox) -> None:
        cancel = Cancel()
        cancel.set()
        with sandbox.open_session() as session:
            cell(session, "x = 1")
            assert_stopped(session.run("x = 2", cancel=cancel), "cancelled")
            assert cell(session, "x").result == 1
        cancel.close()

    def test_sessions_do_not_share_anything(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as one, sandbox.open_session() as two:
            cell(one, "x = 1\nopen('/tmp/x', 'w').close()")
            assert cell(two, "import os\n['x' in globals(), os.path.exists('/tmp/x')]").result == [False, False]
            assert cell(one, "x").result == 1

    def test_runs_go_on_beside_a_session(self, sandbox: Sandbox) -> None:
        with sandbox.open_session() as session:
            cell(session, "x = 1")
            assert sandbox.run(Job(code="result = 'x' in globals()")).result is False
            assert cell(session, "x").result == 1

    def test_a_seeded_session_repeats_itself(self, sandbox: Sandbox) -> None:
        draws = []
        for _ in range(2):
            with sandbox.open_session(seed=7) as session:
                draws.append([cell(session, "import random\nrandom.random()").result for _ in range(2)])
        assert draws[0] == draws[1]
        assert draws[0][0] != draws[0][1]

    def test_an_idle_session_ends(self, sandbox: Sandbox) -> None:
        with sandbox.open_session(idle_seconds=0.3) as session:
            cell(session, "x = 1")
            deadline = time.monotonic() + 10
            while session.alive and time.monotonic() < deadline:
                time.sleep(0.05)
            assert_ended(session)

    def test_a_session_with_cells_running_is_not_idle(self, sandbox: Sandbox) -> None:
        with sandbox.open_session(idle_seconds=0.5) as session:
            assert cell(session, "import time\ntime.sleep(1.0)\n'done'").result == "done"
            assert cell(session, "'again'").result == "again"

    def test_a_session_is_alive_while_a_cell_prints(self, sandbox: Sandbox) -> None:
        found: list[bool] = []

        def look(stream: Stream, chunk: bytes) -> None:
            if len(found) < 3:
                time.sleep(0.1)  # so that more is there to be read
                found.append(session.alive)

        with sandbox.open_session() as session:
            assert_ok(session.run("import os\nfor _ in range(300): os.write(1, b'x' * 2000)", on_output=look))
            assert session.alive
        assert found
        assert all(found), found

    def test_sessions_that_end_badly_leave_no_descriptor(self, sandbox: Sandbox) -> None:
        """A backend may keep some for the next session, but no more after four sessions than before."""
        levels: list[int] = []
        for _ in range(40):
            session = sandbox.open_session()
            session.run("import os\nos.abort()")
            assert_ended(session)
            levels.append(len(os.listdir("/dev/fd")))
            if len(levels) > 4 and levels[-1] <= levels[-5]:
                return
        pytest.fail(f"ever more descriptors: {levels}")

    def test_closing_ends_a_session_and_may_be_repeated(self, sandbox: Sandbox) -> None:
        session = sandbox.open_session()
        assert session.alive
        session.close()
        session.close()
        assert_ended(session)
