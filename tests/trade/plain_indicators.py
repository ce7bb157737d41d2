"""Indicators a second time, from their definitions, as plain loops: what those of the package are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

Line = list[float]
NAN = math.nan


def windows(x: Sequence[float], n: int, of: Callable[[Sequence[float]], float]) -> Line:
    return [NAN if t < n - 1 else of(x[t - n + 1 : t + 1]) for t in range(len(x))]


def mean(x: Sequence[float]) -> float:
    return math.fsum(x) / len(x)


def deviation(x: Sequence[float]) -> float:
    return math.sqrt(math.fsum((v - mean(x)) ** 2 for v in x) / len(x))


def weighted(x: Sequence[float]) -> float:
    return sum(v * (i + 1) for i, v in enumerate(x)) / (len(x) * (len(x) + 1) / 2)


def smoothed(x: Sequence[float], n: int, weight: float, first: int = 0) -> Line:
    """Begins at `first + n - 1` with a mean, then moves by `weight` of each new value's distance."""
    made = [NAN] * len(x)
    for t in range(first + n - 1, len(x)):
        before = made[t - 1]
        made[t] = mean(x[first : first + n]) if t == first + n - 1 else before + weight * (x[t] - before)
    return made


def ema(x: Sequence[float], n: int, first: int = 0) -> Line:
    return smoothed(x, n, 2 / (n + 1), first)


def changes(x: Sequence[float]) -> Line:
    return [NAN, *(b - a for a, b in pairwise(x))]


def rsi(x: Sequence[float], n: int) -> Line:
    steps = changes(x)
    up = smoothed([max(s, 0.0) for s in steps], n, 1 / n, 1)
    down = smoothed([max(-s, 0.0) for s in steps], n, 1 / n, 1)
    return [100 * u / (u + d) if u == u else NAN for u, d in zip(up, down, strict=True)]


def macd(x: Sequence[float], fast: int, slow: int, signal: int) -> tuple[Line, Line, Line]:
    """Both averages begin on the same bar, and the line is shown from the first bar of its signal on."""
    line = [a - b for a, b in zip(ema(x, fast, slow - fast), ema(x, slow), strict=True)]
    average = ema(line, signal, slow - 1)
    shown = [v if a == a else NAN for v, a in zip(line, average, strict=True)]
    return shown, average, [v - a for v, a in zip(shown, average, strict=True)]


def true_range(high: Line, low: Line, close: Line) -> Line:
    rows = zip(high[1:], low[1:], close, strict=False)
    return [NAN, *(max(top - bottom, abs(top - c), abs(bottom - c)) for top, bottom, c in rows)]


def atr(high: Line, low: Line, close: Line, n: int) -> Line:
    return smoothed(true_range(high, low, close), n, 1 / n, 1)


def directional(high: Line, low: Line, close: Line, n: int) -> tuple[Line, Line, Line]:
    """Wilder's sums begin with n - 1 moves. ADX, +DI, -DI."""
    ups, downs, ranges = [0.0], [0.0], true_range(high, low, close)
    for t in range(1, len(high)):
        up, down = high[t] - high[t - 1], low[t - 1] - low[t]
        ups.append(up if up > down and up > 0 else 0.0)
        downs.append(down if down > up and down > 0 else 0.0)
    plus, minus, dx = [NAN] * len(high), [NAN] * len(high), [NAN] * len(high)
    u, d, r = sum(ups[1:n]), sum(downs[1:n]), sum(ranges[1:n])
    for t in range(n, len(high)):
        u, d, r = u - u / n + ups[t], d - d / n + downs[t], r - r / n + ranges[t]
        plus[t], minus[t] = 100 * u / r, 100 * d / r
        dx[t] = 100 * abs(plus[t] - minus[t]) / (plus[t] + minus[t])
    return smoothed(dx, n, 1 / n, n), plus, minus


def typical(high: Line, low: Line, close: Line) -> Line:
    return [sum(prices) / 3 for prices in zip(high, low, close, strict=True)]


def cci(high: Line, low: Line, close: Line, n: int) -> Line:
    def one(x: Sequence[float]) -> float:
        return (x[-1] - mean(x)) / (0.015 * mean([abs(v - mean(x)) for v in x]))

    return windows(typical(high, low, close), n, one)


def middle(high: Line, low: Line, n: int) -> Line:
    return [(top + bottom) / 2 for top, bottom in zip(windows(high, n, max), windows(low, n, min), strict=True)]


def later(x: Line, n: int) -> Line:
    return ([NAN] * n + x)[: len(x)]


def obv(close: Line, volume: Line) -> Line:
    total, made = volume[0], [volume[0]]
    for t in range(1, len(close)):
        total += volume[t] * ((close[t] > close[t - 1]) - (close[t] < close[t - 1]))
        made.append(total)
    return made


def vwap(high: Line, low: Line, close: Line, volume: Line, n: int) -> Line:
    price = typical(high, low, close)
    made = [NAN] * len(price)
    for t in range(n - 1, len(price)):
        rows = range(t - n + 1, t + 1)
        made[t] = sum(price[i] * volume[i] for i in rows) / sum(volume[i] for i in rows)
    return made


def supertrend(high: Line, low: Line, close: Line, n: int, multiple: float) -> tuple[Line, Line]:
    """Keeps both final bands as lists and looks each up by its bar."""
    reach, size = atr(high, low, close, n), len(close)
    upper, lower, side = [NAN] * size, [NAN] * size, [NAN] * size
    for t in range(n, size):
        top, bottom = [(high[t] + low[t]) / 2 + s * multiple * reach[t] for s in (1, -1)]
        if t == n:
            upper[t], lower[t], side[t] = top, bottom, -1.0 if close[t] < bottom else 1.0
            continue
        upper[t] = top if close[t - 1] > upper[t - 1] else min(top, upper[t - 1])
        lower[t] = bottom if close[t - 1] < lower[t - 1] else max(bottom, lower[t - 1])
        passed = close[t] < lower[t] if side[t - 1] == 1 else close[t] > upper[t]
        side[t] = -side[t - 1] if passed else side[t - 1]
    return [lower[t] if side[t] == 1 else upper[t] for t in range(size)], side


def parabolic_sar(high: Line, low: Line, step: float, most: float) -> Line:
    made = [NAN]
    down, up = low[0] - low[1], high[1] - high[0]
    rising = not (down > 0 and down > up)
    stop, extreme, pace = (low[0], high[1], step) if rising else (high[0], low[1], step)
    for t in range(1, len(high)):
        # On the first bar the one before it, for the limits of the stop, is that bar itself.
        near_low, near_high = min(low[max(t - 1, 1)], low[t]), max(high[max(t - 1, 1)], high[t])
        if low[t] <= stop if rising else high[t] >= stop:
            rising = not rising
            stop = min(extreme, near_low) if rising else max(extreme, near_high)
            extreme, pace = (high[t] if rising else low[t]), step
            made.append(stop)
        else:
            made.append(stop)
            if high[t] > extreme if rising else low[t] < extreme:
                extreme, pace = (high[t] if rising else low[t]), min(pace + step, most)
        stop += pace * (extreme - stop)
        stop = min(stop, near_low) if rising else max(stop, near_high)
    return made
