"""What a person is told about an Outcome after the program's own output."""

from __future__ import annotations

import json
import sys

from ringfence.cli.sizes import MB, show_bytes
from ringfence.cli.terminal import clean, clean_line, emit, say
from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Artifact, Outcome

_RESULT_LINES = 200


def outcome_json(outcome: Outcome) -> str:
    """The Outcome as strict JSON on one line, in ASCII, so that it survives any locale."""
    return json.dumps(outcome.to_json(), allow_nan=False)


def show_result(result: Json) -> None:
    """The result as indented JSON on standard output; on a terminal harmless and not endless."""
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
    if sys.stdout.isatty():
        text = clean(text)
        lines = text.splitlines()
        if len(lines) > _RESULT_LINES:
            rest = len(lines) - _RESULT_LINES
            text = "\n".join([*lines[:_RESULT_LINES], f"... and {rest} more lines; use --json for all of it"])
    emit(sys.stdout, text + "\n")


def summarise(outcome: Outcome) -> None:
    """A short summary on standard error: for a terminal in full, else only what went wrong or was lost."""
    if sys.stderr.isatty():
        _summarise_on_terminal(outcome)
    else:
        remark(outcome)


def remark(outcome: Outcome) -> None:
    """One plain sentence for each thing that went wrong or was lost, and where the files are, if they were kept."""
    if not _told_by_guest(outcome):
        say(f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status)
    for line in (*_losses(outcome), *placed(outcome)):
        say(line)


def placed(outcome: Outcome) -> list[str]:
    """The directory of the run's own that its files are in, as a sentence; none if they were not kept."""
    paths = [artifact.path.removesuffix(f"/{artifact.name}") for artifact in outcome.artifacts if artifact.path]
    return [f"{len(paths)} artifact{'s are' if paths[1:] else ' is'} in {paths[0]}"] if paths else []


def refused(outcome: Outcome) -> list[str]:
    return [f"artifact {item.name!r} was refused: {item.reason}" for item in outcome.rejected_artifacts]


def _told_by_guest(outcome: Outcome) -> bool:
    """A program that ended by itself has said so: an uncaught exception leaves its traceback on stderr.
    Only a result that could not be carried is news to it."""
    if outcome.status == "error":
        return outcome.error is not None and outcome.error.type != "ResultError"
    return outcome.status in ("ok", "exit")


def _summarise_on_terminal(outcome: Outcome) -> None:
    from rich.text import Text

    from ringfence.cli.console import open_console

    console = open_console(stderr=True)
    style = "bold green" if outcome.ok else "bold red"
    console.print(Text(outcome.status, style), Text(clean_line(outcome.reason)))
    console.print(Text(_usage(outcome), "dim"))
    for artifact in outcome.artifacts:
        console.print(Text("artifact", "bold"), Text(clean_line(_artifact(artifact))))
    if outcome.artifacts and outcome.artifacts[0].path is None:
        console.print(Text("the artifacts were not kept: give --artifacts DIR to keep them", "dim"))
    for line in _losses(outcome):
        console.print(Text("note", "bold yellow"), Text(clean_line(line)))


def _usage(outcome: Outcome) -> str:
    usage, limits = outcome.usage, outcome.limits
    cpu = f"cpu {usage.cpu_ms / 1000:.2f} s"
    if limits.cpu_seconds is not None:
        cpu += f" of {limits.cpu_seconds:g} s"
    return " · ".join(
        (
            f"wall {usage.wall_ms / 1000:.2f} s of {limits.wall_seconds:g} s",
            cpu,
            f"memory {show_bytes(usage.peak_memory_bytes)} of {show_bytes(limits.memory_mb * MB)}",
            f"processes {usage.processes} of {limits.processes}",
        )
    )


def _artifact(artifact: Artifact) -> str:
    where = f" -> {artifact.path}" if artifact.path else ""
    return f"{artifact.name} ({show_bytes(artifact.bytes)}, {artifact.mime}){where}"


def _losses(outcome: Outcome) -> list[str]:
    """One sentence for each thing the user asked for and did not get."""
    cap = show_bytes(outcome.limits.output_bytes)
    cut = [name for name in ("stdout", "stderr") if getattr(outcome.truncated, name)]
    lines = [f"{name} was cut at {cap}: raise --output-bytes to keep more" for name in cut]
    if outcome.truncated.artifacts:
        lines.append("some artifacts were left out: write fewer or smaller files")
    lines += refused(outcome)
    if outcome.device.notice:
        lines.append(outcome.device.notice)
    return lines
