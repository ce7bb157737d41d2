"""Options that more than one command has, and the Limits made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import typer

from ringfence.cli.sizes import parse_bytes, parse_mb
from ringfence.sandbox.job import PRESETS, Limits

LIMITS = "Limits"

Profile = Literal["quant", "plain"]
Preset = Literal["default", "chat", "backtest"]

_limit = partial(typer.Option, rich_help_panel=LIMITS)
PresetOption = Annotated[Preset, _limit("--preset", help="Start from these limits; the options below change them.")]
Timeout = Annotated[float | None, _limit("--timeout", metavar="S", help="Wall-clock seconds. (default 30)")]
CpuSeconds = Annotated[
    float | None, _limit("--cpu-seconds", metavar="S", help="CPU seconds of all its processes. (default none)")
]
Memory = Annotated[str | None, _limit("--memory", metavar="SIZE", help="Memory, such as 256m or 2g. (default 512m)")]
Cpus = Annotated[float | None, _limit("--cpus", metavar="N", help="CPUs, such as 0.5 or 2. (default 1)")]
Pids = Annotated[int | None, _limit("--pids", metavar="N", help="Processes and threads at once. (default 64)")]
Disk = Annotated[
    str | None,
    _limit("--disk", metavar="SIZE", help="Working directory, /tmp and /dev/shm together. (default 100m)"),
]
OutputBytes = Annotated[
    str | None, _limit("--output-bytes", metavar="N", help="Bytes kept of each stream. (default 1048576)")
]
ProfileOption = Annotated[
    Profile,
    typer.Option(
        "--profile",
        help="What the program finds: quant, the libraries of the field; plain, a bare interpreter.",
    ),
]
Backend = Annotated[str, typer.Option("--backend", metavar="NAME", help="What makes the fence: native or docker.")]
Runtime = Annotated[
    str | None,
    typer.Option("--runtime", metavar="NAME", help="The container runtime, such as runsc or crun. (docker only)"),
]
AllowWeaker = Annotated[
    bool,
    typer.Option("--allow-weaker", help="Run even where a limit cannot be enforced on this machine."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Seed of the program's random numbers. (default a fresh one)"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one program may use: a preset, with what was given in its place."""

    preset: PresetOption = "default"
    timeout: Timeout = None
    cpu_seconds: CpuSeconds = None
    memory: Memory = None
    cpus: Cpus = None
    pids: Pids = None
    disk: Disk = None
    output_bytes: OutputBytes = None

    def limits(self) -> Limits:
        start = PRESETS[self.preset]
        return replace(
            start,
            wall_seconds=start.wall_seconds if self.timeout is None else self.timeout,
            cpu_seconds=start.cpu_seconds if self.cpu_seconds is None else self.cpu_seconds,
            memory_mb=start.memory_mb if self.memory is None else parse_mb(self.memory),
            cpus=start.cpus if self.cpus is None else self.cpus,
            processes=start.processes if self.pids is None else self.pids,
            disk_mb=start.disk_mb if self.disk is None else parse_mb(self.disk),
            output_bytes=start.output_bytes if self.output_bytes is None else parse_bytes(self.output_bytes),
        )


def sandbox_spec(backend: str, profile: Profile, allow_weaker: bool, runtime: str | None = None) -> str:
    """What to open. One call runs one job: nothing is parked, and only what that job imports is imported."""
    if ":" in backend:
        return backend
    options = [f"profile={profile}", "park=0", "preload=no"] if backend in ("native", "docker") else []
    if allow_weaker:
        options.append("allow_weaker=yes")
    if runtime is not None:
        options.append(f"runtime={runtime}")
    return f"{backend}:{','.join(options)}" if options else backend
