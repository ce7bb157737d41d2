"""A backend that does what a file says: opens late or never, runs nothing, answers oddly. Else, the native one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ringfence.base.errors import SandboxError
from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.job import Job
from ringfence.sandbox.outcome import Outcome
from ringfence.testing.fake import FakeSandbox, outcome


def create(options: Mapping[str, str]) -> Sandbox:
    down = Path(os.environ["MOODY_DOWN"])
    while down.exists() and down.read_text() == "slow":
        time.sleep(0.05)
    if not down.exists():
        return open_sandbox("native:profile=plain,park=0")
    if down.read_text() == "broken":
        return FakeSandbox(_fail)
    if down.read_text() == "odd":
        return FakeSandbox(lambda _: replace(outcome(), stdout="\ud800", result={"x": "\ud800"}))
    raise SandboxError("the engine does not answer: start it")


def _fail(job: Job) -> Outcome:
    raise SandboxError("the engine went away: start it again")
