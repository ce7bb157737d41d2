"""Run a piece of code behind the fence."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.job import Job, Limits
from ringfence.sandbox.outcome import Outcome

_lock = threading.Lock()
_shared: Sandbox | None = None


def run(code: str, *, sandbox: Sandbox | None = None, **limits: float) -> Outcome:
    """Run `code` and return what it did; keywords are the fields of `Limits`.

    Without `sandbox`, one native sandbox is opened at the first call, kept for the next ones and closed
    when the interpreter ends: the first call pays for the imports, the others take milliseconds.
    """
    return (sandbox or _open_shared()).run(Job(code=code, limits=_limits(limits)))


def _limits(given: dict[str, float]) -> Limits:
    make: Callable[..., Limits] = Limits
    return make(**given)


def _open_shared() -> Sandbox:
    global _shared
    with _lock:
        if _shared is None:
            _shared = open_sandbox("native")
            atexit.register(_shared.close)
        return _shared
