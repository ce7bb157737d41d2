"""A container engine with the guest image on it, for the tests that need one.

The engine is the one that answers at DOCKER_HOST (or at Docker's usual place), else a private one that
scripts/docker-engine starts as root. Workers and sessions that use the private one hold a shared lock; the last
session to end stops it, and only if a test session started it: a note says which process that was.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".cache" / "docker-engine"
SCRIPT = ROOT / "scripts" / "docker-engine"
BASE_SCRIPT = ROOT / "scripts" / "docker-base"

_PLACE = ROOT / ".cache" / "docker-tests"
_NOTE = _PLACE / "started"  # the pid of the engine that a test session started
_SECONDS = 900.0  # for the packages, the engine and the image, on a slow machine


class EngineMissing(Exception):
    """There is no engine here and none can be started; the message says why."""


@contextmanager
def running_engine() -> Iterator[str]:
    """The address of an engine that has the guest image; DOCKER_HOST names it meanwhile."""
    if not has_library():
        raise EngineMissing("the library is not installed: pip install 'ringfence[docker]'")
    before = os.environ.get("DOCKER_HOST")
    _PLACE.mkdir(parents=True, exist_ok=True)
    with open(_PLACE / "users", "w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with open(_PLACE / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be at it: wait, and find it done
            address = answering() or _start()
            try:
                os.environ["DOCKER_HOST"] = address
                _build()
            except BaseException:
                _restore(before)
                raise
        try:
            yield address
        finally:
            _restore(before)


def stop_ours() -> bool:
    """Stop the engine if a test session started it and none uses it any more; whether it was stopped."""
    if not _NOTE.exists() or not os.access(_PLACE, os.W_OK):  # none, or of another user's session
        return False
    with open(_PLACE / "lock", "w") as lock, open(_PLACE / "users", "w") as users:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # the session that still uses it will find the note too
        ours = _NOTE.exists() and _NOTE.read_text() == _engine_pid()
        _NOTE.unlink(missing_ok=True)
        if ours:
            _run(SCRIPT, "stop")
        return ours


def has_library() -> bool:
    return importlib.util.find_spec("docker") is not None


def answering() -> str | None:
    """The address of the engine that the docker library finds, when it answers."""
    import docker
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    address = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if address.startswith("unix://"):
        # The library leaves its own socket open when nobody listens.
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(address.removeprefix("unix://"))
            except OSError:
                return None
    try:
        client = docker.from_env(timeout=30)
    except (DockerException, RequestException):
        return None
    client.close()
    return address


def rootfs() -> Path:
    """The tarball that the image stands on where no registry can be reached."""
    return Path(_run(BASE_SCRIPT).strip())


def _start() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise EngineMissing("none answers, and only root can start one")
    was_running = _engine_pid() if _run_code(SCRIPT, "status") == 0 else None
    _run(SCRIPT, "start")
    if was_running is None:
        _NOTE.write_text(_engine_pid())
    return f"unix://{STATE}/docker.sock"


def _build() -> None:
    """The guest image from the code under test, unless it is there."""
    import docker

    from ringfence.base.errors import SandboxError
    from ringfence.sandbox.docker.image import find_image

    client = docker.from_env()
    try:
        find_image(client)
        return
    except SandboxError:
        pass  # missing, or built from other code
    finally:
        client.close()
    # Only root can unpack a base; for others the default one is pulled, if they have a registry.
    base = ["--rootfs", str(rootfs())] if os.geteuid() == 0 else []
    build = [sys.executable, "-m", "ringfence", "image", "build", *base]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode and not base:
        raise EngineMissing(f"the guest image could not be built: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr  # with a base at hand it is our own fault


def _engine_pid() -> str:
    try:
        return (STATE / "dockerd.pid").read_text().strip()
    except OSError:
        return "none"


def _restore(address: str | None) -> None:
    if address is None:
        os.environ.pop("DOCKER_HOST", None)
    else:
        os.environ["DOCKER_HOST"] = address


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise EngineMissing(f"{Path(command[0]).name} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout


def _run_code(*command: str | Path) -> int:
    return subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS).returncode
