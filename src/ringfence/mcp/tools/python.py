"""Run a program: `docker_run_python`, the name that chat tools know, and `run_python`, with all that a Job has."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ringfence.base.errors import InputError
from ringfence.mcp.answers import OutcomeAnswer, outcome_values
from ringfence.mcp.calls import Caller, Doing
from ringfence.mcp.desk import Desk
from ringfence.mcp.fence import WAITING
from ringfence.mcp.leavings import Left, keep
from ringfence.mcp.text import describe
from ringfence.mcp.tool import Arguments, Reply, Tool
from ringfence.mcp.tools.limits import Limited, Timeout
from ringfence.sandbox.job import Cancel, Device, Job
from ringfence.sandbox.outcome import Outcome

RESULT_MB = 1  # an answer goes into a model's context; what is larger belongs into a file

_WHAT_IT_FINDS = (
    "It finds numpy, pandas, scipy, TA-Lib, numba, scikit-learn and matplotlib, has no network and sees no host file. "
    "Assign to `result` to hand back a value. Files that it writes and figures that it leaves open come back as "
    "artifacts. A program that fails is a normal answer: look at status and error."
)


class ScriptArguments(Arguments):
    script: str = Field(description="The text of a Python program.")
    timeout: Timeout = None
    engine: Literal["standard", "npu"] = Field(
        default="standard", description="npu asks for an accelerator; the answer's device says what there was."
    )


class FileBytes(Arguments):
    base64: str = Field(description="The file's bytes in base64.")


class PythonArguments(Limited):
    code: str = Field(description="The text of a Python program.")
    inputs: dict[str, JsonValue] = Field(default_factory=dict, description="Global variables of the program.")
    files: dict[str, str | FileBytes] = Field(
        default_factory=dict,
        description='Files of its working directory by name: a text, or {"base64": "..."} for bytes.',
    )
    seed: Annotated[int | None, Field(description="Seed of its random numbers.", ge=0)] = None
    device: Device = Field(default="auto", description="The accelerator to ask for.")


async def _run_script(desk: Desk, given: ScriptArguments, caller: Caller) -> Reply:
    limits = desk.bounds["chat"].limits({"wall_seconds": given.timeout})
    device: Device = "npu" if given.engine == "npu" else "auto"
    return await _run(desk, Job(code=given.script, limits=limits, device=device, result_mb=RESULT_MB), caller)


async def _run_python(desk: Desk, given: PythonArguments, caller: Caller) -> Reply:
    job = Job(
        code=given.code,
        inputs=given.inputs,
        files={name: _content(name, content) for name, content in given.files.items()},
        limits=desk.bounds["chat"].limits(given.asked),
        device=given.device,
        seed=given.seed,
        result_mb=RESULT_MB,
    )
    return await _run(desk, job, caller)


async def _run(desk: Desk, job: Job, caller: Caller) -> Reply:
    def work(cancel: Cancel, doing: Doing) -> tuple[Outcome, Left]:
        with desk.fence.lease() as sandbox:
            doing.waits_for("program", job.limits.wall_seconds)
            outcome = sandbox.run(job, cancel=cancel)
        return outcome, keep(desk.shelf, outcome)

    outcome, left = await desk.calls.run(caller, work, first=WAITING)
    answer = OutcomeAnswer.model_validate(outcome_values(outcome, left.kept))
    return Reply(answer=answer, text=describe(outcome, left.kept), blocks=left.blocks)


def _content(name: str, content: str | FileBytes) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8", "replace")
    try:
        return base64.b64decode(content.base64, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"file {name!r} is not base64: encode its bytes, or give it as a text") from None


TOOLS = (
    Tool(
        name="docker_run_python",
        title="Run Python in the sandbox",
        description=f"Run a Python program in a fresh sandbox and return what it printed. {_WHAT_IT_FINDS} "
        "It runs on the backend that the server is set to; the answer's `backend` says which.",
        arguments=ScriptArguments,
        answer=OutcomeAnswer,
        call=_run_script,
        preset="chat",
    ),
    Tool(
        name="run_python",
        title="Run Python with inputs, files and limits",
        description=f"Run a Python program in a fresh sandbox, with inputs, files and limits. {_WHAT_IT_FINDS}",
        arguments=PythonArguments,
        answer=OutcomeAnswer,
        call=_run_python,
        preset="chat",
    ),
)
