"""What a question may ask for, said before anything is loaded or run."""

from __future__ import annotations

from ringfence.base.errors import SettingsError
from ringfence.trade.models.paths import MOST_CELLS


def check_range(name: str, value: float | None, least: float, most: float) -> None:
    """None is for what was not given. NaN is in no range."""
    if value is not None and not least <= value <= most:
        raise SettingsError(f"{name}={value:g} is out of range: give a value from {least:g} to {most:g}")


def check_size(paths: int, steps: int, instruments: int = 1) -> None:
    most = MOST_CELLS // (steps * instruments)
    if paths > most:
        raise SettingsError(
            f"{paths:,} paths of {steps:,} steps do not fit into the memory of a chat: ask for at most {most:,} paths, "
            "or for a shorter horizon"
        )
