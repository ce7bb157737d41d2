"""The guest image: its name, what its labels say, and whether it was built from the code that is running."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import SandboxError

if TYPE_CHECKING:
    from docker import DockerClient

IMAGE = "ringfence-guest"

# Where things lie in the image; deploy/*.Dockerfile say the same.
PREFIX = "/opt/ringfence"
PYTHON = f"{PREFIX}/bin/python"
SOURCE = f"{PREFIX}/source"

# Labels. The first says what an image is: the guest, or the libraries below it.
KIND = "ringfence"
VERSION_LABEL = "ringfence.version"
SOURCE_LABEL = "ringfence.source"
PYTHON_LABEL = "ringfence.python"
LIBRARIES_LABEL = "ringfence.libraries"
BASE_LABEL = "ringfence.base"
INTERPRETER_LABEL = "ringfence.interpreter"

_BUILD = "run `ringfence image build`"
_PARTS = ("__init__.py", "base", "guest", "sandbox", "trade")  # what a guest needs; the rest is the host's


def read_source() -> dict[str, bytes]:
    """The guest's files of the package that is running, by their names from its root on, in a fixed order."""
    root = Path(__file__).resolve().parents[2]
    files = [path for path in sorted(root.rglob("*")) if path.relative_to(root).parts[0] in _PARTS]
    return {
        f"ringfence/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in files
        if path.suffix != ".pyc" and "__pycache__" not in path.parts and path.is_file()
    }


def source_hash(source: Mapping[str, bytes] | None = None) -> str:
    """A fingerprint of those files: host and guest speak a protocol that is only promised within one version."""
    digest = hashlib.sha256()
    for name, data in (read_source() if source is None else source).items():
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def find_image(client: DockerClient, name: str = IMAGE) -> str:
    """The id of the local guest image `name`, built from the code that is running; nothing is ever pulled."""
    from docker.errors import ImageNotFound

    try:
        image = client.images.get(name)
    except ImageNotFound as e:
        raise SandboxError(f"image {name!r} is not on this machine: {_BUILD}") from e
    labels = image.labels
    if labels.get(KIND) != "guest":
        raise SandboxError(f"image {name!r} is no guest image of ringfence: {_BUILD} --tag with another name")
    if labels.get(SOURCE_LABEL) != source_hash():
        version = labels.get(VERSION_LABEL, "an unknown version")
        raise SandboxError(f"image {name!r} was built from other code ({version}) than is running: {_BUILD} again")
    return str(image.id)
