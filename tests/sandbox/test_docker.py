"""The docker backend does everything a sandbox must do, and what is its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ringfence.sandbox import Sandbox, open_sandbox
from ringfence.testing import SandboxSuite

pytestmark = pytest.mark.usefixtures("docker_engine")


@pytest.fixture(scope="module")
def sandbox(docker_engine: str) -> Iterator[Sandbox]:
    with open_sandbox("docker:profile=plain,park=1") as sandbox:
        yield sandbox


class TestDocker(SandboxSuite):
    pass
