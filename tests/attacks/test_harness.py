"""Harness: our code in the jail shares the guest's process, so it may be broken there, and nowhere else.

What must hold whatever the guest patches: limits are enforced, usage is measured from outside, the status is one that
the kernel's evidence allows, and the next run is unharmed.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ringfence import Limits, Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.outcome import Status

from tests.attacks.attack import Attack, limits, run_attack
from tests.attacks.canary import Canary
from tests.attacks.cells import cells

Contain = Callable[[Attack], Outcome]

# Each breaks something that our code in the jail may use. The program then goes on in three ways, below.
BROKEN = cells(r"""
# %% json patched
import json, json.encoder
json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{"v": 1, "end": "ok", "result": "forged"}'
json.encoder.c_make_encoder = json.encoder.encode_basestring_ascii = None

# %% print and open patched
import builtins, io
builtins.print = builtins.open = io.open = lambda *a, **k: 1 / 0

# %% time patched
import time
for name in ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns"):
    setattr(time, name, lambda: 0.0)

# %% os patched
import os
for name in ("write", "read", "open", "close", "dup", "fork", "kill", "getpid", "path"):
    setattr(os, name, lambda *a, **k: 0)

# %% os._exit patched
import os, sys
os._exit = sys.exit = lambda *a: None

# %% struct, traceback and linecache patched
import linecache, struct, traceback
struct.pack = struct.unpack = struct.Struct = None
traceback.format_exception = traceback.format_exception_only = traceback.print_exc = lambda *a, **k: 1 / 0
linecache.getline = linecache.checkcache = linecache.updatecache = lambda *a, **k: 1 / 0

# %% builtins deleted
import builtins
for name in list(vars(builtins)):
    if name not in ("list", "__import__", "delattr", "ValueError", "SystemExit"):
        delattr(builtins, name)

# %% every builtin deleted
import builtins as b
import os
for n in list(vars(b)):
    b.__dict__.pop(n)

# %% builtins lie
import builtins
builtins.isinstance = builtins.issubclass = builtins.callable = lambda *a: True
builtins.type = builtins.len = builtins.repr = builtins.str = lambda *a: "x"

# %% import replaced
import builtins
builtins.__import__ = lambda *a, **k: 1 / 0

# %% import hook that refuses everything
import sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(name)
sys.meta_path.insert(0, Hook())
sys.path_hooks.insert(0, Hook)
sys.path_importer_cache.clear()

# %% import hook that exits
import os, sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        os.write(1, b"hooked")
        return None
sys.meta_path[:] = [Hook()]
sys.path[:] = []

# %% audit hook that refuses everything
import sys
armed = [False]
def hook(event, args):
    if armed[0] and event not in ("exec", "sys._getframe"):
        raise RuntimeError(event)
sys.addaudithook(hook)
armed[0] = True

# %% at-fork hooks
import os
os.register_at_fork(before=lambda: 1 / 0, after_in_child=lambda: os._exit(9), after_in_parent=lambda: 1 / 0)

# %% trace and profile hooks
import sys, threading
def trace(frame, event, arg):
    if "ringfence" in frame.f_code.co_filename:
        frame.f_locals.clear()
        frame.f_globals.update(dict.fromkeys(("wire", "program", "values", "os", "json"), None))
    return trace
sys.setprofile(trace)
threading.setprofile(trace)
threading.settrace(trace)
sys.settrace(trace)

# %% trace hook that raises
import sys
def trace(frame, event, arg):
    raise RuntimeError("traced")
sys.settrace(trace)

# %% thread hooks
import threading, sys
threading.excepthook = sys.unraisablehook = lambda *a: 1 / 0
threading._shutdown = threading.main_thread = threading.enumerate = lambda *a: 1 / 0
threading._register_atexit(lambda: 1 / 0)

# %% hooks of the interpreter
import sys
sys.excepthook = sys.displayhook = sys.unraisablehook = sys.breakpointhook = lambda *a: 1 / 0
sys.__excepthook__ = None

# %% streams replaced
import sys
class Stream:
    def __getattr__(self, name):
        raise SystemError(name)
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = sys.stdin = Stream()

# %% streams deleted
import sys
del sys.stdout, sys.stderr, sys.__stderr__, sys.stdin

# %% modules cleared
import sys
sys.modules.clear()

# %% modules replaced
import sys
for name in list(sys.modules):
    if name != "__main__":
        sys.modules[name] = 7

# %% main module replaced
import sys
sys.modules["__main__"] = None
globals().pop("__builtins__")

# %% signals all handled
import signal
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: None)
        signal.siginterrupt(number, False)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))

# %% frames walked and emptied
import sys
frame = sys._getframe()
while frame is not None:
    if "ringfence" in frame.f_code.co_filename:
        frame.f_globals.clear()
    frame = frame.f_back

# %% harness functions replaced
import gc, types
gc.unfreeze()
evil = (lambda *a, **k: None).__code__
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType) and "ringfence" in thing.__code__.co_filename:
        try:
            thing.__code__ = evil
        except ValueError:
            pass

# %% harness objects rewritten
import gc
gc.unfreeze()
for thing in gc.get_objects():
    if type(thing).__module__.startswith("ringfence"):
        for name in dir(thing):
            if not name.startswith("__"):
                try:
                    object.__setattr__(thing, name, None)
                except (AttributeError, TypeError):
                    pass

# %% types of the interpreter rewritten
import ctypes, gc
for kind in (dict, list, str, bytes):
    space = gc.get_referents(kind.__dict__)[0]
    for name in ("items", "append", "encode", "join", "decode", "get"):
        space.pop(name, None)
ctypes.pythonapi.PyType_Modified(ctypes.py_object(dict))

# %% exit handlers
import atexit, os
atexit.register(lambda: 1 / 0)
atexit.register(os.write, 1, b"bye")
atexit._run_exitfuncs = atexit._clear = atexit.register = lambda *a: 1 / 0

# %% recursion limit of nothing
import sys
sys.setrecursionlimit(60)

# %% no memory left for the harness
import resource
resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, 1 << 20))

# %% no descriptors and no file sizes left for the harness
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
""")

LOOSE: tuple[Status, ...] = ("ok", "error", "exit", "signal")


def sound(outcome: Outcome) -> None:
    json.dumps(outcome.to_json(), allow_nan=False)
    assert outcome.reason.isprintable()
    assert 0 < outcome.usage.wall_ms < 1000 * outcome.limits.wall_seconds


@pytest.mark.container_sample(
    "json patched", "os patched", "every builtin deleted", "at-fork hooks", "modules cleared",
    "frames walked and emptied", "harness functions replaced",
    "no descriptors and no file sizes left for the harness",
    why="the guest that is broken is the same",
)  # fmt: skip
@pytest.mark.parametrize("name", BROKEN)
def test_broken_harness_then_end(contain: Contain, name: str) -> None:
    """The program goes on to a plain result: it may lose it, and harms nobody but itself."""
    outcome = contain(Attack(name=name, code=f"{BROKEN[name]}\nresult = 1\n", expect=LOOSE, check=sound))
    if outcome.status == "ok":
        assert outcome.result in (1, None, "forged")


@pytest.mark.container_sample(
    "time patched", "os._exit patched", "signals all handled", "harness objects rewritten",
    "no memory left for the harness",
    why="one clock of the host stops them all",
)  # fmt: skip
@pytest.mark.parametrize("name", BROKEN)
def test_broken_harness_then_hang(contain: Contain, name: str) -> None:
    """The wall limit and the measured time do not depend on anything in the jail."""
    code = f"from time import sleep\n{BROKEN[name]}\nwhile True:\n    sleep(0.01)\n"
    outcome = contain(Attack(name=name, code=code, expect=("timeout", *LOOSE[1:]), limits=limits(wall_seconds=0.6)))
    assert outcome.status != "timeout" or outcome.usage.wall_ms >= 590


@pytest.mark.container_sample("os patched", "modules cleared", why="the keeper passes on what the kernel says")
@pytest.mark.parametrize(
    "name", ["json patched", "os patched", "time patched", "frames walked and emptied", "modules cleared"]
)
def test_broken_harness_then_exit(contain: Contain, name: str) -> None:
    """The exit code is the kernel's to tell."""
    code = f"from os import _exit\n{BROKEN[name]}\n_exit(5)\n"
    assert contain(Attack(name=name, code=code, expect=("exit",))).exit_code == 5


SHADOWED = """
json random struct traceback os sys time types atexit threading numpy encodings site sitecustomize usercustomize
codecs linecache ringfence decimal dataclasses enum fractions uuid pathlib collections datetime math io abc
contextlib importlib signal gc resource socket typing functools warnings
"""


@pytest.mark.parametrize("kind", ["modules", "packages"])
def test_shadow_modules_do_not_reach_the_harness(contain: Contain, kind: str) -> None:
    suffix = ".py" if kind == "modules" else "/__init__.py"
    files = {name + suffix: b"import os\nos.write(1, b'shadow')\nos._exit(9)\n" for name in SHADOWED.split()}
    outcome = contain(Attack(name=kind, code="result = [1.5, {'a': None}]", files=files))
    assert (outcome.result, outcome.stdout) == ([1.5, {"a": None}], "")


def test_shadow_modules_when_the_program_fails(contain: Contain) -> None:
    files = {f"{name}.py": b"import os\nos._exit(9)\n" for name in SHADOWED.split()}
    outcome = contain(Attack(name="failing", code="raise ValueError('truth')", files=files, expect=("error",)))
    assert outcome.error is not None and (outcome.error.type, outcome.error.message) == ("ValueError", "truth")


def test_shadow_modules_in_the_quant_profile(quant: Sandbox, canary: Canary) -> None:
    names = (*SHADOWED.split(), "pandas", "scipy", "talib", "numba", "matplotlib", "backtesting")
    files = {f"{name}.py": b"import os\nos._exit(9)\n" for name in names}
    code = (
        "import numpy, pandas, matplotlib.pyplot as plt\nplt.plot([1])\nresult = pandas.DataFrame({'a': numpy.ones(1)})"
    )
    attack = Attack(name="quant", code=code, files=files, limits=Limits(wall_seconds=5, memory_mb=512))
    outcome = run_attack(quant, canary, attack)
    assert outcome.result == [{"a": 1.0}]
    assert "figure-1.png" in [a.name for a in outcome.artifacts]


def test_harness_holds_nothing_worth_stealing(contain: Contain) -> None:
    """What frames and the collector reach is the guest's own: no open socket or file but its streams."""
    code = """
import gc, io, os, socket, sys
gc.unfreeze()
found = []
for thing in gc.get_objects():
    if isinstance(thing, (socket.socket, io.FileIO)) and not isinstance(thing, type):
        try:
            number = thing.fileno()
            os.fstat(number)
        except (OSError, ValueError):
            continue
        if number not in (0, 1, 2, 3, -1):
            found.append(repr(thing))
frame = sys._getframe()
while frame is not None:
    print({name: repr(value)[:2000] for name, value in frame.f_locals.items() if name != "canary"})
    frame = frame.f_back
result = found
"""
    outcome = contain(Attack(name="walk", code=code))
    assert outcome.result == []
