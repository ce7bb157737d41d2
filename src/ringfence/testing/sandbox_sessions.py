"""Sessions: cells share variables, each has its own limits, streams and Outcome, and the end is said clearly."""

from __future__ import annotations

import time

import pytest

from ringfence.base.errors import SandboxError
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

    def test_closing_ends_a_session_and_may_be_repeated(self, sandbox: Sandbox) -> None:
        session = sandbox.open_session()
        assert session.alive
        session.close()
        session.close()
        assert_ended(session)
