"""What the image stands on: a local image, one that is pulled, or a tarball; and the interpreter it has."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import InputError, SandboxError
from ringfence.sandbox.docker.image import BASE_LABEL, INTERPRETER_LABEL, KIND
from ringfence.verbs.image.engine import find_labelled, import_tar, pull

if TYPE_CHECKING:
    from docker import DockerClient

HERE = Path(__file__).parent
OLDEST = (3, 11)
_IMPORTED = "ringfence-base"
_HAS_PYTHON = f"with Python {OLDEST[0]}.{OLDEST[1]} or newer as python3 on its path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    version: str  # such as 3.11.2
    soabi: str  # such as cpython-311-x86_64-linux-gnu: two that agree load the same compiled modules
    machine: str
    libc: str  # such as glibc 2.36; empty where Python cannot tell, as with musl

    @property
    def minor(self) -> str:
        return self.version.rpartition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str
    id: str
    python: Interpreter


def default_base() -> str:
    """The image that the Dockerfile names."""
    text = (HERE / "libraries.Dockerfile").read_text(encoding="utf-8")
    found = re.search(r"^ARG BASE=(\S+)$", text, re.MULTILINE)
    if found is None:
        raise SandboxError("libraries.Dockerfile names no default base: name one with --base")
    return found[1]


def find_base(client: DockerClient, name: str | None, rootfs: Path | None, on_progress: Callable[[str], None]) -> Base:
    """The image to build on. Only here is anything ever pulled, and only what is not on the machine."""
    if rootfs is not None:
        return _import_base(client, rootfs, on_progress)
    from docker.errors import ImageNotFound

    name = name or default_base()
    try:
        image = client.images.get(name)
    except ImageNotFound:
        pull(client, name, on_progress)
        image = client.images.get(name)
    return Base(name=name, id=str(image.id), python=_find_python(client, str(image.id), name))


def _import_base(client: DockerClient, rootfs: Path, on_progress: Callable[[str], None]) -> Base:
    from docker.errors import ImageNotFound

    try:
        with rootfs.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        is_tar = tarfile.is_tarfile(rootfs)
    except OSError as e:
        raise InputError(f"--rootfs {rootfs} cannot be read ({e.strerror}): give a tarball") from e
    if not is_tar:
        raise InputError(f"--rootfs {rootfs} is no tarball: give one of a root file system {_HAS_PYTHON}")
    tag = digest[:12]
    name = f"{_IMPORTED}:{tag}"
    try:
        known = str(client.images.get(name).id)
    except ImageNotFound:
        known = None
    if known is not None:
        return Base(name=name, id=known, python=_find_python(client, known, name))
    on_progress(f"importing {rootfs.name}")
    fresh = import_tar(client, str(rootfs), _IMPORTED, tag)
    try:
        return Base(name=name, id=fresh, python=_look(client, fresh, f"--rootfs {rootfs}"))
    except SandboxError:
        client.images.remove(fresh, force=True)
        raise


def describe(python: Interpreter) -> str:
    """The interpreter as a label, so that the next build on the same base need not look."""
    return json.dumps(asdict(python))


def _find_python(client: DockerClient, image: str, name: str) -> Interpreter:
    for _, labels in find_labelled(client, {KIND: "libraries", BASE_LABEL: image}):
        return Interpreter(**json.loads(labels[INTERPRETER_LABEL]))
    return _look(client, image, name)


def _look(client: DockerClient, image: str, name: str) -> Interpreter:
    """Ask the base's own interpreter what it is."""
    from docker.errors import APIError

    script = (HERE / "prepare.py").read_text(encoding="utf-8")
    container = client.containers.create(
        image,
        ["look"],
        entrypoint=["python3", "-I", "-c", script],
        network_mode="none",
        cap_drop=["ALL"],
        log_config={"type": "json-file", "config": {}},  # of an engine's drivers, one that can be read back
        labels={"ringfence": "build"},
    )
    try:
        try:
            container.start()
        except APIError as e:
            raise SandboxError(f"{name} has no python3 that runs ({_last(str(e.explanation))}): {_choose()}") from e
        code = int(container.wait()["StatusCode"])
        told = container.logs(stdout=True, stderr=False).decode(errors="replace")
        if code:
            said = _last(container.logs(stdout=False, stderr=True).decode(errors="replace"))
            raise SandboxError(f"the python3 of {name} does not run (exit code {code}: {said}): {_choose()}")
    finally:
        container.remove(force=True, v=True)
    python = Interpreter(**json.loads(told))
    if tuple(map(int, python.version.split(".")[:2])) < OLDEST:
        raise SandboxError(f"{name} has Python {python.version}, which is too old: {_choose()}")
    return python


def _choose() -> str:
    return f"choose a base {_HAS_PYTHON}"


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip().rstrip(".") if lines else "it said nothing"
