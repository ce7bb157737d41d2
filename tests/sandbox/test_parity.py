"""The same Job gives the same Outcome on every backend, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.sandbox.outcome import Outcome

from tests.sandbox.fifty import JOBS


@pytest.fixture(scope="module")
def native() -> Iterator[Sandbox]:
    with open_sandbox("native:profile=quant,park=1") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def docker(docker_engine: str) -> Iterator[Sandbox]:
    with open_sandbox("docker:profile=plain,park=1") as sandbox:
        yield sandbox


def test_there_are_fifty() -> None:
    assert len(JOBS) == 50


@pytest.mark.parametrize("name", JOBS)
def test_the_outcome_is_the_same(native: Sandbox, docker: Sandbox, name: str) -> None:
    ours, theirs = native.run(JOBS[name]), docker.run(JOBS[name])
    assert (ours.backend, theirs.backend) == ("native", "docker")
    assert comparable(ours) == comparable(theirs)


def comparable(outcome: Outcome) -> dict[str, object]:
    """All but what says who ran it, when, and how long each took."""
    said: dict[str, object] = dict(outcome.to_json())
    for name in ("run_id", "backend", "isolation", "stages"):
        assert said.pop(name)
    used = outcome.usage
    said["usage"] = (used.wall_ms > 0, used.cpu_ms > 0, used.processes >= 1, used.output_bytes)
    if outcome.status in ("timeout", "cpu_limit", "memory_limit"):
        said["signal"] = outcome.signal in (None, 9)
    # Where a library lies is the machine's: only the program's own lines are compared.
    error = outcome.error and replace(outcome.error, traceback="", message=outcome.error.message.partition("\n")[0])
    said["error"], said["stderr"] = error, outcome.stderr.strip().splitlines()[-1:]
    return said
