"""Sums that hold for every run, whatever its rules: trades, fills, cash and equity are one account."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ringfence.evaluators.derive.findings import Findings
from ringfence.trade.bars import Bars, Floats, Ints
from ringfence.trade.orders import Trade
from ringfence.trade.run import Costs, FillRow, Run
from ringfence.trade.times import iso

_LOOSE = 2e-3  # where a library kept the books, and may count spread and commission its own way


def check_account(run: Run, bars: Bars | None, rounding: float) -> Findings:
    """Trades by themselves, trades against fills, fills against bars, and all of it against the equity."""
    made = Findings()
    close = rounding if run.provenance != "claimed" else _LOOSE
    for trade in run.trades:
        for sentence in _trade(trade, bars, close):
            made.check(not sentence, sentence)
    if run.metrics is not None:
        counted = run.metrics.trades
        made.check(
            counted == len(run.trades), f"{counted} trades are counted and {len(run.trades)} listed: run it again"
        )
    if run.engine.rules is None or run.provenance == "claimed":
        made.warnings.append("the script kept its own books: only its trades were looked at, not fills and cash")
        return made
    _fees(run, made, rounding)
    _money(run, made, rounding)
    _quantities(run, made)
    if bars is not None and _whole(run, bars):
        for fill in run.fills:
            sentence = _fill(fill, bars, run.engine.rules.costs, rounding)
            made.check(not sentence, sentence)
        _curve(run, bars, made, rounding)
    return made


def _name(trade: Trade) -> str:
    return f"trade {trade.id} ({trade.symbol} {trade.side} of {iso(trade.entry_time)})"


def _trade(trade: Trade, bars: Bars | None, rounding: float) -> Iterator[str]:
    """A sentence for each thing that is wrong with it, and an empty one for each that is right."""
    cost = trade.qty * trade.entry_price
    yield (
        "" if cost > 0 and trade.fees > -1e-9 else f"{_name(trade)} has no size, price or fee that can be: run it again"
    )
    if not cost > 0:
        return
    sign = 1 if trade.side == "long" else -1
    last = trade.exit_price if trade.exit_price is not None else _last_close(trade, bars)
    if last is not None:
        gain = sign * trade.qty * (last - trade.entry_price) - trade.fees
        fits = abs(gain - trade.pnl) <= rounding * cost
        yield "" if fits else f"{_name(trade)} made {gain:.2f} by its prices and says {trade.pnl:.2f}: run it again"
    share = trade.pnl / cost
    fits = abs(share - trade.pnl_pct) <= max(rounding, 1e-9) * max(1.0, abs(share))
    yield "" if fits else f"{_name(trade)} made {share:.4%} and says {trade.pnl_pct:.4%}: run it again"
    if (trade.exit_time is None) != (trade.exit_price is None):
        yield f"{_name(trade)} has half an exit: run it again"
    if trade.exit_time is not None and trade.exit_time < trade.entry_time:
        yield f"{_name(trade)} was left before it was entered: run it again"
    if bars is not None and trade.symbol in bars.candles:
        yield from _on_bars(trade, bars, rounding)


def _last_close(trade: Trade, bars: Bars | None) -> float | None:
    return float(bars.candles[trade.symbol].close[-1]) if bars is not None and trade.symbol in bars.candles else None


def _on_bars(trade: Trade, bars: Bars, rounding: float) -> Iterator[str]:
    """Whether the instrument was traded at such a price on such a day. Slippage may lie outside of the bar."""
    candles, reach = bars.candles[trade.symbol], max(0.02, rounding)
    ends = [("entered", trade.entry_time, trade.entry_price)]
    if trade.exit_time is not None and trade.exit_price is not None:
        ends.append(("left", trade.exit_time, trade.exit_price))
    for word, moment, price in ends:
        row = int(np.searchsorted(candles.time, moment))
        if row >= len(candles) or candles.time[row] != moment:
            yield f"{_name(trade)} was {word} on {iso(moment)}, where there is no bar: run it on these bars"
            continue
        low, high = float(candles.low[row]), float(candles.high[row])
        fits = low * (1 - reach) <= price <= high * (1 + reach)
        told = f"{_name(trade)} was {word} at {price:.6g} on a bar from {low:.6g} to {high:.6g}"
        yield "" if fits else f"{told}: nobody got that price, so look at the fills"


def _fees(run: Run, made: Findings, rounding: float) -> None:
    paid = sum(fill.fee for fill in run.fills)
    charged = sum(trade.fees for trade in run.trades)
    near = rounding * max(1.0, abs(paid))
    made.check(
        abs(paid - charged) <= near, f"the fills cost {paid:.2f} in fees and the trades {charged:.2f}: run it again"
    )
    if run.metrics is not None:
        told = run.metrics.fees
        made.check(
            abs(paid - told) <= near, f"the fills cost {paid:.2f} in fees and the metrics say {told:.2f}: run it again"
        )


def _money(run: Run, made: Findings, rounding: float) -> None:
    """What was there at the start, and what the trades made, is what is there at the end."""
    assert run.engine.rules is not None
    start = run.engine.rules.cash
    end = start + sum(trade.pnl for trade in run.trades)
    near = rounding * max(start, abs(end))
    if run.equity is not None and len(run.equity):
        told = float(run.equity.value[-1])
        made.check(
            abs(end - told) <= near,
            f"the trades make {end:,.2f} of {start:,.2f}, and the equity ends at {told:,.2f}: run it again",
        )
    if run.metrics is not None:
        told = run.metrics.final_equity
        made.check(
            abs(end - told) <= near,
            f"the trades make {end:,.2f} of {start:,.2f}, and the metrics say {told:,.2f}: run it again",
        )


def _quantities(run: Run, made: Findings) -> None:
    """What the fills leave in hand is what the open trades hold, and as much was bought and sold as was traded."""
    for symbol in dict.fromkeys([fill.symbol for fill in run.fills] + [trade.symbol for trade in run.trades]):
        fills = [fill for fill in run.fills if fill.symbol == symbol]
        left = sum(fill.qty if fill.side == "buy" else -fill.qty for fill in fills)
        trades = [trade for trade in run.trades if trade.symbol == symbol]
        signed = [(trade, trade.qty if trade.side == "long" else -trade.qty) for trade in trades]
        open_ = sum(units for trade, units in signed if trade.exit_time is None)
        near = 1e-6 * max(1.0, sum(fill.qty for fill in fills))
        made.check(
            abs(left - open_) <= near, f"the fills leave {left:g} {symbol} and the trades {open_:g}: run it again"
        )
        moved = sum(trade.qty * (1 if trade.exit_time is None else 2) for trade in trades)
        turned = sum(fill.qty for fill in fills)
        made.check(
            abs(moved - turned) <= near,
            f"the fills move {turned:g} {symbol} and the trades {moved:g}: run it again",
        )


def _whole(run: Run, bars: Bars) -> bool:
    return run.bars is not None and run.bars.sha256 == bars.sha256


def _fill(fill: FillRow, bars: Bars, costs: Costs, rounding: float) -> str:
    name = f"the {fill.side} fill of {fill.qty:g} {fill.symbol} on {iso(fill.time)}"
    if fill.symbol not in bars.candles:
        return f"{name} is of an instrument without bars: run it on these bars"
    candles = bars.candles[fill.symbol]
    row = int(np.searchsorted(candles.time, fill.time))
    if row >= len(candles) or candles.time[row] != fill.time:
        return f"{name} is on no bar: run it on these bars"
    against = (costs.slippage_bps + costs.spread_bps / 2) / 10_000 + rounding
    low, high = float(candles.low[row]), float(candles.high[row])
    if not low * (1 - against) <= fill.price <= high * (1 + against):
        return f"{name} at {fill.price:.6g} is outside of its bar, {low:.6g} to {high:.6g}: run it again"
    due = max(fill.qty * fill.price * costs.percent + fill.qty * costs.per_share, costs.minimum)
    if abs(due - fill.fee) > rounding * max(1.0, due):
        return f"{name} cost {fill.fee:.4f} in fees, and by the costs it is {due:.4f}: run it again"
    return ""


def _curve(run: Run, bars: Bars, made: Findings, rounding: float) -> None:
    """Cash and holdings after every bar, from the fills alone."""
    assert run.engine.rules is not None
    if run.equity is None or not len(run.equity):
        return
    timeline = bars.timeline()
    total = np.full(len(timeline), run.engine.rules.cash)
    for symbol, candles in bars:
        own = [fill for fill in run.fills if fill.symbol == symbol]
        if not own:
            continue
        place = np.searchsorted(timeline, np.array([fill.time for fill in own]))
        units = np.array([fill.qty if fill.side == "buy" else -fill.qty for fill in own])
        spent = units * np.array([fill.price for fill in own]) + np.array([fill.fee for fill in own])
        total -= _running(place, spent, len(timeline))
        total += _running(place, units, len(timeline)) * _known(candles.time, candles.close, timeline)
    at = np.searchsorted(timeline, run.equity.time)
    if at[-1] >= len(timeline) or not np.array_equal(timeline[at], run.equity.time):
        made.check(False, "the equity has moments that no bar has: run it on these bars")
        return
    off = np.abs(total[at] - run.equity.value)
    worst = int(off.argmax())
    made.check(
        bool(off[worst] <= rounding * max(run.engine.rules.cash, abs(float(total[at][worst])))),
        f"on {iso(int(run.equity.time[worst]))} cash and positions are {total[at][worst]:,.2f}, and the equity is "
        f"{run.equity.value[worst]:,.2f}: run it again",
    )


def _running(place: Ints, amounts: Floats, length: int) -> Floats:
    return np.cumsum(np.bincount(place, amounts, length)).astype(np.float64)


def _known(time: Ints, close: Floats, timeline: Ints) -> Floats:
    """The last price at each moment, 0 before there is one."""
    made: Floats = np.concatenate(([0.0], close))[np.searchsorted(time, timeline, side="right")]
    return made
