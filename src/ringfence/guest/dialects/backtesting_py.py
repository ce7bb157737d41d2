"""The driver for scripts that use backtesting.py: the text runs unchanged, as `__main__`, on the real library.

Its result is one report: every Backtest.run() and optimize() in full precision, the warnings, what was healed and
what was missing. It is filled in when the text ends, however it ends, and once more when its threads and exit
handlers are done. The script lives in this process and may forge all of it; the host therefore calls these numbers
claimed and never verified.
"""

from __future__ import annotations

import atexit
import functools
import os
import types
from collections.abc import Mapping
from typing import Any

from ringfence.guest.dialects.task import Task
from ringfence.guest.program import ResultBox
from ringfence.guest.script import Drive, execute_text


def make(task: Mapping[str, object]) -> Drive:
    return functools.partial(_drive, Task.read(task))


def _drive(task: Task, code: str, path: str, module: types.ModuleType, box: ResultBox) -> None:
    from ringfence.guest.dialects.hooked import Hooked  # imports the library: if it is missing, that is the report

    hooked = Hooked(task, code)
    if task.heal:
        hooked.heal(module)
    own_pid = os.getpid()

    def tell() -> None:
        if os.getpid() == own_pid:  # a fork of the script's has inherited this, and must not answer for it
            box(hooked.report(module) if hooked.has_news() else box.value)

    atexit.register(tell)  # registered first, so it runs last
    try:
        execute_text(code, path, module)
        if task.add_run and hooked.is_unrun(module):
            hooked.add_run(module)
    except BaseException as e:
        hooked.needs.read(e)
        raise
    finally:
        tell()


def strategies(module: types.ModuleType, base: Any) -> list[type]:
    """The strategy classes that the text defines, in the order of its text, leaving out those made to be extended."""
    found = [
        value
        for value in list(vars(module).values())
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == "__main__"
    ]
    found = list(dict.fromkeys(found))
    parents = {parent for cls in found for parent in cls.__mro__[1:]}
    return [cls for cls in found if cls not in parents and not getattr(cls, "__abstractmethods__", None)]
