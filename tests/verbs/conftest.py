"""A bench for the research loop, and a docker client that is not one, for what must be tried without an engine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.verbs.bench import peers
from ringfence.verbs.research import Grounds

from tests.verbs.judged import STRATEGY_SANDBOX
from tests.verbs.researching import Bench, small_grounds


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


@pytest.fixture(scope="module")
def grounds() -> Iterator[Grounds]:
    with small_grounds() as made:
        yield made


@pytest.fixture
def bench(sandbox: Sandbox, grounds: Grounds, tmp_path: Path) -> Bench:
    return Bench(sandbox=sandbox, grounds=grounds, folder=tmp_path)


@pytest.fixture
def docker_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A docker client that logs its arguments and, for `run`, executes what follows the image."""
    log, client = tmp_path / "docker.log", tmp_path / "bin" / "docker"
    client.parent.mkdir()
    client.write_text(
        f"""#!/bin/sh
echo "$@" >>{log}
case $1 in
    version) echo 99.1 ;;
    import) cat >{tmp_path}/image.tar ;;
    run) while [ "$1" != {peers.IMAGE} ]; do shift; done; shift; exec "$@" ;;
esac
"""
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    return log
