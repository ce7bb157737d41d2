"""What a batch says of one file: one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

from ringfence.trade.draft import Draft
from ringfence.trade.run import Json, Run, plain
from ringfence.verbs.backtest import Finished
from ringfence.verbs.backtest.shapes import failure_reason

FORMAT = 1  # of the line; another one is not read back when a batch is resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """`line` counts in the file as it was given. A file that was not run has cost nothing and has no `run_id`."""

    file: str
    verdict: str
    reason: str
    line: int | None = None
    dialect: str | None = None
    healed: Sequence[str] = ()
    warnings: Sequence[str] = ()
    metrics: Mapping[str, Json] | None = None
    statistics: Mapping[str, Json] | None = None
    provenance: str | None = None
    lookahead: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_bytes: int = 0
    run_id: str | None = None
    our_failure: bool = False  # nothing is known of the strategy: it was ringfence that failed
    resumed: bool = False  # told again from the store, and not run again

    def to_json(self) -> dict[str, Json]:
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}

    @property
    def ranks(self) -> bool:
        """Whether its numbers may win: nothing speaks against them, and no mending has changed what it means."""
        changed = any(words.startswith("semantic:") for words in self.healed)
        doubtful = self.provenance == "mismatch" or self.lookahead == "suspect"
        return self.verdict == "traded" and not changed and not doubtful

    @property
    def total_return(self) -> float | None:
        """As a fraction; a script's own where there is no curve to measure."""
        claimed = _number(self.statistics, "Return [%]")
        return _number(self.metrics, "total_return") if self.metrics else None if claimed is None else claimed / 100

    @property
    def sharpe(self) -> float | None:
        return _number(self.metrics, "sharpe") if self.metrics else _number(self.statistics, "Sharpe Ratio")


def recall(line: Mapping[str, Json], file: str) -> FileResult:
    """A result as it was recorded, of a file that is called `file` by now."""
    make: type = FileResult
    recorded = cast(FileResult, make(**{f.name: line[f.name] for f in fields(FileResult)}))
    return replace(recorded, file=file, resumed=True)


def tell(file: str, draft: Draft, finished: Finished) -> FileResult:
    """What became of a strategy that was run."""
    run, usage = finished.run, finished.outcome.usage
    failing = run.outcome.failing
    line = None if failing is None or failing.line is None else draft.given_line(failing.line)
    own = run.statistics
    return FileResult(
        file=file,
        verdict=run.verdict,
        reason=_as_given(run.reason, run, line),
        line=line,
        dialect=run.draft.dialect,
        healed=run.healed,
        warnings=tuple(_as_given(words, run, line) for words in (*draft.notes, *run.warnings)),
        metrics=cast("Mapping[str, Json] | None", plain(run.metrics)),
        statistics=None if own is None else {k: plain(v) for k, v in own.items() if not k.startswith("_")},
        provenance=run.provenance,
        lookahead=run.lookahead.status,
        wall_ms=usage.wall_ms,
        cpu_ms=usage.cpu_ms,
        peak_memory_bytes=usage.peak_memory_bytes,
        run_id=run.run_id,
    )


def _as_given(words: str, run: Run, line: int | None) -> str:
    """A Run counts lines in the program's text, which may have stood below a page of Markdown in the file."""
    failing = run.outcome.failing
    if failing is None or failing.line == line:
        return words
    given = replace(run.outcome, failing=replace(failing, line=line))
    return words.replace(failure_reason(run.outcome), failure_reason(given))


def _number(values: Mapping[str, Json] | None, name: str) -> float | None:
    value = (values or {}).get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
