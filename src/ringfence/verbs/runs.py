"""What has been run: list it, show one, compare two. Nothing here makes a database that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ringfence.base.errors import StoreError
from ringfence.store import RunFilter, RunRecord, Store, StoredRun, find_store
from ringfence.trade.run import Json

NO_RUNS = "there are no runs yet: `ringfence backtest FILE` makes one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    runs: tuple[RunRecord, ...]
    matching: int  # however many were asked for
    stored: int  # whatever was asked for

    def to_json(self) -> list[Json]:
        return [record.to_json() for record in self.runs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of two runs; a run that does not have it has None."""

    name: str
    first: Json
    second: Json

    @property
    def difference(self) -> float | None:
        """Second minus first, where both are numbers."""
        if _is_number(self.first) and _is_number(self.second):
            return self.second - self.first  # type: ignore[operator]  # as was just looked at
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    first: StoredRun
    second: StoredRun
    figures: tuple[Figure, ...]
    parameters: tuple[Figure, ...]  # those that differ
    conditions: tuple[Figure, ...]  # data, rules and seed, those that differ: such runs are not quite comparable
    code_diff: str  # unified; empty when both ran the same text

    def to_json(self) -> dict[str, Json]:
        return {
            "first": self.first.record.to_json(),
            "second": self.second.record.to_json(),
            "metrics": {
                f.name: {"first": f.first, "second": f.second, "difference": f.difference} for f in self.figures
            },
            "parameters": {f.name: {"first": f.first, "second": f.second} for f in self.parameters},
            "conditions": {f.name: {"first": f.first, "second": f.second} for f in self.conditions},
            "code_diff": self.code_diff,
        }


def list_runs(url: str, wanted: RunFilter) -> Listing:
    """What matches. Where nothing has been stored yet the list is empty."""
    store = find_store(url)
    if store is None:
        return Listing(runs=(), matching=0, stored=0)
    with store:
        return Listing(
            runs=tuple(store.list_runs(wanted)), matching=store.count_runs(wanted), stored=store.count_runs()
        )


def get_run(url: str, run_id: str) -> StoredRun:
    with _existing(url) as store:
        return store.get_run(run_id)


def compare_runs(url: str, first_id: str, second_id: str) -> Comparison:
    with _existing(url) as store:
        first, second = store.get_run(first_id), store.get_run(second_id)
    return Comparison(
        first=first,
        second=second,
        figures=tuple(_paired(_figures(first), _figures(second))),
        parameters=tuple(_differing(_table(first, "draft", "parameters"), _table(second, "draft", "parameters"))),
        conditions=tuple(_differing(_conditions(first), _conditions(second))),
        code_diff=_code_diff(first, second),
    )


@contextmanager
def _existing(url: str) -> Iterator[Store]:
    store = find_store(url)
    if store is None:
        raise StoreError(NO_RUNS)
    with store:
        yield store


def _table(run: StoredRun, *path: str) -> Mapping[str, Json]:
    """The object at this place of the document; an empty one where there is none."""
    found: Json = run.json
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _figures(run: StoredRun) -> Mapping[str, Json]:
    """Our metrics; for a script that ran its own engine, its own statistics."""
    return _table(run, "metrics") or _table(run, "statistics")


def _conditions(run: StoredRun) -> Mapping[str, Json]:
    rules = dict(_table(run, "engine", "fills"))
    costs = _table(run, "engine", "costs")
    return {
        **{f"bars.{name}": value for name, value in _table(run, "bars").items()},
        **{f"rules.{name}": value for name, value in rules.items()},
        **{f"costs.{name}": value for name, value in costs.items()},
        **{f"library.{name}": value for name, value in _table(run, "engine", "libraries").items()},
        "engine": _table(run, "engine").get("version"),
        "seed": run.json.get("seed"),
    }


def _paired(first: Mapping[str, Json], second: Mapping[str, Json]) -> Iterator[Figure]:
    for name in dict.fromkeys((*first, *second)):
        yield Figure(name=name, first=first.get(name), second=second.get(name))


def _differing(first: Mapping[str, Json], second: Mapping[str, Json]) -> Iterator[Figure]:
    return (figure for figure in _paired(first, second) if figure.first != figure.second)


def _code_diff(first: StoredRun, second: StoredRun) -> str:
    if first.draft.sha256 == second.draft.sha256:
        return ""
    names = [f"{run.record.strategy_name} v{run.record.version}" for run in (first, second)]
    lines = difflib.unified_diff(
        first.draft.text.splitlines(), second.draft.text.splitlines(), names[0], names[1], lineterm=""
    )
    return "\n".join(lines)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
