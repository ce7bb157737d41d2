"""Output: results that are not what they seem. `ok` means that a plain value came, strict JSON and within the cap."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ringfence import Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import Attack, limits, run_attack
from tests.attacks.canary import Canary
from tests.attacks.cells import cells

Contain = Callable[[Attack], Outcome]

LIARS = cells(r"""
# %% deep list
result = []
for _ in range(100_000):
    result = [result]

# %% deep dict
result = {}
for _ in range(100_000):
    result = {"a": result}

# %% list that holds itself
result = []
result.append(result)

# %% dict that holds itself
result = {}
result["a"] = {"b": result}

# %% text doubled sixty times
result = "x"
for _ in range(60):
    result = [result, result]

# %% huge text
result = "x" * (9 << 20)

# %% huge list
result = list(range(3_000_000))

# %% huge number
result = 1 << 1_000_000

# %% keys that are not numbers
result = {float("nan"): 1, float("inf"): 2}

# %% keys that collide
result = {1: "a", "1": "b", True: "c", None: "d", "None": "e"}

# %% bytes
result = b"\xff"

# %% lone surrogate
result = "\ud800"

# %% function
result = lambda: 1

# %% module
import os
result = os

# %% endless generator
def forever():
    while True:
        yield 1
result = forever()

# %% dict with lying items
class D(dict):
    def items(self):
        while True:
            yield "a", 1
    __iter__ = keys = values = items
result = D(a=1)

# %% list with endless iteration
class L(list):
    def __iter__(self):
        while True:
            yield 1
    def __len__(self):
        return 1 << 62
result = L([1])

# %% list that grows while it is read
class Grows:
    @property
    def __class__(self):
        result.append(Grows())
        return int
result = [Grows()]

# %% text with lying methods
class S(str):
    def __str__(self):
        return "\0" * 100
    def encode(self, *a):
        return b"}"
    __repr__ = __format__ = __str__
result = {S("a"): S("b")}

# %% class that lies
class C:
    __class__ = dict
    def __getattr__(self, name):
        return lambda *a: 1 / 0
result = C()

# %% metaclass that lies
class M(type):
    __name__ = property(lambda cls: 1 / 0)
    def __instancecheck__(cls, x):
        return True
    def __subclasscheck__(cls, x):
        return True
class C(metaclass=M):
    pass
result = C()

# %% equality that exits
import os
class K(str):
    def __eq__(self, other):
        os._exit(0)
    def __hash__(self):
        return 1
result = {K("a"): 1, K.__new__(K, "b"): 2}

# %% attributes that raise SystemExit
class C:
    def __getattribute__(self, name):
        raise SystemExit(0)
result = C()

# %% attributes that raise KeyboardInterrupt
class C(dict):
    def __getattribute__(self, name):
        raise KeyboardInterrupt
result = [C(a=1)]

# %% pickle hooks
import os
class P:
    def __reduce__(self):
        return os.system, (f"touch {canary['writable']}/x",)
result = P()

# %% length that hangs
class L(list):
    def __len__(self):
        while True:
            pass
    __bool__ = __len__
result = L()

# %% date and decimal that lie
import datetime, decimal
class D(datetime.date):
    def isoformat(self):
        return chr(0xD800)
class E(decimal.Decimal):
    def __str__(self):
        return chr(0xD800)
result = [D(2024, 1, 1), E(1)]

# %% result that changes its mind
import threading
result = [[1]] * 1000
def change():
    for _ in range(100_000):
        result.append(object())
        result.clear()
threading.Thread(target=change, daemon=True).start()

# %% ringfence_result replaced
ringfence_result(1)
ringfence_result = None
result = 2

# %% ringfence_result abused
type(ringfence_result).__call__ = None
ringfence_result.value = object()
result = 1

# %% result as a property of the module
import sys, types
class M(types.ModuleType):
    result = property(lambda self: 1 / 0)
sys.modules["__main__"].__class__ = M

# %% dataclass with hostile fields
import dataclasses
@dataclasses.dataclass
class D:
    x: int = 1
    def __getattribute__(self, name):
        raise MemoryError if name == "x" else AttributeError
result = D()

# %% dataclass fields that lie
import dataclasses
@dataclasses.dataclass
class D:
    x: int = 1
D.__dataclass_fields__ = {"x": 1 / 1}
result = D()
""")

QUANT_LIARS = cells(r"""
# %% table whose conversion exits
class D(pd.DataFrame):
    def to_dict(self, *a, **k):
        os._exit(0)
    to_json = to_numpy = to_dict
result = D({"a": [1]})

# %% table that lies about its type
class D(pd.DataFrame):
    __class__ = property(lambda self: dict)
    columns = index = property(lambda self: 1 / 0)
result = D({"a": [1]})

# %% table of objects
result = pd.DataFrame({"a": [object(), lambda: 1, b"x"]})

# %% table of hostile names
result = pd.DataFrame([[1, 2, 3]], columns=["a", "a", ("b", float("nan"))])

# %% table a billion rows long
result = pd.DataFrame({"a": np.broadcast_to(np.float64(1), (1 << 30,))}, copy=False)

# %% broadcast array
result = np.broadcast_to(np.float64(1), (1 << 20, 1 << 20))

# %% array of itself
result = np.empty(1, object)
result[0] = result

# %% array that lies
class A(np.ndarray):
    def tolist(self):
        os._exit(0)
    shape = property(lambda self: (1 << 60,))
result = np.zeros(2).view(A)

# %% array over memory that is not there
import ctypes
result = np.ctypeslib.as_array((ctypes.c_double * 8).from_address(8))

# %% not a time, not a number
result = [pd.NaT, pd.NA, np.datetime64("NaT"), np.float32("inf"), np.complex128(1)]

# %% pandas replaced
import sys
sys.modules["pandas"] = sys.modules["numpy"] = object()
result = [1]

# %% pandas hollowed out
pd.DataFrame = pd.Series = pd.Timestamp = int
np.ndarray = np.generic = int
result = [1, 2.5]

# %% figure that exits
import matplotlib.pyplot as plt
plt.figure().savefig = lambda *a: os._exit(0)
result = 1

# %% figure of a billion pixels
import matplotlib.pyplot as plt
plt.figure(figsize=(3e4, 3e4), dpi=100)
result = 1

# %% figure on the way to another file
import matplotlib.pyplot as plt
os.symlink(canary["writable"] + "/x.png", "figure-1.png")
plt.plot([1, 2])
result = 1
""")


def strict(outcome: Outcome) -> None:
    json.dumps(outcome.to_json(), allow_nan=False).encode()
    assert len(json.dumps(outcome.result)) < 9 << 20
    assert outcome.reason.isprintable(), repr(outcome.reason)


@pytest.mark.container_sample(
    "deep list", "huge text", "list with endless iteration", "equality that exits", "pickle hooks",
    "result that changes its mind",
    why="the guest that reads them is the same",
)  # fmt: skip
@pytest.mark.parametrize("name", LIARS)
def test_lying_result(contain: Contain, name: str) -> None:
    attack = Attack(
        name=name,
        code=LIARS[name],
        expect=("ok", "error", "exit", "timeout", "memory_limit"),
        check=strict,
        limits=limits(wall_seconds=2.5, memory_mb=256),
    )
    contain(attack)


@pytest.mark.container_sample(
    "table whose conversion exits", "figure on the way to another file",
    why="the guest that reads them is the same",
)  # fmt: skip
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


# What a subclass says of itself is not asked: the value is read through the base class.
HONEST = {
    "NaN and infinities": ("[float('nan'), float('inf'), {'a': -float('inf')}]", [None, None, {"a": None}]),
    "float with a lying text": ("[type('F', (float,), {'__repr__': lambda s: '}{'})(1.5)]", [1.5]),
    "int with a lying text": ("[type('I', (int,), {'__repr__': lambda s: '}{', '__str__': lambda s: '}'})(7)]", [7]),
    "text with a lying text": ("[type('S', (str,), {'__str__': lambda s: 'lie', 'encode': None})('truth')]", ["truth"]),
    "list with a lying length": ("type('L', (list,), {'__len__': lambda s: 0, '__bool__': lambda s: False})([1])", [1]),
}


@pytest.mark.container_sample("NaN and infinities", why="the guest that reads them is the same")
@pytest.mark.parametrize("name", HONEST)
def test_value_is_read_not_asked(contain: Contain, name: str) -> None:
    expression, value = HONEST[name]
    outcome = contain(Attack(name=name, code=f"result = {expression}", check=strict))
    assert outcome.result == value


@pytest.mark.container_sample("huge text", "function", why="the guest that reads them is the same")
@pytest.mark.parametrize("name", ["deep list", "huge text", "huge number", "bytes", "function", "lone surrogate"])
def test_what_cannot_be_carried_is_an_error(contain: Contain, name: str) -> None:
    outcome = contain(Attack(name=name, code=LIARS[name], expect=("error",), limits=limits(memory_mb=256)))
    assert outcome.error is not None
    assert (outcome.error.type, outcome.exit_code, outcome.result) == ("ResultError", 70, None)
