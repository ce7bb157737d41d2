"""Run one piece of the program's text and say how it ended. Scripts and session cells share this."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from ringfence.guest import values

RESULT_ERROR_EXIT = 70
_MOST_TEXT = 200_000
_MOST_REPORTED = 100_000  # characters of a text in a report: the host keeps no more
_UNSET = object()
_type_name = type.__dict__["__name__"].__get__  # a metaclass may lie about it


@dataclass(slots=True)
class ResultBox:
    """What the program passed to `ringfence_result`."""

    value: object = _UNSET

    def __call__(self, value: object) -> None:
        self.value = value

    @property
    def filled(self) -> bool:
        return self.value is not _UNSET


@dataclass(frozen=True, slots=True)
class Ending:
    """How a piece of the program ended."""

    end: Literal["ok", "error", "exit"]
    exit_code: int = 0
    error: dict[str, str | int | None] | None = None

    def report(self, result: bytes = b"null") -> bytes:
        """The frame for the host; see `ringfence.sandbox.frames`."""
        rest = json.dumps({"error": self._short_error(), "exit_code": self.exit_code})
        return b'{"v":1,"end":"%s","result":%s,%s' % (self.end.encode(), result, rest[1:].encode())

    def _short_error(self) -> dict[str, str | int | None] | None:
        if self.error is None:
            return None
        return {key: _reported(value) if isinstance(value, str) else value for key, value in self.error.items()}


def _reported(text: str) -> str:
    """As much of it as the host keeps, with no half of a character, which the host would refuse."""
    return text[: _MOST_REPORTED + 1].encode("utf-8", "backslashreplace").decode()


def attempt(action: Callable[[], object], path: str) -> Ending:
    """Do `action`; an exception is printed as Python prints it, without our own frames, and becomes the ending."""
    try:
        action()
    except SystemExit as e:
        return _exit(e)
    except BaseException as e:  # noqa: BLE001  # whatever the program raised becomes its ending
        return fail(e, path)
    return Ending("ok")


def _exit(e: SystemExit) -> Ending:
    if e.code is None or e.code == 0:
        return Ending("ok")
    if isinstance(e.code, int):
        return Ending("exit", e.code & 0xFF)
    say(f"{e.code}\n")  # as the interpreter does for sys.exit("message")
    return Ending("exit", 1)


def fail(e: BaseException, path: str) -> Ending:
    e.__traceback__ = _own_part(e.__traceback__, path)
    text = "".join(traceback.format_exception(e))[-_MOST_TEXT:]
    say(text)
    return Ending(
        "error", 1, {"type": _type_name(type(e)), "message": _message(e), "line": line_of(e, path), "traceback": text}
    )


def _message(e: BaseException) -> str:
    try:
        return str(e.msg if isinstance(e, SyntaxError) else e)[:_MOST_TEXT]
    except BaseException:  # noqa: BLE001  # an exception that raises when it is shown is still the program's own failure
        return "(the message cannot be shown)"


def say(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # noqa: BLE001  # the program may have closed or replaced the stream; the descriptor may still be there
        with contextlib.suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))


def _own_part(trace: TracebackType | None, path: str) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    return trace


def line_of(e: BaseException, path: str) -> int | None:
    """The innermost line of the program's own text."""
    if isinstance(e, SyntaxError) and e.filename == path:
        return e.lineno
    line = None
    trace = e.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def finish(
    ending: Ending, value: object, max_bytes: int = 8 << 20, *, also_after_failure: bool = False
) -> tuple[Ending, bytes]:
    """The ending and the frame to send, with `value` as the result if the program ended well."""
    if ending.end != "ok" and not also_after_failure:
        return ending, ending.report()
    try:
        return ending, ending.report(values.encode(value, max_bytes=max_bytes))
    except values.ResultError as e:
        say(f"ResultError: {e}\n")
        error: dict[str, str | int | None] = {"type": "ResultError", "message": str(e), "line": None, "traceback": ""}
        ending = Ending("error", RESULT_ERROR_EXIT, error)
        return ending, ending.report()


def save_figures(first: int, folder: str) -> int:
    """Save matplotlib's open figures as figure-N.png, close them, and return the next number."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return first
    for number in pyplot.get_fignums():
        target = os.path.join(folder, f"figure-{first}.png")
        try:
            pyplot.figure(number).savefig(target)
        except Exception as e:  # noqa: BLE001  # a figure that cannot be drawn must not cost the program its result
            say(f"figure {number} could not be saved: {type(e).__name__}: {e}\n")
        else:
            first += 1
    pyplot.close("all")
    return first


def flush_streams() -> None:
    for name in ("stdout", "stderr"):
        # The program may have closed or deleted the stream, or put something in its place.
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError, RuntimeError):
            getattr(sys, name).flush()
