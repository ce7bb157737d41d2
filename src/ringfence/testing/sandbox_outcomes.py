"""The Outcome itself: what was used, what was enforced, and its JSON form."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ringfence.guest.devices import USABLE
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Device, Job
from ringfence.sandbox.outcome import DeviceReport
from ringfence.testing.jobs import assert_ok, script

# spec/sandbox.md, "Outcome JSON": the contract of every face. A key more or less is a change of contract.
OUTCOME_KEYS = [
    "run_id",
    "status",
    "reason",
    "exit_code",
    "signal",
    "stdout",
    "stderr",
    "truncated",
    "result",
    "error",
    "artifacts",
    "rejected_artifacts",
    "usage",
    "limits",
    "backend",
    "isolation",
    "device",
    "stages",
]
NESTED_KEYS = {
    "truncated": {"stdout", "stderr", "artifacts"},
    "usage": {"wall_ms", "cpu_ms", "peak_memory_bytes", "processes", "output_bytes"},
    "limits": {"wall_seconds", "cpu_seconds", "memory_mb", "cpus", "processes", "disk_mb", "output_bytes"},
    "device": {"requested", "used", "notice", "found"},
}


class OutcomeBehaviours:
    def test_wall_time_is_measured(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import time\ntime.sleep(0.2)"))
        assert 190 <= outcome.usage.wall_ms < 15_000

    def test_cpu_time_is_measured(self, sandbox: Sandbox) -> None:
        code = "import time\nwhile time.process_time() < 0.3: pass"
        assert 150 <= sandbox.run(script(code)).usage.cpu_ms < 15_000

    def test_cpu_time_of_children_is_measured(self, sandbox: Sandbox) -> None:
        job = script("""
            import os, time
            if os.fork() == 0:
                end = time.process_time() + 0.3
                while time.process_time() < end: pass
                os._exit(0)
            os.wait()
        """)
        assert sandbox.run(job).usage.cpu_ms >= 200

    def test_peak_memory_is_measured(self, sandbox: Sandbox) -> None:
        small = sandbox.run(script("x = 1")).usage.peak_memory_bytes
        large = sandbox.run(script("block = bytearray(100 << 20)\ndel block")).usage.peak_memory_bytes
        assert 0 <= small < 100 << 20
        assert 95 << 20 <= large <= 512 << 20

    def test_processes_are_counted(self, sandbox: Sandbox) -> None:
        job = script("""
            import os, time
            for _ in range(3):
                if os.fork() == 0:
                    time.sleep(0.3)
                    os._exit(0)
            time.sleep(0.3)
        """)
        assert 4 <= sandbox.run(job).usage.processes <= 16

    def test_output_bytes_are_counted(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(script("import os\nos.write(1, bytes(3000))\nos.write(2, bytes(500))", output_bytes=100))
        assert outcome.usage.output_bytes == 3500

    def test_isolation_says_what_was_enforced(self, sandbox: Sandbox) -> None:
        isolation = sandbox.run(script("x = 1")).isolation
        assert isolation
        assert all(text.strip() for pair in isolation.items() for text in pair)

    def test_stages_say_where_the_time_went(self, sandbox: Sandbox) -> None:
        stages = sandbox.run(script("x = 1")).stages
        assert stages
        assert all(name and milliseconds >= 0 for name, milliseconds in stages.items())

    def test_the_backend_and_the_device_are_named(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(Job(code="x = 1", device="cpu"))
        assert outcome.backend
        assert outcome.device == DeviceReport(requested="cpu", used="cpu", notice=None, found={})
        assert sandbox.run(Job(code="x = 1")).device == DeviceReport(requested="auto")

    @pytest.mark.parametrize("requested", ["gpu", "npu"])
    def test_a_device_is_used_or_a_notice_says_why_not(self, sandbox: Sandbox, requested: Device) -> None:
        device = sandbox.run(Job(code="x = 1", device=requested)).device
        assert device.requested == requested
        assert {"mlx", "metal", "coreml", "cuda", "npu"} <= set(device.found)
        usable = {name for name, text in device.found.items() if text.startswith(USABLE)}
        if usable & ({"metal", "cuda"} if requested == "gpu" else {"npu"}):
            assert (device.used, device.notice) == (requested, None)
        else:
            assert device.used == "cpu"
            assert device.notice is not None
            assert requested.upper() in device.notice
            assert all(text in device.notice for text in device.found.values())

    def test_what_was_found_is_what_a_program_finds(self, sandbox: Sandbox) -> None:
        code = """
            import glob
            try:
                import mlx.core as mx
                mlx = f"{mx.__version__}, default device {str(mx.default_device().type).split('.')[1]}"
            except ModuleNotFoundError:
                mlx = "not installed"
            result = [mlx, bool(glob.glob("/dev/accel*") + glob.glob("/dev/davinci*"))]
        """
        outcome = sandbox.run(replace(script(code), device="npu"))
        assert_ok(outcome)
        assert outcome.result == [outcome.device.found["mlx"], outcome.device.found["npu"] != "no device"]

    def test_a_program_cannot_say_which_device_it_had(self, sandbox: Sandbox) -> None:
        honest = sandbox.run(Job(code="x = 1", device="npu")).device
        forger = """
            from ringfence.guest import devices
            result = {name: "usable: the finest" for name in ("mlx", "metal", "coreml", "cuda", "npu")}
            devices.probe = lambda *_: result
            ringfence_result(result)
        """
        outcome = sandbox.run(replace(script(forger), device="npu"))
        assert_ok(outcome)
        assert outcome.device == honest
        assert sandbox.run(Job(code="x = 1", device="npu")).device == honest

    def test_every_run_has_its_own_id(self, sandbox: Sandbox) -> None:
        ids = {sandbox.run(script("x = 1")).run_id for _ in range(5)}
        assert len(ids) == 5
        assert all(ids)

    def test_the_json_form_has_exactly_the_keys_of_the_spec(self, sandbox: Sandbox) -> None:
        form = sandbox.run(script("open('a.txt', 'w').close()\n1 / 0")).to_json()
        assert list(form) == OUTCOME_KEYS
        for name, keys in NESTED_KEYS.items():
            nested = form[name]
            assert isinstance(nested, dict)
            assert set(nested) == keys
        error, artifacts = form["error"], form["artifacts"]
        assert isinstance(error, dict)
        assert set(error) == {"type", "message", "line", "traceback"}
        assert isinstance(artifacts, list)
        assert isinstance(artifacts[0], dict)
        assert set(artifacts[0]) == {"name", "bytes", "sha256", "mime", "path"}

    def test_the_json_form_is_strict_and_comes_back_equal(self, sandbox: Sandbox) -> None:
        outcome = sandbox.run(
            script("""
            import math, os
            os.write(1, b'\\xff\\x00\\xed\\xa0\\x80')
            os.symlink('/etc', 'link')
            open('data.csv', 'w').write('a,b')
            result = {'nan': math.nan, 'text': '\\u2028 \\U0001f40d', 'deep': [[1.5, None]]}
            """)
        )
        assert_ok(outcome)
        form = outcome.to_json()
        assert json.loads(json.dumps(form, allow_nan=False).encode()) == form

    def test_the_json_form_of_a_stopped_run_is_strict(self, sandbox: Sandbox) -> None:
        form = sandbox.run(script("import time\ntime.sleep(60)", wall_seconds=0.2)).to_json()
        assert json.loads(json.dumps(form, allow_nan=False)) == form
        assert (form["status"], form["result"], form["error"]) == ("timeout", None, None)
