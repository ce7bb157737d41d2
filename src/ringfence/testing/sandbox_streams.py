"""Standard output and standard error: separate, in order, capped, and kept whatever happens."""

from __future__ import annotations

from ringfence.sandbox import Sandbox
from ringfence.testing.jobs import assert_ok, assert_stopped, script


class StreamBehaviours:
    def test_stdout_and_stderr_are_separate(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\nprint('out')\nprint('err', file=sys.stderr)"))
        assert_ok(outcome)
        assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")

    def test_a_quiet_program_has_empty_streams(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("x = 1"))
        assert (outcome.stdout, outcome.stderr, outcome.usage.output_bytes) == ("", "", 0)

    def test_output_keeps_its_order(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("for i in range(5000): print(i)"))
        assert outcome.stdout == "".join(f"{i}\n" for i in range(5000))

    def test_output_of_children_is_caught_in_order(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import os, subprocess
            print('first', flush=True)
            subprocess.run(['sh', '-c', 'echo second; echo aside >&2'], check=True)
            os.write(1, b'third\\n')
            """)
        )
        assert_ok(outcome)
        assert (outcome.stdout, outcome.stderr) == ("first\nsecond\nthird\n", "aside\n")

    def test_both_streams_may_be_filled_at_once(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import os
            for _ in range(40):
                os.write(2, b'e' * 10_000)
                os.write(1, b'o' * 10_000)
            """)
        )
        assert_ok(outcome)
        assert (outcome.stdout, outcome.stderr) == ("o" * 400_000, "e" * 400_000)

    def test_a_missing_last_newline_stays_missing(self, sandbox: Sandbox) -> None:
        assert sandbox.run(script("print('a\\nb', end='')")).stdout == "a\nb"

    def test_unicode_output_arrives(self, sandbox: Sandbox) -> None:
        assert (
            sandbox.run(script("print('\\u20ac \\u4f60\\u597d \\U0001f40d')")).stdout
            == "\u20ac \u4f60\u597d \U0001f40d\n"
        )

    def test_bad_utf8_is_replaced(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos.write(1, b'a\\xff\\xfeb\\n')"))
        assert_ok(outcome)
        assert outcome.stdout == "a\ufffd\ufffdb\n"

    def test_nul_and_control_characters_arrive(self, sandbox: Sandbox) -> None:
        assert sandbox.run(script("import os\nos.write(1, b'a\\0b\\x1b[31m\\n')")).stdout == "a\0b\x1b[31m\n"

    def test_a_closed_stdout_is_no_failure(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\nprint('before')\nsys.stdout.close()\nresult = 1"))
        assert_ok(outcome)
        assert (outcome.stdout, outcome.result) == ("before\n", 1)

    def test_closed_descriptors_are_no_failure(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nfor fd in (0, 1, 2): os.close(fd)\nresult = 1"))
        assert_ok(outcome)
        assert outcome.result == 1

    def test_stdin_is_empty(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import sys\nresult = sys.stdin.read()"))
        assert_ok(outcome)
        assert outcome.result == ""

    def test_output_over_the_cap_is_dropped_and_flagged(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("print('0123456789' * 100)", output_bytes=105))
        assert_ok(outcome)
        assert outcome.truncated.stdout
        assert not outcome.truncated.stderr
        assert outcome.stdout == "0123456789" * 10 + "01234"
        assert outcome.usage.output_bytes == 1001

    def test_the_cap_is_per_stream(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos.write(1, b'o' * 10)\nos.write(2, b'e' * 30)", output_bytes=20))
        assert (outcome.stdout, outcome.stderr) == ("o" * 10, "e" * 20)
        assert not outcome.truncated.stdout
        assert outcome.truncated.stderr

    def test_output_of_exactly_the_cap_is_whole(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos.write(1, b'x' * 64)", output_bytes=64))
        assert outcome.stdout == "x" * 64
        assert not outcome.truncated.stdout

    def test_a_cap_of_zero_drops_everything(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("print('unheard')\nresult = 'done'", output_bytes=0))
        assert_ok(outcome)
        assert (outcome.stdout, outcome.truncated.stdout, outcome.result) == ("", True, "done")

    def test_a_character_cut_by_the_cap_stays_valid_text(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("print('\\u20ac' * 10)", output_bytes=10))
        assert_ok(outcome)
        assert outcome.stdout.startswith("\u20ac" * 3)
        outcome.stdout.encode()

    def test_a_flood_is_stopped(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nwhile True: os.write(1, b'y' * 4096)", output_bytes=1000))
        assert_stopped(outcome, "output_limit")
        assert outcome.stdout == "y" * 1000
        assert outcome.truncated.stdout

    def test_output_before_a_timeout_is_kept(self, sandbox: Sandbox) -> None:
        # Not flushed: a program that was stopped had no chance to, and its output is then needed most.
        outcome = sandbox.run(script("import time\nprint('so far')\ntime.sleep(60)", wall_seconds=0.5))
        assert_stopped(outcome, "timeout")
        assert outcome.stdout == "so far\n"

    def test_output_before_a_memory_kill_is_kept(self, sandbox: Sandbox) -> None:
        job = script("print('so far')\nhoard = [bytearray(8 << 20) for _ in range(64)]", memory_mb=96)
        assert sandbox.run(job).stdout == "so far\n"

    def test_output_before_a_crash_is_kept(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import ctypes\nprint('so far')\nctypes.string_at(0)"))
        assert (outcome.status, outcome.stdout) == ("signal", "so far\n")

    def test_output_before_a_hard_exit_is_kept(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nprint('so far')\nos._exit(3)"))
        assert (outcome.status, outcome.stdout) == ("exit", "so far\n")

    def test_an_orphan_that_holds_stdout_does_not_delay_the_answer(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os, time\nif os.fork() == 0:\n    time.sleep(60)\nprint('parent')"))
        assert_ok(outcome)
        assert outcome.stdout == "parent\n"
        assert outcome.usage.wall_ms < 20_000
