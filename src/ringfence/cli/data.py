"""`ringfence data`: fetch prices, list those that are kept, and show what they are."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli.options import AsJson
from ringfence.cli.terminal import clean_line, emit

if TYPE_CHECKING:
    from ringfence.markets.cache import Cache, Entry
    from ringfence.verbs.data import Description, Instrument

_GET_HELP = "Load prices, check them and keep them. SYMBOL is a symbol, a path, or a spec such as sample:GOOG."
_LIST_HELP = "List the prices that are kept."
_SHOW_HELP = "Say what prices are: a spec such as sample:GOOG, or the hash that `data list` gives."
_MOST_ROWS = 10_000

Symbols = Annotated[list[str], typer.Argument(metavar="SYMBOL", help="What to load.", show_default=False)]
What = Annotated[str, typer.Argument(metavar="SPEC|SHA", help="What to show.", show_default=False)]
SourceOption = Annotated[
    Literal["yahoo", "alpaca", "csv", "parquet", "sample", "synthetic"] | None,
    typer.Option("--source", help="Where they come from. (default yahoo)", show_default=False),
]
Start = Annotated[str | None, typer.Option("--start", metavar="DATE", help="The first day, such as 2020-01-31.")]
End = Annotated[str | None, typer.Option("--end", metavar="DATE", help="The last day.")]
Timeframe = Annotated[
    str | None, typer.Option("--timeframe", metavar="T", help="Length of a bar: 1m, 15m, 1h, 1d, 1w, 1mo.")
]
Repair = Annotated[bool, typer.Option("--repair", help="Mend rows that cannot be, and list what was done.")]
Rows = Annotated[int, typer.Option("--rows", metavar="N", help="Rows to show from each end.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer()
    group.command("get", help=_GET_HELP)(get)
    group.command("list", help=_LIST_HELP)(list_)
    group.command("show", help=_SHOW_HELP)(show)
    app.add_typer(group, name=name, help=line)


def get(
    symbols: Symbols,
    source: SourceOption = None,
    start: Start = None,
    end: End = None,
    timeframe: Timeframe = None,
    repair: Repair = False,
    as_json: AsJson = False,
) -> int:
    cache = _open_cache()
    from ringfence.verbs.data import get_data

    described = get_data(
        symbols,
        source=source,
        cache=cache,
        start=start,
        end=end,
        timeframe=timeframe,
        repair=repair,
        environ=os.environ,
        now_ns=time.time_ns(),
    )
    _render(described, as_json)
    return 0


def list_(as_json: AsJson = False) -> int:
    cache = _open_cache()
    from ringfence.verbs.data import list_data

    entries = list_data(cache)
    if as_json:
        emit(sys.stdout, json.dumps([asdict(entry) for entry in entries], allow_nan=False) + "\n")
    else:
        _show_entries(entries)
    return 0


def show(what: What, rows: Rows = 5, as_json: AsJson = False) -> int:
    if not 0 <= rows <= _MOST_ROWS:
        raise SettingsError(f"--rows {rows} is out of range: give a number from 0 to {_MOST_ROWS}")
    cache = _open_cache()
    from ringfence.verbs.data import show_data

    _render(show_data(what, cache=cache, rows=rows, environ=os.environ, now_ns=time.time_ns()), as_json)
    return 0


def _open_cache() -> Cache:
    from ringfence.base.config import Settings

    try:
        from ringfence.markets.cache import Cache
    except ModuleNotFoundError as e:
        raise SettingsError(f"`ringfence data` needs {e.name}: pip install 'ringfence[trade]'") from e

    return Cache(Settings.from_env(os.environ).home_dir(os.environ) / "bars")


def _render(described: Description, as_json: bool) -> None:
    if as_json:
        emit(sys.stdout, json.dumps(described.to_json(), allow_nan=False) + "\n")
    else:
        _show(described)


def _show(described: Description) -> None:
    from rich.text import Text

    from ringfence.cli.console import open_console, print_table

    console = open_console()
    if described.synthetic:
        console.print(Text("SYNTHETIC: no market printed these prices.\n", "bold yellow"))
    facts = [
        ("source", described.source),
        ("rows", f"{described.rows:,} of {described.timeframe}"),
        ("from", _moment(described.start)),
        ("to", _moment(described.end)),
        ("calendar", f"{described.calendar}, {described.timezone}"),
        ("adjusted", described.adjusted),
        ("sha256", described.sha256),
    ]
    if described.tradable_from:
        facts.insert(4, ("trading from", f"{_moment(described.tradable_from)}, what is before is history"))
    if described.path:
        facts.append(("file", described.path))
    facts += [("note", note) for note in described.notes]
    print_table(("what", ""), [(name, clean_line(value)) for name, value in facts])
    console.print()
    print_table(
        ("symbol", "rows", "from", "to", "missing bars"),
        [
            (clean_line(i.symbol), f"{i.rows:,}", _moment(i.start), _moment(i.end), _gaps(i))
            for i in described.instruments
        ],
    )
    for instrument in described.instruments:
        if instrument.first:
            console.print()
            _show_rows(instrument)


def _gaps(instrument: Instrument) -> str:
    if instrument.gaps is None:
        return "not counted"
    shown = ", ".join(_moment(moment) for moment in instrument.first_gaps)
    more = ", …" if instrument.gaps > len(instrument.first_gaps) else ""
    return f"{instrument.gaps:,} ({shown}{more})" if instrument.gaps else "0"


def _show_rows(instrument: Instrument) -> None:
    from ringfence.cli.console import print_table

    between = instrument.rows - len(instrument.first) - len(instrument.last)
    rows = [
        (_moment(r.time), *(f"{value:.10g}" for value in (r.open, r.high, r.low, r.close)), f"{r.volume:,.10g}")
        for r in (*instrument.first, *instrument.last)
    ]
    if between:
        rows.insert(len(instrument.first), (f"… {between:,} more", "", "", "", "", ""))
    print_table((clean_line(instrument.symbol), "open", "high", "low", "close", "volume"), rows)


def _show_entries(entries: list[Entry]) -> None:
    from rich.text import Text

    from ringfence.cli.console import open_console, print_table
    from ringfence.cli.sizes import show_bytes

    if not entries:
        open_console().print(Text("Nothing is kept yet: `ringfence data get GOOG --source sample` keeps something."))
        return
    rows = [
        (
            e.sha256[:12],
            e.timeframe,
            f"{e.rows:,}",
            _moment(e.start),
            _moment(e.end),
            show_bytes(e.bytes),
            clean_line(e.source),
            "SYNTHETIC" if e.synthetic else "",
        )
        for e in entries
    ]
    print_table(("sha256", "bars", "rows", "from", "to", "size", "source", ""), rows)


def _moment(text: str) -> str:
    """A day without its midnight."""
    return text.removesuffix("T00:00:00Z")
