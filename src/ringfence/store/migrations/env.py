"""Alembic's entry: run the scripts on the connection, and in the transaction, that schema.py hands over."""

from __future__ import annotations

from alembic import context

from ringfence.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # true of both; Alembic believes the opposite of SQLite
)
context.run_migrations()
