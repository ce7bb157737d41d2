"""Under which conditions all files of a batch are run; two batches with the same ones give the same results."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from ringfence.sandbox.job import PRESETS, Cancel, Limits, Mount
from ringfence.trade.bars import Bars
from ringfence.trade.draft import Draft
from ringfence.trade.run import FillRules, Json
from ringfence.verbs.backtest import Request
from ringfence.verbs.backtest.shapes import ENGINE_VERSION
from ringfence.verbs.batch.result import FORMAT

_LIBRARIES = ("backtesting", "numpy", "pandas", "pandas-ta-classic", "TA-Lib", "numba", "scipy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Like a Request for a backtest, but for the Draft."""

    bars: Bars | None = None
    bars_file: Path | None = None
    rules: FillRules = field(default_factory=FillRules)
    seed: int = 0
    limits: Limits = PRESETS["backtest"]
    mounts: tuple[Mount, ...] = ()
    lookahead: bool = True
    heal: bool = True
    secret: str = field(default="", repr=False)  # of the look-ahead check; no result depends on it

    def request(self, draft: Draft, cancel: Cancel) -> Request:
        return Request(
            draft=draft,
            bars=self.bars,
            bars_file=self.bars_file,
            rules=self.rules,
            seed=self.seed,
            limits=self.limits,
            mounts=self.mounts,
            lookahead=self.lookahead,
            heal=self.heal,
            secret=self.secret,
            cancel=cancel,
        )

    def spec(self, *, places: Sequence[str], sandbox: str, version: str) -> dict[str, Json]:
        """All that a result depends on, for the store to know a batch by."""
        return {
            "places": list(places),
            "sandbox": sandbox,
            "version": version,
            "engine": ENGINE_VERSION,
            "format": FORMAT,
            "libraries": _versions(),
            "bars": None if self.bars is None else self.bars.sha256,
            "rules": asdict(self.rules),
            "seed": self.seed,
            "limits": asdict(self.limits),
            "mounts": [[mount.guest, mount.mode, _fingerprint(mount)] for mount in self.mounts],
            "lookahead": self.lookahead,
            "heal": self.heal,
        }


def _versions() -> dict[str, Json]:
    found: dict[str, Json] = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _fingerprint(mount: Mount) -> str:
    """By what a mount is known: its content, where scripts cannot change it; of a directory the names and dates."""
    mount.check_host()
    if mount.mode == "rw":
        return os.path.realpath(mount.host)
    if not mount.host.is_dir():
        with mount.host.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    seen = hashlib.sha256()
    for folder, folders, names in os.walk(mount.host):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            about = os.lstat(path)
            seen.update(os.fsencode(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n"))
    return seen.hexdigest()
