"""The corpus behind the fence: its price files mounted where its scripts look for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ringfence.sandbox import open_sandbox
from ringfence.sandbox.job import PRESETS, Job, Json, Limits, Mount
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.scripts import ScriptReport, ScriptRun, read_script_report

from tests.corpus.scripts import FILES

LIMITS = replace(PRESETS["backtest"], wall_seconds=120)


class Bench:
    """Runs texts with the driver, and reads what comes back as the host does."""

    def __init__(self, run: Callable[[Job], Outcome], mounts: list[Mount]) -> None:
        self._run, self.mounts = run, mounts

    def outcome(
        self,
        text: str,
        limits: Limits = LIMITS,
        result_mb: int = 16,
        mounts: tuple[Mount, ...] = (),
        **task: Json,
    ) -> Outcome:
        job = Job(
            code=text,
            driver="backtesting_py",
            task={"result_mb": result_mb, **task},
            mounts=[*self.mounts, *mounts],
            limits=limits,
            result_mb=result_mb,
        )
        return self._run(job)

    def report(self, text: str, **task: Json) -> ScriptReport:
        """Of a text that ends well."""
        outcome = self.outcome(text, **task)  # type: ignore[arg-type]  # the task's own fields
        assert outcome.ok, (outcome.reason, outcome.stderr[-2000:])
        return read_script_report(outcome.result)

    def headline(self, text: str, **task: Json) -> ScriptRun:
        run = self.report(text, **task).headline
        assert run is not None, "the text has run nothing"
        return run


@contextmanager
def open_bench(folder: Path) -> Iterator[Bench]:
    mounts = []
    for number, (place, content) in enumerate(FILES.items()):
        path = folder / f"{number}.csv"
        path.write_bytes(content)
        mounts.append(Mount(path, place))
    with open_sandbox("native") as sandbox:
        yield Bench(sandbox.run, mounts)


def kinds(report: ScriptReport) -> Mapping[str, str]:
    """What was healed, by its sentence."""
    return {healed.what: healed.kind for healed in report.healed}
