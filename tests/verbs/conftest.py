"""A docker client that is not one, for what must be tried without an engine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ringfence.verbs.bench import peers


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
