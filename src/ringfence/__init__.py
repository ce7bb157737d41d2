"""Run AI-written trading code behind a fence, fast, and tell the truth about it.

Importing this package does nothing: no environment is read, no logging is set up and no heavy
library is loaded. The names below are fetched from their modules when first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the checkers know this name; importing typing for it would cost half of `ringfence --help`

if TYPE_CHECKING:
    from ringfence.base.errors import (
        InputError as InputError,
        JobError as JobError,
        LimitError as LimitError,
        MountError as MountError,
        RefusedError as RefusedError,
        RingfenceError as RingfenceError,
        SandboxError as SandboxError,
        SettingsError as SettingsError,
        SourceError as SourceError,
        SourceTooLarge as SourceTooLarge,
    )
    from ringfence.sandbox import open_sandbox as open_sandbox, open_session as open_session
    from ringfence.sandbox.job import Cancel as Cancel, Job as Job, Limits as Limits, Mount as Mount
    from ringfence.sandbox.outcome import Outcome as Outcome
    from ringfence.verbs.run import run as run

__version__ = "0.1.0"

_HOMES = {
    "run": "ringfence.verbs.run",
    "open_sandbox": "ringfence.sandbox",
    "open_session": "ringfence.sandbox",
    "Job": "ringfence.sandbox.job",
    "Limits": "ringfence.sandbox.job",
    "Mount": "ringfence.sandbox.job",
    "Cancel": "ringfence.sandbox.job",
    "Outcome": "ringfence.sandbox.outcome",
    "RingfenceError": "ringfence.base.errors",
    "JobError": "ringfence.base.errors",
    "LimitError": "ringfence.base.errors",
    "SourceError": "ringfence.base.errors",
    "InputError": "ringfence.base.errors",
    "MountError": "ringfence.base.errors",
    "RefusedError": "ringfence.base.errors",
    "SandboxError": "ringfence.base.errors",
    "SettingsError": "ringfence.base.errors",
    "SourceTooLarge": "ringfence.base.errors",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'ringfence' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
