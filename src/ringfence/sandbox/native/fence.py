"""The native sandbox: a Job in, an Outcome out, through a parked child."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from ringfence.base.errors import RefusedError
from ringfence.sandbox import OnOutput, artifacts
from ringfence.sandbox.answer import answer, never_ran
from ringfence.sandbox.devices import Devices
from ringfence.sandbox.job import Cancel, Job, Limits, Mount, is_cancelled
from ringfence.sandbox.native import dispatch
from ringfence.sandbox.native.child import Child, NeverStarted, Shape
from ringfence.sandbox.native.isolation import Means
from ringfence.sandbox.native.pools import Pools
from ringfence.sandbox.native.session import NativeSession
from ringfence.sandbox.native.watch import Watch
from ringfence.sandbox.order import job_order
from ringfence.sandbox.outcome import DeviceReport, Outcome
from ringfence.sandbox.placing import Leavings, leavings_in
from ringfence.sandbox.verdict import judge

_MS = 1000.0
_TRIES = 3  # children for one job, where one dies before it has read its order


class NativeSandbox:
    """One zygote with its pool. Safe from many threads; close it, or use it in a `with`."""

    def __init__(
        self, pools: Pools, means: Means, *, maximum: Limits | None, max_running: int, allow_weaker: bool
    ) -> None:
        self._pools, self.means, self._maximum = pools, means, maximum
        self._allow_weaker = allow_weaker
        self._running = threading.BoundedSemaphore(max_running)
        self._devices = Devices(self.run, "native", maximum=maximum, why="its /dev has none of the host's devices")

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        self.check(job.limits)
        mounts = tuple(m for m in job.mounts if isinstance(m, Mount))
        for mount in mounts:
            mount.check_host()
        with leavings_in(job.artifacts_dir, mounts) as left:
            return self._run_once(Shape(job.limits.disk_mb, mounts), job, left, on_output, cancel)

    def _run_once(
        self, shape: Shape, job: Job, left: Leavings, on_output: OnOutput | None, cancel: Cancel | None
    ) -> Outcome:
        device = self._devices.report(job.device)  # before this job takes the place that the probe may need
        with self._running:
            if is_cancelled(cancel):  # while it waited for its turn
                isolation = self.means.describe()
                return never_ran(
                    run_id=left.run_id, limits=job.limits, backend="native", isolation=isolation, device=device
                )
            for _ in range(_TRIES):
                try:
                    return self._run_in_one(shape, job, left, device, on_output, cancel)
                except NeverStarted:
                    continue  # a parked child that something killed, such as a host out of memory
            return self._run_in_one(shape, job, left, device, on_output, cancel)

    def _run_in_one(
        self,
        shape: Shape,
        job: Job,
        left: Leavings,
        device: DeviceReport,
        on_output: OnOutput | None,
        cancel: Cancel | None,
    ) -> Outcome:
        started = time.monotonic()
        child, parked = self._pools.pool_for(job.code).take(shape)
        try:
            stages = {"parked" if parked else "forked": _since(started)}
            return self._run_in(child, job, left, device, on_output, cancel, stages)
        finally:
            child.discard()

    def _run_in(
        self,
        child: Child,
        job: Job,
        left: Leavings,
        device: DeviceReport,
        on_output: OnOutput | None,
        cancel: Cancel | None,
        stages: dict[str, float],
    ) -> Outcome:
        started = time.monotonic()
        dispatch.put_files(child, job.files)
        baseline = artifacts.stamps(child.work) if job.files else {}
        dispatch.send_order(child, job.limits, job_order(job, counted=child.group is not None))
        stages["send"] = _since(started)
        started = time.monotonic()
        watch = Watch(child, job.limits, on_output=on_output, cancel=cancel, result_mb=job.result_mb)
        evidence = watch.until_exit()
        ended = time.monotonic()
        reported = evidence.reported_at or ended
        stages["run"], stages["confirm_empty"] = (reported - started) * _MS, (ended - reported) * _MS
        counters = child.counters()
        verdict = judge(evidence, counters, job.limits, command=job.code is None)
        if job.driver == "script" and verdict.status == "exit":
            verdict = replace(verdict, result=None)  # only a driver speaks after its program has left
        collected = artifacts.collect(child.work, keep=left.keep, baseline=baseline)
        stages["collect"] = _since(ended)
        return answer(
            run_id=left.run_id,
            stdout=watch.stdout, stderr=watch.stderr, evidence=evidence, counters=counters, verdict=verdict,
            collected=collected, limits=job.limits, backend="native", isolation=self.means.describe(),
            device=device, stages=stages,
        )  # fmt: skip

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> NativeSession:
        limits = limits or Limits()
        self.check(limits)
        child, _ = self._pools.lean.take(Shape(limits.disk_mb))
        try:
            return NativeSession(
                child, limits, check=self.check, means=self.means, idle_seconds=idle_seconds, seed=seed
            )
        except BaseException:
            child.discard()
            raise

    def check(self, limits: Limits) -> None:
        """Refuse what is over the configured maximum, and what cannot be enforced here."""
        if self._maximum is not None:
            limits.check_within(self._maximum)
        weak = self.means.weaknesses(limits)
        if weak and not self._allow_weaker:
            raise RefusedError(f"this machine cannot enforce {'; '.join(weak)}: change it, or pass --allow-weaker")

    def warm_up(self) -> None:
        """Have everything of the profile imported before the first job asks for it."""
        self._pools.warm_up()

    def wait_parked(self, count: int, timeout_seconds: float) -> bool:
        """Wait until `count` children are parked; False if they are not in time."""
        return self._pools.lean.wait_parked(count, timeout_seconds)

    def parked_pids(self) -> list[int]:
        return self._pools.lean.parked_pids()

    @property
    def warden_pid(self) -> int:
        return self._pools.lean.warden_pid

    def close(self) -> None:
        self._pools.close()

    def __enter__(self) -> NativeSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _since(start: float) -> float:
    return round((time.monotonic() - start) * _MS, 3)
