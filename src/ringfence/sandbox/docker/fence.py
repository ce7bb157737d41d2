"""The docker sandbox: a Job in, an Outcome out, through a container that serves this one job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ringfence.sandbox import OnOutput
from ringfence.sandbox.answer import answer, never_ran
from ringfence.sandbox.devices import Devices
from ringfence.sandbox.docker import frames
from ringfence.sandbox.docker.box import Box, Shape
from ringfence.sandbox.docker.isolation import Means
from ringfence.sandbox.docker.pool import Pool
from ringfence.sandbox.docker.session import DockerSession
from ringfence.sandbox.docker.watch import Watch
from ringfence.sandbox.job import Cancel, Device, Job, Limits, Mount, is_cancelled
from ringfence.sandbox.order import job_order
from ringfence.sandbox.outcome import DeviceReport, Outcome
from ringfence.sandbox.placing import Leavings, leavings_in
from ringfence.sandbox.verdict import judge

_MS = 1000.0


class DockerSandbox:
    """A pool of containers. Safe from many threads; close it, or use it in a `with`."""

    def __init__(
        self,
        pool: Pool,
        means: Means,
        *,
        maximum: Limits | None,
        max_running: int,
        accelerated: Mapping[Device, str | None],
        close: Callable[[], None],
    ) -> None:
        """`accelerated` has the devices for which there are containers of their own, or why there are none."""
        self._pool, self.means, self._maximum, self._close = pool, means, maximum, close
        self._accelerated = {device for device, why_not in accelerated.items() if why_not is None}
        self._running = threading.BoundedSemaphore(max_running)
        self._devices = {
            device: Devices(self._probe(device), "docker", maximum=maximum, why=why_not)
            for device, why_not in accelerated.items()
        }

    def _probe(self, device: Device) -> Callable[[Job], Outcome]:
        def run(job: Job) -> Outcome:
            with leavings_in(None) as left:
                return self._run_on(device, job, left, DeviceReport())

        return run

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        self.check(job.limits)
        mounts = [m for m in job.mounts if isinstance(m, Mount)]
        for mount in mounts:
            mount.check_host()
        with leavings_in(job.artifacts_dir, mounts) as left:
            devices = self._devices.get(job.device)
            report = devices.report(job.device) if devices is not None else DeviceReport(requested=job.device)
            return self._run_on(job.device, job, left, report, on_output, cancel)

    def _run_on(
        self,
        device: Device,
        job: Job,
        left: Leavings,
        report: DeviceReport,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        kind = device if device in self._accelerated else "cpu"
        with self._running:
            if is_cancelled(cancel):  # while it waited for its turn
                isolation = self.means.describe()
                return never_ran(
                    run_id=left.run_id, limits=job.limits, backend="docker", isolation=isolation, device=report
                )
            started = time.monotonic()
            box, parked = self._pool.take(Shape.of(job, kind), job.limits)
            stages = {"parked" if parked else "made": _since(started)}
            try:
                with box.in_use():
                    return self._run_in(box, job, left, report, on_output, cancel, stages)
            finally:
                self._pool.discard(box)

    def _run_in(
        self,
        box: Box,
        job: Job,
        left: Leavings,
        report: DeviceReport,
        on_output: OnOutput | None,
        cancel: Cancel | None,
        stages: dict[str, float],
    ) -> Outcome:
        started = time.monotonic()
        box.apply(job.limits)
        box.put_files(job)
        box.begin(frames.ORDER, job.limits, job_order(job, counted=True), job.result_mb)
        stages["send"] = _since(started)
        started = time.monotonic()
        watch = Watch(box, job.limits, on_output=on_output, cancel=cancel, result_mb=job.result_mb)
        evidence = watch.until_ended()
        ended = time.monotonic()
        reported = evidence.reported_at or ended
        stages["run"], stages["confirm_empty"] = (reported - started) * _MS, (ended - reported) * _MS
        verdict = judge(evidence, watch.counters, job.limits, command=job.code is None)
        if job.driver == "script" and verdict.status == "exit":
            verdict = replace(verdict, result=None)  # only a driver speaks after its program has left
        collected = box.collect(left.keep)
        stages["collect"] = _since(ended)
        return answer(
            run_id=left.run_id,
            stdout=watch.stdout, stderr=watch.stderr, evidence=evidence, counters=watch.counters, verdict=verdict,
            collected=collected, limits=job.limits, backend="docker", isolation=self._isolation(box),
            device=report, stages=stages,
        )  # fmt: skip

    def _isolation(self, box: Box) -> Mapping[str, str]:
        return replace(self.means, cgroup_version=box.cgroup_version, landlock_abi=box.landlock_abi).describe()

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> DockerSession:
        limits = limits or Limits()
        self.check(limits)
        box, _ = self._pool.take(Shape(limits.disk_mb), limits)
        try:
            return DockerSession(
                box, limits, check=self.check, isolation=self._isolation(box), discard=self._pool.discard,
                idle_seconds=idle_seconds, seed=seed,
            )  # fmt: skip
        except BaseException:
            self._pool.discard(box)
            raise

    def check(self, limits: Limits) -> None:
        """Refuse what is over the configured maximum."""
        if self._maximum is not None:
            limits.check_within(self._maximum)

    def wait_parked(self, count: int, timeout_seconds: float) -> bool:
        """Wait until `count` containers are parked; False if they are not in time."""
        return self._pool.wait_parked(count, timeout_seconds)

    def close(self) -> None:
        try:
            self._pool.close(self._close)
        except KeyboardInterrupt:
            self._pool.close(self._close)  # once more, or containers stay; who is in a hurry interrupts this too
            raise

    def __enter__(self) -> DockerSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _since(start: float) -> float:
    return round((time.monotonic() - start) * _MS, 3)
