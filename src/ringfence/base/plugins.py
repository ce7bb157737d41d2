"""Find a plug-in by name: a module in the right folder, or an entry point of an installed package."""

from __future__ import annotations

import pkgutil
from importlib import import_module, metadata
from typing import Any

from ringfence.base.errors import SettingsError


def find_plugin(family: str, name: str, function: str = "create") -> Any:
    """The `function` of plug-in `name` in the package `family`, or SettingsError naming those there are."""
    package = import_module(family)
    if name.isidentifier() and name in {m.name for m in pkgutil.iter_modules(package.__path__)}:
        module = import_module(f"{family}.{name}")
        if hasattr(module, function):
            return getattr(module, function)
    for entry in metadata.entry_points(group=family):
        if entry.name == name:
            return entry.load()
    raise SettingsError(f"{family.rpartition('.')[2]} {name!r} is unknown: use one of {', '.join(_names(family))}")


def _names(family: str) -> list[str]:
    package = import_module(family)
    ours = (m.name for m in pkgutil.iter_modules(package.__path__))
    plugins = {name for name in ours if hasattr(import_module(f"{family}.{name}"), "create")}
    return sorted(plugins | {e.name for e in metadata.entry_points(group=family)})
