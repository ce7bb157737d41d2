"""One database behind one engine: read and write transactions, and its errors in our words.

SQLite has one writer at a time. Writers of one process queue on a lock here, and writers of different processes on
SQLite's own: a write transaction begins with BEGIN IMMEDIATE, because one that begins as a reader and turns writer
cannot wait and fails with "database is locked".
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol

from sqlalchemy import URL, Connection, Engine, Insert, Table, create_engine, event, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ringfence.base.errors import StoreError

BUSY_SECONDS = 60
_WRITES = "ringfence_writes"
_SQLITE_REMEDIES = {
    sqlite3.SQLITE_BUSY: f"another process kept it locked for {BUSY_SECONDS} s: end that process and try again",
    sqlite3.SQLITE_READONLY: "it may not be written: correct its permissions, or set RINGFENCE_DATABASE to another",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: correct the permissions of its directory, or set RINGFENCE_HOME",
    sqlite3.SQLITE_NOTADB: "this file is no SQLite database: move it away, or set RINGFENCE_DATABASE to another",
    sqlite3.SQLITE_CORRUPT: "it is damaged: restore it from a backup, or move it away",
    sqlite3.SQLITE_FULL: "the disk is full: make room and try again",
    sqlite3.SQLITE_IOERR: "the disk refused: look at the system's log",
}


class _RawConnection(Protocol):
    """What both drivers' connections have."""

    isolation_level: str | None
    autocommit: bool

    def execute(self, statement: str) -> object: ...


class Database:
    def __init__(self, url: URL) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.name = (url.database or "") if self.is_sqlite else url.render_as_string(hide_password=True)
        self._engine = _sqlite_engine(url) if self.is_sqlite else _postgresql_engine(url)
        self._lock = threading.Lock() if self.is_sqlite else nullcontext()
        self._pid = os.getpid()
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees one state of the database."""
        self._check_usable()
        with self._in_our_words(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; when the block is left without an exception, what it wrote survives a kill -9."""
        self._check_usable()
        writers = self._engine.execution_options(**{_WRITES: True})
        with self._lock, self._in_our_words(), writers.begin() as connection:
            yield connection

    def pragma(self, statement: str) -> str:
        """The answer of SQLite to a PRAGMA that must stand outside any transaction."""
        with self._in_our_words():
            raw = self._engine.raw_connection()
            try:
                cursor = raw.cursor()
                cursor.execute(statement)
                row = cursor.fetchone()
                return str(row[0]) if row else ""
            except sqlite3.Error as e:
                raise StoreError(self._sentence(e)) from e
            finally:
                raw.close()

    def close(self) -> None:
        self._closed = True
        self._engine.dispose(close=self._pid == os.getpid())

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreError("the store is closed: open it again with open_store")
        if self._pid != os.getpid():
            # Two processes on one connection corrupt a SQLite file, and mix up a server's answers.
            raise StoreError("this store was opened before a fork: open one in each process with open_store")

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as e:
            raise StoreError(self._sentence(e.orig)) from e
        except SQLAlchemyError as e:
            raise StoreError(f"database {self.name}: {_one_line(e)}: look at docs/store.md") from e

    def _sentence(self, cause: BaseException | None) -> str:
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _SQLITE_REMEDIES:
            return f"database {self.name}: {_SQLITE_REMEDIES[code & 0xFF]} ({_one_line(cause)})"
        if isinstance(cause, sqlite3.Error):
            return f"database {self.name}: {_one_line(cause)}: look at docs/store.md"
        state = getattr(cause, "sqlstate", None)
        if state is None or state.startswith(("08", "57P")):
            return f"database {self.name} cannot be reached: start its server or correct the URL ({_one_line(cause)})"
        remedy = "correct the user, the password or their rights" if state.startswith(("28", "42501")) else None
        return f"database {self.name}: {_one_line(cause)}: {remedy or 'look at docs/store.md'}"


def upsert(connection: Connection, table: Table, *key: str, keep: tuple[str, ...] = ()) -> Insert:
    """An INSERT that replaces the row with the same `key`, but for its columns `keep`."""
    rest = [column.name for column in table.columns if column.name not in (*key, *keep)]
    if connection.dialect.name == "sqlite":
        into_sqlite = sqlite.insert(table)
        return into_sqlite.on_conflict_do_update(key, set_={name: into_sqlite.excluded[name] for name in rest})
    into = postgresql.insert(table)
    return into.on_conflict_do_update(index_elements=key, set_={name: into.excluded[name] for name in rest})


def insert_new(connection: Connection, table: Table) -> Insert:
    """An INSERT that leaves a row that is there already as it is."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()


def queue(connection: Connection, name: str) -> None:
    """Wait until no other write transaction is in the queue of this name, and hold it until the end of this one.
    SQLite has one queue for all of them, and who writes is in it."""
    if connection.dialect.name != "sqlite":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0x52494E47))))


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def _set_up(raw: _RawConnection, record: object) -> None:
        raw.isolation_level = None  # the driver begins no transaction of its own
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("PRAGMA synchronous = FULL")  # in WAL mode the one that keeps a commit through a power cut

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql_engine(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as e:
        raise StoreError(f"PostgreSQL needs {e.name}: run `pip install 'ringfence[postgres]'`") from e

    @event.listens_for(engine, "connect")
    def _set_up(raw: _RawConnection, record: object) -> None:
        raw.autocommit = True
        # A server may be set to acknowledge before it has written; stricter settings stay.
        raw.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        raw.autocommit = False

    return engine


def _one_line(e: BaseException | None) -> str:
    return " ".join(str(e).split())
