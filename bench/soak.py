"""The README's claim that nothing is left behind: 10,000 mixed runs, and counts and memory stay flat.

    .venv/bin/python bench/soak.py [--runs N] [--every N] [--clients N] [--spec native:...]

Programs that end well, fail, loop, eat memory, flood their output, leave files, fork and are cancelled run in a
shuffled order from several threads. Every so often the runs pause, and what the machine holds for us is counted.
The first count is the measure for all later ones. Exit code 1 when something grew, or when a run ended otherwise
than it must.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

from ringfence.sandbox.job import Cancel, Job, Limits
from ringfence.sandbox.outcome import Status
from ringfence.verbs.bench.native import ParkingSandbox, open_parking

PARK = 2
# What memory may vary by between two counts that should be equal: allocators keep free pages for a while.
SLACK_KB = 8 * 1024


@dataclass(frozen=True, slots=True)
class Kind:
    """A program, how often it comes, and how it must end."""

    name: str
    weight: int
    job: Job
    ends: tuple[Status, ...]
    cancel_after: float | None = None


def kind(name: str, weight: int, code: str, *ends: Status, cancel_after: float | None = None, **limits: float) -> Kind:
    given = {"wall_seconds": 20.0, **limits}
    return Kind(name, weight, Job(code=code, limits=Limits(**given)), ends, cancel_after)  # type: ignore[arg-type]


KINDS = (
    kind("ok", 30, "result = 1", "ok"),
    kind("pandas", 15, "import pandas as pd\nresult = float(pd.Series(range(99)).rolling(9).mean().iloc[-1])", "ok"),
    kind("error", 10, "print('so far')\nraise ValueError('as it must')", "error"),
    kind("exit", 5, "import sys\nsys.exit(3)", "exit"),
    kind("signal", 5, "import os\nos.abort()", "signal"),
    kind("timeout", 4, "while True: pass", "timeout", wall_seconds=0.1),
    kind("cpu", 2, "while True: pass", "cpu_limit", cpu_seconds=0.1),
    # Without control groups the limit is met by a refused allocation, which Python raises as MemoryError.
    kind("memory", 4, "held = b'x' * (400 << 20)", "memory_limit", "error", memory_mb=96),
    kind("output", 4, "while True: print('x' * 4096)", "output_limit", output_bytes=4096),
    kind("output kept", 3, "print('x' * 200_000)", "ok", output_bytes=4096),
    kind(
        "artifacts",
        6,
        "import os\n"
        "for i in range(5): open(f'file-{i}.csv', 'w').write('a,b\\n' * 100)\n"
        "os.symlink('/etc/passwd', 'link')\nos.mkfifo('pipe')",
        "ok",
    ),
    kind("disk", 2, "open('big', 'wb').write(b'x' * (8 << 20))", "disk_limit", disk_mb=2),
    kind(
        "processes",
        4,
        "import multiprocessing as mp\n"
        "def f(x): return x * x\n"
        "if __name__ == '__main__':\n"
        "    with mp.Pool(2) as pool: result = sum(pool.map(f, range(20)))",
        "ok",
    ),
    kind("orphans", 3, "import os, time\nfor _ in range(4):\n    if os.fork() == 0: time.sleep(60)\nresult = 1", "ok"),
    kind("cancelled", 3, "import time\ntime.sleep(60)", "cancelled", cancel_after=0.05),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What we hold while nothing runs."""

    runs: int
    seconds: float
    supervisor_kb: int
    zygote_kb: int
    descriptors: int
    threads: int
    processes: int
    groups: int
    mounts: int  # those of the host and those of the zygote
    kept: int  # for later jobs, as many as there were jobs at once: empty memory groups, and network namespaces


EXACT = ("descriptors", "threads", "processes", "groups", "mounts")
MEMORY = ("supervisor_kb", "zygote_kb")


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            yield child
            yield from descendants(child)


def zygote_of(pids: Sequence[int]) -> int:
    named = [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == "rf-zygote"]
    # Its children are born with its name: the zygote itself is the oldest.
    return min(named, key=lambda pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]))


def block_of(parked: int) -> str | None:
    """The name of our groups, which other sandboxes on the machine do not share; None without control groups."""
    parts = (part for line in Path(f"/proc/{parked}/cgroup").read_text().splitlines() for part in line.split("/"))
    return next((part for part in parts if part.startswith("ringfence-")), None)


def take_sample(sandbox: ParkingSandbox, runs: int, begun: float) -> Sample:
    if not sandbox.wait_parked(PARK, 30.0):
        raise SystemExit(f"after {runs} runs {PARK} children were not parked again within 30 s")
    time.sleep(0.3)  # what ends by itself after a run, such as a thread of ours, has ended then
    gc.collect()
    family = list(descendants(os.getpid()))
    zygote, block = zygote_of(family), block_of(sandbox.parked_pids()[-1])  # the newest, which nobody has killed yet
    groups = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if block in folder.split("/")]
    idle = [folder for folder in groups if "/memory-of-" in folder and not Path(folder, "cgroup.procs").read_text()]
    networks = [fd for fd in Path(f"/proc/{zygote}/fd").iterdir() if os.readlink(fd).startswith("net:")]
    return Sample(
        runs=runs,
        seconds=round(time.monotonic() - begun, 1),
        supervisor_kb=resident_kb(os.getpid()),
        zygote_kb=resident_kb(zygote),
        descriptors=len(os.listdir("/proc/self/fd")) + len(os.listdir(f"/proc/{zygote}/fd")) - len(networks),
        threads=threading.active_count(),
        processes=len(family),
        groups=len(groups) - len(idle),
        mounts=sum(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()) for pid in ("self", zygote)),
        kept=len(idle) + len(networks),
    )


def run_one(sandbox: ParkingSandbox, kind: Kind) -> str | None:
    """Run one program; what is wrong with how it ended, or None."""
    cancel, timer = None, None
    if kind.cancel_after is not None:
        cancel = Cancel()
        timer = threading.Timer(kind.cancel_after, cancel.set)
        timer.start()
    try:
        outcome = sandbox.run(kind.job, cancel=cancel)
    finally:
        if timer and cancel:
            timer.cancel()
            timer.join()
            cancel.close()
    if outcome.status in kind.ends:
        return None
    return f"{kind.name} ended with {outcome.status} ({outcome.reason}) and not {' or '.join(kind.ends)}"


def most_kept(clients: int) -> int:
    """One group and one namespace for each job that can be there at once: parked, run, or just ended."""
    return 2 * (PARK + 2 * clients)


def growth(first: Sample, later: Sample) -> list[str]:
    pairs = [(name, getattr(first, name), getattr(later, name)) for name in (*EXACT, *MEMORY)]
    return [
        f"{name} went from {was} to {now} after {later.runs} runs"
        for name, was, now in pairs
        if (now > was if name in EXACT else now > was + SLACK_KB)
    ]


def show(sample: Sample, *, head: bool = False) -> None:
    names = [f.name for f in fields(sample)]
    if head:
        print("  ".join(f"{name:>13}" for name in names))
    print("  ".join(f"{getattr(sample, name):>13}" for name in names), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--every", type=int, default=500, help="runs between two counts (default 500)")
    parser.add_argument("--clients", type=int, default=3, help="threads that run programs (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the programs (default 1)")
    parser.add_argument("--spec", default=f"native:profile=quant,park={PARK}", help="the sandbox to wear out")
    options = parser.parse_args(argv)
    order = random.Random(options.seed)
    problems: list[str] = []
    ended: Counter[str] = Counter()
    samples: list[Sample] = []
    begun = time.monotonic()
    with open_parking(options.spec) as sandbox, ThreadPoolExecutor(options.clients) as pool:
        done = 0
        while done < options.runs:
            batch = order.choices(KINDS, [k.weight for k in KINDS], k=min(options.every, options.runs - done))
            for problem in pool.map(lambda k: run_one(sandbox, k), batch):
                problems += [problem] if problem else []
            done += len(batch)
            ended.update(k.name for k in batch)
            samples.append(take_sample(sandbox, done, begun))
            show(samples[-1], head=len(samples) == 1)
    for later in samples[1:]:
        problems += growth(samples[0], later)
        if later.kept > most_kept(options.clients):
            problems.append(f"{later.kept} groups and namespaces are kept after {later.runs} runs")
    print(", ".join(f"{count} {name}" for name, count in ended.most_common()))
    for problem in problems[:50]:
        print(f"FAIL  {problem}")
    print(f"{'FAIL' if problems else 'PASS'}  {done} runs, {done / (time.monotonic() - begun):.1f} per second")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
