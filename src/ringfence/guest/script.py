"""Run a whole program as `__main__`, end it as the interpreter would, report, and leave."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
import types
from collections.abc import Callable

from ringfence.guest import program, wire

_FOLDER = "/box"
_WORK = "/job"
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


Drive = Callable[[str, str, types.ModuleType, program.ResultBox], None]


def run(
    channel: int,
    code: str,
    name: str,
    argv: list[str],
    inputs: dict[str, object],
    drive: Drive | None = None,
    result_bytes: int = 8 << 20,
) -> None:
    """Run the text, or let `drive` do with it what it does; a driver's result is reported even if the text failed."""
    leave = os._exit  # held here, because the program may replace it
    own_pid = os.getpid()
    path = f"{_FOLDER}/{name}"
    # The text is outside the working directory, so it is no artifact, but tracebacks and spawned
    # processes of multiprocessing can read it.
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(file, code.encode())
    os.close(file)
    sys.argv = [path, *argv]
    sys.path.insert(0, _WORK)
    module, box = make_main(path, inputs)
    sys.modules["__main__"] = module
    ending = program.attempt(functools.partial(drive or execute_text, code, path, module, box), path)
    if os.getpid() != own_pid:  # a fork that ran to the end of the text: it must not answer for the program
        program.flush_streams()
        leave(ending.exit_code)
    after = program.attempt(_wind_up, path)
    if ending.end == "ok":
        ending = after
    value = box.value if box.filled else module.__dict__.get("result")
    ending, report = program.finish(ending, value, result_bytes, also_after_failure=drive is not None)
    program.flush_streams()
    with contextlib.suppress(OSError):  # the program closed the channel: the host then has only the exit status
        wire.write_frame(channel, report)
    leave(ending.exit_code)


def make_main(path: str, inputs: dict[str, object]) -> tuple[types.ModuleType, program.ResultBox]:
    module = types.ModuleType("__main__")
    box = program.ResultBox()
    module.__dict__.update(inputs, __file__=path, __builtins__=__builtins__, ringfence_result=box)
    return module, box


def execute_text(code: str, path: str, module: types.ModuleType, box: program.ResultBox | None = None) -> None:
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)


def _wind_up() -> None:
    """What the interpreter does after the last line: wait for threads, run exit handlers; and save figures."""
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls at its end
    program.save_figures(1, _WORK)
    atexit._run_exitfuncs()


def execute(channel: int, argv: list[str]) -> None:
    """Become another program of the view."""
    try:
        os.execvp(argv[0], argv)
    except OSError as e:
        sys.stderr.write(f"{argv[0]}: {e.strerror}\n")
        code = _NOT_FOUND if isinstance(e, FileNotFoundError) else _NOT_EXECUTABLE
        wire.write_frame(channel, program.Ending("exit", code).report())
        program.flush_streams()
        os._exit(code)
