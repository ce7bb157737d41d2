"""Doubtful bars: what is mended, what is only flagged, and the log of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.sandbox.job import Json
from ringfence.trade.bars import COLUMNS
from ringfence.verbs.simulate.checks import check_range
from ringfence.verbs.simulate.data import DataRequest, source_of
from ringfence.verbs.simulate.desk import Desk, work_out
from ringfence.verbs.simulate.finding import Finding, Told
from ringfence.verbs.simulate.schema import COUNT, Field, ShapeError, known, read_numbers, read_table
from ringfence.verbs.simulate.words import plural

LISTED = 200
_TEXTS = ("symbol", "time", "column", "action", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanseQuestion:
    """`threshold` counts robust standard deviations of the returns, `stale` bars that stand still."""

    data: DataRequest
    threshold: float = 10.0
    stale: int = 5

    def __post_init__(self) -> None:
        check_range("threshold", self.threshold, 2.0, 1000.0)
        check_range("stale", self.stale, 2, 1000)


def ask_cleanse(question: CleanseQuestion, desk: Desk) -> Finding:
    bars = desk.load(question.data)

    def read(result: Json) -> Told:
        n = read_numbers(
            result,
            {
                "observations": Field(bars.rows, bars.rows, whole=True),
                "replaced_bars": Field(0, bars.rows, whole=True),
                "flagged_bars": Field(0, bars.rows, whole=True),
                "entries": COUNT,
            },
        )
        changes = _changes(result, int(known(n, "entries")), bars.symbols)
        return Told(
            lead=_lead(n, changes),
            horizon="none: this describes the past, and nothing is forecast",
            assumptions=_assumptions(question),
            observations=bars.rows,
            observed=f"bars of {bars.timeframe}",
            numbers=n,
            series={"changes": changes},
        )

    values: dict[str, Json] = {"THRESHOLD": question.threshold, "STALE": question.stale, "LISTED": LISTED}
    return work_out(desk, "cleanse", values, source=source_of(bars, desk.today), read=read, bars=bars)


def _changes(result: Json, entries: int, symbols: tuple[str, ...]) -> list[Json]:
    given = read_table(result).get("changes")
    if not isinstance(given, list) or len(given) != min(entries, LISTED):
        raise ShapeError(f"the log does not have {min(entries, LISTED)} entries")
    made: list[Json] = []
    for row in given:
        if not isinstance(row, Mapping) or not all(isinstance(row.get(name), str) for name in _TEXTS):
            raise ShapeError("an entry of the log is not one")
        if row["symbol"] not in symbols or row["column"] not in COLUMNS or row["action"] not in ("replaced", "flagged"):
            raise ShapeError("an entry of the log speaks of what is not in the data")
        numbers = read_numbers(row, {"before": Field(), "after": Field()})
        made.append({**{name: str(row[name])[:200] for name in _TEXTS}, **numbers})
    return made


def _assumptions(question: CleanseQuestion) -> tuple[str, ...]:
    tick = f"a close that moves by more than {question.threshold:g} robust standard deviations and back is a bad tick"
    still = f"a move that stays, {question.stale} bars or more without any movement, and a bar without volume"
    return (
        f"{tick}; its bar becomes the mean of its neighbours",
        f"{still} may be true: they are flagged and left as they are",
        "rows that cannot be were dealt with when the data was read, and are among the notes",
    )


def _lead(n: Mapping[str, float | None], changes: list[Json]) -> str:
    replaced, flagged = int(known(n, "replaced_bars")), int(known(n, "flagged_bars"))
    if not replaced and not flagged:
        return "Nothing doubtful was found, and nothing was changed."
    lines = [f"{plural(replaced, 'bar')} replaced and {plural(flagged, 'bar')} flagged. The first entries of the log:"]
    for change in changes[:10]:
        assert isinstance(change, Mapping)
        value = f"{change['before']:g}" + (f" -> {change['after']:g}" if change["action"] == "replaced" else "")
        day = str(change["time"]).removesuffix("T00:00:00Z")
        lines.append(f"  {change['symbol']} {day} {change['column']} {value}: {change['action']}, {change['reason']}")
    lines.append("Of the files that were made, changes.csv has the whole log and cleansed.csv the bars.")
    return "\n".join(lines)
