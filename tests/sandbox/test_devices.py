"""What an Outcome says of devices is what was found, and is found once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ringfence.guest.devices import USABLE
from ringfence.sandbox import open_sandbox
from ringfence.sandbox.devices import Devices, probe_job, read_found, report
from ringfence.sandbox.job import Device, Job, Json, Limits
from ringfence.sandbox.outcome import DeviceReport, Outcome
from ringfence.testing import FakeSandbox, outcome

from tests.conftest import require

NOTHING = {"mlx": "not installed", "metal": "no device", "cuda": "no device", "npu": "no device"}
GPU = {**NOTHING, "cuda": f"{USABLE}1 by CUDA: Alpha"}
NPU = {**NOTHING, "npu": f"{USABLE}/dev/accel/accel0"}

MLX = """
import mlx.core as mx
a = mx.array([[1.0, 2.0], [3.0, 4.0]])
slope = mx.grad(lambda x: (x * x).sum())
result = [(a @ a).tolist(), slope(a).tolist(), str(mx.default_device())]
"""


class Counted:
    """Answers probes with `answer`, and counts them."""

    def __init__(self, answer: Json = None, *, make: Callable[[], Outcome] | None = None) -> None:
        self.sandbox = FakeSandbox(lambda job: make() if make else outcome(result=answer))

    def devices(self, maximum: Limits | None = None) -> Devices:
        return Devices(self.sandbox.run, "test", maximum=maximum)

    @property
    def count(self) -> int:
        return len(self.sandbox.jobs)


class TestReport:
    @pytest.mark.parametrize("requested", ["auto", "cpu"])
    def test_who_asks_for_no_device_gets_no_notice(self, requested: Device) -> None:
        assert report(requested, GPU, backend="test") == DeviceReport(requested=requested)

    @pytest.mark.parametrize(("requested", "found"), [("gpu", GPU), ("npu", NPU)])
    def test_a_usable_device_is_used(self, requested: Device, found: dict[str, str]) -> None:
        told = report(requested, found, backend="test", notice="of no matter", host="Darwin")
        assert (told.used, told.notice, told.found) == (requested, None, found)

    @pytest.mark.parametrize(("requested", "found"), [("gpu", NPU), ("npu", GPU), ("gpu", NOTHING), ("npu", NOTHING)])
    def test_a_device_of_another_kind_is_none(self, requested: Device, found: dict[str, str]) -> None:
        told = report(requested, found, backend="test", notice="it is a test", host="Linux")
        assert (told.used, told.found) == ("cpu", found)
        assert told.notice is not None
        asked = "a GPU" if requested == "gpu" else "an NPU"
        why = "the test sandbox showed none, because it is a test"
        assert told.notice.startswith(f"asked for {asked}, ran on the CPU: {why}; found ")
        assert all(f"{name} ({text})" in told.notice for name, text in found.items())

    def test_on_macos_it_says_what_no_container_can_reach(self) -> None:
        said = "cannot reach the Neural Engine of Apple Silicon"
        assert said in (report("npu", NOTHING, backend="test", host="Darwin").notice or "")
        assert said not in (report("npu", NOTHING, backend="test", host="Linux").notice or "")

    def test_a_text_that_only_mentions_the_word_is_no_device(self) -> None:
        assert report("gpu", {"cuda": "not usable: 0", "mlx": f"{USABLE}x"}, backend="test").used == "cpu"


class TestDevices:
    def test_it_looks_once_and_only_when_asked(self) -> None:
        probed = Counted(NOTHING)
        devices = probed.devices()
        assert devices.report("auto") == DeviceReport()
        assert devices.report("cpu").found == {}
        assert probed.count == 0
        assert devices.report("npu").found == NOTHING
        assert devices.report("gpu").found == NOTHING
        assert probed.count == 1

    def test_many_threads_look_once(self) -> None:
        probed = Counted(NOTHING)
        devices = probed.devices()
        threads = [threading.Thread(target=devices.report, args=("npu",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert probed.count == 1

    def test_a_look_that_failed_is_told_and_tried_again(self) -> None:
        answers = iter([outcome(status="timeout", reason="over 10 s", result=GPU), outcome(result=GPU)])
        devices = Counted(make=lambda: next(answers)).devices()
        first, second = devices.report("gpu"), devices.report("gpu")
        assert (first.used, first.found) == ("cpu", {})
        assert first.notice is not None
        assert "because the probe of its devices ended with timeout (over 10 s)" in first.notice
        assert (second.used, second.notice) == ("gpu", None)

    @pytest.mark.parametrize("answer", [None, 5, "usable", [], {}, ["cuda"], {"cuda": 1}])
    def test_an_answer_that_is_none_is_no_device(self, answer: Json) -> None:
        told = Counted(answer).devices().report("gpu")
        assert (told.used, told.found) == ("cpu", {})
        assert told.notice

    def test_a_caller_cannot_change_what_was_found(self) -> None:
        devices = Counted(NOTHING).devices()
        found = devices.report("npu").found
        assert isinstance(found, dict)
        found["npu"] = f"{USABLE}mine"
        assert devices.report("npu").used == "cpu"

    def test_the_answer_is_bounded_and_can_be_shown(self) -> None:
        many: Json = {f"k{n}": "x" for n in range(1000)}
        assert len(read_found(many)) == 16
        odd: Json = {"a b": "x", "k" * 100: "x", "long": "y" * 10_000, "escape": "\x1b[2J\nred", "deep": {"x": "y"}}
        assert read_found(odd) == {"long": "y" * 400, "escape": " [2J red"}

    def test_the_probe_stays_within_the_configured_maximum(self) -> None:
        tight = Limits.widest(cpu_seconds=2, memory_mb=64, disk_mb=5)
        probe_job(tight).limits.check_within(tight)
        probed = Counted(NOTHING)
        probed.devices(maximum=tight).report("gpu")
        assert probed.sandbox.jobs[0].limits.memory_mb == 64
        assert probe_job(Limits.widest()).limits == probe_job().limits


class TestNative:
    def test_mlx_runs_on_its_cpu_build(self) -> None:
        require("linux")
        require("mlx")
        with open_sandbox("native:profile=plain") as sandbox:
            ran = sandbox.run(Job(code=MLX, device="npu"))
        assert ran.status == "ok", ran.stderr
        assert ran.result == [[[7.0, 10.0], [15.0, 22.0]], [[2.0, 4.0], [6.0, 8.0]], "Device(cpu, 0)"]
        assert ran.device.used == "cpu"
        assert ran.device.found["mlx"].endswith(", default device cpu")

    def test_a_session_asks_for_nothing(self) -> None:
        require("linux")
        with open_sandbox("native:profile=plain") as sandbox, sandbox.open_session() as session:
            assert session.run("x = 1").device == DeviceReport()


class TestFake:
    def test_it_tells_the_truth_too(self) -> None:
        told = FakeSandbox([outcome()]).run(Job(code="", device="npu")).device
        assert (told.requested, told.used) == ("npu", "cpu")
        assert told.notice is not None
        assert "runs nothing" in told.notice
