"""Build the guest image of the Docker backend.

Two images, one upon the other. The lower one holds the interpreter and the libraries, has no name, and is found
again by a label that says what went into it. The upper one adds our own source, so after a change to that a build
takes a second or two. An image that lost its name to a new one is removed, and with it libraries that nothing uses.
"""

from __future__ import annotations

import errno
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ringfence.base.errors import InputError, SandboxError, SettingsError
from ringfence.sandbox.docker.image import (
    IMAGE,
    KIND,
    LIBRARIES_LABEL,
    read_source,
    source_hash,
)
from ringfence.verbs.image.base import HERE, Base, describe, find_base
from ringfence.verbs.image.context import Context
from ringfence.verbs.image.engine import build, find_labelled, open_engine
from ringfence.verbs.image.libraries import (
    Library,
    belongs,
    find_libraries,
    installed_files,
    unpack_wheels,
    why_not_copied,
)

if TYPE_CHECKING:
    from docker import DockerClient

_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+|/|:\d+/)[a-z0-9]+)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The image that a build left under its name."""

    image: str
    id: str
    base: str
    python: str
    version: str
    source: str
    bytes: int
    libraries: Mapping[str, str]  # by name; of those that are not installed here, what pip was asked for
    libraries_from: str  # "this machine", "wheels" or "index"; "an earlier build" when nothing had changed


def build_image(
    *,
    base: str | None = None,
    rootfs: Path | None = None,
    tag: str = IMAGE,
    wheels: Path | None = None,
    version: str,
    environ: Mapping[str, str],
    on_progress: Callable[[str], None] = lambda step: None,
) -> Built:
    """Build the image on `base` (pulled if it is not here), or on the tarball `rootfs`, and call it `tag`."""
    if base is not None and rootfs is not None:
        raise SettingsError("--base and --rootfs exclude each other: give one of them")
    if not _NAME.fullmatch(tag):
        raise SettingsError(
            f"--tag {tag!r} is no name for an image: use small letters, such as {IMAGE} or {IMAGE}:test"
        )
    if wheels is not None and not wheels.is_dir():
        raise InputError(f"--wheels {wheels} is no directory: fill one with `pip download -d DIR`")
    try:
        with open_engine(environ) as client:
            ground = find_base(client, base, rootfs, on_progress)
            libraries = find_libraries(ground.python)
            lower, origin = _libraries_image(client, ground, libraries, wheels, on_progress)
            source = read_source()  # once: it may be edited meanwhile, and the label must say what is inside
            fresh = _guest_image(client, lower, tag, version, source, on_progress)
            image = client.images.get(fresh)
            return Built(
                image=tag,
                id=str(image.id),
                base=ground.name,
                python=ground.python.version,
                version=version,
                source=source_hash(source),
                bytes=int(image.attrs["Size"]),
                libraries={library.name: library.version or library.requirement for library in libraries},
                libraries_from=origin,
            )
    except OSError as e:
        if e.errno == errno.ENOSPC:
            place = tempfile.gettempdir()
            raise SandboxError(f"the disk of {place} is full: make room there, or set TMPDIR to another place") from e
        raise


def _libraries_image(
    client: DockerClient,
    base: Base,
    libraries: tuple[Library, ...],
    wheels: Path | None,
    on_progress: Callable[[str], None],
) -> tuple[str, str]:
    """The id of the image with the interpreter and the libraries, and where those came from."""
    must_unpack = wheels is not None or why_not_copied(libraries, base.python) is not None
    files = [] if must_unpack else list(installed_files(libraries))
    digest = _digest(base, libraries, files, wheels)
    for known, _ in find_labelled(client, {KIND: "libraries", LIBRARIES_LABEL: digest}):
        return known, "an earlier build"
    arguments = {
        "BASE": base.id,
        "BASE_ID": base.id,
        "LIBRARIES": digest,
        "PYTHON": base.python.version,
        "INTERPRETER": describe(base.python),
    }
    site = f"prefix/lib/python{base.python.minor}/site-packages"
    with tempfile.TemporaryFile() as raw, tempfile.TemporaryDirectory() as place:
        if must_unpack:
            on_progress("pip: getting the libraries")
            unpack_wheels(libraries, base.python, wheels, Path(place))
            files = _files_below(Path(place))
        on_progress("packing the libraries")
        with Context(raw) as context:
            context.add_file("Dockerfile", HERE / "libraries.Dockerfile")
            context.add_file("prepare.py", HERE / "prepare.py")
            asked_for = "\n".join(library.name for library in libraries if library.asked_for)
            context.add_bytes("requirements.txt", asked_for.encode())
            for name, path in files:
                context.add_file(f"{site}/{name}", path)
        made = build(client, _rewound(raw), arguments=arguments, on_progress=on_progress)
    if not must_unpack:
        return made, "this machine"
    return made, "index" if wheels is None else "wheels"


def _guest_image(
    client: DockerClient,
    lower: str,
    tag: str,
    version: str,
    source: Mapping[str, bytes],
    on_progress: Callable[[str], None],
) -> str:
    from docker.errors import ImageNotFound

    try:
        before = str(client.images.get(tag).id)
    except ImageNotFound:
        before = None
    arguments = {"LIBRARIES": lower, "VERSION": version, "SOURCE": source_hash(source)}
    with tempfile.TemporaryFile() as raw:
        with Context(raw) as context:
            context.add_file("Dockerfile", HERE / "guest.Dockerfile")
            for name, data in source.items():
                context.add_bytes(f"source/{name}", data)
        made = build(client, _rewound(raw), tag=tag, arguments=arguments, on_progress=on_progress)
    if before is not None:
        _remove_replaced(client, before)
    return made


def _remove_replaced(client: DockerClient, image: str) -> None:
    """Remove an image that we built, if nothing else names or uses it."""
    from docker.errors import APIError, ImageNotFound

    try:
        old = client.images.get(image)
        if not old.tags and old.labels.get(KIND) == "guest":
            client.images.remove(image)
    except ImageNotFound:
        pass  # the engine cleans up by itself, as podman may
    except APIError as e:
        # Containers made from it still run; they keep it until somebody prunes.
        if e.status_code != 409:
            raise


def _digest(base: Base, libraries: Iterable[Library], files: list[tuple[str, Path]], wheels: Path | None) -> str:
    """Of all that makes the lower image what it is."""
    digest = hashlib.sha256(f"{base.id}\0{base.python}\0".encode())
    for name in ("libraries.Dockerfile", "prepare.py"):
        digest.update((HERE / name).read_bytes())
    for library in libraries:
        digest.update(f"{library.requirement} {library.asked_for}\0".encode())
    for name, path in files:
        if name.endswith("RECORD"):
            digest.update(path.read_bytes())
    for wheel in sorted(wheels.iterdir()) if wheels else ():
        digest.update(f"{wheel.name} {wheel.stat().st_size}\0".encode())
    return digest.hexdigest()


def _files_below(place: Path) -> list[tuple[str, Path]]:
    found = ((path.relative_to(place), path) for path in sorted(place.rglob("*")) if path.is_file())
    return [(name.as_posix(), path) for name, path in found if belongs(name.parts) and name.parts[0] != "bin"]


def _rewound(raw: IO[bytes]) -> IO[bytes]:
    raw.seek(0)
    return raw
