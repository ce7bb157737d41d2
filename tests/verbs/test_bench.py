"""The benchmark measures what it says, leaves out what is not there, and never decides by a stopwatch here."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox import OnOutput, Session
from ringfence.sandbox.job import Cancel, Job, Limits
from ringfence.sandbox.outcome import DeviceReport, Outcome, Truncated, Usage
from ringfence.verbs import bench
from ringfence.verbs.bench import BenchReport, bench_sandbox, rounds
from ringfence.verbs.bench.native import ParkingSandbox, parked_memory, run_checked
from ringfence.verbs.bench.report import Machine, judge
from ringfence.verbs.bench.timing import Rate, Samples, StageSamples, Timing, measure_rate, summarise
from ringfence.verbs.bench.workload import Outside, calibrated_job


class FakeSandbox:
    """Answers at once, and keeps a log of what was asked."""

    def __init__(self, log: list[str], spec: str = "") -> None:
        self.log, self.spec = log, spec

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        self.log.append(f"run {self.spec}")
        return outcome()

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> Session:
        raise NotImplementedError

    def wait_parked(self, count: int, timeout_seconds: float) -> bool:
        self.log.append(f"wait {count}")
        return count <= 2

    def parked_pids(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None:
        self.log.append("close")

    def __enter__(self) -> FakeSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def outcome(**changed: object) -> Outcome:
    values: dict[str, object] = {
        "run_id": "r1", "status": "ok", "reason": "finished", "exit_code": 0, "signal": None,
        "stdout": "", "stderr": "", "truncated": Truncated(), "result": 1, "error": None,
        "artifacts": (), "rejected_artifacts": (),
        "usage": Usage(wall_ms=1, cpu_ms=1, peak_memory_bytes=1, processes=1, output_bytes=0), "limits": Limits(),
        "backend": "fake", "isolation": {"seccomp": "none, this is a fake"}, "device": DeviceReport(),
        "stages": {"run": 0.25},
    }  # fmt: skip
    make: Callable[..., Outcome] = Outcome
    return make(**(values | changed))


def timing(ms: float) -> Timing:
    return Timing(median_ms=ms, p99_ms=ms * 2, n=5)


def report(**changed: object) -> BenchReport:
    measurements = {"parked_trivial": timing(0.5), "plain_quant": timing(1000.0)}
    rates = {"native_2": Rate(clients=2, jobs=100, seconds=1.0)}
    values: dict[str, object] = {
        "measurements": measurements, "rates": rates, "memory": None, "targets": judge(measurements, rates),
        "stages": {"parked_trivial": {"run": 0.25}}, "absent": {"docker_quant": "no engine: start one"}, "seconds": 1.0,
        "machine": Machine(
            cores=2, cpu="x", kernel="6", python="3.11", load_before=0.1, docker=None, isolation={"a": "b"}
        ),
    }  # fmt: skip
    make: Callable[..., BenchReport] = BenchReport
    return make(**(values | changed))


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")


# Timing


def test_the_99th_percentile_is_a_sample_that_was_measured() -> None:
    assert summarise([0.003, 0.001, 0.002]) == Timing(median_ms=2.0, p99_ms=3.0, n=3)
    hundred = summarise([i / 1000 for i in range(1, 101)])
    assert hundred.p99_ms == pytest.approx(99.0)
    assert hundred.median_ms == pytest.approx(50.5)


def test_samples_keep_names_apart_and_hand_the_answer_through() -> None:
    samples = Samples()
    assert samples.time("a", lambda: 7) == 7
    samples.time("a", lambda: None)
    samples.time("b", lambda: time.sleep(0.01))
    found = samples.summaries()
    assert {name: t.n for name, t in found.items()} == {"a": 2, "b": 1}
    assert found["b"].median_ms >= 10


def test_stages_are_medians_over_the_runs_that_had_them() -> None:
    stages = StageSamples()
    for ms in (1.0, 5.0, 3.0):
        stages.add("parked", {"run": ms})
    stages.add("parked", {"fork": 9.0})
    assert stages.medians() == {"parked": {"run": 3.0, "fork": 9.0}}


@pytest.mark.parametrize("clients", [1, 3])
def test_a_rate_counts_every_finished_job(clients: int) -> None:
    calls: list[int] = []
    rate = measure_rate(lambda: calls.append(1), clients=clients, seconds=0.02)
    assert rate.jobs == len(calls)
    assert rate.clients == clients
    assert rate.seconds >= 0.02


def test_a_job_longer_than_the_window_is_counted_with_its_whole_time() -> None:
    rate = measure_rate(lambda: time.sleep(0.05), clients=2, seconds=0.001)
    assert rate.jobs == 2
    assert rate.seconds >= 0.05


def test_a_job_that_fails_ends_the_rate() -> None:
    def fail() -> None:
        raise SandboxError("no")

    with pytest.raises(SandboxError):
        measure_rate(fail, clients=2, seconds=0.1)


def test_rates_add_up() -> None:
    both = Rate(clients=2, jobs=10, seconds=1.0) + Rate(clients=2, jobs=30, seconds=3.0)
    assert both == Rate(clients=2, jobs=40, seconds=4.0)
    assert both.per_second == 10.0


# Ours


def test_a_snippet_that_fails_is_no_measurement() -> None:
    class Failing(FakeSandbox):
        def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
            return outcome(status="memory_limit", reason="over 512 MB")

    with pytest.raises(SandboxError, match=r"memory_limit \(over 512 MB\)"):
        run_checked(Failing([]), Job(code="result = 1"))


def test_memory_is_read_from_the_kernel() -> None:
    memory = parked_memory([os.getpid(), 2**22 + 1])
    assert memory is not None
    assert memory.children == 1
    assert memory.private_kb > 1000
    assert memory.page_tables_kb > 0


def test_memory_of_nobody_is_none_and_not_zero() -> None:
    assert parked_memory([]) is None
    assert parked_memory([2**22 + 1]) is None


def test_the_median_child_is_reported(tmp_path: Path) -> None:
    for pid, kb in ((10, 100), (11, 300), (12, 200)):
        (tmp_path / str(pid)).mkdir()
        rollup = (
            f"1-2 ---p 0 00:00 0 [rollup]\nRss: 900 kB\nPss: {kb * 2} kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: {kb} kB\n"
        )
        (tmp_path / str(pid) / "smaps_rollup").write_text(rollup)
        (tmp_path / str(pid) / "status").write_text("Name:\tx\nVmPTE:\t     440 kB\nThreads:\t1\n")
    memory = parked_memory([10, 11, 12], tmp_path)
    assert memory is not None
    assert (memory.children, memory.private_kb, memory.pss_kb, memory.page_tables_kb) == (3, 201, 400, 440)


# The workload


def test_the_workload_outside_takes_about_half_a_second_and_answers() -> None:
    with Outside() as outside:
        job = calibrated_job(outside)
        assert isinstance(job.inputs["passes"], int)
        assert job.inputs["passes"] > 10
        assert outside.run(job).result == outside.run(job).result


def test_an_interpreter_that_dies_is_our_failure(capfd: pytest.CaptureFixture[str]) -> None:
    with Outside() as outside, pytest.raises(SandboxError, match="ended while it was measured"):
        outside.run(Job(code="raise SystemExit(3)"))
    capfd.readouterr()


# The report


def test_targets_are_judged_by_the_medians() -> None:
    ms = {
        "parked_trivial": 1.0, "on_demand_trivial": 20.0, "plain_quant": 250.0, "docker_quant": 399.0,
        "workload_inside": 510.0, "workload_outside": 500.0,
    }  # fmt: skip
    rates = {
        "native_1": Rate(clients=1, jobs=50, seconds=1.0),
        "native_4": Rate(clients=4, jobs=110, seconds=1.0),
        "docker_1": Rate(clients=1, jobs=1, seconds=1.0),
        "docker_2": Rate(clients=2, jobs=2, seconds=1.0),
    }
    targets = {t.name: t for t in judge({name: timing(value) for name, value in ms.items()}, rates)}
    assert {name: t.met for name, t in targets.items()} == {
        "parked_vs_plain": True,
        "parked_vs_docker": False,
        "on_demand_vs_docker": False,
        "jobs_vs_docker": False,
        "workload_inside_vs_outside": True,
    }
    assert targets["jobs_vs_docker"].value == pytest.approx(55.0)
    assert targets["workload_inside_vs_outside"].value == pytest.approx(1.02)


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    targets = {t.name: t for t in report().targets}
    assert targets["parked_vs_plain"].met is True
    assert targets["parked_vs_docker"].value is None
    assert targets["parked_vs_docker"].met is None
    assert not report().all_met


def test_the_json_is_strict_and_complete() -> None:
    told = json.loads(json.dumps(report().to_json(), allow_nan=False))
    assert set(told) == {"measurements", "rates", "memory", "targets", "stages", "machine", "absent", "seconds"}
    assert told["measurements"]["parked_trivial"] == {"median_ms": 0.5, "p99_ms": 1.0, "n": 5}
    assert told["rates"]["native_2"] == {"clients": 2, "jobs": 100, "seconds": 1.0, "per_second": 100.0}
    assert {"name", "value", "target", "met"} <= told["targets"][0].keys()
    assert told["machine"]["isolation"] == {"a": "b"}


def test_the_rows_say_why_a_peer_is_missing() -> None:
    rows = report().rows()
    assert {len(row) for row in rows} == {4}
    text = "\n".join(" ".join(row) for row in rows)
    assert "at least 250 ×: met" in text
    assert "no engine: start one" in text
    assert "run 0.25 ms" in text


# The whole


def test_nothing_is_measured_in_no_rounds() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        bench_sandbox(rounds=0, quick=False, on_progress=lambda step: None)


@pytest.fixture
def fake_sides(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fakes in place of the sandboxes, programs that import nothing, and short rates."""
    log: list[str] = []

    def open_fake(spec: str) -> ParkingSandbox:
        return FakeSandbox(log, spec)

    monkeypatch.setattr(bench, "open_parking", open_fake)
    monkeypatch.setattr(bench, "_CODES", {"pandas": "pass", "quant": "result = 1"})
    monkeypatch.setattr(bench, "RATE_CODE", "result = 1")
    short = rounds.Plan(rounds=2, repeats=3, native_rate_seconds=0.01, docker_rate_seconds=0.01, rate_rounds=1)
    monkeypatch.setattr(rounds.Plan, "quick", lambda rounds: short)
    return log


def test_without_docker_the_rest_is_measured(fake_sides: list[str], no_engine: None) -> None:
    steps: list[str] = []
    found = bench_sandbox(rounds=2, quick=True, on_progress=steps.append)
    assert {name: t.n for name, t in found.measurements.items()} == {
        "parked_trivial": 6, "parked_pandas": 6, "on_demand_trivial": 6, "plain_pandas": 2, "plain_quant": 2,
        "workload_inside": 2, "workload_outside": 2,
    }  # fmt: skip
    assert set(found.rates) == {"native_1", "native_2", "native_4"}
    assert set(found.absent) == {"docker_pandas", "docker_quant"}
    assert found.machine.docker is None
    assert found.memory is not None
    assert "round 1 of 2" in steps
    assert fake_sides[-2:] == ["close", "close"]
    # One look at each for its imports and one run to be warm; then a round takes its three kinds in turn, each parked
    # one with the pool full again.
    parked, on_demand = "run native:profile=quant", "run native:profile=quant,park=0"
    warm = fake_sides.index(parked, fake_sides.index(on_demand))
    assert fake_sides[warm : warm + 2] == [parked, on_demand]
    assert fake_sides[warm + 2 : warm + 12] == ["wait 2", parked, "wait 2", parked, on_demand] * 2


def test_with_docker_everything_is_measured(fake_sides: list[str], docker_log: Path) -> None:
    found = bench_sandbox(rounds=2, quick=True, on_progress=lambda step: None)
    assert found.absent == {}
    assert set(found.measurements) == set(bench.report.MEASUREMENTS)
    assert set(found.rates) == {"native_1", "docker_1", "native_2", "docker_2", "native_4"}
    assert all(t.value is not None for t in found.targets)
    assert found.machine.docker == "99.1"
    assert docker_log.read_text().splitlines()[-1].startswith("image rm")
