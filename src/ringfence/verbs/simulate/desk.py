"""Where a template is worked out: the prices are loaded here, the program runs behind the fence, its result is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ringfence.markets import load_bars
from ringfence.markets.cache import Cache
from ringfence.sandbox import OnOutput, Sandbox
from ringfence.sandbox.job import PRESETS, Cancel, Job, Json, Limits, Mount
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.trade.times import iso
from ringfence.verbs.backtest.request import BARS_PLACE
from ringfence.verbs.simulate.data import DataRequest, Source
from ringfence.verbs.simulate.filling import fill
from ringfence.verbs.simulate.finding import Finding, Told, failure, summary
from ringfence.verbs.simulate.schema import ShapeError

OnCode = Callable[[str, Limits], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """`now_ns` is the clock and `seed` the dice; `plot` asks for a picture. `on_code` is told what is about to run."""

    sandbox: Sandbox
    cache: Cache
    now_ns: int
    environ: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    limits: Limits = PRESETS["chat"]
    artifacts_dir: Path | None = None
    plot: bool = False
    seed: int = 0
    on_code: OnCode | None = None
    on_output: OnOutput | None = None
    cancel: Cancel | None = None

    @property
    def today(self) -> str:
        return iso(self.now_ns)[:10]

    def load(self, request: DataRequest) -> Bars:
        return load_bars(
            request.specs,
            symbols=request.symbols,
            start=request.start,
            end=request.end,
            timeframe=request.timeframe,
            warmup_bars=0,
            repair=request.repair,
            cache=self.cache,
            environ=self.environ,
            now_ns=self.now_ns,
        )

    def run(
        self, code: str, *, name: str, bars: Bars | None = None, files: Mapping[str, bytes] | None = None
    ) -> Outcome:
        """The text behind the fence, with the bars mounted where it looks for them."""
        if self.on_code is not None:
            self.on_code(code, self.limits)
        job = Job(
            code=code,
            name=name,
            files=files or {},
            mounts=[Mount(self.cache.materialise(bars), BARS_PLACE)] if bars is not None else [],
            limits=self.limits,
            seed=self.seed,
            artifacts_dir=self.artifacts_dir,
        )
        return self.sandbox.run(job, on_output=self.on_output, cancel=self.cancel)


def work_out(
    desk: Desk,
    script: str,
    values: Mapping[str, Json],
    *,
    source: Source,
    read: Callable[[Json], Told],
    bars: Bars | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Finding:
    """Run one of our programs with `values`, and let `read` make the answer of what it gave."""
    code = fill(script, values)
    outcome = desk.run(code, name=f"{script}.py", bars=bars, files=files)
    told, why = None, None
    if outcome.ok:
        try:
            told = read(outcome.result)
        except ShapeError as e:
            why = str(e)
    return Finding(
        status="failed" if told is None else "ok",
        template=script,
        text=failure(outcome, why, source) if told is None else summary(told, source),
        told=told,
        source=source,
        code=code,
        outcome=outcome,
    )
