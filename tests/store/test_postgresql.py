"""The store on PostgreSQL does everything a store must do, and what is its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from ringfence.base.errors import StoreError
from ringfence.store import Store, find_store, open_store
from ringfence.testing.runs import TEXT, make_run
from ringfence.testing.store import StoreSuite
from ringfence.testing.store_base import NOON, USAGE

from tests.store.postgres import fresh_database


@pytest.fixture
def store_url(postgres_server: str) -> Iterator[str]:
    with fresh_database(postgres_server) as url:
        yield url


def execute(url: str, *statements: str) -> list[str]:
    """The first column of what the last statement found."""
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            for statement in statements:
                result = connection.execute(text(statement))
            return [str(row[0]) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()


class TestPostgresql(StoreSuite):
    def test_the_short_scheme_means_the_same(self, store: Store, store_url: str) -> None:
        for scheme in ("postgresql://", "postgres://"):
            with open_store(store_url.replace("postgresql+psycopg://", scheme)) as other:
                assert other.list_runs() == []

    def test_a_lost_connection_is_made_again(self, store: Store, postgres_server: str) -> None:
        store.list_runs()
        execute(
            postgres_server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test_%'",
        )
        store.save_run(make_run(), draft_text=TEXT, usage=USAGE, now=NOON)
        assert store.count_runs() == 1

    def test_a_server_that_acknowledges_early_is_told_not_to(self, store_url: str) -> None:
        database = store_url.partition("?")[0].rpartition("/")[2]
        execute(store_url, f"ALTER DATABASE {database} SET synchronous_commit = off")
        with open_store(store_url) as store, store._database.write() as connection:
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        execute(store_url, f"ALTER DATABASE {database} SET synchronous_commit = remote_apply")
        with open_store(store_url) as store, store._database.write() as connection:
            assert connection.scalar(text("SHOW synchronous_commit")) == "remote_apply"

    def test_a_database_shared_with_another_user_of_alembic_is_fine(self, store_url: str) -> None:
        execute(
            store_url,
            "CREATE TABLE alembic_version (version_num text)",
            "INSERT INTO alembic_version VALUES ('theirs')",
        )
        assert find_store(store_url) is None
        with open_store(store_url) as store:
            assert store.list_runs() == []
        assert execute(store_url, "SELECT version_num FROM alembic_version") == ["theirs"]

    def test_a_table_of_another_program_under_our_name_is_refused(self, store_url: str) -> None:
        execute(store_url, "CREATE TABLE runs (mine int)")
        for opening in (open_store, find_store):
            with pytest.raises(StoreError, match=r"another program \(it has runs\)"):
                opening(store_url)
        assert execute(store_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == ["1"]

    def test_a_newer_schema_is_refused(self, store_url: str) -> None:
        open_store(store_url).close()
        execute(store_url, "UPDATE ringfence_schema SET version_num = '9999'")
        with pytest.raises(StoreError, match=r"9999.*update ringfence"):
            open_store(store_url)

    def test_rights_that_are_missing_are_named(self, store_url: str) -> None:
        execute(store_url, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN")
        with pytest.raises(StoreError, match=r"permission denied.*rights"):
            open_store(store_url.replace("ringfence@", "reader@"))


class TestUnreachable:
    def test_a_server_that_is_down(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="cannot be reached: start its server or correct the URL") as refused:
            open_store(f"postgresql+psycopg://me:secret@/x?host={tmp_path}")
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)

    def test_a_database_that_is_not_there(self, postgres_server: str) -> None:
        with pytest.raises(StoreError, match=r'database "nowhere" does not exist'):
            open_store(postgres_server.replace("/postgres", "/nowhere"))

    def test_a_missing_driver_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(StoreError, match=r"pip install 'ringfence\[postgres\]'"):
            open_store("postgresql+psycopg://localhost/x")
