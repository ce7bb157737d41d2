"""What a shell sees of an Outcome."""

from __future__ import annotations

from ringfence.sandbox.outcome import Outcome

STOPPED = {
    "timeout": 124,
    "cpu_limit": 124,
    "memory_limit": 137,
    "output_limit": 122,
    "disk_limit": 121,
    "process_limit": 120,
    "cancelled": 130,
}


def exit_code(outcome: Outcome) -> int:
    """The guest's own exit code when it ended by itself, else the code that says what stopped it."""
    if outcome.status == "ok":
        return 0
    if outcome.status == "signal":
        return 128 + (outcome.signal or 0)
    if outcome.status in STOPPED:
        return STOPPED[outcome.status]
    return 1 if outcome.exit_code is None else outcome.exit_code
