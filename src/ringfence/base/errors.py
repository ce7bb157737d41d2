"""Every error we raise, in one tree.

What the guest did is a value (`Outcome`); what is wrong with the request, or what we failed to do,
is one of these. Each class has its own exit code, and each message is one sentence that ends in
what to do next.

    RingfenceError
    ├── JobError            64  the request is wrong; nothing was run
    │   ├── LimitError      64  a limit is outside its range
    │   ├── SourceError     65  the program text is not UTF-8, holds a NUL, or names another encoding
    │   ├── InputError      66  a file or an input value cannot be read or carried
    │   ├── MountError      67  a mount's host path is missing, or its place in the jail is not allowed
    │   └── SourceTooLarge  68  the program text is over the size limit
    ├── DataError           69  market data is missing, cannot be loaded, or holds what no market printed
    ├── OrderError          71  a strategy or a caller asked a broker for something that makes no sense
    ├── DraftError          72  the text is no strategy: cut off, no class, two classes, unknown parameter
    ├── StoreError          73  the results database cannot be opened, read or written
    ├── AgentError          74  an author or judge of strategies cannot be had: no model, no key, no answer in time
    │   └── BudgetError     74  what a run or a day may spend on models is spent
    ├── SettingsError       78  a setting or an option of ours has a value it cannot have
    ├── SandboxError       125  we could not run it
    └── RefusedError       126  we could run it, but not within the rules: over the configured maximum,
                                or a limit that this machine cannot enforce
"""

from __future__ import annotations

from typing import ClassVar


class RingfenceError(Exception):
    exit_code: ClassVar[int] = 125


class JobError(RingfenceError, ValueError):
    exit_code = 64


class LimitError(JobError):
    exit_code = 64


class SourceError(JobError):
    exit_code = 65


class InputError(JobError):
    exit_code = 66


class MountError(JobError):
    exit_code = 67


class SourceTooLarge(JobError):
    exit_code = 68


class DataError(RingfenceError, ValueError):
    exit_code = 69


class OrderError(RingfenceError, ValueError):
    exit_code = 71


class DraftError(RingfenceError, ValueError):
    """`verdict` is one of truncated, not_a_strategy and failed; `line` counts from 1 in the text as it was given."""

    exit_code = 72

    def __init__(self, message: str, *, verdict: str = "failed", line: int | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.line = line


class StoreError(RingfenceError):
    exit_code = 73


class AgentError(RingfenceError):
    exit_code = 74


class BudgetError(AgentError):
    exit_code = 74


class SettingsError(RingfenceError, ValueError):
    exit_code = 78


class SandboxError(RingfenceError):
    exit_code = 125


class RefusedError(RingfenceError):
    exit_code = 126
