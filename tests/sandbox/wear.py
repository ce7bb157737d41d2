"""A supervisor that is worn for a while and says after each stretch what it holds. Run by test_soak.py.

python -m tests.sandbox.wear mixed|crashes STRETCHES RUNS: one JSON object per stretch, then the problems.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict

from bench import soak
from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import Job, Limits
from ringfence.sandbox.native import create
from ringfence.sandbox.native.fence import NativeSandbox

from tests.conftest import ROOT
from tests.sandbox.busy import children, probe

CLIENTS = 3


def session(sandbox: NativeSandbox) -> str | None:
    with sandbox.open_session() as opened:
        opened.run("x = 20")
        kept = opened.run("while True: x += 1", limits=Limits(wall_seconds=0.05))
        after = opened.run("x > 20")
    return None if (kept.status, after.result) == ("timeout", True) else f"session: {kept.status}, {after.reason}"


def mount(sandbox: NativeSandbox) -> str | None:
    code = "import os\nresult = 'wear.py' in os.listdir('/data')"
    outcome = sandbox.run(Job(code=code, mounts=[f"{ROOT / 'tests' / 'sandbox'}:/data:ro"]))
    return None if outcome.result is True else f"mount: {outcome.status} ({outcome.reason})"


def files(sandbox: NativeSandbox) -> str | None:
    outcome = sandbox.run(Job(code="result = open('a/b').read()", files={"a/b": b"c"}, limits=Limits(disk_mb=9)))
    return None if outcome.result == "c" else f"files: {outcome.status} ({outcome.reason})"


OTHERS: tuple[Callable[[NativeSandbox], str | None], ...] = (session, mount, files)


def mixed(sandbox: NativeSandbox, runs: int, dice: random.Random) -> list[str]:
    kinds = dice.choices(soak.KINDS, [kind.weight for kind in soak.KINDS], k=runs - runs // 8)
    orders: list[Callable[[], str | None]] = [lambda kind=kind: soak.run_one(sandbox, kind) for kind in kinds]  # type: ignore[misc]
    orders += [lambda act=act: act(sandbox) for act in dice.choices(OTHERS, k=runs // 8)]  # type: ignore[misc]
    dice.shuffle(orders)
    with ThreadPoolExecutor(CLIENTS) as pool:
        return [problem for problem in pool.map(lambda order: order(), orders) if problem]


def crashes(sandbox: NativeSandbox, runs: int, dice: random.Random) -> list[str]:
    """Kill the zygote, the warden or a parked child between and during runs."""
    for _ in range(runs):
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(
                sandbox.run, Job(code="import time\ntime.sleep(0.05)", mounts=[f"{ROOT}/tests:/data"])
            )
            time.sleep(dice.uniform(0, 0.05))
            zygotes = children(sandbox.warden_pid)[:1]
            for pid in dice.choice([zygotes, [sandbox.warden_pid], sandbox.parked_pids()[:1]]):
                with suppress(ProcessLookupError):  # the child that was parked has had its job already
                    os.kill(pid, signal.SIGKILL)
            failed = running.exception()
        if failed is not None and not isinstance(failed, SandboxError):
            return [f"{type(failed).__name__}: {failed}"]
        if probe(sandbox) > 1:
            return ["more than one run failed after a crash"]
    for _ in range(soak.PARK):  # a child that died while it was parked is found when its turn comes
        probe(sandbox)
    return []


def main() -> None:
    how, stretches, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dice, begun = random.Random(7), time.monotonic()
    problems: list[str] = []
    with create({"profile": "quant" if how == "mixed" else "plain", "park": str(soak.PARK)}) as sandbox:
        for stretch in range(stretches):
            problems += (mixed if how == "mixed" else crashes)(sandbox, runs, dice)
            sample = asdict(soak.take_sample(sandbox, (stretch + 1) * runs, begun))
            (warden,) = [pid for pid in children(os.getpid()) if pid == sandbox.warden_pid]
            sample["warden_kb"], sample["warden_fds"] = soak.resident_kb(warden), len(os.listdir(f"/proc/{warden}/fd"))
            sys.stdout.write(json.dumps(sample) + "\n")
    sys.stdout.write(json.dumps(problems) + "\n")


if __name__ == "__main__":
    main()
