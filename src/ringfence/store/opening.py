"""From a URL to an open Store."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ringfence.base.errors import StoreError
from ringfence.store.database import Database
from ringfence.store.schema import bring_up_to_date, is_made
from ringfence.store.store import Store

_KINDS = "write sqlite:////absolute/path.db or postgresql+psycopg://user@host/database"


def open_store(url: str) -> Store:
    """The store at `url`, made if it is not there and brought up to date if it is of an earlier version."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        _make_directory(Path(parsed.database or ""))
    return _open(Database(parsed))


def find_store(url: str) -> Store | None:
    """The store at `url`, or None where nothing has been stored yet; then nothing is made either."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").exists():
        return None
    database = Database(parsed)
    try:
        made = is_made(database)
    except StoreError:
        database.close()
        raise
    if not made:
        database.close()
        return None
    return _open(database)


def _open(database: Database) -> Store:
    try:
        bring_up_to_date(database)
    except StoreError:
        database.close()
        raise
    return Store(database)


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError(f"{text!r} is not the URL of a database: {_KINDS}") from None
    shown = url.render_as_string(hide_password=True)
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if not url.database or url.database == ":memory:" or url.query:
            raise StoreError(f"{shown!r} names no file, or has options that are not for a file: {_KINDS}")
        return url
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(f"{shown!r} is a kind of database that ringfence does not know: {_KINDS}")


def _make_directory(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StoreError(
            f"the directory of database {path} cannot be made ({e.strerror}): set RINGFENCE_HOME to one you may write"
        ) from e
