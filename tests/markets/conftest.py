"""What other libraries do when imported or used, kept out of the tests' way."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _alpaca_warns_when_imported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of websockets.legacy, which it uses
        import alpaca.data  # noqa: F401


@pytest.fixture
def yahoo_cache(tmp_path: Path) -> Path:
    """yfinance keeps time zones and cookies in a folder of the user; here that is a folder of the test."""
    import yfinance

    yfinance.set_tz_cache_location(str(tmp_path / "yfinance"))
    return tmp_path / "yfinance"
