"""A place for plug-ins where the command finds the scripted sandbox as `--backend scripted`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Done, environment, ringfence


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plugins")
    info = place / "scripted-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ringfence.sandbox]\nscripted = tests.cli.scripted:create\n")
    return place


@pytest.fixture(scope="session")
def scripted(plugins: Path) -> Callable[..., Done]:
    """Run `ringfence run` on the scripted sandbox."""

    def call(program: str, *words: str, stdin: str | bytes = b"", cwd: Path | None = None) -> Done:
        env = environment(plugins)
        return ringfence("run", "-c", program, "--backend", "scripted", *words, stdin=stdin, env=env, cwd=cwd)

    return call
