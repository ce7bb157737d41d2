"""Run a program: `docker_run_python`, the name that chat tools know, and `run_python`, with all that a Job has."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ringfence.base.errors import InputError
from ringfence.mcp.answers import OutcomeAnswer, outcome_values
from ringfence.mcp.calls import Call
from ringfence.mcp.desk import Desk
from ringfence.mcp.fence import WAITING
from ringfence.mcp.leavings import keep
from ringfence.mcp.text import describe
from ringfence.mcp.tool import Arguments, Reply, Text, Tool
from ringfence.mcp.tools.limits import Limited, Timeout
from ringfence.sandbox.job import Device, Job

_WHAT_IT_FINDS = (
    "It finds numpy, pandas, scipy, TA-Lib, numba, scikit-learn and matplotlib, has no network and sees no host file. "
    "Assign to `result` to hand back a value. Files that it writes and figures that it leaves open come back as "
    "artifacts. A program that fails is a normal answer: look at status and error."
)


class ScriptArguments(Arguments):
    script: Annotated[str, Text()] = Field(description="The text of a Python program.")
    timeout: Timeout = None
    engine: Literal["standard", "npu"] = Field(
        default="standard", description="npu asks for an accelerator; the answer's device says what there was."
    )


class FileBytes(Arguments):
    base64: str = Field(description="The file's bytes in base64.")


class PythonArguments(Limited):
    code: Annotated[str, Text()] = Field(description="The text of a Python program.")
    inputs: dict[str, JsonValue] = Field(default_factory=dict, description="Global variables of the program.")
    files: dict[str, str | FileBytes] = Field(
        default_factory=dict,
        description='Files of its working directory by name: a text, or {"base64": "..."} for bytes.',
    )
    seed: Annotated[int | None, Field(description="Seed of its random numbers.", ge=0)] = None
    device: Device = Field(default="auto", description="The accelerator to ask for.")


def _run_script(desk: Desk, given: ScriptArguments, call: Call) -> Reply:
    limits = desk.bounds["chat"].limits({"wall_seconds": given.timeout})
    device: Device = "npu" if given.engine == "npu" else "auto"
    return _run(desk, Job(code=given.script, limits=limits, device=device), call)


def _run_python(desk: Desk, given: PythonArguments, call: Call) -> Reply:
    job = Job(
        code=given.code,
        inputs=given.inputs,
        files={name: _content(name, content) for name, content in given.files.items()},
        limits=desk.bounds["chat"].limits(given.asked),
        device=given.device,
        seed=given.seed,
    )
    return _run(desk, job, call)


def _run(desk: Desk, job: Job, call: Call) -> Reply:
    with desk.fence.lease() as sandbox:
        call.doing.waits_for("program", job.limits.wall_seconds)
        outcome = sandbox.run(job, cancel=call.cancel)
    left = keep(desk, call.client, outcome)
    return Reply(answer=OutcomeAnswer.model_validate(outcome_values(left)), text=describe(left), blocks=left.blocks)


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
        work=_run_script,
        first=WAITING,
        preset="chat",
    ),
    Tool(
        name="run_python",
        title="Run Python with inputs, files and limits",
        description=f"Run a Python program in a fresh sandbox, with inputs, files and limits. {_WHAT_IT_FINDS}",
        arguments=PythonArguments,
        answer=OutcomeAnswer,
        work=_run_python,
        first=WAITING,
        preset="chat",
    ),
)
