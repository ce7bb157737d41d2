"""The native backend: a zygote, a pool of parked children, and the jail that each of them is.

    supervisor (this process) ── warden ── zygote ─┬─ init ─ job     parked, waiting for an order
                                                   ├─ init ─ job     running
                                                   └─ …

Read `contain` for the jail, `zygote` for how children are made, `watch` and `verdict` for how their status is
found, `warden` and `blocks` for what happens after a crash.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from ringfence.base.config import Settings
from ringfence.base.errors import SandboxError, SettingsError
from ringfence.sandbox.native.fence import NativeSandbox
from ringfence.sandbox.native.launch import open_native

_OPTIONS = ("profile", "park", "preload", "allow_weaker")


def create(options: Mapping[str, str]) -> NativeSandbox:
    """Open a native sandbox. Options: profile=quant|plain, park=N, preload=yes|no, allow_weaker=yes|no."""
    if not sys.platform.startswith("linux"):
        raise SandboxError("the native backend needs Linux: use --backend docker")
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise SettingsError(f"option {min(unknown)!r} of the native backend is unknown: use {', '.join(_OPTIONS)}")
    settings = Settings.from_env(os.environ)
    return open_native(
        settings,
        profile=options.get("profile", "quant"),
        park=_number(options.get("park", str(settings.park))),
        preload=_yes("preload", options.get("preload", "yes")),
        allow_weaker=_yes("allow_weaker", options.get("allow_weaker", "no")),
        xdg_runtime_dir=os.environ.get("XDG_RUNTIME_DIR"),
    )


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > 512:
        raise SettingsError(f"park={text!r} is not a number from 0 to 512")
    return int(text)


def _yes(name: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise SettingsError(f"{name}={text!r} must be yes or no")
    return text == "yes"
