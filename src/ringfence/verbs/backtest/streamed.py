"""Hand bars over the fence one by one. The strategy decides on each before the next one leaves the host."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import cast

import numpy as np

from ringfence.sandbox import Sandbox, Session
from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.bars import Bars
from ringfence.trade.intents import Intent, read_log, write_log
from ringfence.trade.times import DAY, local_days, timeframe_ns
from ringfence.verbs.backtest.request import Request

_NAME = "ringfence_stream"
_PATH = "/box/strategy.py"
_LEAST_SECONDS = 0.05
_MOST_ORDERS_A_BAR = 50_000


def play(request: Request, sandbox: Sandbox) -> Outcome:
    """The Outcome of the whole stream: that of the cell it ended with, the report as its result, the cost of all."""
    assert request.bars is not None
    with sandbox.open_session(limits=request.limits, seed=request.seed) as session:
        wire = _Wire(session, request)
        wire.run(_opening(request))
        for bar, call in _calls(request.bars):
            if not wire.going:
                break
            wire.run(call)
            if bar is not None and wire.going:
                wire.take_orders(bar)
        return wire.finish()


class _Wire:
    """Cells on their way, within one budget of time for all of them."""

    def __init__(self, session: Session, request: Request) -> None:
        self._session, self._request = session, request
        self._ends = time.monotonic() + request.limits.wall_seconds
        self._outcomes = 0
        self._last: Outcome | None = None
        self._stdout: list[str] = []
        self._stderr: list[str] = []
        self._cpu_ms = self._wall_ms = 0.0
        self._peak = 0
        self._log: list[Intent] = []
        self._markets = len(request.bars.symbols) if request.bars is not None else 0
        self._forged = False

    @property
    def going(self) -> bool:
        return not self._forged and (self._last is None or self._last.ok)

    def run(self, code: str) -> None:
        left = max(_LEAST_SECONDS, self._ends - time.monotonic())
        limits = replace(self._request.limits, wall_seconds=min(left, self._request.limits.wall_seconds))
        outcome = self._session.run(code, limits=limits, on_output=self._request.on_output, cancel=self._request.cancel)
        self._last = outcome
        self._stdout.append(outcome.stdout)
        self._stderr.append(outcome.stderr)
        self._cpu_ms += outcome.usage.cpu_ms
        self._wall_ms += outcome.usage.wall_ms
        self._peak = max(self._peak, outcome.usage.peak_memory_bytes)

    def take_orders(self, bar: int) -> None:
        """What was asked for on this bar. Taken now, because later the strategy knows how it would have ended."""
        asked = self._last.result if self._last is not None else None
        try:
            log = read_log(asked, bars=bar + 1, markets=self._markets, most_rows=_MOST_ORDERS_A_BAR)
            self._forged = any(intent.now != bar for intent in log)
        except ValueError:
            self._forged = True
        self._log += [] if self._forged else log

    def finish(self) -> Outcome:
        ended = self._last
        assert ended is not None
        report: Json = None
        if self._session.alive:
            report = self._session.run(f"ringfence_result({_NAME}.report())").result
        if isinstance(report, dict):
            ended = _with_line(ended, report.get("failing"))
            log = None if self._forged else write_log(self._log)  # None cannot be read, and is never verified
            report = {**report, "log": cast(Json, log)}
        usage = replace(ended.usage, cpu_ms=self._cpu_ms, wall_ms=self._wall_ms, peak_memory_bytes=self._peak)
        return replace(
            ended,
            result=report,
            stdout="".join(self._stdout)[: self._request.limits.output_bytes],
            stderr="".join(self._stderr)[: self._request.limits.output_bytes],
            usage=usage,
        )


def _opening(request: Request) -> str:
    bars, draft = request.bars, request.draft
    assert bars is not None
    task = {
        "class_name": draft.class_name,
        "parameters": dict(request.parameters),
        "rules": asdict(request.rules),
    }
    head = {"symbols": bars.symbols, "timeframe": bars.timeframe, "timezone": bars.clock_zone}
    parts = json.dumps([draft.text, _PATH, task, head])
    return f"import json\nfrom ringfence.guest.stream import Stream\n{_NAME} = Stream(*json.loads({parts!r}))\n"


def _with_line(ended: Outcome, failing: Json) -> Outcome:
    """The Outcome with the line of the strategy's own text; that of the cell means nothing to anybody."""
    if ended.error is None:
        return ended
    line = failing.get("line") if isinstance(failing, dict) else None
    known = line if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 1 << 31 else None
    return replace(ended, error=replace(ended.error, line=known))


def _calls(bars: Bars) -> Iterator[tuple[int | None, str]]:
    """One call for each moment, as the session's cells spell them; with the bar, if orders may be placed on it."""
    timeline: list[int] = bars.timeline().tolist()
    opening = 0 if bars.tradable_from is None else int(np.searchsorted(bars.timeline(), bars.tradable_from))
    rows = _rows(bars)
    for now in range(min(opening, len(timeline))):
        yield None, f"{_NAME}.warm_up({now}, {timeline[now]}, {rows[now]!r})"
    yield None, f"{_NAME}.begin()"
    for now in range(opening, len(timeline)):
        yield now, f"ringfence_result({_NAME}.show({now}, {timeline[now]}, {rows[now]!r}))"
    yield None, f"{_NAME}.end()"


def _rows(bars: Bars) -> list[list[list[float]]]:
    """For each moment the bars of that moment: instrument, five numbers, and whether its day is over."""
    timeline = bars.timeline()
    made: list[list[list[float]]] = [[] for _ in range(len(timeline))]
    for k, candles in enumerate(bars.candles.values()):
        over = np.ones(len(candles))
        if timeframe_ns(bars.timeframe) < DAY:
            days = local_days(candles.time, bars.clock_zone)
            over[:-1] = days[1:] != days[:-1]
        columns = (candles.open, candles.high, candles.low, candles.close, candles.volume, over)
        places = np.searchsorted(timeline, candles.time).tolist()
        for place, row in zip(places, np.stack(columns, axis=1).tolist()):
            made[place].append([k, *row])
    return made
