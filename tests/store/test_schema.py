"""The scripts in migrations make exactly the tables that the code uses, and go with the package."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import given, strategies as st
from sqlalchemy.dialects import sqlite

from ringfence.store import open_store
from ringfence.store.columns import Exact, Packed
from ringfence.store.tables import SCHEMA, VERSION_TABLE, metadata

from tests.store.postgres import fresh_database


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ringfence.db"
        return
    with fresh_database(request.getfixturevalue("postgres_server")) as fresh:
        yield fresh


def test_the_scripts_make_the_tables_of_the_code(url: str) -> None:
    options = {"version_table": VERSION_TABLE, "compare_type": False}  # the types differ by design: see columns.py
    with open_store(url) as store, store._database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_the_code_expects_the_last_script() -> None:
    config = Config()
    config.set_main_option("script_location", "ringfence.store:migrations")
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [SCHEMA]


def test_an_open_database_is_opened_again_without_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ringfence.db"
    open_store(url).close()
    program = f"""
        import sys
        from ringfence.store import open_store
        open_store({url!r}).close()
        sys.exit('alembic' in sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_string_survives_a_column(text: str) -> None:
    dialect = sqlite.dialect()
    exact, packed = Exact(), Packed()
    kept = exact.process_bind_param(text, dialect)
    assert kept is not None
    assert "\x00" not in kept
    kept.encode()
    assert exact.process_result_value(kept, dialect) == text
    assert packed.process_result_value(packed.process_bind_param(text, dialect), dialect) == text
