"""Ask the guest what is to be seen in a text. The host parses nobody's program.

Whatever a text does to who reads it, by its size, its depth or a fault of the parser, ends in the jail, and comes back
as a DraftError that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ringfence.base.errors import DraftError, SandboxError, SourceError, SourceTooLarge
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Job, Json, Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.checked import Checked, refused
from ringfence.trade.checked_wire import read_checked, read_reply as read_program_reply
from ringfence.trade.draft import Draft
from ringfence.trade.reply import ProgramReply
from ringfence.trade.syntax import MOST_CHARACTERS

_SECONDS = 30.0
# What the text itself brought about, by the kernel's evidence.
_ENDINGS = {
    "timeout": f"takes longer to read than {_SECONDS:g} s",
    "cpu_limit": f"takes longer to read than {_SECONDS:g} s",
    "memory_limit": "takes more memory to read than it may",
    "signal": "makes Python's own parser crash",
    "exit": "makes Python's own parser stop",
}


def check(
    text: str,
    *,
    name: str,
    sandbox: Sandbox,
    class_name: str | None = None,
    given: Mapping[str, Json] | None = None,
    limits: Limits | None = None,
) -> Checked:
    """All that is to be seen in a program. `given` are the values that its parameters had in a run. `limits` are those
    of the jobs to come, where there are such: a sandbox keeps children, or containers, for jobs of one shape."""
    try:
        answer = _ask(text, {"what": "check", "class_name": class_name, "given": given or {}}, name, sandbox, limits)
    except DraftError as e:
        return refused(e)
    try:
        return read_checked(answer, name=name)
    except ValueError as e:
        raise SandboxError(f"what was read of {name} has not its shape ({e}): try again") from e


def read_draft(
    text: str, *, name: str, sandbox: Sandbox, class_name: str | None = None, limits: Limits | None = None
) -> Draft:
    """The Draft in a file or a model's reply; DraftError says why there is none."""
    seen = check(text, name=name, class_name=class_name, sandbox=sandbox, limits=limits)
    if seen.draft is None:
        raise seen.error or DraftError("the text is no strategy: give Python with a class derived from Strategy")
    return seen.draft


def read_reply(text: str, *, sandbox: Sandbox) -> ProgramReply:
    """The program in a model's reply."""
    try:
        answer = _ask(text, {"what": "reply", "class_name": None, "given": {}}, "reply", sandbox, None)
    except DraftError as e:
        return ProgramReply(ending="refused", notices=(str(e),))
    try:
        return read_program_reply(answer)
    except ValueError as e:
        raise SandboxError(f"what was read of the reply has not its shape ({e}): try again") from e


def _ask(text: str, task: Mapping[str, Json], name: str, sandbox: Sandbox, limits: Limits | None) -> Json:
    if len(text) > MOST_CHARACTERS:
        raise DraftError(f"the text has {len(text):,} characters, over {MOST_CHARACTERS:,}: give the program alone")
    bounds = limits or Limits()
    try:
        job = Job(
            code=text,
            driver="text",
            task={**task, "name": name},
            limits=replace(bounds, wall_seconds=min(bounds.wall_seconds, _SECONDS)),
            seed=0,
            result_mb=16,
        )
    except (SourceError, SourceTooLarge) as e:
        raise DraftError(str(e)) from e
    outcome = sandbox.run(job)
    if outcome.ok:
        return outcome.result
    raise _failure(outcome)


def _failure(outcome: Outcome) -> DraftError | SandboxError:
    raised = outcome.error.type if outcome.error is not None else ""
    if raised in ("MemoryError", "RecursionError"):
        return DraftError("the text is nested too deeply, or too large, to be read: give the program alone")
    if outcome.status in _ENDINGS:
        return DraftError(f"the text {_ENDINGS[outcome.status]} ({outcome.reason}): give the program alone")
    message = outcome.error.message if outcome.error is not None else outcome.reason
    return SandboxError(f"the text could not be looked at ({raised or outcome.status}: {message}): try again")
