"""The library with everything of ours hooked into it, for one script."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import backtesting as library
import backtesting._plotting  # the hooks reach into these two
import backtesting._util

from ringfence.guest import healing
from ringfence.guest.dialects import backtesting_py, report, workers
from ringfence.guest.dialects.capture import Recorder
from ringfence.guest.dialects.needs import Needs
from ringfence.guest.dialects.plots import Plots
from ringfence.guest.dialects.task import Task
from ringfence.guest.healing import tables
from ringfence.guest.healing.ledger import Ledger


class Hooked:
    def __init__(self, task: Task, code: str) -> None:
        self._task, self._code = task, code
        self._recorder = Recorder(task.symbol)
        self._plots = Plots(self._recorder.warned.add)
        self._ledger = Ledger()
        self.needs = Needs()
        self._told: object = None
        self._recorder.hook(library)
        self._plots.hook(library)
        self.needs.hook()
        workers.hook(library, task.workers, self._take_out, self._bring_in)

    def heal(self, module: types.ModuleType) -> None:
        task = self._task
        files = (*task.files, *((task.data,) if task.data else ()))
        healing.install(self._ledger, library, module, self._code, healing.Supplies(files=files, bars=task.bars))

    def _take_out(self) -> object:
        return self._ledger.entries(), self.needs.rows()

    def _bring_in(self, brought: Any) -> None:
        healed, needs = brought
        for kind, what, count in healed:
            self._ledger.note(kind, what, count)
        for need in needs:
            self.needs.add(need["kind"], need["name"])

    def is_unrun(self, module: types.ModuleType) -> bool:
        return not self._recorder.runs and bool(backtesting_py.strategies(module, library.Strategy))

    def add_run(self, module: types.ModuleType) -> None:
        """Run the last class of a text that runs none: a text is read to its end, and what comes last is what it
        was about."""
        task = self._task
        cls = backtesting_py.strategies(module, library.Strategy)[-1]
        if task.data is None and task.bars is None:
            self.needs.add("file", "prices to run the strategy on")
            return
        frame = tables.from_csv(task.data) if task.data is not None else tables.from_bars(Path(task.bars or ""))
        missing = [name for name in ("Open", "High", "Low", "Close") if name not in frame]
        for name in missing:
            self.needs.add("column", name)
        if missing:
            return
        self._ledger.note(
            "semantic",
            f"The text never ran its strategy {cls.__name__}: "
            f"a Backtest with cash={task.cash:g} and commission={task.commission:g} was added.",
        )
        library.Backtest(frame, cls, cash=task.cash, commission=task.commission).run()

    def has_news(self) -> bool:
        """Whether anything has happened since it was last asked."""
        recorder = self._recorder
        now = (recorder.kept, recorder.backtests, dict(recorder.warned.counts), self._ledger.entries())
        changed, self._told = now != self._told, now
        return changed

    def report(self, module: types.ModuleType) -> object:
        recorder = self._recorder
        runs, gone, notes = report.fit(recorder.runs, self._task.result_mb)
        whole: dict[str, object] = {
            "runs": runs,
            "dropped": recorder.dropped + gone,
            "backtests": recorder.backtests,
            "classes": [cls.__name__ for cls in backtesting_py.strategies(module, library.Strategy)][:100],
            "warnings": recorder.warned.rows(),
            "plots": list(self._plots.files),
            "healed": self._ledger.rows(),
            "needs": self._needs(bool(recorder.runs)),
            "notes": notes,
            "libraries": report.versions(),
        }
        return report.cleaned(whole)

    def _needs(self, ran: bool) -> list[dict[str, str]]:
        """A file that was missed on the way to a result was not needed."""
        return [] if ran else self.needs.rows()
