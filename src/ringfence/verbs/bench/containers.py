"""How fast the docker backend is, against `docker run` of the very same image with the very same imports."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox import open_sandbox
from ringfence.sandbox.docker.image import IMAGE, PYTHON
from ringfence.sandbox.docker.owner import LABEL
from ringfence.verbs.bench.machine import describe_machine
from ringfence.verbs.bench.native import PANDAS, TRIVIAL, check_imported, run_checked
from ringfence.verbs.bench.peers import IMPORT_QUANT
from ringfence.verbs.bench.report import BenchReport, Target, ratio_target
from ringfence.verbs.bench.rounds import Findings

_QUICK_ROUNDS = 2
_PARK_SECONDS = 120.0
_RUN_SECONDS = 300.0
_RUN = ("docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--memory", "1g")


def bench_containers(*, rounds: int, quick: bool, on_progress: Callable[[str], None]) -> BenchReport:
    """Measure a parked container, one made on demand and `docker run`, in turn, round by round."""
    if rounds < 1:
        raise SettingsError(f"{rounds} rounds measure nothing: give at least 1")
    begun, load = time.monotonic(), os.getloadavg()[0]
    findings = Findings()
    before = _containers()
    with open_sandbox("docker:profile=quant,park=1") as parked, open_sandbox("docker:profile=quant,park=0") as made:
        check_imported(parked)
        for number in range(min(rounds, _QUICK_ROUNDS) if quick else rounds):
            on_progress(f"round {number + 1} of {rounds}")
            for name, job in (("warm_trivial", TRIVIAL), ("warm_pandas", PANDAS)):
                if not parked.wait_parked(1, _PARK_SECONDS):  # type: ignore[attr-defined]
                    raise SandboxError("no container was parked in time: run `ringfence doctor`")
                findings.timed_run(name, parked, job)
            findings.timed_run("made_trivial", made, TRIVIAL)
            findings.samples.time("docker_guest_quant", _docker_run)
        isolation = run_checked(parked, TRIVIAL).isolation
    left = len(_containers() - before)
    measurements = findings.samples.summaries()
    return BenchReport(
        measurements=measurements,
        rates={},
        memory=None,
        targets=(
            ratio_target(
                measurements, "warm_vs_docker_run", "parked container against docker run of the same image and imports",
                "docker_guest_quant", "warm_trivial", 20,
            ),
            Target(
                name="leftovers", meaning="containers left behind", value=left, bound="at most", target=0, met=not left
            ),
        ),
        stages=findings.stages.medians(),
        machine=describe_machine(load, isolation.get("container"), dict(isolation)),
        absent={},
        seconds=time.monotonic() - begun,
    )  # fmt: skip


def _docker_run() -> None:
    code = ["--entrypoint", PYTHON, IMAGE, "-c", IMPORT_QUANT]
    done = subprocess.run([*_RUN, "--tmpfs", "/tmp", *code], capture_output=True, check=False, timeout=_RUN_SECONDS)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SandboxError(f"docker run failed while it was measured ({said[-1] if said else 'it said nothing'})")


def _containers() -> set[str]:
    done = subprocess.run(
        ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"],
        capture_output=True, text=True, check=False, timeout=_RUN_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise SandboxError(f"the docker client failed ({done.stderr.strip()[-200:]}): install it, or set DOCKER_HOST")
    return set(done.stdout.split())
