"""Options of commands that look at prices or trade on them, and what is made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ringfence.cli.options import sandbox_spec
from ringfence.cli.sizes import parse_mb

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.markets.cache import Cache
    from ringfence.sandbox.job import Limits
    from ringfence.trade.bars import Bars
    from ringfence.trade.run import FillRules

DATA, COSTS, TRUTH, OUTPUT = "Data", "Account and costs", "Truth", "Output"

Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="SPEC",
        help="sample:GOOG, csv:path, parquet:path, yahoo:AAPL, alpaca:AAPL or synthetic:gbm?seed=1; may be repeated.",
        rich_help_panel=DATA,
    ),
]
Symbols = Annotated[
    str | None, typer.Option("--symbols", metavar="A,B", help="Only these instruments.", rich_help_panel=DATA)
]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="DATE", help="First day to trade; earlier bars warm up.", rich_help_panel=DATA),
]
End = Annotated[str | None, typer.Option("--end", metavar="DATE", help="Last day.", rich_help_panel=DATA)]
Timeframe = Annotated[
    str | None, typer.Option("--timeframe", metavar="1d", help="Length of a bar.", rich_help_panel=DATA)
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Mend impossible rows, and list what was done.", rich_help_panel=DATA)
]
Cash = Annotated[float, typer.Option("--cash", metavar="N", help="Money to begin with.", rich_help_panel=COSTS)]
Fees = Annotated[
    float, typer.Option("--fees", metavar="F", help="Fraction of each fill's value.", rich_help_panel=COSTS)
]
FeePerShare = Annotated[
    float, typer.Option("--fee-per-share", metavar="N", help="Money per share.", rich_help_panel=COSTS)
]
FeeMinimum = Annotated[
    float, typer.Option("--fee-minimum", metavar="N", help="Least fee of a fill.", rich_help_panel=COSTS)
]
Slippage = Annotated[
    float,
    typer.Option("--slippage-bps", metavar="N", help="Against you, on market and stop orders.", rich_help_panel=COSTS),
]
Spread = Annotated[float, typer.Option("--spread-bps", metavar="N", help="Between bid and ask.", rich_help_panel=COSTS)]
Margin = Annotated[
    float,
    typer.Option("--margin", metavar="F", help="Share of a position that must be covered.", rich_help_panel=COSTS),
]
Fractional = Annotated[bool, typer.Option("--fractional", help="Trade parts of a share.", rich_help_panel=COSTS)]
Shorting = Annotated[
    bool, typer.Option("--shorting/--no-shorting", help="Whether to sell short.", rich_help_panel=COSTS)
]
Both = Annotated[
    Literal["stop_first", "target_first"],
    typer.Option("--both-in-one-bar", help="When a bar holds a stop and a target.", rich_help_panel=COSTS),
]
CloseAtEnd = Annotated[
    bool, typer.Option("--close-at-end", help="Sell what is held on the last bar.", rich_help_panel=COSTS)
]
LookaheadOption = Annotated[
    bool,
    typer.Option("--lookahead/--no-lookahead", help="Run again without the future and compare.", rich_help_panel=TRUTH),
]
Heal = Annotated[
    bool,
    typer.Option("--heal/--no-heal", help="Mend a failing script where it is known how.", rich_help_panel=TRUTH),
]
MountOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mount", metavar="HOST:GUEST", help="Serve a file at the path a script expects.", rich_help_panel=DATA
    ),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a tear sheet, HTML.", rich_help_panel=OUTPUT)
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="S", help="Wall-clock seconds of one run.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Memory of one run, such as 2g.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the strategy's random numbers.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Which prices, as every command that looks at some is told."""

    data: Data = None
    symbols: Symbols = None
    start: Start = None
    end: End = None
    timeframe: Timeframe = None
    repair: Repair = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(s.strip() for s in self.symbols.split(",") if s.strip()) if self.symbols else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The money to begin with, and what trading costs."""

    cash: Cash = 100_000.0
    fees: Fees = 0.001
    fee_per_share: FeePerShare = 0.0
    fee_minimum: FeeMinimum = 0.0
    slippage_bps: Slippage = 2.0
    spread_bps: Spread = 0.0
    margin: Margin = 1.0
    fractional: Fractional = False
    shorting: Shorting = True
    both_in_one_bar: Both = "stop_first"
    close_at_end: CloseAtEnd = False

    def rules(self) -> FillRules:
        from ringfence.trade.run import Costs, FillRules

        costs = Costs(
            percent=self.fees, per_share=self.fee_per_share, minimum=self.fee_minimum,
            slippage_bps=self.slippage_bps, spread_bps=self.spread_bps,
        )  # fmt: skip
        return FillRules(
            cash=self.cash, margin=self.margin, shorting=self.shorting, fractional=self.fractional,
            both_in_one_bar=self.both_in_one_bar, close_at_end=self.close_at_end, costs=costs,
        )  # fmt: skip


def make_limits(timeout: float, memory: str) -> Limits:
    from dataclasses import replace

    from ringfence.sandbox.job import PRESETS

    return replace(PRESETS["backtest"], wall_seconds=timeout, memory_mb=parse_mb(memory))


def read_secret(settings: Settings) -> str:
    """What the look-ahead check's cuts hang from: made once, kept at home, and never shown to a strategy."""
    import secrets
    from pathlib import Path

    from ringfence.base.errors import StoreError

    place = Path(settings.home_dir(os.environ)) / "lookahead.key"
    try:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_name(f"{place.name}.{os.getpid()}")
            part.touch(mode=0o600)
            part.write_text(secrets.token_hex(16))
            os.replace(part, place)
        return place.read_text()
    except OSError as e:
        raise StoreError(f"{str(place)!r} cannot be made or read ({e.strerror}): see RINGFENCE_HOME") from e


def open_cache(settings: Settings) -> Cache:
    from ringfence.markets.cache import Cache

    return Cache(settings.home_dir(os.environ) / "bars")


def load(cache: Cache, prices: Prices) -> tuple[Bars, Path] | tuple[None, None]:
    """The bars that were asked for, and the file that the guest will map; nothing where none were."""
    if not prices.data:
        return None, None
    import time

    from ringfence.markets import load_bars

    bars = load_bars(
        prices.data, symbols=prices.names, start=prices.start, end=prices.end, timeframe=prices.timeframe,
        repair=prices.repair, cache=cache, environ=os.environ, now_ns=time.time_ns(),
    )  # fmt: skip
    return bars, cache.materialise(bars)


def trading_sandbox(backend: str, text: str, allow_weaker: bool) -> str:
    """What to open for one backtest: a zygote that has imported what such a strategy needs, and no more. A look at the
    text decides, because it is parsed inside; a wrong guess costs an import."""
    return _lean_sandbox(backend, "quant" if "backtesting" in text else "strategy", allow_weaker)


def reading_sandbox(backend: str, allow_weaker: bool) -> str:
    """What to open to look at a text and no more."""
    return _lean_sandbox(backend, "plain", allow_weaker)


def _lean_sandbox(backend: str, profile: str, allow_weaker: bool) -> str:
    if ":" in backend or backend not in ("native", "docker"):
        return sandbox_spec(backend, "quant", allow_weaker)
    weaker = ",allow_weaker=yes" if allow_weaker else ""
    return f"{backend}:profile={profile},park=0{weaker}"
