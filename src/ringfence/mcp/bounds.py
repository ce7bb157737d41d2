"""What a caller may ask for: limits may be lowered, and never raised over what the server allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from ringfence.base.config import Settings
from ringfence.base.errors import RefusedError
from ringfence.sandbox.job import PRESETS, Limits

# What a limit is called in a tool's arguments, where that differs.
SPELLED: Mapping[str, str] = {"wall_seconds": "timeout"}
_CHAT_OUTPUT_BYTES = 64 << 10  # an answer goes into a model's context: more must be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    default: Limits
    most: Limits

    def limits(self, asked: Mapping[str, float | None], start: Limits | None = None) -> Limits:
        """The defaults with what was asked for in their place; RefusedError where that is more than allowed."""
        given = {name: value for name, value in asked.items() if value is not None}
        for name, value in given.items():
            most = getattr(self.most, name)
            if most is not None and value > most:
                word = SPELLED.get(name, name)
                raise RefusedError(
                    f"{word}={value:g} is over this server's maximum of {most:g}: ask for {most:g} or less"
                )
        change: Callable[..., Limits] = replace
        return change(start or self.default, **given)


def find_bounds(settings: Settings, preset: str) -> Bounds:
    """The maximum of each limit is the one configured (RINGFENCE_MAX_...), and without one the preset's."""
    start = PRESETS[preset]
    most, default = {}, {}
    for f in fields(Limits):
        configured, usual = getattr(settings, f"max_{f.name}"), getattr(start, f.name)
        most[f.name] = usual if configured is None else configured
        default[f.name] = most[f.name] if usual is None or most[f.name] < usual else usual
    if preset == "chat":
        default["output_bytes"] = min(default["output_bytes"], _CHAT_OUTPUT_BYTES)
    make: Callable[..., Limits] = Limits
    return Bounds(default=make(**default), most=make(**most))
