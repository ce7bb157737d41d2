"""The libraries of the image: those that are installed here, in the same versions.

Where the base's interpreter loads the same compiled modules as ours, the installed files themselves are taken: no
index is asked and nothing is unpacked. Elsewhere pip, on this side and with this machine's configuration, unpacks
wheels made for the base's interpreter. So no credential and no address of an index gets near the image.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.verbs.image.base import Interpreter

if TYPE_CHECKING:
    from packaging.requirements import Requirement

EXTRAS = ("guest", "backtesting")
_LEGACY = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}  # from before the glibc was in the name
_LEAST_GLIBC = 17  # wheels for older ones carry these names too
_LAST_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    name: str  # in the normal spelling: lower case, words joined by dashes
    requirement: str  # what pip is asked for: the version that is installed here, or a range when none is
    version: str | None  # what is installed here
    asked_for: bool  # named by our extras, and not just needed by another library


def find_libraries(python: Interpreter) -> tuple[Library, ...]:
    """What the guest's extras come to for the base's interpreter, with everything that they need in turn."""
    try:
        from packaging.requirements import Requirement
    except ModuleNotFoundError as e:
        raise SettingsError(f"`ringfence image` needs {e.name}: pip install 'ringfence[docker]'") from e
    try:
        ours = metadata.requires("ringfence") or []
    except metadata.PackageNotFoundError as e:
        raise SandboxError("ringfence is not installed, so nothing says what the guest needs: pip install it") from e

    found: dict[str, Library] = {}
    seen: set[tuple[str, frozenset[str]]] = set()

    roots = [root for root in map(Requirement, ours) if _applies(root, EXTRAS, python)]
    # Of ourselves only what the extras add: the guest needs no command line.
    roots = [root for root in roots if not _applies(root, ("",), python)]
    asked_for = {_normal(root.name) for root in roots}

    def add(wanted: Requirement) -> None:
        library = _look_up(wanted, _normal(wanted.name) in asked_for)
        if (library.name, frozenset(wanted.extras)) in seen:
            return
        seen.add((library.name, frozenset(wanted.extras)))
        found.setdefault(library.name, library)
        if library.version is not None:
            for need in map(Requirement, metadata.requires(library.name) or ()):
                if _applies(need, ("", *wanted.extras), python):
                    add(need)

    for root in roots:
        add(root)
    return tuple(sorted(found.values(), key=lambda library: library.name))


def _applies(requirement: Requirement, extras: Iterable[str], python: Interpreter) -> bool:
    target = {
        "python_version": python.minor,
        "python_full_version": python.version,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": python.machine,
    }
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**target, "extra": extra}) for extra in extras)


def _look_up(wanted: Requirement, asked_for: bool) -> Library:
    name = _normal(wanted.name)
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        plain = str(wanted).partition(";")[0].strip()
        return Library(name=name, requirement=plain, version=None, asked_for=asked_for)
    return Library(name=name, requirement=f"{name}=={version}", version=version, asked_for=asked_for)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def why_not_copied(libraries: Iterable[Library], python: Interpreter) -> str | None:
    """Why the files installed here would not work on the base, or None when they will."""
    ours = str(sysconfig.get_config_var("SOABI"))
    if python.soabi != ours:
        return f"the base's interpreter is {python.soabi}, the one here {ours}"
    for library in libraries:
        if library.version is None:
            return f"{library.name} is not installed here"
        distribution = metadata.distribution(library.name)
        if distribution.files is None or "editable" in (distribution.read_text("direct_url.json") or ""):
            return f"{library.name} was not installed from a wheel"
        tags = re.findall(r"^Tag: \S+-(\S+)$", distribution.read_text("WHEEL") or "", re.MULTILINE)
        if not any(_runs_on(tag, python) for tag in tags):
            return f"{library.name} was built for this machine alone, or needs a newer glibc than the base's"
    return None


def _runs_on(tag: str, python: Interpreter) -> bool:
    """Whether a wheel for the platform `tag` runs there; ours and the base's machine are the same by now."""
    if tag == "any":
        return True
    if found := re.match(r"(musllinux|manylinux)_(\d+)_(\d+)_", tag):
        needed = (int(found[2]), int(found[3]))
    elif legacy := _LEGACY.get(tag.partition("_")[0]):
        needed = (2, legacy)
    else:
        return False
    there = _glibc(python)
    return there is not None and needed <= there if not tag.startswith("musl") else "musl" in python.soabi


def _glibc(python: Interpreter) -> tuple[int, int] | None:
    found = re.fullmatch(r"glibc (\d+)\.(\d+).*", python.libc)
    return (int(found[1]), int(found[2])) if found else None


def installed_files(libraries: Iterable[Library]) -> Iterator[tuple[str, Path]]:
    """The files of the libraries as they are here, named from site-packages on."""
    for library in libraries:
        for file in metadata.files(library.name) or ():
            # What lies outside are commands, which the guest has no use for.
            if ".." not in file.parts and not file.is_absolute() and belongs(file.parts):
                path = Path(str(file.locate()))
                if path.is_file():
                    yield file.as_posix(), path


def belongs(parts: tuple[str, ...]) -> bool:
    """Not bytecode, which is compiled anew, and not the libraries' own tests, which are a sixth of their bulk."""
    return "__pycache__" not in parts and "tests" not in parts


def unpack_wheels(libraries: Iterable[Library], python: Interpreter, wheels: Path | None, place: Path) -> None:
    """Have pip put the libraries for the base's interpreter into `place`, from `wheels` or from its usual index."""
    if importlib.util.find_spec("pip") is None:
        raise SandboxError(
            "pip is not installed here, and the base needs other wheels than those installed: "
            f"run `{sys.executable} -m ensurepip`, or choose a base with Python {sysconfig.get_python_version()}"
        )
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    command += ["--target", str(place), "--only-binary", ":all:", "--no-warn-script-location"]
    command += ["--implementation", "cp", "--python-version", python.minor]
    command += [word for platform in _platforms(python) for word in ("--platform", platform)]
    if wheels is not None:
        command += ["--no-index", "--find-links", str(wheels)]
    command += [library.requirement for library in libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        told = " | ".join(line for line in done.stderr.strip().splitlines()[-_LAST_LINES:] if line.strip())
        remedy = f"put their wheels into {wheels}" if wheels else "give a directory of their wheels with --wheels"
        raise SandboxError(
            f"pip could not get the libraries for Python {python.minor} ({told}): {remedy}, "
            f"or choose a base with Python {sysconfig.get_python_version()}, for which they are here"
        )


def _platforms(python: Interpreter) -> list[str]:
    if "musl" in python.soabi:
        return [f"musllinux_1_{minor}_{python.machine}" for minor in (2, 1, 0)]
    _, newest = _glibc(python) or (2, _LEAST_GLIBC)
    modern = [f"manylinux_2_{minor}_{python.machine}" for minor in range(newest, _LEAST_GLIBC - 1, -1)]
    return [*modern, *(f"{name}_{python.machine}" for name in reversed(_LEGACY))]
