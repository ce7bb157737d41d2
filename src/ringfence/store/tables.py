"""What the database holds. A change here needs a script in migrations/versions, and SCHEMA set to its revision."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
)

from ringfence.store.columns import Counter, Exact, JsonText, Moment, Packed

SCHEMA = "0001"
VERSION_TABLE = "ringfence_schema"  # not Alembic's usual name: a database may be shared with another user of Alembic

metadata = MetaData()

drafts = Table(
    "drafts",
    metadata,
    Column("sha256", Exact, primary_key=True),
    Column("name", Exact, nullable=False),
    Column("dialect", Exact, nullable=False),
    Column("class_name", Exact),
    Column("text", Exact, nullable=False),
    Column("created_at", Moment, nullable=False),
)

# Which text was the nth of a strategy.
versions = Table(
    "versions",
    metadata,
    Column("strategy_name", Exact, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("code_hash", Exact, ForeignKey("drafts.sha256"), nullable=False),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("strategy_name", "code_hash", name="uq_versions_code_hash"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Exact, primary_key=True),
    Column("strategy_name", Exact, nullable=False),
    Column("version", Integer, nullable=False),
    Column("code_hash", Exact, ForeignKey("drafts.sha256"), nullable=False),
    Column("dialect", Exact, nullable=False),
    Column("execution_time", Float, nullable=False),  # seconds on the wall
    Column("total_return", Float),
    Column("sharpe_ratio", Float),
    Column("max_drawdown", Float),
    Column("win_rate", Float),
    Column("num_trades", Integer),
    Column("verdict", Exact, nullable=False),
    Column("reason", Exact, nullable=False),
    Column("error_message", Exact),
    Column("provenance", Exact, nullable=False),
    Column("lookahead", Exact, nullable=False),
    Column("bars_sha256", Exact),
    Column("symbols", JsonText, nullable=False),
    Column("wall_ms", Float, nullable=False),
    Column("cpu_ms", Float, nullable=False),
    Column("peak_memory_bytes", BigInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("document", Packed, nullable=False),  # last, so that a listing need not read past it
    ForeignKeyConstraint(["strategy_name", "version"], ["versions.strategy_name", "versions.version"]),
    Index("ix_runs_created_at", "created_at"),
    Index("ix_runs_strategy", "strategy_name", "created_at"),
    Index("ix_runs_verdict", "verdict", "created_at"),
)

run_symbols = Table(
    "run_symbols",
    metadata,
    Column("symbol", Exact, primary_key=True),
    Column("run_id", Exact, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Index("ix_run_symbols_run_id", "run_id"),
)

lineage = Table(
    "lineage",
    metadata,
    Column("lineage_id", Counter, primary_key=True),
    Column("strategy_name", Exact, nullable=False),
    Column("parent_version", Integer),
    Column("child_version", Integer, nullable=False),
    Column("optimization_type", Exact, nullable=False),
    Column("changes_made", Exact, nullable=False),
    Column("performance_delta", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
    ForeignKeyConstraint(["strategy_name", "parent_version"], ["versions.strategy_name", "versions.version"]),
    ForeignKeyConstraint(["strategy_name", "child_version"], ["versions.strategy_name", "versions.version"]),
    Index("ix_lineage_strategy", "strategy_name", "child_version"),
)

studies = Table(
    "studies",
    metadata,
    Column("study_id", Counter, primary_key=True),
    Column("strategy_name", Exact, nullable=False),
    Column("objective", Exact, nullable=False),
    Column("spec", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("ix_studies_strategy", "strategy_name"),
)

trials = Table(
    "trials",
    metadata,
    Column("study_id", Counter, ForeignKey("studies.study_id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("state", Exact, nullable=False),
    Column("parameters", JsonText, nullable=False),
    Column("value", Float),
    Column("run_id", Exact, ForeignKey("runs.run_id")),
    Column("created_at", Moment, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("seq", Counter, primary_key=True),
    Column("subject", Exact, nullable=False),  # the id of a job or a run
    Column("type", Exact, nullable=False),
    Column("message", Exact, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("ts", Moment, nullable=False),
    Index("ix_events_subject", "subject", "seq"),
    sqlite_autoincrement=True,  # a number is never given twice, also after a deletion
)

plan_state = Table(
    "plan_state",
    metadata,
    Column("plan", Exact, primary_key=True),
    Column("state", JsonText, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("batch_id", Counter, primary_key=True),
    Column("spec_sha256", Exact, nullable=False),
    Column("spec", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("ix_batches_spec", "spec_sha256", "batch_id"),
)

batch_files = Table(
    "batch_files",
    metadata,
    Column("batch_id", Counter, ForeignKey("batches.batch_id"), primary_key=True, autoincrement=False),
    Column("file", Exact, primary_key=True),
    Column("sha256", Exact, nullable=False),
    Column("verdict", Exact, nullable=False),
    Column("line", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
)
