"""Output: forged frames and lying results. A guest may say what it likes of its result, and nothing of its fate."""

from __future__ import annotations

import json
import os
import pickle
import resource
import struct
from collections.abc import Callable

import pytest

from ringfence import Outcome
from ringfence.guest.wire import pack
from ringfence.sandbox import Sandbox

from tests.attacks.attack import Attack, limits, run_attack
from tests.attacks.canary import Canary

Contain = Callable[[Attack], Outcome]


def report(result: str = '"forged"', **changes: object) -> bytes:
    """The frame an honest guest ends with, `result` as given and some of its fields changed."""
    fields = {"v": 1, "end": "ok", "error": None, "exit_code": 0} | changes
    rest = json.dumps(fields)[1:]
    return f'{{"result": {result}, {rest}'.encode()


class Pickled:
    """Unpickled on the host, this would leave a file beside the secret."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.folder}/unpickled",)


FRAMES: dict[str, bytes] = {
    "plausible": pack(report()),
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
    "an error with hostile text": pack(
        report(end="error", error={"type": "\x1b[2J", "message": "x" * (5 << 20), "line": -1, "traceback": "\0"})
    ),
    "exit code out of range": pack(report(exit_code=1 << 70)),
    "pickle": pack(pickle.dumps(Pickled("{folder}"))),
    "bare pickle": pickle.dumps(Pickled("{folder}")),
    "noise": bytes(range(256)) * 1000,
}

# Puts the frame, given as a file, on every descriptor there may be, and does not stop at a full pipe.
FORGE = """
import os, signal, socket, struct, time
frame = open("frame", "rb").read().replace(b"{folder}", canary["writable"].encode())
def forge():
    for fd in (*range(3, 1025), 1, 2, 0):
        try:
            os.set_blocking(fd, False)
            left = memoryview(frame)
            until = time.monotonic() + 0.3
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


@pytest.mark.parametrize("name", FRAMES)
def test_forged_frame_does_not_change_the_fate(contain: Contain, name: str) -> None:
    """The frame says ok, or worse; the kernel says exit 7."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attack = Attack(
        name=name, code=f"{FORGE}\nforge()\nos._exit(7)", files={"frame": FRAMES[name]}, expect=("exit",), limits=SPACE
    )
    outcome = contain(attack)
    assert outcome.exit_code == 7
    strict(outcome)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10, "the supervisor trusted a length"


@pytest.mark.parametrize("name", ["plausible", "half", "huge length", "deep brackets", "pickle", "NaN", "noise"])
def test_frame_before_an_honest_end(contain: Contain, name: str) -> None:
    """What was put before the honest frame may cost the program its result, and nothing else."""
    attack = Attack(
        name=name,
        code=f"{FORGE}\nforge()\nos.set_blocking(3, True)\nresult = 5",
        files={"frame": FRAMES[name]},
        expect=("ok", "error", "exit", "timeout"),
        limits=limits(wall_seconds=2),
    )
    outcome = contain(attack)
    strict(outcome)
    assert outcome.status != "ok" or outcome.result in (5, "forged")


FATES = {
    "killed by itself": ("os.kill(os.getpid(), signal.SIGKILL)", "signal"),
    "hanging": ("time.sleep(60)", "timeout"),
    "hanging in a child": ("if os.fork(): os.wait()\ntime.sleep(60)", "timeout"),
    "out of memory": ("x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1", "memory_limit"),
    "flooding": ("os.set_blocking(1, True)\nwhile True: os.write(1, b'x' * 65536)", "output_limit"),
}


@pytest.mark.parametrize("name", FATES)
def test_frame_that_says_ok_hides_nothing(contain: Contain, name: str) -> None:
    end, status = FATES[name]
    attack = Attack(
        name=name,
        code=f"{FORGE}\nforge()\n{end}",
        files={"frame": pack(report())},
        expect=("signal", "timeout", "memory_limit", "output_limit"),
        limits=limits(wall_seconds=2, memory_mb=128, output_bytes=4096),
    )
    assert contain(attack).status == status


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
    outcome = contain(Attack(name="other process", code=code, files={"frame": pack(report())}, expect=("exit",)))
    assert outcome.exit_code == 7


def test_descriptors_cannot_be_pushed_into_the_supervisor(contain: Contain) -> None:
    before = len(os.listdir("/proc/self/fd"))
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
    contain(Attack(name="push descriptors", code=code, expect=("exit",), limits=limits(wall_seconds=2)))
    assert len(os.listdir("/proc/self/fd")) <= before + 8, "descriptors of the guest stayed open in the supervisor"


# Results that are not what they seem. `ok` must mean that the value is the plain one, or the guest's own lie told in JSON.
LIARS = {
    "deep list": "result = []\nfor _ in range(100_000): result = [result]",
    "deep dict": "result = {}\nfor _ in range(100_000): result = {'a': result}",
    "list that holds itself": "result = []\nresult.append(result)",
    "dict that holds itself": "result = {}\nresult['a'] = {'b': result}",
    "doubling": "result = 'x'\nfor _ in range(60): result = [result, result]",
    "huge text": "result = 'x' * (9 << 20)",
    "huge list": "result = list(range(3_000_000))",
    "huge number": "result = 1 << 1_000_000",
    "NaN and infinities": "result = [float('nan'), float('inf'), {'a': -float('inf')}]",
    "NaN as key": "result = {float('nan'): 1, float('nan'): 2}",
    "keys that collide": "result = {1: 'a', '1': 'b', True: 'c', None: 'd', 'None': 'e'}",
    "bytes": "result = b'\\xff'",
    "lone surrogate": "result = '\\ud800'",
    "function": "result = lambda: 1",
    "module": "import os\nresult = os",
    "a class": "result = type",
    "endless generator": "def g():\n    while True: yield 1\nresult = g()",
    "dict with lying items": "class D(dict):\n    def items(self):\n        while True: yield 'a', 1\n"
    "    __iter__ = keys = values = items\nresult = D(a=1)",
    "list with endless iteration": "class L(list):\n    def __iter__(self):\n        while True: yield 1\n"
    "    def __len__(self): return 1 << 62\nresult = L([1])",
    "list that grows while read": "class N:\n    @property\n    def __class__(self):\n        result.append(N())\n"
    "        return int\nresult = [N()]",
    "text with lying methods": "class S(str):\n    def __str__(self): return '\\0' * 100\n    def encode(self, *a): return b'}'\n"
    "    __repr__ = __format__ = __str__\nresult = {S('a'): S('b')}",
    "number with lying text": "class F(float):\n    def __repr__(self): return '}{'\n    __str__ = hex = __repr__\n"
    "class I(int):\n    def __repr__(self): return '}{'\n    __str__ = __index__ = __repr__\nresult = [F(1.5), I(7)]",
    "class that lies": "class C:\n    __class__ = dict\n    def __getattr__(self, n): return lambda *a: 1 / 0\nresult = C()",
    "metaclass that lies": "class M(type):\n    __name__ = property(lambda s: 1 / 0)\n    def __instancecheck__(s, x): return True\n"
    "    def __subclasscheck__(s, x): return True\nclass C(metaclass=M): pass\nresult = C()",
    "hash and equality that exit": "import os\nclass K(str):\n    def __eq__(s, o): os._exit(0)\n    def __hash__(s): return 1\n"
    "result = {K('a'): 1}",
    "attributes that raise SystemExit": "class C:\n    def __getattribute__(s, n): raise SystemExit(0)\nresult = C()",
    "pickle hooks": "import os\nclass P:\n    def __reduce__(s): return os.system, (f\"touch {canary['writable']}/x\",)\n"
    "result = P()",
    "len that hangs": "class L(list):\n    def __len__(s):\n        while True: pass\n    __bool__ = __len__\nresult = L()",
    "enum, date and Decimal that lie": "import datetime, decimal\nclass D(datetime.date):\n"
    "    def isoformat(s): return chr(0xd800)\nclass E(decimal.Decimal):\n    def __str__(s): return '\\ud800'\n"
    "result = [D(2024, 1, 1), E(1)]",
    "result that changes its mind": "import threading\nresult = [[1]] * 1000\nthreading.Thread(target=lambda: "
    "[result.append(object()) or result.clear() for _ in range(100_000)], daemon=True).start()",
    "ringfence_result replaced": "ringfence_result(1)\nringfence_result = None\nresult = 2",
    "ringfence_result abused": "ringfence_result.__class__.__call__ = None\nringfence_result.value = object()\nresult = 1",
    "result as a property of the module": "import sys, types\nclass M(types.ModuleType):\n"
    "    result = property(lambda s: 1 / 0)\nsys.modules['__main__'].__class__ = M",
}


@pytest.mark.parametrize("name", LIARS)
def test_lying_result(contain: Contain, name: str) -> None:
    attack = Attack(
        name=name,
        code=LIARS[name],
        expect=("ok", "error", "exit", "timeout", "memory_limit"),
        check=strict,
        limits=limits(wall_seconds=2.5, memory_mb=256),
    )
    outcome = contain(attack)
    if outcome.status == "ok":
        assert len(json.dumps(outcome.result)) < 9 << 20


QUANT_LIARS = {
    "table whose conversion exits": "class D(pd.DataFrame):\n    def to_dict(s, *a, **k): os._exit(0)\n    to_json = to_numpy = to_dict\n"
    "result = D({'a': [1]})",
    "table that lies about its type": "class D(pd.DataFrame):\n    __class__ = property(lambda s: dict)\n"
    "    columns = index = property(lambda s: 1 / 0)\nresult = D({'a': [1]})",
    "table of objects": "result = pd.DataFrame({'a': [object(), lambda: 1, b'x']})",
    "table of hostile names": "result = pd.DataFrame([[1, 2, 3]], columns=['a', 'a', ('b', float('nan'))])",
    "broadcast array": "result = np.broadcast_to(np.float64(1), (1 << 20, 1 << 20))",
    "array of itself": "result = np.empty(1, object)\nresult[0] = result",
    "array that lies": "class A(np.ndarray):\n    def tolist(s): os._exit(0)\n    shape = property(lambda s: (1 << 60,))\n"
    "    __array_finalize__ = None\nresult = np.zeros(2).view(A)",
    "array over freed memory": "import ctypes\nx = np.zeros(8)\nresult = np.ctypeslib.as_array((ctypes.c_double * 8)"
    ".from_address(8))",
    "not a time": "result = [pd.NaT, pd.NA, np.datetime64('NaT'), np.float32('inf'), np.complex128(1)]",
    "pandas replaced": "import sys\nsys.modules['pandas'] = sys.modules['numpy'] = object()\nresult = [1]",
    "pandas hollowed out": "pd.DataFrame = pd.Series = pd.Timestamp = int\nnp.ndarray = np.generic = int\nresult = [1, 2.5]",
    "figure that hangs": "import matplotlib.pyplot as plt\nplt.figure().savefig = lambda *a: os._exit(0)\nresult = 1",
    "figure of a billion pixels": "import matplotlib.pyplot as plt\nplt.figure(figsize=(3e4, 3e4), dpi=100)\nresult = 1",
}


@pytest.mark.parametrize("name", QUANT_LIARS)
def test_lying_table(quant: Sandbox, canary: Canary, name: str) -> None:
    attack = Attack(
        name=name,
        code=f"import os\nimport numpy as np\nimport pandas as pd\n{QUANT_LIARS[name]}",
        expect=("ok", "error", "exit", "signal", "timeout", "memory_limit"),
        check=strict,
        limits=limits(wall_seconds=3, memory_mb=512),
    )
    run_attack(quant, canary, attack)
