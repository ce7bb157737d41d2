"""What a run cannot see: the host, the network, us, and any other run. The attacks go much further."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job
from ringfence.testing.jobs import assert_ok, result_of, script


class PrivacyBehaviours:
    def test_files_do_not_outlive_the_run(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(script("for place in ('x', '/tmp/x', '/dev/shm/x'): open(place, 'w').close()")))
        for _ in range(3):
            code = "import os\nresult = [os.path.exists(place) for place in ('x', '/tmp/x', '/dev/shm/x')]"
            assert result_of(sandbox, code) == [False, False, False]

    def test_changed_modules_do_not_outlive_the_run(self, sandbox: Sandbox) -> None:
        # How this run ends is its own affair: it breaks what the interpreter itself needs.
        sandbox.run(script("import builtins, json, math\nmath.pi = 3\njson.dumps = None\nbuiltins.len = None"))
        for _ in range(3):
            code = "import json, math\nresult = [math.pi > 3, json.dumps(1), len('ab')]"
            assert result_of(sandbox, code) == [True, "1", 2]

    def test_variables_do_not_outlive_the_run(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(script("left_over = 1\nresult = 2")))
        for _ in range(3):
            assert result_of(sandbox, "ringfence_result(['left_over' in globals(), 'result' in globals()])") == [
                False,
                False,
            ]

    def test_the_environment_does_not_outlive_the_run(self, sandbox: Sandbox) -> None:
        assert_ok(sandbox.run(script("import os\nos.environ['LEFT_OVER'] = '1'\nos.chdir('/tmp')\nos.umask(0o777)")))
        for _ in range(3):
            code = "import os\nresult = ['LEFT_OVER' in os.environ, os.getcwd(), os.umask(0) != 0o777]"
            assert result_of(sandbox, code) == [False, "/job", True]

    def test_the_globals_hold_nothing_of_ours_but_the_result_function(self, sandbox: Sandbox) -> None:
        code = "ringfence_result(sorted(name for name in globals() if not name.startswith('__')))"
        assert result_of(sandbox, code) == ["ringfence_result"]

    def test_the_hosts_environment_is_not_visible(self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RINGFENCE_SUITE_SECRET", "do not tell")
        assert result_of(sandbox, "import os\nresult = 'RINGFENCE_SUITE_SECRET' in os.environ") is False

    def test_the_hosts_files_are_not_visible(self, sandbox: Sandbox, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("do not tell")
        secret.chmod(0o644)
        code = (
            "import os\nresult = [os.path.exists(path), os.path.exists('/etc/shadow'), os.path.exists('/root/.bashrc')]"
        )
        assert result_of(sandbox, Job(code=code, inputs={"path": str(secret)})) == [False, False, False]

    def test_the_runtime_cannot_be_written(self, sandbox: Sandbox) -> None:
        code = """
            import os, sysconfig
            refused = []
            libraries = [sysconfig.get_path(kind) for kind in ('stdlib', 'purelib')]
            for place in ('/', '/usr', '/etc', *libraries):
                try:
                    open(os.path.join(place, 'planted.py'), 'w').close()
                except OSError:
                    refused.append(place)
            result = len(refused)
        """
        assert result_of(sandbox, code) == 5

    def test_the_program_is_not_root(self, sandbox: Sandbox) -> None:
        code = "import os\nresult = [os.getuid() != 0, os.geteuid() != 0, os.getgid() != 0, 0 in os.getgroups()]"
        assert result_of(sandbox, code) == [True, True, True, False]

    def test_there_is_no_network(self, sandbox: Sandbox) -> None:
        code = """
            import socket
            refused = 0
            for address in (('127.0.0.1', 80), ('192.0.2.1', 80), ('169.254.169.254', 80)):
                try:
                    socket.create_connection(address, timeout=2)
                except OSError:
                    refused += 1
            result = refused
        """
        outcome = sandbox.run(script(code))
        assert_ok(outcome)
        assert outcome.result == 3

    def test_names_do_not_resolve_and_fail_fast(self, sandbox: Sandbox) -> None:
        code = """
            import socket
            try:
                socket.getaddrinfo('example.com', 80)
            except OSError:
                result = 'no such name'
        """
        outcome = sandbox.run(script(code))
        assert_ok(outcome)
        assert outcome.result == "no such name"
        assert outcome.usage.wall_ms < 10_000

    def test_other_processes_are_not_visible(self, sandbox: Sandbox) -> None:
        code = """
            import os
            result = len([name for name in os.listdir('/proc') if name.isdigit()]) if os.path.isdir('/proc') else 0
        """
        assert result_of(sandbox, code) <= 4

    def test_privileges_cannot_be_gained(self, sandbox: Sandbox) -> None:
        code = """
            import os
            refused = 0
            for attempt, argument in ((os.setuid, 0), (os.setgid, 0), (os.chroot, '/job'), (os.nice, -5)):
                try:
                    attempt(argument)
                except OSError:
                    refused += 1
            result = refused
        """
        assert result_of(sandbox, code) == 4
