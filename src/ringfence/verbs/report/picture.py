"""A Run as one picture: equity, drawdown, prices with entries and exits, key figures and badges.

Drawn on a canvas of its own, without matplotlib's global state, its settings file or the clock, so the same Run gives
the same bytes with the same matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ringfence.trade.bars import Candles, Floats, Ints
from ringfence.trade.run import Curve, Json
from ringfence.trade.times import DAY, parse_moment
from ringfence.verbs.report import curves, formats
from ringfence.verbs.report.charts import Charts, make_charts
from ringfence.verbs.report.inert import inert
from ringfence.verbs.report.overview import Overview, headline, overview
from ringfence.verbs.report.reading import Table, number, rows, text

_INK, _SOFT, _RULE, _PAGE = "#16191d", "#5c6570", "#e3e5e3", "#ffffff"
_ACCENT, _HOLD, _GAIN, _LOSS, _WARN = "#1d4ed8", "#9aa1ab", "#0b7a5b", "#c0362c", "#92610a"
_TONES = {
    "good": ("#e5f4ee", _GAIN),
    "warn": ("#fdf3dc", _WARN),
    "bad": ("#b42318", "#ffffff"),
    "quiet": ("#f3f4f2", _SOFT),
}
_STYLE: Mapping[str, str | float | bool] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": _RULE,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": _RULE,
    "grid.linewidth": 0.7,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "ytick.left": False,
    "text.color": _INK,
    "text.parse_math": False,  # a strategy's name may hold dollar signs
    "text.usetex": False,
    "timezone": "UTC",
}
_INCHES, _DPI = (13.0, 8.4), 130
_MOST_TITLE = 60
_FIGURES = (
    ("Total return", "total_return", "gain"),
    ("Buy & hold", "buy_and_hold", "gain"),
    ("Return a year", "cagr", "gain"),
    ("Volatility", "volatility", "share"),
    ("Sharpe ratio", "sharpe", "ratio"),
    ("Sortino ratio", "sortino", "ratio"),
    ("Deepest drawdown", "max_drawdown", "gain"),
    ("Trades", "trades", "count"),
    ("Win rate", "win_rate", "share"),
    ("Profit factor", "profit_factor", "ratio"),
    ("Time in the market", "exposure", "share"),
    ("Fees", "fees", "money"),
    ("Equity at the end", "final_equity", "money"),
)


def draw(document: Mapping[str, Json], candles: Mapping[str, Candles]) -> bytes:
    """The picture as PNG. Prices are those of the first instrument; without `candles` there are none."""
    charts = make_charts(document, candles, "UTC")
    with mpl.rc_context():
        for name, value in _STYLE.items():
            mpl.rcParams[name] = value  # type: ignore[index]  # its type lists every name there is
        figure = Figure(figsize=_INCHES, dpi=_DPI, facecolor=_PAGE)
        FigureCanvasAgg(figure)
        top = overview(document)
        _draw_head(figure, top, document)
        _draw_figures(figure, headline(document))
        _draw_charts(figure, charts, document)
        if top.synthetic:
            _stamp(figure)
        held = io.BytesIO()
        figure.savefig(held, format="png", metadata={"Software": None})
    return held.getvalue()


def _draw_head(figure: Figure, top: Overview, document: Table) -> None:
    title = top.title.replace("\n", " ")
    shown = title if len(title) <= _MOST_TITLE else f"{title[: _MOST_TITLE - 1]}…"
    figure.text(0.045, 0.945, shown, fontsize=19, fontweight="bold", va="center")
    subtitle = "  ·  ".join(top.subtitle).replace("\n", " ")
    figure.text(0.045, 0.905, subtitle[:140], fontsize=9.5, color=_SOFT, va="center")
    words = [(badge.tone, badge.word) for badge in top.badges]
    if top.synthetic:
        words.insert(0, ("warn", "SYNTHETIC DATA"))
    at = 0.047
    for tone, word in words:
        fill, ink = _TONES[tone]
        box = {"boxstyle": "round,pad=0.45,rounding_size=0.5", "facecolor": fill, "edgecolor": "none"}
        label = figure.text(
            at + 0.006, 0.865, word[:30], fontsize=9, fontweight="bold", color=ink, va="center", bbox=box
        )
        width = label.get_window_extent(figure.canvas.get_renderer()).width  # type: ignore[attr-defined]  # Agg's canvas
        at += width / figure.bbox.width + 0.022
    figure.text(
        0.965,
        0.022,
        f"ringfence · run {inert(text(document.get('run_id')))[:20]}",
        fontsize=7.5,
        color=_HOLD,
        ha="right",
    )


def _draw_figures(figure: Figure, figures: Mapping[str, float | None]) -> None:
    told = [(label, figures[name], kind) for label, name, kind in _FIGURES if name in figures]
    for row, (label, value, kind) in enumerate(told):
        y = 0.795 - row * 0.0545
        figure.text(0.775, y, label, color=_SOFT, fontsize=9.5, va="center")
        colour = {"gain": _GAIN, "loss": _LOSS}.get(formats.tone(value), _INK) if kind == "gain" else _INK
        figure.text(
            0.965, y, _shown(value, kind), color=colour, fontsize=10.5, fontweight="bold", ha="right", va="center"
        )
        figure.add_artist(_rule(y - 0.027))


def _rule(y: float) -> Line2D:
    return Line2D([0.775, 0.965], [y, y], color=_RULE, linewidth=0.7)


def _shown(value: float | None, kind: str) -> str:
    shown = {
        "gain": lambda v: formats.percent(v, signed=True, places=1),
        "share": lambda v: formats.percent(v, places=1),
        "ratio": formats.plain_number,
        "count": formats.count,
        "money": formats.money,
    }
    # The font has no narrow space.
    return shown[kind](value).replace("\N{NARROW NO-BREAK SPACE}", " ")


def _draw_charts(figure: Figure, charts: Charts, document: Table) -> None:
    parts = [
        name
        for name, there in (("equity", charts.equity), ("fall", charts.equity), ("prices", charts.candles or None))
        if there is not None
    ]
    if not parts:
        figure.text(0.38, 0.45, inert(text(document.get("reason")))[:90] or "no result", color=_SOFT, ha="center")
        return
    heights = {"equity": 3.0, "fall": 1.2, "prices": 3.0}
    grid = figure.add_gridspec(
        len(parts),
        1,
        left=0.045,
        right=0.695,
        top=0.815,
        bottom=0.06,
        hspace=0.2,
        height_ratios=[heights[p] for p in parts],
    )
    axes = [figure.add_subplot(grid[at, 0]) for at in range(len(parts))]
    for part, ax in zip(parts, axes, strict=True):
        {"equity": _draw_equity, "fall": _draw_fall, "prices": _draw_prices}[part](ax, charts, document)
        ax.yaxis.tick_right()
        ax.sharex(axes[0])
        locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]  # matplotlib says no types here
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(
            ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]  # as above
        )
        ax.tick_params(axis="x", labelbottom=ax is axes[-1])
        ax.tick_params(length=0)
    axes[0].set_xlim(_days(charts.axis.time[[0]])[0], _days(charts.axis.time[[-1]])[0])


def _draw_equity(ax: Axes, charts: Charts, document: Table) -> None:
    for curve, colour, width, label in (
        (charts.benchmark, _HOLD, 1.0, "Buy & hold"),
        (charts.equity, _ACCENT, 1.6, "Strategy"),
    ):
        if curve is not None:
            ax.plot(*_line(charts, curve), color=colour, linewidth=width, label=label)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: formats.count(value)))
    ax.legend(loc="upper left", frameon=False, ncols=2, fontsize=8.5, labelcolor=_SOFT)


def _draw_fall(ax: Axes, charts: Charts, document: Table) -> None:
    if charts.equity is None:
        return
    days = _days(charts.axis.time)
    depth = curves.lowest_values(charts.axis, curves.fall(charts.equity))
    known = np.isfinite(depth)
    ax.fill_between(days[known], depth[known], 0, color=_LOSS, alpha=0.22, linewidth=0)
    ax.plot(days[known], depth[known], color=_LOSS, linewidth=0.9)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: formats.percent(value, places=0)))
    _caption(ax, "Drawdown")


def _draw_prices(ax: Axes, charts: Charts, document: Table) -> None:
    symbol, candles = next(iter(charts.candles.items()))
    told = curves.on_axis(charts.axis, candles)
    days, close = _days(charts.axis.time), told["close"]
    known = np.isfinite(close)
    ax.plot(days[known], close[known], color=_INK, linewidth=0.8, alpha=0.75)
    ax.fill_between(days[known], told["low"][known], told["high"][known], color=_INK, alpha=0.12, linewidth=0)
    mine = [row for row in rows(document.get("trades")) if row.get("symbol") == symbol]
    for marker, colour, points in (
        ("^", _ACCENT, _marks(mine, "entry", lambda r: r.get("side") == "long")),
        ("v", "#7a3e9d", _marks(mine, "entry", lambda r: r.get("side") == "short")),
        ("o", _GAIN, _marks(mine, "exit", lambda r: (number(r.get("pnl")) or 0.0) >= 0)),
        ("o", _LOSS, _marks(mine, "exit", lambda r: (number(r.get("pnl")) or 0.0) < 0)),
    ):
        if points:
            x, y = zip(*points, strict=True)
            size = 26 if marker != "o" else 15
            ax.scatter(_days(np.array(x, np.int64)), y, marker=marker, s=size, color=colour, linewidths=0, zorder=3)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: formats.whatever(value)))
    _caption(ax, f"{inert(symbol)[:20]}, entries and exits")


def _marks(trades: Sequence[Table], end: str, wanted: Callable[[Table], bool]) -> list[tuple[int, float]]:
    found = ((row.get(f"{end}_time"), number(row.get(f"{end}_price"))) for row in trades if wanted(row))
    return [(parse_moment(time), price) for time, price in found if isinstance(time, str) and price is not None]


def _caption(ax: Axes, words: str) -> None:
    box = {"facecolor": _PAGE, "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
    ax.text(0.008, 0.95, words, transform=ax.transAxes, fontsize=8.5, color=_SOFT, va="top", bbox=box)


def _line(charts: Charts, curve: Curve) -> tuple[Floats, Floats]:
    values = curves.last_values(charts.axis, curve)
    known = np.isfinite(values)
    return _days(charts.axis.time)[known], values[known]


def _days(moments: Ints) -> Floats:
    """What matplotlib counts in: days since 1970."""
    return moments / DAY


def _stamp(figure: Figure) -> None:
    figure.text(
        0.37,
        0.44,
        "SYNTHETIC",
        fontsize=86,
        fontweight="bold",
        color=_WARN,
        alpha=0.13,
        rotation=24,
        ha="center",
        va="center",
    )
