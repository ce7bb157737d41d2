"""Output: forged frames. A guest may say what it likes of its result, and nothing of its fate."""

from __future__ import annotations

import json
import os
import pickle
import struct
import time
from collections.abc import Callable

import pytest

from ringfence import Outcome
from ringfence.guest.wire import pack
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import Attack, assert_serves, limits
from tests.attacks.canary import Canary
from tests.attacks.host import peak_memory_kb

Contain = Callable[[Attack], Outcome]


def report(result: str = '"forged"', **changes: object) -> bytes:
    """The frame an honest guest ends with, `result` as given and some of its fields changed."""
    fields = {"v": 1, "end": "ok", "error": None, "exit_code": 0} | changes
    rest = json.dumps(fields)[1:]
    return f'{{"result": {result}, {rest}'.encode()


HOSTILE_ERROR = {"type": "\x1b[2J", "message": "x" * (5 << 20), "line": -1, "traceback": "\0"}
FRAMES: dict[str, bytes] = {
    "plausible": pack(report()),
    "plausible with our exit code": pack(report(end="exit", exit_code=7)),
    "twice": pack(report()) * 2,
    "a hundred times": pack(report()) * 100,
    "half": pack(report())[:20],
    "only a length": pack(report())[:4],
    "empty": pack(b""),
    "huge length": struct.pack("!I", 0xFFFFFFFF) + report(),
    "length of 2 GiB": struct.pack("!I", 1 << 31) + report(),
    "length just over the most": struct.pack("!I", (9 << 20) + 1) + report(),
    "little-endian length": struct.pack("<I", len(report())) + report(),
    "as a line": report() + b"\n",
    "with a marker": b"\n__RINGFENCE_RESULT__" + report() + b"__END__\n",
    "deep brackets": pack(b"[" * 100_000),
    "deep result": pack(report("[" * 100_000 + "]" * 100_000)),
    "deep objects": pack(report('{"a":' * 50_000 + "1" + "}" * 50_000)),
    "huge text": pack(report('"' + "x" * (8 << 20) + '"')),
    "over the cap": pack(report('"' + "x" * (20 << 20) + '"')),
    "huge number": pack(report("9" * 100_000)),
    "NaN": pack(report("NaN")),
    "Infinity": pack(report("[Infinity, -Infinity]")),
    "overflowing float": pack(report("1e999")),
    "duplicate keys": pack(report('{"a": 1, "a": 2}')),
    "duplicate fields": pack(report().replace(b'"end"', b'"v": 1, "end"')),
    "lone surrogate": pack(report('"\\ud800"')),
    "bad UTF-8": pack(report().replace(b"forged", b"\xff\xfe")),
    "UTF-16": pack(report().decode().encode("utf-16")),
    "an end that is ours to say": pack(report(end="memory_limit")),
    "more fields": pack(report(status="ok", usage={"wall_ms": 0}, isolation={}, run_id="x")),
    "wrong types": pack(report(exit_code=True, v="1", error=[1])),
    "an error with hostile text": pack(report(end="error", error=HOSTILE_ERROR, exit_code=7)),
    "exit code out of range": pack(report(exit_code=1 << 70)),
    "noise": bytes(range(256)) * 1000,
}

# Puts the frame, given as a file, on every descriptor there may be, and does not stop at a full pipe.
FORGE = """
import os, signal, time
frame = open("frame", "rb").read()
def forge():
    for fd in (*range(3, 1025), 1, 2, 0):
        try:
            os.set_blocking(fd, False)
            left, until = memoryview(frame), time.monotonic() + 0.5
            while left and time.monotonic() < until:
                try:
                    left = left[os.write(fd, left):]
                except BlockingIOError:
                    time.sleep(0.001)
        except OSError:
            pass
"""
SPACE = limits(disk_mb=64, memory_mb=256, wall_seconds=5)


def strict(outcome: Outcome) -> None:
    json.dumps(outcome.to_json(), allow_nan=False).encode()
    assert outcome.reason.isprintable(), repr(outcome.reason)


@pytest.mark.container_sample(
    "plausible with our exit code",
    "half",
    "huge length",
    "over the cap",
    "noise",
    why="one reader of the host judges the text of all",
)
@pytest.mark.parametrize("name", FRAMES)
def test_frame_does_not_change_the_fate(contain: Contain, supervisor: int, name: str) -> None:
    """The frame says ok, or worse; the kernel says 7. A damaged channel may be reported besides, as an error."""
    before = peak_memory_kb(supervisor)
    code = f"{FORGE}\nforge()\nos._exit(7)"
    attack = Attack(name=name, code=code, files={"frame": FRAMES[name]}, expect=("exit", "error"), limits=SPACE)
    outcome = contain(attack)
    assert (outcome.exit_code, outcome.result) == (7, None)
    strict(outcome)
    assert peak_memory_kb(supervisor) - before < 200 << 10, "the supervisor trusted a length"


@pytest.mark.container_sample(
    "plausible", "half", "noise", "over the cap",
    why="one reader of the host judges the text of all",
)  # fmt: skip
@pytest.mark.parametrize("name", ["plausible", "half", "huge length", "deep brackets", "NaN", "noise", "over the cap"])
def test_frame_before_an_honest_end(contain: Contain, name: str) -> None:
    """What was put before the honest frame may cost the program its result, and nothing else."""
    attack = Attack(
        name=name,
        code=f"{FORGE}\nforge()\nos.set_blocking(3, True)\nresult = 5",
        files={"frame": FRAMES[name]},
        expect=("ok", "error", "exit", "timeout"),
        limits=limits(wall_seconds=3, disk_mb=64),
    )
    outcome = contain(attack)
    strict(outcome)
    assert outcome.status != "ok" or outcome.result in (5, "forged")


FATES: dict[str, tuple[str, Status]] = {
    "killed by itself": ("os.kill(os.getpid(), signal.SIGKILL)", "signal"),
    "hanging": ("time.sleep(60)", "timeout"),
    "hanging in a child": ("if os.fork(): os.wait()\ntime.sleep(60)", "timeout"),
    "out of memory": ("x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1", "memory_limit"),
    "flooding": ("os.set_blocking(1, True)\nwhile True: os.write(1, b'x' * 65536)", "output_limit"),
}


@pytest.mark.parametrize("name", FATES)
def test_frame_that_says_ok_hides_nothing(contain: Contain, backend: str, name: str) -> None:
    end, status = FATES[name]
    # Without a control group memory is refused rather than the process killed: a MemoryError, which is an error.
    refused: tuple[Status, ...] = ("error",) if backend == "native_user" and status == "memory_limit" else ()
    attack = Attack(
        name=name,
        code=f"{FORGE}\nforge()\n{end}",
        files={"frame": pack(report())},
        expect=(status, *refused),
        limits=limits(wall_seconds=3, memory_mb=128, output_bytes=4096),
    )
    contain(attack)


class Pickled:
    """Unpickled on the host, this leaves a file where the canary watches."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.folder}/unpickled",)


@pytest.mark.parametrize("framed", [True, False], ids=["framed", "bare"])
def test_pickle_is_not_loaded(contain: Contain, canary: Canary, framed: bool) -> None:
    bomb = pickle.dumps(Pickled(str(canary.writable)))
    files = {"frame": pack(bomb) if framed else bomb, "result.pkl": bomb, "result.npy": b"\x93NUMPY" + bomb}
    code = f"{FORGE}\nforge()\nos.rename('result.pkl', 'left.pkl')\nos._exit(7)"
    outcome = contain(Attack(name="pickle", code=code, files=files, expect=("exit", "error")))
    assert (outcome.exit_code, outcome.result) == (7, None)


def test_frame_through_another_process(contain: Contain) -> None:
    """Init's descriptors, and those of a child that outlives the program, are no way in either."""
    code = f"""{FORGE}
import glob
for path in glob.glob("/proc/*/fd/*"):
    try:
        os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), frame)
    except OSError:
        pass
if os.fork() == 0:
    os.setsid()
    while True:
        forge()
os._exit(7)
"""
    files = {"frame": pack(report())}
    outcome = contain(Attack(name="other process", code=code, files=files, expect=("exit", "error")))
    assert (outcome.exit_code, outcome.result) == (7, None)


def test_half_a_result(contain: Contain) -> None:
    """A program that dies while its result is on the way has no result."""
    code = """
import os
os_write = os.write
def half(fd, data):
    os_write(fd, bytes(data)[: len(data) // 2])
    os._exit(3)
os.write = half
result = list(range(100_000))
"""
    outcome = contain(Attack(name="half a result", code=code, expect=("exit", "error")))
    assert (outcome.exit_code, outcome.result) == (3, None)


def test_descriptors_cannot_be_pushed_into_the_supervisor(contain: Contain, supervisor: int) -> None:
    before = len(os.listdir(f"/proc/{supervisor}/fd"))
    code = """
import array, os, socket
fds = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(200)])
for fd in (1, 2, 3):
    try:
        s = socket.socket(fileno=os.dup(fd))
        s.setblocking(False)
        for _ in range(100):
            s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    except OSError:
        pass
os._exit(7)
"""
    contain(Attack(name="push descriptors", code=code, expect=("exit", "error"), limits=limits(wall_seconds=2)))
    assert len(os.listdir(f"/proc/{supervisor}/fd")) <= before + 8, (
        "descriptors of the guest stayed open in the supervisor"
    )


def test_own_cpu_signal_is_no_cpu_limit(contain: Contain) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"
    contain(Attack(name="SIGXCPU", code=code, expect=("signal",), limits=limits(cpu_seconds=2)))


def test_frames_ahead_of_time_in_a_session(sandbox: Sandbox, canary: Canary) -> None:
    """A cell that answers for the next ones may confuse its own session; a cell that hangs is still stopped."""
    code = "import os\nfor _ in range(3):\n    os.write(3, frame)\nresult = 5"
    with sandbox.open_session(limits=limits(wall_seconds=2)) as session:
        first = session.run(f"frame = {pack(report())!r}\n{code}")
        assert first.status in ("ok", "error") and first.result in (5, "forged", None)
        started = time.monotonic()
        while session.alive and time.monotonic() < started + 20:
            outcome = session.run("import time\ntime.sleep(60)", limits=limits(wall_seconds=0.5))
            strict(outcome)
            if outcome.status == "timeout":
                break
        assert time.monotonic() < started + 20, "a cell that hangs was never stopped"
    canary.untouched()
    assert_serves(sandbox)


@pytest.mark.container_sample(
    "half", "huge length", "over the cap", "noise",
    why="one reader of the host judges the text of all",
)  # fmt: skip
@pytest.mark.parametrize("name", ["half", "huge length", "deep brackets", "over the cap", "NaN", "noise", "empty"])
def test_damaged_frames_in_a_session(sandbox: Sandbox, canary: Canary, name: str) -> None:
    frame = FRAMES[name][: 1 << 20].hex()
    with sandbox.open_session(limits=limits(wall_seconds=3, memory_mb=512)) as session:
        session.run(f"open('frame', 'wb').write(bytes.fromhex({frame!r}))")
        outcome = session.run(f"{FORGE}\nforge()")
        assert outcome.status in ("ok", "error", "exit", "timeout"), outcome
        strict(outcome)
    canary.untouched()
    assert_serves(sandbox)
