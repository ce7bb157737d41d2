"""The machine that was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from ringfence.verbs.bench.report import Machine


def describe_machine(load: float, docker: str | None, isolation: dict[str, str]) -> Machine:
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        cpu=_cpu_model(Path("/proc/cpuinfo")),
        kernel=platform.release(),
        python=platform.python_version(),
        load_before=load,
        docker=docker,
        isolation=isolation,
    )


def _cpu_model(cpuinfo: Path) -> str:
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
