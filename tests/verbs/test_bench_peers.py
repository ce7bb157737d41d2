"""What the benchmark compares us with runs the same program on the same files, or is said to be missing."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError
from ringfence.verbs.bench import peers

from tests.conftest import ROOT

ENGINE = ROOT / "scripts" / "docker-engine"


def test_the_runtime_is_mounted_once_and_whole() -> None:
    paths = peers.runtime_paths()
    for path in paths:
        assert not any(path.startswith(other + "/") for other in paths)
    for needed in (sys.executable, os.path.realpath(sys.executable), os.__file__, json.__file__):
        assert any(needed.startswith(path + "/") for path in paths), needed


def test_the_image_holds_places_to_mount_on_and_no_byte_of_content(tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("content")
    with tarfile.open(fileobj=io.BytesIO(peers.empty_image(["/usr", "/opt/a/b", "/opt/a/c", str(file)]))) as tar:
        members = {m.name: m for m in tar}
    assert {"usr", "opt", "opt/a", "opt/a/b", "opt/a/c"} <= members.keys()
    assert members[str(file).lstrip("/")].isfile()
    assert all(m.isdir() or m.size == 0 for m in members.values())


def test_plain_python_finds_compiled_bytecode_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    plain = peers.Plain(tmp_path)
    plain.prepare("import colorsys")
    assert list(tmp_path.rglob("colorsys.*.pyc"))
    plain.run("import colorsys")


def test_a_library_that_is_not_installed_makes_the_peer_missing(tmp_path: Path) -> None:
    with pytest.raises(peers.PeerMissing, match=r"No module named 'no_such_library'.*install"):
        peers.Plain(tmp_path).prepare("import no_such_library")


def test_a_peer_that_fails_while_measured_is_our_failure(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="ZeroDivisionError"):
        peers.Plain(tmp_path).run("1 / 0")


def test_without_a_client_docker_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(peers.PeerMissing, match=r"no docker client.*scripts/docker-engine start"):
        peers.Docker(tmp_path)


def test_without_an_engine_docker_is_missing(docker_log: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon.' >&2; exit 1\n")
    with pytest.raises(peers.PeerMissing, match=r"Cannot connect to the Docker daemon\).*scripts/docker-engine start"):
        peers.Docker(tmp_path)


def test_docker_run_is_fenced_and_gets_the_same_program_and_files(docker_log: Path, tmp_path: Path) -> None:
    bytecode = tmp_path / "bytecode"
    bytecode.mkdir()
    with peers.Docker(bytecode) as docker:
        assert docker.version == "99.1"
        docker.prepare("import colorsys")
        docker.run("import colorsys")
    run = next(line for line in docker_log.read_text().splitlines() if line.startswith("run "))
    assert "--rm --network none --memory 512m --read-only" in run
    for path in (*peers.runtime_paths(), bytecode):
        assert f"--volume {path}:{path}:ro" in run
    assert docker_log.read_text().splitlines()[-1] == f"image rm --force {peers.IMAGE}"
    assert (tmp_path / "image.tar").stat().st_size > 0


def test_an_engine_that_cannot_see_our_files_is_missing_and_its_image_removed(docker_log: Path, tmp_path: Path) -> None:
    with pytest.raises(peers.PeerMissing, match="must be on this machine"), peers.Docker(tmp_path) as docker:
        docker.prepare("raise SystemExit('exec: no such file')")
    assert docker_log.read_text().splitlines()[-1].startswith("image rm")


# The engine's script, as far as it goes without an engine


def engine(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ENGINE, *words], capture_output=True, text=True, check=False, timeout=60)


def test_the_engine_script_says_how_it_is_used() -> None:
    for words in ((), ("restart",), ("start", "--port", "1")):
        done = engine(*words)
        assert done.returncode == 2
        assert "scripts/docker-engine start" in done.stderr


def test_no_engine_is_running_in_a_new_place(tmp_path: Path) -> None:
    assert engine("status", "--state", str(tmp_path)).returncode == 1
    assert engine("stop", "--state", str(tmp_path)).returncode == 0
    assert engine("stop", "--state", str(tmp_path / "nowhere")).returncode == 0


def test_a_pid_file_of_somebody_else_is_not_believed(tmp_path: Path) -> None:
    sleeper = subprocess.Popen([shutil.which("sleep") or "sleep", "60"])
    try:
        (tmp_path / "dockerd.pid").write_text(str(sleeper.pid))
        assert engine("stop", "--state", str(tmp_path)).returncode == 0
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_place_too_deep_for_a_socket_is_refused(tmp_path: Path) -> None:
    done = engine("start", "--state", str(tmp_path / ("deep" * 30)))
    assert done.returncode == 1
    assert "--state" in done.stderr
