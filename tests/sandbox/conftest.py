"""Shared by the tests of the backends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks import containers


@pytest.fixture(autouse=True, scope="module")
def only_the_machine() -> Iterator[None]:
    """Attacks that ran before in this process may have containers open: what is counted here must not hang on them."""
    with containers.unwatched():
        yield
