"""Run cells one after another in one namespace, as a notebook does, until the channel closes."""

from __future__ import annotations

import ast
import functools
import json
import linecache
import os
import signal
import sys
import types
from collections.abc import Callable

from ringfence.guest import program, values, wire

_WORK = "/job"


def serve(channel: int, inputs: dict[str, object]) -> None:
    leave = os._exit
    own_pid = os.getpid()
    module = types.ModuleType("__main__")
    box = program.ResultBox()
    module.__dict__.update(inputs, __builtins__=__builtins__, ringfence_result=box)
    sys.modules["__main__"] = module
    sys.argv = [""]
    sys.path.insert(0, _WORK)
    figures = 1
    cells = 0
    while (frame := wire.read_frame(channel)) is not None:
        cells += 1
        path = f"<cell {cells}>"
        code: str = json.loads(frame)["code"]
        box.value = program.ResultBox().value
        module.__dict__.pop("result", None)
        cell = _Cell(code, path, module.__dict__)
        ending = _interruptible(functools.partial(program.attempt, cell.run, path), path)
        if os.getpid() != own_pid:  # a fork that fell out of its cell: it must not answer for the session
            program.flush_streams()
            leave(ending.exit_code)
        figures = program.save_figures(figures, _WORK)
        value = box.value if box.filled else module.__dict__.get("result", cell.value)
        ending, report = _finish(ending, value, explicit=box.filled or "result" in module.__dict__)
        program.flush_streams()
        try:
            wire.write_frame(channel, report)
        except OSError:
            break
    leave(0)


class _Cell:
    """A piece of text whose last expression, if it ends in one, is its value."""

    def __init__(self, code: str, path: str, space: dict[str, object]) -> None:
        self._code, self._path, self._space = code, path, space
        self.value: object = None

    def run(self) -> None:
        lines = [line + "\n" for line in self._code.splitlines()]
        linecache.cache[self._path] = (len(self._code), None, lines, self._path)
        tree = ast.parse(self._code, self._path)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, self._path, "exec", dont_inherit=True), self._space)
        if last is not None and isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            self.value = eval(compile(expression, self._path, "eval", dont_inherit=True), self._space)


def _finish(ending: program.Ending, value: object, *, explicit: bool) -> tuple[program.Ending, bytes]:
    """A value that was only looked at and cannot be carried is shown; one meant as the result is an error."""
    if ending.end == "ok" and not explicit and value is not None:
        try:
            return ending, ending.report(values.encode(value))
        except values.ResultError:
            shown = program.attempt(lambda: print(repr(value)), "")
            return shown, shown.report()
    return program.finish(ending, value)


def _interruptible(action: Callable[[], program.Ending], path: str) -> program.Ending:
    """Let SIGINT interrupt the cell, and only the cell: one that comes late must not end the session."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ending = action()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt as e:  # it came just as the cell had ended
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ending = program.fail(e, path)
    return ending
