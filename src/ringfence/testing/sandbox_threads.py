"""Calls from many threads, output while it is made, and cancelling. Sides wait for each other, never for a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ringfence.sandbox import Sandbox, Stream
from ringfence.sandbox.job import Cancel
from ringfence.sandbox.outcome import Outcome
from ringfence.testing.jobs import assert_ok, assert_stopped, script, shared_mount


class ThreadBehaviours:
    def test_many_threads_get_their_own_answers(self, sandbox: Sandbox) -> None:
        def ask(number: int) -> Outcome:
            code = """
                import sys
                for _ in range(200):
                    print(number)
                    print(-number, file=sys.stderr)
                result = number
            """
            return sandbox.run(replace(script(code), inputs={"number": number}))

        numbers = range(1, 25)
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(ask, numbers))
        for number, outcome in zip(numbers, outcomes, strict=True):
            assert_ok(outcome)
            assert outcome.result == number
            assert outcome.stdout == f"{number}\n" * 200
            assert outcome.stderr == f"-{number}\n" * 200
        assert len({outcome.run_id for outcome in outcomes}) == len(outcomes)

    def test_runs_really_overlap(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)

        def meet(me: str, other: str) -> Outcome:
            code = """
                import os, time
                open(f'/shared/{me}', 'w').close()
                while not os.path.exists(f'/shared/{other}'):
                    time.sleep(0.01)
            """
            job = replace(script(code, wall_seconds=20), mounts=[mount], inputs={"me": me, "other": other})
            return sandbox.run(job)

        with ThreadPoolExecutor(2) as pool:
            for outcome in pool.map(meet, "ab", "ba"):
                assert_ok(outcome)

    def test_a_killed_neighbour_does_not_disturb(self, sandbox: Sandbox) -> None:
        with ThreadPoolExecutor(4) as pool:
            bad = pool.submit(sandbox.run, script("hoard = [bytearray(8 << 20) for _ in range(64)]", memory_mb=64))
            good = [pool.submit(sandbox.run, script("import time\ntime.sleep(0.2)\nresult = 'fine'")) for _ in range(3)]
            assert not bad.result().ok
            for future in good:
                assert future.result().result == "fine"

    def test_output_is_handed_over_while_the_program_runs(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)

        def answer(stream: Stream, chunk: bytes) -> None:
            if b"question" in chunk:
                (mount.host / "answer").write_text("heard")

        code = """
            import os, time
            print('question')
            while not os.path.exists('/shared/answer'):
                time.sleep(0.01)
            result = open('/shared/answer').read()
        """
        outcome = sandbox.run(replace(script(code, wall_seconds=20), mounts=[mount]), on_output=answer)
        assert_ok(outcome)
        assert outcome.result in ("heard", "")

    def test_the_chunks_add_up_to_the_streams(self, sandbox: Sandbox) -> None:
        chunks: list[tuple[Stream, bytes]] = []
        code = "import sys\nfor i in range(300):\n    print(i)\n    print(-i, file=sys.stderr)"
        outcome = sandbox.run(script(code), on_output=lambda stream, chunk: chunks.append((stream, chunk)))
        assert_ok(outcome)
        assert b"".join(c for s, c in chunks if s == "stdout").decode() == outcome.stdout
        assert b"".join(c for s, c in chunks if s == "stderr").decode() == outcome.stderr
        assert outcome.stdout.endswith("299\n")

    def test_a_run_cancelled_before_it_starts_does_nothing(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)
        cancel = Cancel()
        cancel.set()
        job = replace(script("open('/shared/ran', 'w').close()"), mounts=[mount])
        assert_stopped(sandbox.run(job, cancel=cancel), "cancelled")
        cancel.close()
        assert not (mount.host / "ran").exists()

    def test_a_running_program_may_be_cancelled(self, sandbox: Sandbox) -> None:
        cancel = Cancel()

        def stop(stream: Stream, chunk: bytes) -> None:
            cancel.set()

        job = script("import time\nprint('running')\ntime.sleep(60)")
        outcome = sandbox.run(job, on_output=stop, cancel=cancel)
        cancel.close()
        assert_stopped(outcome, "cancelled")
        assert outcome.stdout == "running\n"
        assert outcome.usage.wall_ms < 20_000

    def test_a_cancel_that_is_never_set_changes_nothing(self, sandbox: Sandbox) -> None:
        cancel = Cancel()
        outcome = sandbox.run(script("result = 1"), cancel=cancel)
        cancel.close()
        assert_ok(outcome)
        assert outcome.result == 1

    def test_cancelling_one_run_leaves_the_others(self, sandbox: Sandbox) -> None:
        cancel = Cancel()
        with ThreadPoolExecutor(2) as pool:
            other = pool.submit(sandbox.run, script("import time\ntime.sleep(0.4)\nresult = 'finished'"))
            stopped = pool.submit(sandbox.run, script("import time\ntime.sleep(60)"), cancel=cancel)
            cancel.set()
            assert stopped.result().status == "cancelled"
            assert other.result().result == "finished"
        cancel.close()
