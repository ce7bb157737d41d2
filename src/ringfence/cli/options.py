"""Options that more than one command has, and the Limits made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

from ringfence.cli.sizes import parse_bytes, parse_mb
from ringfence.sandbox.job import PRESETS, Limits

LIMITS = "Limits"

Profile = Literal["quant", "plain"]
Preset = Literal["default", "chat", "backtest"]

PresetOption = Annotated[
    Preset,
    typer.Option("--preset", help="Start from these limits; the options below change them.", rich_help_panel=LIMITS),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", help="Wall-clock seconds. (default 30)", rich_help_panel=LIMITS),
]
CpuSeconds = Annotated[
    float | None,
    typer.Option(
        "--cpu-seconds",
        metavar="S",
        help="CPU seconds of all its processes. (default none)",
        rich_help_panel=LIMITS,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory, such as 256m or 2g. (default 512m)", rich_help_panel=LIMITS),
]
Cpus = Annotated[
    float | None,
    typer.Option("--cpus", metavar="N", help="CPUs, such as 0.5 or 2. (default 1)", rich_help_panel=LIMITS),
]
Pids = Annotated[
    int | None,
    typer.Option("--pids", metavar="N", help="Processes and threads at once. (default 64)", rich_help_panel=LIMITS),
]
Disk = Annotated[
    str | None,
    typer.Option(
        "--disk",
        metavar="SIZE",
        help="Working directory, /tmp and /dev/shm together. (default 100m)",
        rich_help_panel=LIMITS,
    ),
]
OutputBytes = Annotated[
    str | None,
    typer.Option(
        "--output-bytes", metavar="N", help="Bytes kept of each stream. (default 1048576)", rich_help_panel=LIMITS
    ),
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


def make_limits(
    preset: Preset,
    timeout: float | None,
    cpu_seconds: float | None,
    memory: str | None,
    cpus: float | None,
    pids: int | None,
    disk: str | None,
    output_bytes: str | None,
) -> Limits:
    """The preset, with what was given in its place."""
    start = PRESETS[preset]
    return replace(
        start,
        wall_seconds=start.wall_seconds if timeout is None else timeout,
        cpu_seconds=start.cpu_seconds if cpu_seconds is None else cpu_seconds,
        memory_mb=start.memory_mb if memory is None else parse_mb(memory),
        cpus=start.cpus if cpus is None else cpus,
        processes=start.processes if pids is None else pids,
        disk_mb=start.disk_mb if disk is None else parse_mb(disk),
        output_bytes=start.output_bytes if output_bytes is None else parse_bytes(output_bytes),
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
