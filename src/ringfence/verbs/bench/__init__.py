"""How fast the fence is here, against a plain interpreter and `docker run`, from one run on one machine.

Everything is measured in turn, round by round, so that a busy minute of the machine falls on all sides alike.
A peer that is not here is left out and the report says why; no number is ever estimated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ringfence.base.errors import SettingsError
from ringfence.verbs.bench.machine import describe_machine
from ringfence.verbs.bench.native import (
    ON_DEMAND,
    PARKED,
    TRIVIAL,
    check_imported,
    full_pool,
    open_parking,
    parked_memory,
    run_checked,
    wait_parked,
)
from ringfence.verbs.bench.peers import IMPORT_PANDAS, IMPORT_QUANT, Docker, PeerMissing, Plain
from ringfence.verbs.bench.report import BenchReport, judge
from ringfence.verbs.bench.rounds import RATE_CODE, Findings, Plan, Sides, all_rounds
from ringfence.verbs.bench.workload import Outside, calibrated_job

__all__ = ["BenchReport", "bench_sandbox"]

_CODES = {"pandas": IMPORT_PANDAS, "quant": IMPORT_QUANT}


def bench_sandbox(*, rounds: int, quick: bool, on_progress: Callable[[str], None]) -> BenchReport:
    """Measure the native sandbox, a plain interpreter and, where an engine answers, `docker run`.

    A round measures each peer and the workload once, ours five times, and takes about five seconds with docker and
    three without. `quick` stops beginning rounds after some seconds: a first look, not a claim.
    """
    if rounds < 1:
        raise SettingsError(f"{rounds} rounds measure nothing: give at least 1")
    plan = Plan.quick(rounds) if quick else Plan(rounds=rounds)
    begun, load = time.monotonic(), os.getloadavg()[0]
    findings, absent = Findings(), dict[str, str]()
    with ExitStack() as stack:
        # Where the resolved name differs from the given one, docker would have to mount both.
        bytecode = Path(stack.enter_context(TemporaryDirectory(prefix="ringfence-bench-"))).resolve()
        peers, docker = _find_peers(stack, bytecode, absent, on_progress)
        on_progress("starting the sandboxes")
        outside = stack.enter_context(Outside())  # first: it imports while the sandboxes do
        parked = stack.enter_context(open_parking(PARKED))
        on_demand = stack.enter_context(open_parking(ON_DEMAND))
        for sandbox in (parked, on_demand):
            check_imported(sandbox)
        sides = Sides(
            parked=parked,
            pool=full_pool(parked),
            on_demand=on_demand,
            outside=outside,
            workload=calibrated_job(outside),
            peers=peers,
            docker_rate=partial(docker.run, RATE_CODE) if docker and "docker_quant" in peers else None,
        )
        isolation = run_checked(parked, TRIVIAL).isolation
        run_checked(on_demand, TRIVIAL)
        all_rounds(sides, plan, findings, on_progress)
        wait_parked(parked, sides.pool)
        memory = parked_memory(parked.parked_pids())
    if memory is None:
        absent["memory"] = "the parked children's memory cannot be read: measure as root"
    measurements = findings.samples.summaries()
    return BenchReport(
        measurements=measurements,
        rates=findings.rates,
        memory=memory,
        targets=judge(measurements, findings.rates),
        stages=findings.stages.medians(),
        machine=describe_machine(load, docker.version if docker else None, dict(isolation)),
        absent=absent,
        seconds=time.monotonic() - begun,
    )


def _find_peers(
    stack: ExitStack, bytecode: Path, absent: dict[str, str], on_progress: Callable[[str], None]
) -> tuple[dict[str, Callable[[], None]], Docker | None]:
    """The peers that can be measured here, each tried once; the others go into `absent` with the reason."""
    peers: dict[str, Callable[[], None]] = {}
    plain, docker = Plain(bytecode), None
    for name, code in _CODES.items():
        on_progress(f"plain python: {code}")
        try:
            plain.prepare(code)
        except PeerMissing as e:
            absent[f"plain_{name}"] = absent[f"docker_{name}"] = str(e)
        else:
            peers[f"plain_{name}"] = partial(plain.run, code)
    usable = {name: code for name, code in _CODES.items() if f"plain_{name}" in peers}
    try:
        docker = stack.enter_context(Docker(bytecode))
        for code in list(usable.values())[-1:]:  # the last needs the most
            on_progress(f"docker run: {code}")
            docker.prepare(code)
    except PeerMissing as e:
        absent |= {f"docker_{name}": str(e) for name in usable}
    else:
        peers |= {f"docker_{name}": partial(docker.run, code) for name, code in usable.items()}
    return peers, docker
