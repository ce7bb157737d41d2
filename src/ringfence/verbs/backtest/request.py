"""What is to be backtested, and what came of it."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.base.errors import JobError, MountError
from ringfence.sandbox import OnOutput
from ringfence.sandbox.job import MOST_RESULT_MB, PRESETS, Cancel, Job, Limits, Mount
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.trade.draft import Draft
from ringfence.trade.run import BarsRef, DraftRef, FillRules, Json, Run
from ringfence.trade.times import iso

_SAMPLES = (("bokeh_sampledata", "_data"), ("arch", "data"), ("backtesting", "test"))
BARS_PLACE = "/bars/bars.arrow"  # where the guest finds them


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One Draft on one Bars. `bars_file` is the Arrow file of `bars`, which the guest maps."""

    draft: Draft
    bars: Bars | None = None
    bars_file: Path | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    rules: FillRules = field(default_factory=FillRules)
    seed: int = 0
    limits: Limits = PRESETS["backtest"]
    mounts: tuple[Mount, ...] = ()
    lookahead: bool = True
    streamed: bool = False
    heal: bool = True
    secret: str = ""  # what the look-ahead check's cuts hang from; a strategy must not know it
    artifacts_dir: Path | None = None
    on_output: OnOutput | None = None
    cancel: Cancel | None = None

    def __post_init__(self) -> None:
        rules, costs = self.rules, self.rules.costs
        # A fee or a slippage below zero would pay for every trade.
        for name, value, least, most in (
            ("cash", rules.cash, 0.01, 1e15),
            ("margin", rules.margin, 0.001, 1.0),
            ("fees", costs.percent, 0.0, 0.5),
            ("fee_per_share", costs.per_share, 0.0, 1e6),
            ("fee_minimum", costs.minimum, 0.0, 1e9),
            ("slippage_bps", costs.slippage_bps, 0.0, 5_000.0),
            ("spread_bps", costs.spread_bps, 0.0, 5_000.0),
        ):
            if not least <= value <= most:
                raise JobError(f"{name}={value:g} is out of range: give a value from {least:g} to {most:g}")

    def job(self, *, driver: str, task: Mapping[str, Json], bars_file: Path | None = None) -> Job:
        """The Job that runs the Draft's text under `driver`."""
        file = bars_file or self.bars_file
        bars: tuple[Mount, ...] = () if file is None else (Mount(file, BARS_PLACE),)
        if file is not None and driver == "backtest":
            bars += hide_samples(file.parent)
        return Job(
            code=self.draft.text,
            name=_file_name(self.draft.name),
            driver=driver,  # type: ignore[arg-type]  # checked by Job
            task=task,
            mounts=(*self.mounts, *bars),
            limits=self.limits,
            seed=self.seed,
            result_mb=MOST_RESULT_MB,
            artifacts_dir=self.artifacts_dir,
        )

    def mount_hashes(self) -> dict[str, str]:
        """What a script was given to read: another file at the same place makes another Run."""
        return {mount.guest: _hash(mount.host) for mount in self.mounts}

    def all_parameters(self) -> dict[str, Json]:
        return {**{p.name: p.default for p in self.draft.parameters}, **self.parameters}

    def draft_ref(self, class_name: str | None = None, parameters: Mapping[str, Json] | None = None) -> DraftRef:
        draft = self.draft
        return DraftRef(
            name=draft.name,
            sha256=draft.sha256,
            dialect=draft.dialect,
            class_name=class_name or draft.class_name,
            parameters=self.all_parameters() if parameters is None else parameters,
        )

    def bars_ref(self) -> BarsRef | None:
        bars = self.bars
        if bars is None:
            return None
        return BarsRef(
            sha256=bars.sha256,
            symbols=bars.symbols,
            timeframe=bars.timeframe,
            start=iso(bars.start),
            end=iso(bars.end),
            rows=bars.rows,
            source=bars.source,
            synthetic=bars.synthetic,
            adjusted=bars.adjusted,
            notes=bars.notes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The Run, which is the same each time, and the Outcome of this one execution: what it cost, what it left."""

    run: Run
    outcome: Outcome
    cut_short: bool = False  # it was cancelled, in the run itself or in a check of it: nothing to keep


def _hash(path: Path) -> str:
    if not path.is_file():
        return "a directory"
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def hide_samples(folder: Path) -> tuple[Mount, ...]:
    """Empty directories over the prices that libraries ship: a strategy that trades a sample could read its future."""
    empty = folder / "nothing"
    empty.mkdir(exist_ok=True)
    mounts = []
    for package, part in _SAMPLES:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(place) / part).is_dir():
                with suppress(MountError):  # a place of the system's own, which a mount may not cover
                    mounts.append(Mount(empty, str(Path(place) / part)))
    return tuple(mounts)


def samples_are_hidden(folder: Path) -> bool:
    found = [spec for package, _ in _SAMPLES if (spec := importlib.util.find_spec(package)) is not None]
    return len(hide_samples(folder)) >= len(found)


def _file_name(name: str) -> str:
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".")[:100]
    return f"{plain or 'strategy'}.py"
