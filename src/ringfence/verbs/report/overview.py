"""The top of the page: what was run, whether it can be believed, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringfence.verbs.report import formats
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.reading import Table, number, rows, table, text, texts, whole
from ringfence.verbs.report.record import UNFILLED

_PROVENANCE: Mapping[str, tuple[str, str]] = {
    "verified": ("good", "The orders were replayed outside the sandbox on a second copy of the prices, and agree."),
    "claimed": ("warn", "These are the script's own statistics. Nothing outside the sandbox has checked them."),
    "mismatch": ("bad", "The strategy's own account and the replay of its orders disagree. Do not rely on this run."),
}
_LOOKAHEAD: Mapping[str, tuple[str, str, str]] = {
    "clean": ("good", "No look-ahead", "Taking the future away changed none of its decisions."),
    "suspect": ("bad", "Look-ahead suspected", "Taking the future away changed its decisions: see the evidence."),
    "not_checked": ("quiet", "Look-ahead not checked", "Whether it uses the future has not been tested."),
}
_VERDICTS: Mapping[str, str] = {"traded": "quiet", "no_trades": "warn", "needs_data": "warn"}
_BACKTESTING_PY = {
    "total_return": ("Return [%]", 0.01),
    "buy_and_hold": ("Buy & Hold Return [%]", 0.01),
    "cagr": ("CAGR [%]", 0.01),
    "sharpe": ("Sharpe Ratio", 1.0),
    "sortino": ("Sortino Ratio", 1.0),
    "max_drawdown": ("Max. Drawdown [%]", 0.01),
    "win_rate": ("Win Rate [%]", 0.01),
    "trades": ("# Trades", 1.0),
    "profit_factor": ("Profit Factor", 1.0),
    "exposure": ("Exposure Time [%]", 0.01),
    "final_equity": ("Equity Final [$]", 1.0),
}


@dataclass(frozen=True, slots=True)
class Badge:
    tone: str
    word: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Tile:
    label: str
    shown: str
    tone: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    title: str
    subtitle: tuple[str, ...]
    badges: tuple[Badge, ...]
    synthetic: bool
    mismatch: bool
    sentence: str
    tiles: tuple[Tile, ...]


def overview(document: Table) -> Overview:
    figures = headline(document)
    return Overview(
        title=title(document),
        subtitle=_subtitle(document),
        badges=badges(document),
        synthetic=table(document.get("bars")).get("synthetic") is True,
        mismatch=document.get("provenance") == "mismatch",
        sentence=_sentence(document, figures),
        tiles=_tiles(figures) if figures else (),
    )


def title(document: Table) -> str:
    draft = table(document.get("draft"))
    return inert(text(draft.get("name")) or text(draft.get("class"))) or "A run without a name"


def badges(document: Table) -> tuple[Badge, ...]:
    verdict = text(document.get("verdict"))
    provenance = text(document.get("provenance"))
    tone, meaning = _PROVENANCE.get(provenance, ("bad", "Where these numbers come from is not known."))
    look = table(document.get("lookahead"))
    looked, word, told = _LOOKAHEAD.get(text(look.get("status")), _LOOKAHEAD["not_checked"])
    return (
        Badge(tone, _capital(inert(provenance) or "unknown"), meaning),
        Badge(looked, word, f"{told} {_capital(inert(text(look.get('reason'))))}".strip()),
        Badge(_VERDICTS.get(verdict, "bad"), _capital(inert(verdict).replace("_", " ")), _account(document)),
    )


def _account(document: Table) -> str:
    """The verdict's reason, or what was traded in a few words."""
    reason = inert(text(document.get("reason")))
    if reason:
        return _capital(reason)
    trades, orders = rows(document.get("trades")), rows(document.get("orders"))
    if not orders:
        return f"{len(trades):,} trades." if trades else ""
    lost = sum(row.get("status") in UNFILLED for row in orders)
    told = f"{len(trades):,} trades from {len(orders):,} orders"
    return f"{told}, of which {lost:,} came to nothing." if lost else f"{told}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def headline(document: Table) -> dict[str, float | None]:
    """The metrics, or for a script with its own engine what its statistics say of the same."""
    metrics = table(document.get("metrics"))
    if metrics:
        return {name: number(value) for name, value in metrics.items()}
    own = table(document.get("statistics"))
    found: dict[str, float | None] = {}
    for name, (theirs, factor) in _BACKTESTING_PY.items():
        value = number(own.get(theirs))
        if value is not None:
            found[name] = value * factor
    return found


def _subtitle(document: Table) -> tuple[str, ...]:
    draft, bars = table(document.get("draft")), table(document.get("bars"))
    symbols = [inert(symbol) for symbol in texts(bars.get("symbols"))]
    named = ", ".join(symbols[:4]) + (f" and {len(symbols) - 4} more" if len(symbols) > 4 else "")
    many = whole(bars.get("rows"))
    span = " to ".join(inert(text(bars.get(end)))[:10] for end in ("start", "end") if bars.get(end))
    parts = (
        named,
        f"{inert(text(bars.get('timeframe')))} bars" if bars else "",
        span,
        f"{formats.count(many)} rows" if many else "",
        f"{inert(text(draft.get('dialect')))} dialect" if draft.get("dialect") else "",
        "" if bars else "the script brought its own data",
    )
    return tuple(part for part in parts if part)


def _sentence(document: Table, figures: Mapping[str, float | None]) -> str:
    verdict = text(document.get("verdict"))
    gain, start, end = (figures.get(name) for name in ("total_return", "initial_equity", "final_equity"))
    if verdict == "no_trades":
        return "Nothing was traded, so this run says nothing about the strategy."
    if gain is None:
        return inert(text(document.get("reason"))) or "The run ended without a result."
    became = f"{formats.money(start)} became {formats.money(end)}" if start and end else "It returned"
    told = (
        f"{became} ({formats.percent(gain, signed=True, places=1)})"
        if start and end
        else (f"It returned {formats.percent(gain, signed=True, places=1)}")
    )
    years, held, fall = (figures.get(name) for name in ("years", "buy_and_hold", "max_drawdown"))
    if years:
        told += f" in {years:.1f} years" if years >= 1 else f" in {years * 365.25:.0f} days"
    if held is not None:
        told += f", while buy & hold returned {formats.percent(held, signed=True, places=1)}"
    if fall is not None:
        told += f". The deepest fall on the way was {formats.percent(abs(fall), places=1)}"
    return told + "."


def _tiles(figures: Mapping[str, float | None]) -> tuple[Tile, ...]:
    get = figures.get
    gain, yearly, fall, days = get("total_return"), get("cagr"), get("max_drawdown"), get("max_drawdown_days")
    return (
        Tile("Total return", _signed(gain), formats.tone(gain), _beside("buy & hold {}", _signed(get("buy_and_hold")))),
        Tile(
            "Return a year", _signed(yearly), formats.tone(yearly), _beside("volatility {}", _share(get("volatility")))
        ),
        Tile("Sharpe ratio", _ratio(get("sharpe")), "", _beside("Sortino {}", _ratio(get("sortino")))),
        Tile("Deepest fall", _share(fall), formats.tone(fall), _beside("longest {}", formats.duration(days))),
        Tile("Trades", formats.count(get("trades")), "", _beside("{} won", _share(get("win_rate")))),
        Tile(
            "Profit factor",
            _ratio(get("profit_factor")),
            "",
            _beside("invested {} of the time", _share(get("exposure"))),
        ),
    )


def _beside(words: str, shown: str) -> str:
    return "" if shown == formats.MISSING else words.format(shown)


def _signed(value: float | None) -> str:
    return formats.percent(value, signed=True, places=1)


def _share(value: float | None) -> str:
    return formats.percent(value, places=1)


def _ratio(value: float | None) -> str:
    return formats.plain_number(value)
