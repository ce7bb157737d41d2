"""Bring a database to the schema of this code, however many processes open it at the same time."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table

from ringfence.base.errors import StoreError
from ringfence.store.database import Database, queue
from ringfence.store.tables import SCHEMA, VERSION_TABLE, metadata

_ALEMBIC = threading.Lock()  # it keeps its current migration in module globals


def is_made(database: Database) -> bool:
    """Whether this database has been used by ringfence, of whatever version."""
    with database.read() as connection:
        return _revision(connection, database) is not None


def bring_up_to_date(database: Database) -> None:
    with database.read() as connection:
        current = _revision(connection, database)
    if current == SCHEMA and (not database.is_sqlite or database.pragma("PRAGMA journal_mode") == "wal"):
        return
    with _alone(database) if database.is_sqlite else nullcontext():
        if database.is_sqlite and database.pragma("PRAGMA journal_mode = WAL") != "wal":
            raise StoreError(f"database {database.name}: its file system cannot do WAL: keep it on a local disk")
        with _ALEMBIC, database.write() as connection:
            queue(connection, VERSION_TABLE)
            if _revision(connection, database) != SCHEMA:
                _upgrade(connection, database)


def _revision(connection: Connection, database: Database) -> str | None:
    """What schema it has, or None when it is empty."""
    there = set(inspect(connection).get_table_names())
    if VERSION_TABLE in there:
        return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))
    # A SQLite file with anything in it is another program's; a server's database may be shared.
    strange = there if database.is_sqlite else there & set(metadata.tables)
    if strange:
        names = ", ".join(sorted(strange)[:3])
        raise StoreError(
            f"database {database.name} belongs to another program (it has {names}): "
            "give ringfence a database of its own with RINGFENCE_DATABASE"
        )
    return None


def _upgrade(connection: Connection, database: Database) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "ringfence.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = _revision(connection, database)
    if current is not None and current not in known:
        raise StoreError(
            f"database {database.name} has schema {current}, and this ringfence knows schemas up to {SCHEMA}: "
            "update ringfence, or set RINGFENCE_DATABASE to another database"
        )
    command.upgrade(config, SCHEMA)


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    """No other process or thread prepares a file of this directory meanwhile: two that switch one file to WAL at the
    same time do not wait for each other, one fails. The directory is locked because opening and closing the file
    itself would drop the locks that SQLite holds on it in this process."""
    place = Path(database.name).absolute().parent
    try:
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as e:
        raise StoreError(f"the directory {place} cannot be read ({e.strerror}): correct its permissions") from e
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
