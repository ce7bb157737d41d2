"""Where versions come from (lineage), and searches for better parameters (studies and their trials)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import RowMapping, func, insert, select

from ringfence.base.errors import StoreError
from ringfence.store.database import queue
from ringfence.store.records import Lineage, Study, Trial, TrialResult
from ringfence.store.shelf import Shelf
from ringfence.store.tables import lineage, studies, trials, versions
from ringfence.trade.run import Json


class StudyShelf(Shelf):
    def add_lineage(
        self,
        strategy_name: str,
        *,
        parent_version: int | None,
        child_version: int,
        optimization_type: str,
        changes_made: str,
        performance_delta: Mapping[str, float],
        now: datetime,
    ) -> Lineage:
        """Say where a version came from. Both versions must have been run."""
        row = {
            "strategy_name": strategy_name,
            "parent_version": parent_version,
            "child_version": child_version,
            "optimization_type": optimization_type,
            "changes_made": changes_made,
            "performance_delta": dict(performance_delta),
            "created_at": now,
        }
        with self._database.write() as connection:
            known = set(connection.scalars(select(versions.c.version).where(versions.c.strategy_name == strategy_name)))
            missing = {child_version, parent_version} - known - {None}
            if missing:
                raise StoreError(
                    f"strategy {strategy_name!r} has no version {min(v for v in missing if v is not None)}: "
                    "save a run of it first"
                )
            connection.execute(insert(lineage), row)
        return Lineage(
            strategy_name=strategy_name,
            parent_version=parent_version,
            child_version=child_version,
            optimization_type=optimization_type,
            changes_made=changes_made,
            performance_delta=dict(performance_delta),
            created_at=now,
        )

    def list_lineage(self, strategy_name: str) -> list[Lineage]:
        """In the order in which it was saved."""
        columns = [column for column in lineage.columns if column.name != "lineage_id"]
        query = select(*columns).where(lineage.c.strategy_name == strategy_name).order_by(lineage.c.lineage_id)
        with self._database.read() as connection:
            return [Lineage(**row) for row in connection.execute(query).mappings()]

    def create_study(self, strategy_name: str, *, objective: str, spec: Json, now: datetime) -> Study:
        row = {"strategy_name": strategy_name, "objective": objective, "spec": spec, "created_at": now}
        with self._database.write() as connection:
            found = connection.execute(insert(studies).returning(studies.c.study_id), row).scalar_one()
        return Study(study_id=found, strategy_name=strategy_name, objective=objective, spec=spec, created_at=now)

    def list_studies(self, strategy_name: str | None = None) -> list[Study]:
        """Those of one strategy or all, the newest first."""
        query = select(studies).order_by(studies.c.study_id.desc())
        if strategy_name is not None:
            query = query.where(studies.c.strategy_name == strategy_name)
        with self._database.read() as connection:
            return [Study(**row) for row in connection.execute(query).mappings()]

    def add_trials(self, study_id: int, results: Sequence[TrialResult], *, now: datetime) -> list[Trial]:
        """Append all of them or none; many at once cost hardly more than one."""
        with self._database.write() as connection:
            queue(connection, f"trials of {study_id}")
            if connection.scalar(select(studies.c.study_id).where(studies.c.study_id == study_id)) is None:
                raise StoreError(f"there is no study {study_id}: make it with create_study first")
            last = connection.scalar(select(func.max(trials.c.number)).where(trials.c.study_id == study_id))
            start = 0 if last is None else last + 1
            added = [
                Trial(study_id=study_id, number=n, result=result, created_at=now)
                for n, result in enumerate(results, start)
            ]
            if added:
                connection.execute(insert(trials), [_row(trial) for trial in added])
        return added

    def list_trials(self, study_id: int) -> list[Trial]:
        query = select(trials).where(trials.c.study_id == study_id).order_by(trials.c.number)
        with self._database.read() as connection:
            return [_trial(row) for row in connection.execute(query).mappings()]


def _row(trial: Trial) -> dict[str, object]:
    result = trial.result
    return {
        "study_id": trial.study_id,
        "number": trial.number,
        "state": result.state,
        "parameters": dict(result.parameters),
        "value": result.value,
        "run_id": result.run_id,
        "created_at": trial.created_at,
    }


def _trial(row: RowMapping) -> Trial:
    result = TrialResult(parameters=row["parameters"], value=row["value"], state=row["state"], run_id=row["run_id"])
    return Trial(study_id=row["study_id"], number=row["number"], result=result, created_at=row["created_at"])
