"""Our side of the comparison: the native sandbox, run as a caller runs it."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from ringfence.base.errors import SandboxError
from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.job import Job
from ringfence.sandbox.outcome import Outcome

PARKED = "native:profile=quant"
ON_DEMAND = "native:profile=quant,park=0"

# Generous: a refill takes milliseconds, and one that takes longer than this will not come.
_PARK_SECONDS = 30.0
_REFILL_SECONDS = 0.5

TRIVIAL = Job(code="result = 1")
PANDAS = Job(
    code="""\
import pandas as pd

prices = pd.Series(range(500), dtype="float64")
bands = pd.DataFrame({"mean": prices.rolling(20).mean(), "std": prices.rolling(20).std()}).dropna()
result = float((bands["mean"] + 2 * bands["std"]).iloc[-1])
"""
)


@runtime_checkable
class ParkingSandbox(Sandbox, Protocol):
    """A Sandbox that keeps children parked and can be asked about them."""

    def wait_parked(self, count: int, timeout_seconds: float) -> bool: ...

    def parked_pids(self) -> list[int]: ...

    def __enter__(self) -> ParkingSandbox: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedMemory:
    """Kilobytes per idle parked child, medians over the children that were there."""

    children: int
    private_kb: float  # what ends with the child: its own pages
    pss_kb: float  # the same plus its share of the pages it has in common with its zygote
    page_tables_kb: float


def open_parking(spec: str) -> ParkingSandbox:
    sandbox = open_sandbox(spec)
    if isinstance(sandbox, ParkingSandbox):
        return sandbox
    sandbox.close()
    raise SandboxError(f"{spec!r} cannot say what it has parked: measure a native sandbox")


def run_checked(sandbox: Sandbox, job: Job) -> Outcome:
    """Run one of our own snippets; a time is worth nothing if the program did not do its work."""
    outcome = sandbox.run(job)
    if outcome.status != "ok" or outcome.result is None:
        why = outcome.error.message if outcome.error else outcome.reason
        raise SandboxError(f"a snippet of the benchmark ended with {outcome.status} ({why}): run `ringfence doctor`")
    return outcome


def check_imported(sandbox: Sandbox) -> None:
    """The comparison is with interpreters that import these: the children must hold them already."""
    names = ("numpy", "pandas", "talib", "backtesting")
    outcome = run_checked(sandbox, Job(code=f"import sys\nresult = [n for n in {names} if n not in sys.modules]"))
    if isinstance(outcome.result, list) and outcome.result:
        raise SandboxError(f"{outcome.result} are not imported in the children: install the guest libraries first")


def wait_parked(sandbox: ParkingSandbox, count: int = 1) -> None:
    if not sandbox.wait_parked(count, _PARK_SECONDS):
        raise SandboxError(f"the pool was not filled within {_PARK_SECONDS:.0f} s: run `ringfence doctor`")


def full_pool(sandbox: ParkingSandbox) -> int:
    """How many children are parked when no more come: a refill under way would run beside what is measured."""
    count = 1
    wait_parked(sandbox, count)
    while sandbox.wait_parked(count + 1, _REFILL_SECONDS):
        count += 1
    return count


def parked_memory(pids: Sequence[int], proc: Path = Path("/proc")) -> ParkedMemory | None:
    """Memory of the parked children, or None when none of them can be looked at."""
    seen = [facts for pid in pids if (facts := _memory_of(proc / str(pid)))]
    if not seen:
        return None
    return ParkedMemory(
        children=len(seen),
        private_kb=statistics.median(f["Private_Clean"] + f["Private_Dirty"] for f in seen),
        pss_kb=statistics.median(f["Pss"] for f in seen),
        page_tables_kb=statistics.median(f["VmPTE"] for f in seen),
    )


def _memory_of(place: Path) -> Mapping[str, int] | None:
    try:
        text = (place / "smaps_rollup").read_text() + (place / "status").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        # It was taken for a run meanwhile, or belongs to another uid and we are not root.
        return None
    facts = {name: int(kb) for name, kb in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    return facts if {"Private_Clean", "Private_Dirty", "Pss", "VmPTE"} <= facts.keys() else None
