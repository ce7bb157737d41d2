"""Pictures of what the models made, drawn inside the fence and left there as files for the host to take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ringfence.trade.bars import Floats
from ringfence.trade.models.ichimoku import Cloud

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 120  # bars of the past beside what is ahead
_BLUE, _GREY, _GREEN, _RED = "#1f5fa8", "#555555", "#2e8b57", "#b03a3a"


def draw_fan(file: str, past: Floats, levels: Sequence[float], fan: Floats, title: str) -> None:
    """The past as a line, and the levels of the future opening from its end."""
    figure, axes = _picture(title)
    past = past[-_SHOWN:]
    axes.plot(np.arange(1 - len(past), 1), past, color=_GREY, linewidth=1)
    ahead = np.arange(fan.shape[1])
    for low, high, shade in ((0, 4, 0.18), (1, 3, 0.3)):
        label = f"{levels[high] - levels[low]:.0%} of futures"
        axes.fill_between(ahead, fan[low], fan[high], color=_BLUE, alpha=shade, linewidth=0, label=label)
    axes.plot(ahead, fan[2], color=_BLUE, linewidth=1.5, label="median")
    axes.set_xlabel("steps from the last one")
    _save(figure, axes, file)


def draw_payoff(file: str, kind: str, spot: float, strike: float, price: float) -> None:
    """What is won or lost at expiry."""
    figure, axes = _picture(f"{kind} at {strike:.6g}: profit at expiry")
    at = np.linspace(0.5 * min(spot, strike), 1.5 * max(spot, strike), 200)
    sign = 1.0 if kind == "call" else -1.0
    axes.plot(at, np.maximum(sign * (at - strike), 0.0) - price, color=_BLUE, label="profit")
    axes.axhline(0.0, color=_GREY, linewidth=0.8)
    axes.axvline(spot, color=_GREEN, linewidth=0.8, label="spot")
    _save(figure, axes, file)


def draw_scatter(file: str, x: Floats, y: Floats, x_name: str, y_name: str, beta: float, alpha: float) -> None:
    figure, axes = _picture(f"Returns of {y_name} against {x_name}")
    axes.scatter(x, y, s=4, color=_BLUE, alpha=0.4, linewidths=0)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, alpha + beta * ends, color=_RED, label=f"beta {beta:.3g}")
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    _save(figure, axes, file)


def draw_cloud(file: str, close: Floats, cloud: Cloud, symbol: str) -> None:
    figure, axes = _picture(f"{symbol}: Ichimoku cloud")
    bars = len(close)
    first = max(0, bars - 2 * _SHOWN)
    at = np.arange(first, bars)
    axes.plot(at, close[first:], color=_GREY, linewidth=1, label="close")
    axes.plot(at, cloud.conversion[first:], color=_BLUE, linewidth=0.9, label="conversion")
    axes.plot(at, cloud.base[first:], color=_RED, linewidth=0.9, label="base")
    over, a, b = np.arange(first, len(cloud.span_a)), cloud.span_a[first:], cloud.span_b[first:]
    axes.fill_between(over, a, b, where=(a >= b).tolist(), color=_GREEN, alpha=0.25, linewidth=0)
    axes.fill_between(over, a, b, where=(a < b).tolist(), color=_RED, alpha=0.25, linewidth=0)
    axes.set_xlabel("bar")
    _save(figure, axes, file)


def draw_lines(file: str, close: Floats, lines: Sequence[Floats], names: Sequence[str], symbol: str) -> None:
    """The lines over the price where they are of its size, else below it."""
    figure, axes = _picture(f"{symbol}: {', '.join(names)}")
    first = max(0, len(close) - 2 * _SHOWN)
    at = np.arange(first, len(close))
    for name, line in zip(names, lines, strict=True):
        axes.plot(at, line[first:], linewidth=1, label=name)
    if all(_beside(line[first:], close[first:]) for line in lines):
        axes.plot(at, close[first:], color=_GREY, linewidth=0.8, label="close")
    axes.set_xlabel("bar")
    _save(figure, axes, file)


def _beside(line: Floats, close: Floats) -> bool:
    known = line[np.isfinite(line)]
    return bool(len(known)) and 0.5 * close.min() <= float(np.median(known)) <= 2.0 * close.max()


def _picture(title: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), dpi=110, layout="tight")
    axes = figure.subplots()
    axes.set_title(title)
    axes.grid(alpha=0.25)
    return figure, axes


def _save(figure: Figure, axes: Axes, file: str) -> None:
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(file)
