"""The page itself: the template filled, the style and the scripts put in, and the policy that allows only those."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles
from ringfence.trade.run import Json
from ringfence.verbs.report.charts import Charts, make_charts, page_data
from ringfence.verbs.report.depths import deepest
from ringfence.verbs.report.highlight import highlight
from ringfence.verbs.report.histogram import trade_histogram
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.measures import grouped, own_statistics
from ringfence.verbs.report.months import MONTHS, Year, monthly
from ringfence.verbs.report.overview import overview
from ringfence.verbs.report.reading import Table, number, rows, table, text, texts, whole
from ringfence.verbs.report.record import MOST_ORDERS, facts, libraries, moment, parameters, sightings, unfilled

_LIBRARY = "vendored/lightweight-charts-5.2.1/lightweight-charts.standalone.production.js"
_MOST_OUTPUT = 50_000  # characters of each stream


def tear_sheet(
    document: Mapping[str, Json],
    *,
    code: str,
    candles: Mapping[str, Candles] | None = None,
    timezone: str = "UTC",
    without_candles: str = "",
) -> str:
    """One Run's JSON as one HTML file.

    Without `candles` there is no price chart, and `without_candles` is the sentence that says why. `timezone` is the
    exchange's: stamps are shown in it, and months begin in it.
    """
    charts = make_charts(document, candles or {}, _checked(timezone))
    style, library, script = _asset("sheet.css"), _asset(_LIBRARY), _asset("sheet.js")
    orders, reasons = unfilled(document)
    return _template().render(
        policy=_policy(styles=(style,), scripts=(library, script)),
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
        data=Markup(page_data(charts, document)),
        top=overview(document),
        charts=charts,
        without_candles=inert(without_candles),
        years=_years(charts, document),
        months=MONTHS,
        depths=deepest(charts.equity) if charts.equity is not None else [],
        histogram=trade_histogram(_returns(document)),
        measures=grouped(table(document.get("metrics"))),
        statistics=own_statistics(table(document.get("statistics"))),
        trades=len(rows(document.get("trades"))),
        orders=orders,
        reasons=reasons,
        most_orders=MOST_ORDERS,
        sightings=sightings(document),
        remarks=_remarks(document),
        parameters=parameters(document),
        facts=facts(document),
        libraries=libraries(document),
        failing=_failing(document),
        streams=_streams(document),
        code=highlight(code, _failing_line(document)),
    )


def _checked(timezone: str) -> str:
    """A browser refuses a time zone that it does not know, and would then draw nothing."""
    try:
        return ZoneInfo(timezone).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(f"time zone {timezone!r} is unknown: write for example UTC or America/New_York") from None


def _years(charts: Charts, document: Table) -> list[Year]:
    if charts.equity is None:
        return []
    start = number(table(document.get("metrics")).get("initial_equity"))
    return monthly(charts.equity, charts.benchmark, charts.zone, start)


@cache
def _template() -> Template:
    here = PackageLoader("ringfence.verbs.report", "")
    environment = Environment(
        loader=here, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("sheet.html.jinja")


@cache
def _asset(name: str) -> str:
    """A file of ours as it goes between the tags, where nothing may end the element early."""
    held = files("ringfence.verbs.report").joinpath(name).read_text(encoding="utf-8")
    if "</script" in held.lower() or "</style" in held.lower() or "<!--" in held:
        raise AssertionError(f"{name} cannot stand inside an element of a page")
    return held


def _policy(*, styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    """Nothing may be loaded, and nothing may run or style but these very texts."""
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(held: tuple[str, ...]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in held)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _returns(document: Table) -> list[float]:
    found = (number(row.get("pnl_pct")) for row in rows(document.get("trades")))
    return [value for value in found if value is not None]


def _remarks(document: Table) -> dict[str, list[str]]:
    named = {"guidance": "What to try", "warnings": "Warnings", "healed": "Repairs made to the program"}
    told = {title: [inert(line) for line in texts(document.get(name))] for name, title in named.items()}
    return {title: lines for title, lines in told.items() if lines}


def _failing(document: Table) -> dict[str, str]:
    found = table(table(document.get("outcome")).get("failing"))
    if not found:
        return {}
    bar = whole(found.get("bar"))
    where = f"line {whole(found.get('line'))}" if found.get("line") is not None else ""
    when = f"bar {bar:,}, {moment(found.get('time'))}".rstrip(", ") if bar is not None else ""
    return {
        "what": inert(f"{text(found.get('type'))}: {text(found.get('message'))}"),
        "where": " · ".join(part for part in (where, when) if part),
        "traceback": inert(text(found.get("traceback"))),
    }


def _failing_line(document: Table) -> int | None:
    return whole(table(table(document.get("outcome")).get("failing")).get("line"))


def _streams(document: Table) -> dict[str, str]:
    outcome = table(document.get("outcome"))
    told = {name: text(outcome.get(key)) for name, key in (("Output", "stdout"), ("Errors", "stderr"))}
    return {name: inert(_shortened(held)) for name, held in told.items() if held}


def _shortened(held: str) -> str:
    if len(held) <= _MOST_OUTPUT:
        return held
    return f"{held[:_MOST_OUTPUT]}\n… and {len(held) - _MOST_OUTPUT:,} more characters"
