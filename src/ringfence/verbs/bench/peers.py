"""The other side: a plain interpreter and `docker run`, with the same program and the same files.

Both peers get what they would have on a machine in use: warm page cache and compiled bytecode. The bytecode
is kept in a directory of the benchmark's own, because an install without it (or PYTHONDONTWRITEBYTECODE in the
environment) would make the peers compile 2,000 modules in every run and look twice as slow as they are.

Docker gets an image of nothing but empty directories and the host's own interpreter and libraries mounted
read-only at the same paths. So no registry is needed, and both sides read the same files from the same page cache.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ringfence.base.errors import SandboxError

IMPORT_PANDAS = "import numpy, pandas"
IMPORT_QUANT = "import numpy, pandas, talib, backtesting"

IMAGE = "ringfence-bench:empty"
_TIMEOUT_SECONDS = 120.0
_HOW_TO_GET_DOCKER = 'start an engine, in the repository with eval "$(scripts/docker-engine start)", and measure again'


class PeerMissing(SandboxError):
    """A peer cannot be measured here; the message says why and what to do."""


class Plain:
    """`python -c` of this interpreter."""

    def __init__(self, bytecode: Path) -> None:
        self._python = [sys.executable, "-X", f"pycache_prefix={bytecode}"]

    def prepare(self, code: str) -> None:
        """Compile what `code` imports, once; PeerMissing when it cannot be imported."""
        done = _run(["env", "-u", "PYTHONDONTWRITEBYTECODE", *self._python, "-c", code])
        if done.returncode:
            raise PeerMissing(f"{_last_line(done.stderr)}: install the libraries with `pip install ringfence[guest]`")

    def run(self, code: str) -> None:
        _check(_run([*self._python, "-c", code]))


class Docker:
    """`docker run` of this interpreter; the engine is the one that the docker client finds (DOCKER_HOST)."""

    def __init__(self, bytecode: Path) -> None:
        self._mounts = runtime_paths([bytecode])
        self._python = [sys.executable, "-X", f"pycache_prefix={bytecode}"]
        self.version = _engine_version()

    def __enter__(self) -> Docker:
        # One that a killed benchmark left would otherwise stay behind without a name.
        _run(["docker", "image", "rm", "--force", IMAGE])
        done = _run(["docker", "import", "-", IMAGE], stdin=empty_image(self._mounts))
        if done.returncode:
            raise PeerMissing(f"docker import failed ({_last_line(done.stderr)}): check the engine with `docker info`")
        return self

    def __exit__(self, *exc: object) -> None:
        _check(_run(["docker", "image", "rm", "--force", IMAGE]))

    def prepare(self, code: str) -> None:
        """Run once, untimed; PeerMissing when this engine cannot run it, as one on another host cannot."""
        done = _run(self._command(code))
        if done.returncode:
            raise PeerMissing(
                f"docker run failed ({_last_line(done.stderr)}): the engine must be on this machine and see its files"
            )

    def run(self, code: str) -> None:
        _check(_run(self._command(code)))

    def _command(self, code: str) -> list[str]:
        mounts = [word for path in self._mounts for word in ("--volume", f"{path}:{path}:ro")]
        fence = ["--rm", "--network", "none", "--memory", "512m", "--read-only"]
        return ["docker", "run", *fence, *mounts, IMAGE, *self._python, "-c", code]


def runtime_paths(extra: Iterable[Path] = ()) -> tuple[str, ...]:
    """What an interpreter needs to run elsewhere, each at its own path, none inside another.

    A prefix reached through a link is mounted both where it is named and where it really is.
    """
    named = [sys.prefix, sys.base_prefix, os.path.dirname(sys.executable), "/usr", "/lib", "/lib64", "/bin"]
    named += [os.path.dirname(os.path.realpath(sys.executable)), "/etc/ld.so.cache", *map(str, extra)]
    present = {path for path in named if os.path.exists(path)}
    present |= {os.path.realpath(path) for path in present}
    return tuple(path for path in sorted(present) if not any(path.startswith(other + "/") for other in present))


def empty_image(mount_points: Iterable[str]) -> bytes:
    """A root file system of nothing but the places to mount on, as a tar."""
    made: set[str] = set()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for point in mount_points:
            parts = point.strip("/").split("/")
            for depth in range(1, len(parts) + 1):
                entry = tarfile.TarInfo("/".join(parts[:depth]))
                if entry.name in made:
                    continue
                made.add(entry.name)
                is_file = depth == len(parts) and os.path.isfile(point)
                entry.type, entry.mode = (tarfile.REGTYPE, 0o644) if is_file else (tarfile.DIRTYPE, 0o755)
                tar.addfile(entry)
    return raw.getvalue()


def _engine_version() -> str:
    if shutil.which("docker") is None:
        raise PeerMissing(f"there is no docker client on PATH: install one and {_HOW_TO_GET_DOCKER}")
    done = _run(["docker", "version", "--format", "{{.Server.Version}}"])
    if done.returncode:
        raise PeerMissing(f"no Docker engine answers ({_last_line(done.stderr)}): {_HOW_TO_GET_DOCKER}")
    return done.stdout.decode().strip()


def _run(argv: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(argv, input=stdin, capture_output=True, check=False, timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as e:
        raise SandboxError(f"{argv[0]} did not end within {_TIMEOUT_SECONDS:.0f} s: try it by hand") from e


def _check(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode:
        raise SandboxError(f"{done.args[0]} failed while it was measured: {_last_line(done.stderr)}")


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    # The docker client ends with a hint about --help, after a line that says what is wrong.
    telling = [line for line in lines if line and not line.startswith(("See 'docker", "Run 'docker"))]
    return telling[-1].rstrip(".") if telling else "it said nothing"
