"""What to run: a Job, its Limits and its Mounts, all frozen values checked when they are made."""

from __future__ import annotations

import contextlib
import json
import keyword
import os
import posixpath
import select
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from ringfence.base.errors import InputError, JobError, LimitError, MountError, RefusedError
from ringfence.sandbox.source import check_source

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Network = Literal["none"]
Device = Literal["auto", "cpu", "gpu", "npu"]
Driver = Literal["script", "backtest", "backtesting_py", "text"]
MountMode = Literal["ro", "rw"]

# Places in the jail that are ours: a mount there would hide the runtime or the scratch space.
_TAKEN = ("/", "/job", "/tmp", "/dev", "/proc", "/sys", "/box", "/etc", "/usr", "/lib", "/lib64", "/bin", "/sbin")

_TAKEN_NAMES = ("job", "tmp", "shm")  # what lies beside the program's text
_MOST_MOUNTS, _LONGEST_PLACE = 64, 1000
MOST_RESULT_MB = 16  # what a backtest of 100,000 bars with an order, two guards and words on each needs, and as much

# The least and the most each limit may be. 24 MB is what the interpreter itself needs to say that it failed.
_RANGES: Mapping[str, tuple[float, float]] = {
    "wall_seconds": (0.01, 86_400),
    "cpu_seconds": (0.01, 86_400 * 64),
    "memory_mb": (24, 1 << 20),
    "cpus": (0.01, 1024),
    "processes": (1, 32_768),
    "disk_mb": (1, 1 << 20),
    "output_bytes": (0, 1 << 30),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one Job may use. `cpu_seconds=None` means only the wall clock bounds it."""

    wall_seconds: float = 30.0
    cpu_seconds: float | None = None
    memory_mb: int = 512
    cpus: float = 1.0
    processes: int = 64  # threads count too, as the kernel counts them
    disk_mb: int = 100  # the working directory, /tmp and /dev/shm together
    output_bytes: int = 1 << 20  # per stream; the rest is dropped and Outcome.truncated is set

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is None and name == "cpu_seconds":
                continue
            whole = name not in ("wall_seconds", "cpu_seconds", "cpus")
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise LimitError(f"{name} must be a {'whole ' if whole else ''}number, not {value!r}")
            if not least <= value <= most:  # NaN is in no range
                raise LimitError(f"{name}={value} is out of range: give a value from {least} to {most}")

    @classmethod
    def widest(cls, **bounds: float) -> Limits:
        """As wide as limits can be, but for the `bounds`."""
        most: dict[str, float | None] = {name: most for name, (_, most) in _RANGES.items()}
        make: Callable[..., Limits] = cls
        return make(**{**most, "cpu_seconds": None, **bounds})

    def check_within(self, maximum: Limits) -> None:
        """Raise RefusedError where this asks for more than the configured maximum."""
        for f in fields(self):
            asked, most = getattr(self, f.name), getattr(maximum, f.name)
            if most is not None and (asked is None or asked > most):
                raise RefusedError(
                    f"{f.name}={'unlimited' if asked is None else asked} is over the configured maximum "
                    f"of {most}: ask for less, or raise the maximum in the configuration"
                )


PRESETS: Mapping[str, Limits] = {
    "default": Limits(),
    "chat": Limits(wall_seconds=15, memory_mb=256),
    "backtest": Limits(wall_seconds=300, memory_mb=2048, disk_mb=100),
}


@dataclass(frozen=True, slots=True)
class Mount:
    """A host file or directory shown in the jail at `guest`, read-only unless `mode` is "rw"."""

    host: Path
    guest: str
    mode: MountMode = "ro"

    def __post_init__(self) -> None:
        if "\0" in str(self.host):
            raise MountError(f"mount source {str(self.host)!r} is not a path: name a file or a directory")
        object.__setattr__(self, "host", Path(self.host))
        if len(self.guest) > _LONGEST_PLACE:
            raise MountError(f"mount target is {len(self.guest)} characters long: use at most {_LONGEST_PLACE}")
        if self.mode not in get_args(MountMode):
            raise MountError(f"mount mode {self.mode!r} is unknown: use ro or rw")
        if "\0" in self.guest or not self.guest.startswith("/"):
            raise MountError(f"mount target {self.guest!r} must be an absolute path in the jail, such as /data")
        clean = posixpath.normpath("/" + self.guest.lstrip("/"))
        inside_ours = any(clean.startswith(place + "/") for place in _TAKEN if place not in ("/", "/job"))
        if clean in _TAKEN or inside_ours or clean != self.guest.rstrip("/"):
            raise MountError(f"mount target {self.guest!r} is not allowed: choose a place such as /data or /job/data")
        object.__setattr__(self, "guest", clean)

    @classmethod
    def parse(cls, text: str) -> Mount:
        """Read `HOST:GUEST[:ro|:rw]`."""
        host, *rest = text.split(":")
        if not rest or rest[1:] not in ([], ["ro"], ["rw"]):
            raise MountError(f"mount {text!r} is not HOST:GUEST[:ro|:rw]; write for example ./data:/data:ro")
        if not host:
            raise MountError(f"mount source of {text!r} is empty: name a file or a directory before the colon")
        return cls(Path(host), rest[0], "rw" if rest[1:] == ["rw"] else "ro")

    def check_host(self) -> None:
        if self.host.resolve() == Path("/"):
            raise MountError("the whole file system cannot be mounted: name the folder that is needed")
        if not os.access(self.host, os.R_OK):
            raise MountError(f"mount source {str(self.host)!r} does not exist or cannot be read; check the path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program and what it may have.

    With `code`, `argv` is what the program sees as `sys.argv[1:]`. Without it, `argv` is a command
    that is executed inside the jail. `inputs` become global variables; `files` are put into the
    working directory by name.
    """

    code: str | None = None
    argv: Sequence[str] = ()
    inputs: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    mounts: Sequence[Mount | str] = ()
    limits: Limits = field(default_factory=Limits)
    network: Network = "none"
    device: Device = "auto"
    seed: int | None = None  # None: a fresh one for each run
    name: str = "script.py"  # what tracebacks call the program
    artifacts_dir: Path | None = None  # artifacts go into a directory of the run's own in it; None keeps them in memory
    driver: Driver = "script"  # what of the guest takes the text: as a program, as a strategy, or to look at
    task: Mapping[str, Json] = field(default_factory=dict)  # what the driver is to do; no variable of the program
    result_mb: int = 8

    def __post_init__(self) -> None:
        if self.code is None and not self.argv:
            raise JobError("a Job needs code or argv: give one of them")
        if self.code is not None:
            check_source(self.code)
        if self.network not in get_args(Network):
            raise JobError(f"network {self.network!r} is unknown: only 'none' is possible")
        if self.device not in get_args(Device):
            raise JobError(f"device {self.device!r} is unknown: use one of {', '.join(get_args(Device))}")
        if self.driver not in get_args(Driver) or (self.driver != "script" and self.code is None):
            raise JobError(
                f"driver {self.driver!r} cannot run this: give code, and one of {', '.join(get_args(Driver))}"
            )
        if isinstance(self.result_mb, bool) or not 1 <= self.result_mb <= MOST_RESULT_MB:
            raise LimitError(f"result_mb={self.result_mb} is out of range: give 1 to {MOST_RESULT_MB}")
        if self.seed is not None and (isinstance(self.seed, bool) or not _is_seed(self.seed)):
            raise JobError(f"seed {self.seed!r} must be a whole number from 0 to 2**64 - 1")
        if "/" in self.name or not _is_file_name(self.name) or self.name in _TAKEN_NAMES:
            raise JobError(f"name {self.name!r} must be a plain file name such as script.py")
        if isinstance(self.argv, str) or not all(map(_is_text, self.argv)):
            raise JobError("argv must be a list of texts without NUL characters: correct it")
        _check_inputs(self.inputs)
        _check_files(self.files)
        freeze = object.__setattr__
        freeze(self, "argv", tuple(self.argv))
        freeze(self, "inputs", MappingProxyType(dict(self.inputs)))
        freeze(self, "task", MappingProxyType(dict(self.task)))
        freeze(self, "files", MappingProxyType(dict(self.files)))
        if self.artifacts_dir is not None:
            freeze(self, "artifacts_dir", Path(self.artifacts_dir))
        if len(self.mounts) > _MOST_MOUNTS:
            raise MountError(f"{len(self.mounts)} mounts are too many: use at most {_MOST_MOUNTS}")
        freeze(self, "mounts", tuple(m if isinstance(m, Mount) else Mount.parse(m) for m in self.mounts))


def _check_inputs(inputs: Mapping[str, Json]) -> None:
    for name, value in inputs.items():
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise InputError(f"input name {name!r} is not a Python variable name: rename it")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as e:
            raise InputError(f"input {name!r} is not JSON ({e}): pass plain values, or a file with --file") from e


def _check_files(files: Mapping[str, bytes]) -> None:
    folders = {name[:i] for name in files for i, letter in enumerate(name) if letter == "/"}
    for name, content in files.items():
        if not _is_text(name) or not all(map(_is_file_name, name.split("/"))):
            raise InputError(f"file name {name!r} must be a relative path inside the working directory")
        if not isinstance(content, bytes):
            raise InputError(f"file {name!r} must be given as bytes, not as {type(content).__name__}")
        if name in folders:
            raise InputError(f"file {name!r} is also a folder of another file: rename one of them")


def _is_seed(seed: object) -> bool:
    return isinstance(seed, int) and 0 <= seed < 1 << 64


def _is_text(text: object) -> bool:
    """Whether it can cross into the jail as it is: a text with no NUL and no half of a character."""
    return isinstance(text, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)


def _is_file_name(name: str) -> bool:
    return name not in ("", ".", "..") and name.isprintable() and len(os.fsencode(name)) <= 200


class Cancel:
    """A flag that another thread may set to stop a run; the run then ends with status `cancelled`."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def fileno(self) -> int:
        return self._read

    def set(self) -> None:
        with contextlib.suppress(BlockingIOError):  # so often set that the pipe is full: it is set
            os.write(self._write, b"x")

    def is_set(self, within_seconds: float = 0) -> bool:
        """Whether it is, or becomes so in that time."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return bool(poll.poll(within_seconds * 1000))

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


def is_cancelled(cancel: Cancel | None) -> bool:
    return cancel is not None and cancel.is_set()
