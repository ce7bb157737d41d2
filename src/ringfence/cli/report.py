"""`ringfence report`: a stored run as one HTML file, and as a picture."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.cli.options import AsJson
from ringfence.cli.terminal import emit, say

if TYPE_CHECKING:
    from ringfence.store import StoredRun
    from ringfence.trade.bars import Bars

RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or enough of its beginning.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Where the HTML goes. (default RUN_ID.html, unless --png is given)"),
]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Write a picture of the run too.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line)(report)


def report(run_id: RunId, out: Out = None, png: Png = None, as_json: AsJson = False) -> int:
    from ringfence.base.config import Settings
    from ringfence.verbs.report import summary_png, tear_sheet

    settings = Settings.from_env(os.environ)
    stored = _find(settings.database_url(os.environ), run_id)
    bars, why = _load_bars(settings.home_dir(os.environ), stored)
    candles = bars.candles if bars else None
    sheet = out or (None if png else Path(f"{stored.record.run_id}.html"))
    if why:
        say(why[0].lower() + why[1:].rstrip("."))
    if sheet is not None:
        html = tear_sheet(
            stored.json,
            code=stored.draft.text,
            candles=candles,
            timezone=bars.timezone if bars else "UTC",
            without_candles=why,
        )
        _write(sheet, html.encode())
    if png is not None:
        _write(png, summary_png(stored.json, candles=candles))
    _tell(stored.record.run_id, sheet, png, bool(bars), as_json)
    return 0


def _find(url: str, run_id: str) -> StoredRun:
    from ringfence.base.errors import StoreError
    from ringfence.store import find_store

    store = find_store(url)
    if store is None:
        raise StoreError(f"no run {run_id!r} is stored, for nothing is: run `ringfence backtest` first")
    with store:
        return store.get_run(run_id)


def _load_bars(home: Path, stored: StoredRun) -> tuple[Bars | None, str]:
    """The prices that the run was made on, or the sentence that says why there are none."""
    from ringfence.base.errors import DataError
    from ringfence.trade.arrow import read_bars

    sha256 = stored.record.bars_sha256
    if sha256 is None:
        return None, "The price chart is left out: the script brought its own data."
    path = home / "bars" / f"{sha256}.arrow"
    again = "run the backtest again to have it"
    if not path.exists():
        return None, f"The price chart is left out: the prices are no longer in {path}; {again}."
    try:
        bars = read_bars(path)
    except DataError as e:
        return None, f"The price chart is left out: {e}; {again}."
    if bars.sha256 != sha256:
        return None, f"The price chart is left out: {path} holds other prices than its name says; {again}."
    return bars, ""


def _write(path: Path, data: bytes) -> None:
    from ringfence.base.errors import InputError

    try:
        path.write_bytes(data)
    except OSError as e:
        raise InputError(
            f"{str(path)!r} cannot be written ({e.strerror}): name a file in a directory you may write"
        ) from e


def _tell(run_id: str, sheet: Path | None, png: Path | None, prices: bool, as_json: bool) -> None:
    if as_json:
        written = {"html": str(sheet) if sheet else None, "png": str(png) if png else None}
        emit(sys.stdout, json.dumps({"run_id": run_id, **written, "prices": prices}) + "\n")
        return
    for path in (sheet, png):
        if path is not None:
            emit(sys.stdout, f"{path}\n")
