"""The first tables.

Types are spelled out here, and not taken from tables.py, which is always about the present.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _moment(name: str) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)


def upgrade() -> None:
    _drafts_and_runs()
    _lineage_and_studies()
    _events_and_plans()
    _batches()


def _drafts_and_runs() -> None:
    op.create_table(
        "drafts",
        _text("sha256"),
        _text("name"),
        _text("dialect"),
        _text("class_name", nullable=True),
        _text("text"),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "versions",
        _text("strategy_name"),
        sa.Column("version", sa.Integer(), nullable=False),
        _text("code_hash"),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("strategy_name", "version"),
        sa.ForeignKeyConstraint(["code_hash"], ["drafts.sha256"]),
        sa.UniqueConstraint("strategy_name", "code_hash", name="uq_versions_code_hash"),
    )
    texts = ("verdict", "reason", "provenance", "lookahead", "symbols")
    op.create_table(
        "runs",
        *(_text(name) for name in ("run_id", "strategy_name", "code_hash", "dialect", *texts)),
        *(_text(name, nullable=True) for name in ("error_message", "bars_sha256")),
        sa.Column("version", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("execution_time", "wall_ms", "cpu_ms")),
        *(sa.Column(name, sa.Float()) for name in ("total_return", "sharpe_ratio", "max_drawdown", "win_rate")),
        sa.Column("num_trades", sa.Integer()),
        sa.Column("peak_memory_bytes", sa.BigInteger(), nullable=False),
        _moment("created_at"),
        _moment("updated_at"),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
        sa.ForeignKeyConstraint(["code_hash"], ["drafts.sha256"]),
        sa.ForeignKeyConstraint(["strategy_name", "version"], ["versions.strategy_name", "versions.version"]),
    )
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_index("ix_runs_strategy", "runs", ["strategy_name", "created_at"])
    op.create_index("ix_runs_verdict", "runs", ["verdict", "created_at"])
    op.create_table(
        "run_symbols",
        _text("symbol"),
        _text("run_id"),
        sa.PrimaryKeyConstraint("symbol", "run_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], ondelete="CASCADE"),
    )
    op.create_index("ix_run_symbols_run_id", "run_symbols", ["run_id"])


def _lineage_and_studies() -> None:
    op.create_table(
        "lineage",
        sa.Column("lineage_id", _COUNTER, primary_key=True),
        _text("strategy_name"),
        sa.Column("parent_version", sa.Integer()),
        sa.Column("child_version", sa.Integer(), nullable=False),
        *(_text(name) for name in ("optimization_type", "changes_made", "performance_delta")),
        _moment("created_at"),
        sa.ForeignKeyConstraint(["strategy_name", "parent_version"], ["versions.strategy_name", "versions.version"]),
        sa.ForeignKeyConstraint(["strategy_name", "child_version"], ["versions.strategy_name", "versions.version"]),
    )
    op.create_index("ix_lineage_strategy", "lineage", ["strategy_name", "child_version"])
    op.create_table(
        "studies",
        sa.Column("study_id", _COUNTER, primary_key=True),
        *(_text(name) for name in ("strategy_name", "objective", "spec")),
        _moment("created_at"),
    )
    op.create_index("ix_studies_strategy", "studies", ["strategy_name"])
    op.create_table(
        "trials",
        sa.Column("study_id", _COUNTER, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        _text("state"),
        _text("parameters"),
        sa.Column("value", sa.Float()),
        _text("run_id", nullable=True),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("study_id", "number"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.study_id"]),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"]),
    )


def _events_and_plans() -> None:
    op.create_table(
        "events",
        sa.Column("seq", _COUNTER, primary_key=True),
        *(_text(name) for name in ("subject", "type", "message", "data")),
        _moment("ts"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_subject", "events", ["subject", "seq"])
    op.create_table("plan_state", _text("plan"), _text("state"), _moment("updated_at"), sa.PrimaryKeyConstraint("plan"))


def _batches() -> None:
    op.create_table(
        "batches",
        sa.Column("batch_id", _COUNTER, primary_key=True),
        _text("spec_sha256"),
        _text("spec"),
        _moment("created_at"),
    )
    op.create_index("ix_batches_spec", "batches", ["spec_sha256", "batch_id"])
    op.create_table(
        "batch_files",
        sa.Column("batch_id", _COUNTER, nullable=False),
        *(_text(name) for name in ("file", "sha256", "verdict", "line")),
        _moment("created_at"),
        sa.PrimaryKeyConstraint("batch_id", "file"),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.batch_id"]),
    )
