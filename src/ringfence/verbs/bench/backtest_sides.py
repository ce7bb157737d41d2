"""What is compared: engines in processes of their own, and our own script inside the fence and outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import PRESETS, Job, Mount
from ringfence.verbs.bench.native import ParkingSandbox, wait_parked
from ringfence.verbs.bench.peers import PeerMissing

# Of a closed trade: bar and price of its entry, bar and price of its exit, size.
Trade = tuple[float, float, float, float, float]

_HERE = Path(__file__).parent
_WORKER, OURS = _HERE / "backtest_worker.py", _HERE / "backtest_ours.py"
_ONE_THREAD = ("OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "NUMBA_NUM_THREADS=1")
_GUEST_FILE = "/data/bars.arrow"
_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Answer:
    cpu_seconds: float
    trades: tuple[Trade, ...]


Run = Callable[[str, int], Answer]  # a strategy and a number of bars


class Player:
    """One engine in an interpreter that stays."""

    def __init__(self, python: Path, engine: Path, table: Path) -> None:
        own = Path(sys.executable) == python
        # What we were told to find our own libraries by would put them before those of another interpreter.
        words = ["env", *_ONE_THREAD] if own else ["env", "-u", "PYTHONPATH", "-u", "PYTHONHOME", *_ONE_THREAD]
        self.name = engine.stem.removeprefix("backtest_")
        self._stderr = TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._worker = subprocess.Popen(
            [*words, str(python), "-P", str(_WORKER), str(engine), str(table)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, text=True,
        )  # fmt: skip
        try:
            told = self._read()
        except SandboxError as e:
            self.close()
            raise PeerMissing(f"{python}: {e}") from e
        if "missing" in told:
            self.close()
            raise PeerMissing(f"{python}: {told['missing']}")
        self.version = str(told["version"])

    def run(self, entry: str, strategy: str, bars: int) -> Answer:
        assert self._worker.stdin is not None
        ask = {"bars": bars, "strategy": strategy, "entry": entry}
        self._worker.stdin.write(json.dumps(ask) + "\n")
        self._worker.stdin.flush()
        return read_answer(self._read())

    def _read(self) -> dict[str, object]:
        assert self._worker.stdout is not None
        line = self._worker.stdout.readline()
        if not line:
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace").strip().splitlines()
            raise SandboxError(f"{self.name} ended without an answer ({said[-1] if said else 'it said nothing'})")
        told: dict[str, object] = json.loads(line)
        return told

    def close(self) -> None:
        self._worker.communicate()  # closes its standard input, which ends its loop, and reaps it
        self._stderr.close()


def read_answer(told: dict[str, object]) -> Answer:
    seconds, rows = told["cpu_seconds"], told["trades"]
    assert isinstance(seconds, float)
    assert isinstance(rows, list)
    return Answer(seconds, tuple((row[0], row[1], row[2], row[3], row[4]) for row in rows))


def run_outside(file: Path, strategy: str) -> Answer:
    """A new interpreter each time, as inside there is a new process each time: memory is fresh on both sides."""
    argv = ["env", *_ONE_THREAD, sys.executable, "-P", str(OURS), str(file), strategy]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise SandboxError(f"our own script failed outside ({(done.stderr.splitlines() or ['it said nothing'])[-1]})")
    return read_answer(json.loads(done.stdout))


def run_inside(sandbox: ParkingSandbox, file: Path, strategy: str) -> Answer:
    """The same text in a parked child, which takes the time itself: only what the fence does to it is left."""
    job = Job(
        code=OURS.read_text(encoding="utf-8"),
        argv=(_GUEST_FILE, strategy),
        mounts=(Mount(file, _GUEST_FILE),),
        limits=PRESETS["backtest"],
        name=OURS.name,
    )
    wait_parked(sandbox)
    outcome = sandbox.run(job)
    if outcome.status != "ok":
        why = outcome.error.message if outcome.error else outcome.reason
        raise SandboxError(f"our own script ended inside with {outcome.status} ({why}): run `ringfence doctor`")
    return read_answer(json.loads(outcome.stdout))


def find_peer(engine: Path, pythons: Sequence[Path], table: Path, remedy: str) -> Player:
    """The engine in the first interpreter that has it; PeerMissing with all the reasons when none does."""
    reasons = []
    for python in pythons:
        try:
            return Player(python, engine, table)
        except PeerMissing as e:
            reasons.append(str(e))
    raise PeerMissing(f"{'; '.join(reasons) or 'no interpreter was named that could have it'}: {remedy}")
