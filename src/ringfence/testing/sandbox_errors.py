"""How a program ends: an exception it did not catch, an exit it asked for, a signal that hit it."""

from __future__ import annotations

from pathlib import Path

import ringfence
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.sandbox.outcome import Failure, Outcome
from ringfence.testing.jobs import assert_ok, program, script


def failure_of(sandbox: Sandbox, code: str) -> Failure:
    """Run a program that must end with an exception, and hand over what was said of it."""
    outcome = sandbox.run(script(code))
    assert outcome.status == "error", f"{outcome.status}: {outcome.reason}"
    assert outcome.exit_code == 1
    assert outcome.signal is None
    assert outcome.reason
    assert outcome.error is not None
    return outcome.error


def assert_signal(outcome: Outcome, number: int) -> None:
    assert (outcome.status, outcome.signal) == ("signal", number), outcome.reason
    assert outcome.reason
    assert outcome.error is None


class ErrorBehaviours:
    def test_an_exception_gives_its_type_and_message(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "raise ValueError('price is negative')")
        assert (failure.type, failure.message) == ("ValueError", "price is negative")

    def test_the_line_is_the_innermost_one_of_the_program(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "def check(x):\n    if x < 0:\n        raise ValueError(x)\n\ncheck(-1)\n")
        assert failure.line == 3

    def test_an_exception_inside_a_library_gives_the_line_that_called_it(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "import json\n\njson.loads('{')\n")
        assert (failure.type, failure.line) == ("JSONDecodeError", 3)

    def test_the_traceback_names_the_program_and_its_line(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(code="x = 1\nx / 0\n", name="momentum.py"))
        assert outcome.error is not None
        assert "momentum.py" in outcome.error.traceback
        assert "line 2" in outcome.error.traceback
        assert "x / 0" in outcome.error.traceback
        assert "ZeroDivisionError" in outcome.error.traceback

    def test_the_traceback_shows_no_frame_of_ours(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "def f(): raise KeyError('x')\nf()")
        assert str(Path(ringfence.__file__).parent) not in failure.traceback
        assert failure.traceback.count('File "') == 2

    def test_the_traceback_is_on_stderr_too(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("1 / 0"))
        assert "Traceback (most recent call last)" in outcome.stderr
        assert outcome.stderr.rstrip().endswith("ZeroDivisionError: division by zero")

    def test_a_syntax_error_gives_its_line(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "a = 1\nb = = 2\n")
        assert (failure.type, failure.line) == ("SyntaxError", 2)

    def test_an_indentation_error_is_an_error_of_the_program(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "if True:\nx = 1\n")
        assert (failure.type, failure.line) == ("IndentationError", 2)

    def test_a_missing_module_is_an_error_of_the_program(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "import no_such_module_here")
        assert failure.type == "ModuleNotFoundError"
        assert "no_such_module_here" in failure.message

    def test_a_chained_exception_shows_both(self, sandbox: Sandbox) -> None:
        failure = failure_of(
            sandbox,
            """
            try:
                {}['missing']
            except KeyError as e:
                raise RuntimeError('no such symbol') from e
            """,
        )
        assert (failure.type, failure.message, failure.line) == ("RuntimeError", "no such symbol", 4)
        assert "KeyError: 'missing'" in failure.traceback
        assert "direct cause" in failure.traceback

    def test_an_exception_group_shows_its_members(self, sandbox: Sandbox) -> None:
        failure = failure_of(sandbox, "raise ExceptionGroup('two', [ValueError('one bad'), TypeError('other bad')])")
        assert failure.type == "ExceptionGroup"
        assert "one bad" in failure.traceback
        assert "other bad" in failure.traceback

    def test_an_exception_class_of_the_program_is_named(self, sandbox: Sandbox) -> None:
        assert failure_of(sandbox, "class NoEdge(Exception): pass\nraise NoEdge('flat')").type == "NoEdge"

    def test_a_base_exception_is_an_error(self, sandbox: Sandbox) -> None:
        assert failure_of(sandbox, "class Stop(BaseException): pass\nraise Stop('now')").type == "Stop"

    def test_endless_recursion_is_an_error(self, sandbox: Sandbox) -> None:
        assert failure_of(sandbox, "def f(): f()\nf()").type == "RecursionError"

    def test_an_exception_that_cannot_be_printed_is_still_reported(self, sandbox: Sandbox) -> None:
        failure = failure_of(
            sandbox,
            """
            class Sly(Exception):
                def __str__(self): raise RuntimeError('no words')
                __repr__ = __str__
            raise Sly()
            """,
        )
        assert (failure.type, failure.line) == ("Sly", 4)

    def test_an_exception_that_exits_when_printed_is_still_reported(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import sys
            class Sly(Exception):
                def __str__(self): sys.exit(0)
            raise Sly()
            """)
        )
        assert outcome.status == "error"

    def test_an_exception_in_a_thread_does_not_end_the_program(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import threading
            def fail(): raise OSError('feed lost')
            thread = threading.Thread(target=fail)
            thread.start()
            thread.join()
            result = 'went on'
            """)
        )
        assert_ok(outcome)
        assert outcome.result == "went on"
        assert "feed lost" in outcome.stderr


class EndingBehaviours:
    def test_a_program_that_ends_is_ok_with_code_zero(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("x = 1"))
        assert_ok(outcome)
        assert outcome.ok
        assert (outcome.exit_code, outcome.signal, outcome.error) == (0, None, None)

    def test_exits_that_mean_success_are_ok(self, sandbox: Sandbox) -> None:
        for form in ("sys.exit()", "sys.exit(0)", "sys.exit(None)", "raise SystemExit", "sys.exit(False)"):
            outcome = sandbox.run(script(f"import sys\n{form}"))
            assert (form, outcome.status, outcome.exit_code) == (form, "ok", 0)

    def test_an_exit_code_is_reported(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\nsys.exit(3)"))
        assert (outcome.status, outcome.exit_code, outcome.error) == ("exit", 3, None)
        assert outcome.reason

    def test_an_exit_with_a_message_prints_it_and_is_code_one(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\nsys.exit('no data')"))
        assert (outcome.status, outcome.exit_code) == ("exit", 1)
        assert outcome.stderr == "no data\n"

    def test_an_exit_inside_a_function_ends_the_program(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\ndef f(): sys.exit(5)\nf()\nprint('not reached')"))
        assert (outcome.status, outcome.exit_code, outcome.stdout) == ("exit", 5, "")

    def test_a_hard_exit_is_reported(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos._exit(7)"))
        assert (outcome.status, outcome.exit_code) == ("exit", 7)

    def test_a_hard_exit_with_zero_is_not_taken_for_success(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nresult = 1\nos._exit(0)"))
        assert (outcome.status, outcome.exit_code, outcome.result) == ("exit", 0, None)

    def test_exit_137_is_not_taken_for_a_memory_kill(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos._exit(137)"))
        assert (outcome.status, outcome.exit_code) == ("exit", 137)

    def test_atexit_functions_run(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import atexit\natexit.register(print, 'last words')\nprint('first')"))
        assert_ok(outcome)
        assert outcome.stdout == "first\nlast words\n"

    def test_threads_are_waited_for(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import threading, time
            def work():
                time.sleep(0.2)
                print('thread done')
            threading.Thread(target=work).start()
            print('main done')
            """)
        )
        assert_ok(outcome)
        assert outcome.stdout == "main done\nthread done\n"

    def test_daemon_threads_are_not_waited_for(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
        )
        assert_ok(outcome)
        assert outcome.usage.wall_ms < 20_000

    def test_killing_itself_is_a_signal_and_no_limit(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"))
        assert_signal(outcome, 9)
        assert outcome.exit_code is None

    def test_a_segmentation_fault_is_a_signal(self, sandbox: Sandbox) -> None:
        assert_signal(sandbox.run(script("import ctypes\nctypes.string_at(0)")), 11)

    def test_an_abort_is_a_signal(self, sandbox: Sandbox) -> None:
        assert_signal(sandbox.run(script("import os\nos.abort()")), 6)

    def test_terminating_itself_is_a_signal(self, sandbox: Sandbox) -> None:
        assert_signal(sandbox.run(script("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")), 15)

    def test_a_signal_handler_of_the_program_works(self, sandbox: Sandbox) -> None:
        code = program("""
            import os, signal
            seen = []
            signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
            os.kill(os.getpid(), signal.SIGUSR1)
            result = seen == [signal.SIGUSR1]
        """)
        outcome = sandbox.run(Job(code=code))
        assert_ok(outcome)
        assert outcome.result is True

    def test_a_crashed_child_does_not_end_the_program(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import os
            pid = os.fork()
            if pid == 0:
                os.abort()
            result = os.WTERMSIG(os.waitpid(pid, 0)[1])
            """)
        )
        assert_ok(outcome)
        assert outcome.result == 6

    def test_a_forked_child_does_not_answer_for_the_program(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import os, sys
            pid = os.fork()
            if pid == 0:
                result = 'child'
                sys.exit(3)
            os.waitpid(pid, 0)
            result = 'parent'
            """)
        )
        assert_ok(outcome)
        assert outcome.result == "parent"

    def test_the_next_run_works_after_a_crash(self, sandbox: Sandbox) -> None:
        for _ in range(3):
            assert_signal(sandbox.run(script("import os\nos.abort()")), 6)
        assert_ok(sandbox.run(script("result = 1")))
