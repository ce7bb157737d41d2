"""The store on a SQLite file does everything a store must do, and what is its own."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ringfence.base.errors import StoreError
from ringfence.store import Store, database, find_store, open_store
from ringfence.testing.store import StoreSuite
from ringfence.testing.store_base import save

from tests.conftest import ROOT, require


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a place" / "100%" / "ringfence.db"


@pytest.fixture
def store_url(path: Path) -> str:
    return f"sqlite:///{path}"


def execute(path: Path, *statements: str) -> list[str]:
    """The first column of what the last statement found."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        return [str(row[0]) for row in rows]


class TestSqlite(StoreSuite):
    def check_integrity(self, url: str) -> None:
        assert execute(Path(url.removeprefix("sqlite:///")), "PRAGMA integrity_check") == ["ok"]
        assert execute(Path(url.removeprefix("sqlite:///")), "PRAGMA foreign_key_check") == []

    def test_it_is_set_up_to_last(self, store: Store) -> None:
        with store._database.read() as connection:
            pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas]
        assert found == ["wal", 2, 1, 60_000]

    def test_a_writer_waits_for_its_turn_from_the_start(self, store: Store, path: Path) -> None:
        with store._database.write(), pytest.raises(sqlite3.OperationalError, match="locked"):
            execute(path, "PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE")
        with store._database.read():
            assert execute(path, "BEGIN IMMEDIATE", "COMMIT") == []

    def test_readers_do_not_wait_for_a_writer(self, store: Store) -> None:
        save(store)
        with store._database.write():
            assert store.count_runs() == 1

    def test_a_lock_that_is_never_let_go_is_named(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "BUSY_SECONDS", 0)
        with open_store(f"sqlite:///{path}") as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="kept it locked"):
                save(store)

    def test_a_file_that_left_wal_mode_is_brought_back(self, store_url: str, path: Path) -> None:
        open_store(store_url).close()
        assert execute(path, "PRAGMA journal_mode = DELETE") == ["delete"]
        open_store(store_url).close()
        assert execute(path, "PRAGMA journal_mode") == ["wal"]

    def test_one_opening_at_a_time_switches_to_wal(self, store_url: str, path: Path) -> None:
        path.parent.mkdir(parents=True)
        directory = os.open(path.parent, os.O_RDONLY)
        fcntl.flock(directory, fcntl.LOCK_EX)  # as another process does that is preparing the file
        opening = threading.Thread(target=lambda: open_store(store_url).close())
        opening.start()
        opening.join(1.0)
        waiting = opening.is_alive()
        os.close(directory)
        opening.join()
        assert waiting
        assert execute(path, "PRAGMA journal_mode") == ["wal"]

    def test_an_empty_file_is_a_new_database(self, store_url: str, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.touch()
        assert find_store(store_url) is None
        with open_store(store_url) as store:
            assert store.list_runs() == []

    def test_a_relative_path_is_from_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        open_store("sqlite:///here.db").close()
        assert (tmp_path / "here.db").is_file()

    def test_looking_makes_no_directory(self, store_url: str, path: Path) -> None:
        assert find_store(store_url) is None
        assert not path.parent.parent.exists()


class TestBadInput:
    @pytest.mark.parametrize("opening", [open_store, find_store])
    def test_a_file_that_is_no_database(self, opening: object, tmp_path: Path) -> None:
        assert callable(opening)
        path = tmp_path / "notes.db"
        path.write_text("these are my notes, and I want them back\n" * 50)
        with pytest.raises(StoreError, match="no SQLite database: move it away"):
            opening(f"sqlite:///{path}")
        assert path.read_text().startswith("these are my notes")
        assert [p.name for p in tmp_path.iterdir()] == ["notes.db"]

    @pytest.mark.parametrize("opening", [open_store, find_store])
    def test_a_database_of_another_program(self, opening: object, tmp_path: Path) -> None:
        assert callable(opening)
        path = tmp_path / "theirs.db"
        execute(path, "CREATE TABLE places (x)")
        before = path.read_bytes()
        with pytest.raises(StoreError, match=r"another program \(it has places\).*RINGFENCE_DATABASE"):
            opening(f"sqlite:///{path}")
        assert path.read_bytes() == before

    @pytest.mark.parametrize("opening", [open_store, find_store])
    def test_a_newer_schema(self, opening: object, store_url: str, path: Path) -> None:
        assert callable(opening)
        open_store(store_url).close()
        execute(path, "UPDATE ringfence_schema SET version_num = '9999'")
        with pytest.raises(StoreError, match=r"schema 9999, and this ringfence knows schemas up to.*update ringfence"):
            opening(store_url)

    def test_a_damaged_file(self, store_url: str, path: Path) -> None:
        with open_store(store_url) as store:
            save(store)
        whole = path.read_bytes()
        path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
        with pytest.raises(StoreError, match=r"damaged: restore|no SQLite database"):
            find_store(store_url)

    def test_a_directory_where_the_file_should_be(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="cannot be opened"):
            open_store(f"sqlite:///{tmp_path}")

    def test_a_file_where_the_directory_should_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreError, match=r"cannot be made .*set RINGFENCE_HOME"):
            open_store(f"sqlite:///{tmp_path}/file/ringfence.db")

    @pytest.mark.parametrize("below", ["ringfence.db", "new/ringfence.db"])
    def test_a_directory_that_may_not_be_written(self, below: str) -> None:
        require("root")  # to become somebody who may not
        program = f"from ringfence.store import open_store\nopen_store('sqlite:////usr/{below}')"
        done = subprocess.run(
            [sys.executable, "-m", "tests.nobody", sys.executable, "-c", program],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "StoreError" in done.stderr
        assert "RINGFENCE_HOME" in done.stderr.splitlines()[-1]

    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("", "not the URL"),
            ("results.db", "not the URL"),
            ("mysql://me:secret@host/x", "does not know"),
            ("sqlite+aiosqlite:///x.db", "does not know"),
            ("sqlite://", "names no file"),
            ("sqlite:///:memory:", "names no file"),
            ("sqlite:///x.db?mode=ro", "options"),
            ("postgresql://host:port/x", "not the URL"),
        ],
    )
    def test_a_url_of_no_use_is_told_how_to_write_one(self, url: str, told: str) -> None:
        for opening in (open_store, find_store):
            with pytest.raises(StoreError, match=told) as refused:
                opening(url)
            assert str(refused.value).endswith("postgresql+psycopg://user@host/database")
            assert "secret" not in str(refused.value)
