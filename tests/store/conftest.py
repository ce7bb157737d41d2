"""One private server for all tests of the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.store.postgres import private_postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with private_postgres() as url:
        yield url
