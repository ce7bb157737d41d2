"""Run a strategy written for us: load its class from the text, play it over the mounted bars, hand out its orders.

Whatever the text does to this process, it can only change what is claimed: the host takes the order log, replays it on
bars of its own, and compares.
"""

from __future__ import annotations

import ast
import inspect
import math
import types
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict, cast

from ringfence.guest import probe, program
from ringfence.guest.script import Drive
from ringfence.trade.arrays import ArrayEngine
from ringfence.trade.arrow import read_bars
from ringfence.trade.book import Book
from ringfence.trade.engine import Engine, Indicator, collect_rarely
from ringfence.trade.intents import write_log
from ringfence.trade.packed import Kind, pack_table
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.series import explain
from ringfence.trade.strategy import Strategy

_LIBRARIES = ("numpy", "pandas", "TA-Lib", "scipy", "numba", "scikit-learn", "backtesting")
_MOST_POINTS = 10_000  # of an indicator, for its line in a chart
_MOST_INDICATORS = 24


class Task(TypedDict):
    bars: str  # path of the Arrow file
    class_name: str
    parameters: dict[str, object]
    rules: dict[str, object]
    probe: bool  # whether to note how near each condition came
    indicators: bool  # whether to send what `self.I` computed
    on_end: bool  # whether to tell the strategy of the end, which is another where the history was cut


def make(task: dict[str, object]) -> Drive:
    order = cast(Task, task)

    def drive(code: str, path: str, module: types.ModuleType, box: program.ResultBox) -> None:
        collect_rarely()
        bars = read_bars(Path(order["bars"]))
        notes = probe.Notes()
        strategy = load_strategy(code, path, module, order["class_name"], notes if order["probe"] else None)
        make_engine = ArrayEngine if hasattr(strategy, "arrays") else Engine
        engine = make_engine(bars, strategy, order["parameters"], read_rules(order["rules"]))
        if isinstance(engine, Engine):
            notes.clock = lambda: engine.book.now
        failing: dict[str, object] | None = {"bar": None, "hint": None}
        try:
            engine.play(to_the_end=order["on_end"])
            failing = None
        except BaseException as e:
            failing = {"bar": _failing_bar(e, engine), "hint": explain(e) if isinstance(e, AttributeError) else None}
            raise
        finally:
            box(_report(engine, order, failing, notes))

    return drive


def _failing_bar(e: BaseException, engine: Engine | ArrayEngine) -> int | None:
    """The bar on which it was raised; None while `init` ran, or `arrays`, which is about all bars."""
    if not isinstance(engine, Engine) or engine.book.now < 0:
        return None
    trace = e.__traceback__
    while trace is not None and trace.tb_frame.f_code is not Engine.play.__code__:
        trace = trace.tb_next
    called = None if trace is None else trace.tb_next
    if called is not None and called.tb_frame.f_code is getattr(type(engine.strategy).init, "__code__", None):
        return None
    return min(engine.book.now, len(engine.bars.timeline()) - 1)


def load_strategy(
    code: str, path: str, module: types.ModuleType, class_name: str, notes: probe.Notes | None = None
) -> Strategy:
    """Execute the text as a module and make the strategy it defines."""
    module.__name__ = "strategy"  # a block for `__main__` is for running the file by hand
    text: str | ast.Module = code
    if notes is not None:
        module.__dict__[probe.NAME] = notes.near
        text = probe.with_notes(code, class_name)
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    found = module.__dict__.get(class_name)
    if not inspect.isclass(found) or not issubclass(found, Strategy):
        raise TypeError(f"{class_name} is no strategy class: derive it from ringfence.Strategy")
    made: Callable[[], Strategy] = found
    return made()


def read_rules(given: dict[str, object]) -> FillRules:
    make_rules: Callable[..., FillRules] = FillRules
    make_costs: Callable[..., Costs] = Costs
    return make_rules(**{**given, "costs": make_costs(**cast("dict[str, float]", given["costs"]))})


def _report(
    engine: Engine | ArrayEngine, order: Task, failing: dict[str, object] | None, notes: probe.Notes
) -> dict[str, object]:
    if isinstance(engine, Engine):
        log, claim = engine.book.log, claim_of(engine.book)
    else:
        log, claim = engine.log, _walked(engine)
    lines = engine.indicators[:_MOST_INDICATORS] if order["indicators"] else []
    return {
        "log": write_log(log),
        "claim": claim,
        "start": engine.start,
        "failing": failing,
        "indicators": [_line(line) for line in lines],
        "libraries": libraries(),
        "near": notes.rows(),
    }


def claim_of(book: Book) -> dict[str, object]:
    return {"cash": book.cash, "equity": book.equity(), "fills": len(book.fills)}


def _walked(engine: ArrayEngine) -> dict[str, object]:
    walked = engine.walked
    if walked is None:
        return {"cash": engine.rules.cash, "equity": engine.rules.cash, "fills": 0}
    last = float(engine.candles.close[-1])
    return {"cash": walked.cash, "equity": walked.cash + walked.held * last, "fills": len(walked.filled)}


def _line(line: Indicator) -> dict[str, object]:
    step = -(-len(line.values) // _MOST_POINTS) or 1
    values = [value if math.isfinite(value) else None for value in line.values[::step].tolist()]
    columns: dict[str, tuple[Kind, list[Any]]] = {
        "time": ("whole", line.time[::step].tolist()),
        "value": ("real", values),
    }
    return {"name": line.name, "market": line.market, "points": pack_table(len(values), columns)}


def libraries() -> dict[str, str]:
    """Versions of what a strategy may have used: its numbers hold for these."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
