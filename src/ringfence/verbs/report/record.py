"""What it takes to understand a run and to do it again: parameters, costs, rules, data, versions."""

from __future__ import annotations

from dataclasses import dataclass

from ringfence.verbs.report import formats
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.reading import Table, number, rows, table, text, texts

UNFILLED = ("rejected", "cancelled", "expired")
MOST_ORDERS = 500  # of those that came to nothing; the reasons are counted over all of them


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    shown: str
    code: bool = False  # a hash or a version, to be copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfilled:
    """An order that came to nothing."""

    time: str
    symbol: str
    asked: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A decision that depended on the future."""

    time: str
    cut: str
    test: str
    with_future: str
    without_future: str


def facts(document: Table) -> dict[str, list[Fact]]:
    engine = table(document.get("engine"))
    rules = table(engine.get("fills"))
    told = {
        "Costs": _costs(table(engine.get("costs"))),
        "Fills": _fills(rules) if rules else [Fact("Rules", "the script's own engine")],
        "Data": _data(table(document.get("bars"))),
        "Reproduction": _reproduction(document, engine),
    }
    return {group: members for group, members in told.items() if members}


def _costs(costs: Table) -> list[Fact]:
    if not costs:
        return []
    percent, share, least = (number(costs.get(name)) or 0.0 for name in ("percent", "per_share", "minimum"))
    told = [Fact("Fee", f"{formats.percent(percent, places=3)} of each fill")]
    if share:
        told.append(Fact("Fee per share", formats.whatever(share)))
    if least:
        told.append(Fact("Least fee", formats.money(least)))
    told += [
        Fact("Slippage", f"{formats.whatever(number(costs.get('slippage_bps')))} bps, on market and stop orders"),
        Fact(
            "Spread", f"{formats.whatever(number(costs.get('spread_bps')))} bps, half of it on market and stop orders"
        ),
    ]
    return told


def _fills(rules: Table) -> list[Fact]:
    margin = number(rules.get("margin")) or 1.0
    both = "the stop is taken" if rules.get("both_in_one_bar") == "stop_first" else "the target is taken"
    return [
        Fact("Orders", "decided on a bar, filled from the next bar on"),
        Fact("Cash", formats.money(number(rules.get("cash")))),
        Fact("Buying power", f"{formats.whatever(round(1 / margin, 2))} × equity" if margin != 1 else "the equity"),
        Fact("Short positions", "allowed" if rules.get("shorting") else "not allowed"),
        Fact("Shares", "fractions allowed" if rules.get("fractional") else "whole only"),
        Fact("Stop and target in one bar", both),
        Fact("At the end", "positions are closed" if rules.get("close_at_end") else "positions stay open, marked"),
    ]


def _data(bars: Table) -> list[Fact]:
    if not bars:
        return [Fact("Source", "brought by the script")]
    told = [
        Fact("Source", inert(text(bars.get("source"))), code=True),
        Fact("Symbols", ", ".join(inert(symbol) for symbol in texts(bars.get("symbols")))),
        Fact("Timeframe", inert(text(bars.get("timeframe")))),
        Fact("From", inert(text(bars.get("start")))),
        Fact("To", inert(text(bars.get("end")))),
        Fact("Rows", formats.count(number(bars.get("rows")))),
        Fact("Adjusted for", inert(text(bars.get("adjusted")))),
        Fact("SHA-256", inert(text(bars.get("sha256"))), code=True),
    ]
    return told + [Fact("Note", inert(note)) for note in texts(bars.get("notes"))]


def _reproduction(document: Table, engine: Table) -> list[Fact]:
    draft, outcome = table(document.get("draft")), table(document.get("outcome"))
    told = [
        Fact("Run", inert(text(document.get("run_id"))), code=True),
        Fact("Program SHA-256", inert(text(draft.get("sha256"))), code=True),
        Fact("Class", inert(text(draft.get("class"))), code=True),
        Fact("Dialect", inert(text(draft.get("dialect")))),
        Fact("Seed", formats.whatever(document.get("seed")).replace(",", "")),
        Fact("Engine", inert(text(engine.get("version"))), code=True),
        Fact("Sandbox", f"{inert(text(outcome.get('backend')))}, ended {inert(text(outcome.get('status')))}"),
    ]
    return [fact for fact in told if fact.shown]


def libraries(document: Table) -> list[tuple[str, str]]:
    found = table(table(document.get("engine")).get("libraries"))
    return [(inert(name), inert(text(version))) for name, version in sorted(found.items())]


def parameters(document: Table) -> list[tuple[str, str]]:
    found = table(table(document.get("draft")).get("parameters"))
    return [(inert(name), formats.whatever(value)) for name, value in found.items()]


def unfilled(document: Table) -> tuple[list[Unfilled], list[tuple[str, int]]]:
    """The first orders that came to nothing, and how often each reason was given, the commonest first."""
    found = [row for row in rows(document.get("orders")) if row.get("status") in UNFILLED]
    reasons: dict[str, int] = {}
    for row in found:
        told = f"{inert(text(row.get('status')))}: {inert(text(row.get('reason'))) or 'no reason given'}"
        reasons[told] = reasons.get(told, 0) + 1
    return [_unfilled(row) for row in found[:MOST_ORDERS]], sorted(reasons.items(), key=lambda r: (-r[1], r[0]))


def _unfilled(row: Table) -> Unfilled:
    size = formats.quantity(number(row.get("qty")))
    prices = [
        f"{name} {formats.whatever(row.get(key))}"
        for name, key in (("limit", "limit_price"), ("stop", "stop_price"))
        if number(row.get(key)) is not None
    ]
    words = (text(row.get("side")), size, text(row.get("order_type")).replace("_", " "), *prices)
    return Unfilled(
        time=moment(row.get("time")),
        symbol=inert(text(row.get("symbol"))),
        asked=inert(" ".join(word for word in words if word)),
        status=inert(text(row.get("status"))),
        reason=inert(text(row.get("reason"))),
    )


def sightings(document: Table) -> list[Sighting]:
    return [
        Sighting(
            time=moment(row.get("time")),
            cut=moment(row.get("cut")),
            test=inert(text(row.get("test"))),
            with_future=inert(text(row.get("with_future"))),
            without_future=inert(text(row.get("without_future"))),
        )
        for row in rows(table(document.get("lookahead")).get("evidence"))
    ]


def moment(value: object) -> str:
    """A stamp without what says nothing: the midnight of a daily bar, the T and the Z."""
    told = inert(value) if isinstance(value, str) else ""
    return told.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")
