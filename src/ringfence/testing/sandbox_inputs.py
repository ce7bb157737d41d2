"""What a program is given: inputs, files, arguments, mounts, a seed and a place to stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ringfence.base.errors import InputError, MountError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job, Json, Mount
from ringfence.testing.jobs import assert_ok, program, readable, result_of, script, shared_mount


class InputBehaviours:
    def test_inputs_become_global_variables(self, sandbox: Sandbox) -> None:
        inputs: dict[str, Json] = {
            "symbol": "BTC-USD",
            "window": 20,
            "fee": 0.001,
            "flags": [True, None],
            "deep": {"a": [{}]},
        }
        got = result_of(sandbox, Job(code="result = [symbol, window, fee, flags, deep]", inputs=inputs))
        assert got == list(inputs.values())

    def test_an_input_may_be_large_and_unicode(self, sandbox: Sandbox) -> None:
        text = "\u20ac\U0001f40d\u2028" * 200_000
        assert result_of(sandbox, Job(code="result = [len(text), text[:3]]", inputs={"text": text})) == [
            600_000,
            text[:3],
        ]

    def test_an_input_that_is_no_name_is_refused(self, sandbox: Sandbox) -> None:
        with pytest.raises(InputError, match="not a Python variable name"):
            sandbox.run(Job(code="x = 1", inputs={"not a name": 1}))

    def test_inputs_are_not_seen_by_the_next_run(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(Job(code="x = secret", inputs={"secret": 1})))
        assert result_of(sandbox, "result = 'secret' in globals()") is False

    def test_files_are_in_the_working_directory(self, sandbox: Sandbox) -> None:
        job = Job(
            code="result = [open('a.bin', 'rb').read().hex(), open('data/prices.csv').read()]",
            files={"a.bin": bytes([0, 255, 10]), "data/prices.csv": b"close\n1.5\n"},
        )
        assert result_of(sandbox, job) == ["00ff0a", "close\n1.5\n"]

    def test_files_may_be_changed_by_the_program(self, sandbox: Sandbox) -> None:
        code = "with open('log.txt', 'a') as f: f.write('more')\nresult = open('log.txt').read()"
        assert result_of(sandbox, Job(code=code, files={"log.txt": b"some"})) == "somemore"

    def test_a_module_among_the_files_may_be_imported(self, sandbox: Sandbox) -> None:
        job = Job(
            code="import signals\nresult = signals.golden()", files={"signals.py": b"def golden(): return 'cross'\n"}
        )
        assert result_of(sandbox, job) == "cross"

    def test_arguments_reach_the_program(self, sandbox: Sandbox) -> None:
        job = Job(code="import sys\nresult = sys.argv[1:]", argv=["--fast", "10", "", "\u20ac"])
        assert result_of(sandbox, job) == ["--fast", "10", "", "\u20ac"]

    def test_the_program_is_the_main_module_under_its_name(self, sandbox: Sandbox) -> None:
        code = "import __main__, os\nresult = [__name__, os.path.basename(__file__), __main__.code_here]\n"
        assert result_of(sandbox, Job(code="code_here = 7\n" + code, name="mean_reversion.py")) == [
            "__main__",
            "mean_reversion.py",
            7,
        ]

    def test_the_program_may_read_its_own_text(self, sandbox: Sandbox) -> None:
        code = "import inspect\ndef f():\n    return 1\nresult = [open(__file__).read(), inspect.getsource(f)]\n"
        assert result_of(sandbox, Job(code=code)) == [code, "def f():\n    return 1\n"]

    def test_the_working_directory_is_writable_and_home(self, sandbox: Sandbox) -> None:
        code = "import os\nopen('x', 'w').close()\nresult = [os.getcwd(), os.path.expanduser('~'), os.listdir()]"
        assert result_of(sandbox, code) == ["/job", "/job", ["x"]]

    def test_a_command_is_run(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(argv=["sh", "-c", 'echo "out $1"; echo err >&2', "sh", "a b"]))
        assert_ok(outcome)
        assert (outcome.stdout, outcome.stderr, outcome.result, outcome.exit_code) == ("out a b\n", "err\n", None, 0)

    def test_a_command_that_fails_gives_its_exit_code(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(argv=["sh", "-c", "exit 9"]))
        assert (outcome.status, outcome.exit_code) == ("exit", 9)

    def test_a_command_that_is_killed_gives_its_signal(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(argv=["sh", "-c", "kill -TERM $$"]))
        assert (outcome.status, outcome.signal) == ("signal", 15)

    def test_a_command_is_under_the_limits_too(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(replace(script("", wall_seconds=0.3), code=None, argv=["sleep", "60"]))
        assert outcome.status == "timeout"

    def test_a_command_sees_the_files(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(argv=["cat", "notes.txt"], files={"notes.txt": b"remember"}))
        assert (outcome.status, outcome.stdout) == ("ok", "remember")

    def test_a_command_that_does_not_exist_is_a_failure_that_names_it(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(argv=["no-such-command-here"]))
        assert outcome.status in ("error", "exit")
        assert outcome.exit_code == 127
        assert "no-such-command-here" in outcome.reason + outcome.stderr


class MountBehaviours:
    def test_a_mounted_directory_can_be_read(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "bars.csv").write_text("close\n42\n")
        job = Job(code="result = open('/data/sub/bars.csv').read()", mounts=[Mount(readable(tmp_path), "/data")])
        assert result_of(sandbox, job) == "close\n42\n"

    def test_a_mount_may_be_given_as_text(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "bars.csv").write_text("42")
        job = Job(code="result = open('/data/bars.csv').read()", mounts=[f"{readable(tmp_path)}:/data:ro"])
        assert result_of(sandbox, job) == "42"

    def test_a_mounted_file_can_be_read(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "bars.csv").write_text("42")
        job = Job(
            code="result = open('/data/prices.csv').read()", mounts=[Mount(tmp_path / "bars.csv", "/data/prices.csv")]
        )
        assert result_of(sandbox, job) == "42"

    def test_a_mount_may_be_inside_the_working_directory(self, sandbox: Sandbox, tmp_path: Path) -> None:
        (tmp_path / "bars.csv").write_text("42")
        job = Job(code="result = open('data/bars.csv').read()", mounts=[Mount(readable(tmp_path), "/job/data")])
        assert result_of(sandbox, job) == "42"

    def test_a_read_only_mount_cannot_be_written(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)
        kept = mount.host / "kept"
        kept.write_text("before")
        kept.chmod(0o666)
        code = program("""
            import os
            refused = 0
            for attempt in (
                lambda: open('/shared/new', 'w'),
                lambda: open('/shared/kept', 'a'),
                lambda: os.remove('/shared/kept'),
                lambda: os.chmod('/shared/kept', 0o777),
                lambda: os.mkdir('/shared/dir'),
            ):
                try:
                    attempt()
                except OSError:
                    refused += 1
            result = refused
        """)
        assert result_of(sandbox, Job(code=code, mounts=[replace(mount, mode="ro")])) == 5
        assert [p.name for p in mount.host.iterdir()] == ["kept"]
        assert kept.read_text() == "before"

    def test_a_writable_mount_is_seen_by_the_host(self, sandbox: Sandbox, tmp_path: Path) -> None:
        mount = shared_mount(tmp_path)
        assert_ok(sandbox.run(Job(code="open('/shared/answer', 'w').write('42')", mounts=[mount])))
        assert (mount.host / "answer").read_text() == "42"

    def test_two_mounts_do_not_mix(self, sandbox: Sandbox, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "who").write_text(name)
        job = Job(
            code="result = [open('/first/who').read(), open('/second/who').read()]",
            mounts=[Mount(tmp_path / "a", "/first"), Mount(tmp_path / "b", "/second")],
        )
        assert result_of(sandbox, job) == ["a", "b"]

    def test_a_mount_is_gone_in_the_next_run(self, sandbox: Sandbox, tmp_path: Path) -> None:
        job = Job(code="import os\nresult = os.path.isdir('/data')", mounts=[Mount(tmp_path, "/data")])
        assert result_of(sandbox, job) is True
        assert result_of(sandbox, "import os\nresult = os.path.exists('/data')") is False

    def test_a_missing_mount_is_refused(self, sandbox: Sandbox, tmp_path: Path) -> None:
        with pytest.raises(MountError, match="nowhere"):
            sandbox.run(Job(code="x = 1", mounts=[Mount(tmp_path / "nowhere", "/data")]))

    def test_a_mount_over_the_runtime_is_refused(self, sandbox: Sandbox, tmp_path: Path) -> None:
        with pytest.raises(MountError, match="/usr/lib"):
            sandbox.run(Job(code="x = 1", mounts=[f"{tmp_path}:/usr/lib"]))


class SeedBehaviours:
    def test_the_same_seed_gives_the_same_numbers(self, sandbox: Sandbox) -> None:
        code = "import random, numpy as np\nresult = [random.random(), np.random.rand(3), random.sample(range(100), 5)]"
        first, second = (result_of(sandbox, Job(code=code, seed=7)) for _ in range(2))
        assert first == second

    def test_another_seed_gives_other_numbers(self, sandbox: Sandbox) -> None:
        code = "import random, numpy as np\nresult = [random.random(), np.random.rand()]"
        first, second = (result_of(sandbox, Job(code=code, seed=seed)) for seed in (1, 2))
        assert first[0] != second[0]
        assert first[1] != second[1]

    def test_no_seed_gives_fresh_numbers_each_time(self, sandbox: Sandbox) -> None:
        code = (
            "import random, numpy as np\nresult = [random.random(), np.random.rand(), np.random.default_rng().random()]"
        )
        draws = [result_of(sandbox, code) for _ in range(4)]
        for column in zip(*draws, strict=True):
            assert len(set(column)) == 4

    def test_the_largest_seed_is_accepted(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(Job(code="import random, numpy\nrandom.random(), numpy.random.rand()", seed=2**64 - 1)))

    def test_system_randomness_stays_random_under_a_seed(self, sandbox: Sandbox) -> None:
        code = "import secrets, uuid\nresult = [secrets.token_hex(16), str(uuid.uuid4())]"
        first, second = (result_of(sandbox, Job(code=code, seed=7)) for _ in range(2))
        assert first[0] != second[0]
        assert first[1] != second[1]

    def test_the_order_of_sets_of_text_is_stable(self, sandbox: Sandbox) -> None:
        code = "result = list({'alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'})"
        first, second, third = (result_of(sandbox, code) for _ in range(3))
        assert first == second == third
