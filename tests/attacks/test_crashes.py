"""Harness: crashes, hostile exceptions and exits in odd places are told as what they were, and harm one run only."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ringfence import Outcome
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import Attack, limits
from tests.attacks.cells import cells

Contain = Callable[[Attack], Outcome]


def sound(outcome: Outcome) -> None:
    json.dumps(outcome.to_json(), allow_nan=False)
    assert outcome.reason.isprintable(), repr(outcome.reason)
    assert 0 < outcome.usage.wall_ms < 1000 * outcome.limits.wall_seconds


CRASHES: dict[str, tuple[Status, ...]] = {
    "endless recursion": ("error",),
    "recursion without a limit": ("error", "signal", "memory_limit"),
    "recursion in C": ("error", "signal"),
    "read of address zero": ("signal",),
    "write over the interpreter": ("signal", "error", "exit", "ok"),
    "jump to nowhere": ("signal",),
    "wrong reference counts": ("signal", "ok", "error"),
    "illegal instruction": ("signal",),
    "stack of a thread": ("signal", "error"),
    "division trap": ("signal",),
}
CRASHERS = cells(r"""
# %% endless recursion
def f():
    f()
f()

# %% recursion without a limit
import sys
sys.setrecursionlimit(1 << 30)
def f():
    f()
f()

# %% recursion in C
import sys
sys.setrecursionlimit(1 << 30)
x = []
for _ in range(1_000_000):
    x = [x]
repr(x)

# %% read of address zero
import ctypes
ctypes.string_at(0)

# %% write over the interpreter
import ctypes
ctypes.memset(id(None), 0xFF, 64)
ctypes.memset(id(type), 0xFF, 512)

# %% jump to nowhere
import ctypes
ctypes.CFUNCTYPE(None)(1)()

# %% wrong reference counts
import ctypes
for _ in range(1000):
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(()))

# %% illegal instruction
import os, signal
signal.signal(signal.SIGILL, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGILL)

# %% stack of a thread
import threading, sys
sys.setrecursionlimit(1 << 30)
threading.stack_size(32768)
def f(x):
    return sorted([1], key=f)
t = threading.Thread(target=f, args=(1,))
t.start()
t.join()
1 / 0

# %% division trap
import os, signal
os.kill(os.getpid(), signal.SIGFPE)
""")


@pytest.mark.container_sample(
    "endless recursion", "read of address zero", "wrong reference counts", why="the kernel says how it ended"
)
@pytest.mark.parametrize("name", CRASHERS)
def test_crash(contain: Contain, name: str) -> None:
    patient = limits(wall_seconds=15)  # a deep stack takes its time to come down on a busy machine
    outcome = contain(Attack(name=name, code=CRASHERS[name], expect=CRASHES[name], check=sound, limits=patient))
    assert outcome.status != "signal" or outcome.signal is not None


HOSTILE = cells(r"""
# %% text that raises
class E(Exception):
    def __str__(self):
        raise RuntimeError
    __repr__ = __str__
raise E

# %% text that exits
import os
class E(Exception):
    def __str__(self):
        raise SystemExit(0)
    __repr__ = __str__
raise E

# %% text that leaves
import os
class E(Exception):
    def __str__(self):
        os._exit(5)
raise E

# %% text that is no text
class E(Exception):
    def __str__(self):
        return 7
raise E

# %% text of a hundred megabytes
raise ValueError("x" * 100_000_000)

# %% notes without end
e = ValueError("x")
e.__notes__ = ["n" * 1000] * 100_000
raise e

# %% causes in a circle
a, b = ValueError("a"), KeyError("b")
a.__cause__, b.__cause__ = b, a
raise a

# %% causes without end
e = None
for i in range(5000):
    n = ValueError(i)
    n.__cause__ = e
    e = n
raise e

# %% group of groups
e = ValueError("x")
for _ in range(500):
    e = ExceptionGroup("g", [e])
raise e

# %% type that lies
class M(type):
    __name__ = property(lambda cls: 1 / 0)
    def __getattribute__(cls, name):
        raise SystemExit(0)
class E(Exception, metaclass=M):
    pass
raise E()

# %% attributes that lie
class E(Exception):
    @property
    def __traceback__(self):
        raise SystemExit(0)
    __cause__ = __context__ = __notes__ = __class__ = property(lambda self: 1 / 0)
raise E

# %% syntax error that lies
e = SyntaxError("x", ("/etc/passwd", 1, 1 << 60, "x" * 1000, -5, "y"))
e.text = object()
e.lineno = "line"
e.filename = object()
raise e

# %% syntax error about its own file
raise SyntaxError("x", (__file__, 1 << 40, -1, None, None, 10**30))

# %% name of control characters
raise type("E\x1b[2J\n", (Exception,), {"__module__": "\x1b]0;x\x07"})("\x1b[2J\r\n\0")

# %% system exit that lies
class Code:
    __class__ = int
    def __eq__(self, other):
        return 1 / 0
    def __str__(self):
        raise RuntimeError
raise SystemExit(Code())

# %% system exit with a huge number
raise SystemExit(1 << 4000)

# %% base exception
raise BaseException("x")

# %% keyboard interrupt
raise KeyboardInterrupt

# %% generator exit
raise GeneratorExit

# %% exit from a finaliser
import sys
class D:
    def __del__(self):
        sys.exit(0)
d = D()
raise ValueError("x")

# %% exit from an exit handler
import atexit, os
atexit.register(os._exit, 0)
raise ValueError("x")
""")


@pytest.mark.container_sample(
    "text that leaves", "text of a hundred megabytes", "causes in a circle", "name of control characters",
    "exit from an exit handler",
    why="the guest that tells of them is the same",
)  # fmt: skip
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_exception(contain: Contain, name: str) -> None:
    """It is never ok, and what is told of it is bounded and printable where the words are ours."""
    expect: tuple[Status, ...] = ("error", "exit", "memory_limit")
    big = limits(memory_mb=768, wall_seconds=5)
    outcome = contain(Attack(name=name, code=HOSTILE[name], expect=expect, limits=big))
    assert outcome.reason.isprintable(), repr(outcome.reason)
    assert len(json.dumps(outcome.to_json())) < 8 << 20
    assert outcome.exit_code != 0 or outcome.status == "exit"


def test_exception_whose_text_never_ends(contain: Contain) -> None:
    code = "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E"
    contain(Attack(name="endless text", code=code, expect=("timeout",), limits=limits(wall_seconds=0.6)))


EXITS = cells(r"""
# %% in a thread
import sys, threading
t = threading.Thread(target=sys.exit, args=(3,))
t.start()
t.join()
result = 1

# %% in a finaliser
import sys
class D:
    def __del__(self):
        sys.exit(3)
d = D()
del d
result = 1

# %% in a signal handler
import os, signal, sys
signal.signal(10, lambda *a: sys.exit(3))
os.kill(os.getpid(), 10)
while True:
    pass

# %% in a class body
import sys
class C:
    sys.exit(3)

# %% in a default argument
import sys
def f(x=sys.exit(3)):
    pass

# %% in an import
import helper

# %% in a sort key
import sys
sorted([3, 3], key=sys.exit)

# %% caught
import sys
try:
    sys.exit(3)
except SystemExit:
    result = 1

# %% in an exit handler
import atexit, sys
atexit.register(sys.exit, 3)
result = 1

# %% in a result
import sys
class R(dict):
    def __getattribute__(self, name):
        sys.exit(3)
result = R()
""")


@pytest.mark.container_sample(
    "in a thread", "in a signal handler", "in an import",
    why="the guest that tells of them is the same",
)  # fmt: skip
@pytest.mark.parametrize("where", EXITS)
def test_sys_exit_in_odd_places(contain: Contain, where: str) -> None:
    files = {"helper.py": b"import sys\nsys.exit(3)\n"}
    outcome = contain(Attack(name=where, code=EXITS[where], expect=("ok", "exit", "error"), files=files, check=sound))
    if outcome.status == "exit":
        assert outcome.exit_code in (1, 3)
    if outcome.status == "ok":
        assert outcome.result in (1, {})
