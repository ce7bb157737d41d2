"""Made-up prices, for tests and for trying things out. They are marked SYNTHETIC wherever they are shown.

gbm is a geometric Brownian motion. jump adds rare falls and leaps to it. regime changes, at random times, between a
calm rise and a rough decline. Each is fixed by its seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np

from ringfence.base.errors import DataError
from ringfence.markets import Request
from ringfence.markets.files import check_options
from ringfence.markets.shape import within
from ringfence.trade.bars import Bars, Candles, Floats
from ringfence.trade.times import DAY, parse_moment, timeframe_ns

_MODELS = ("gbm", "jump", "regime")
_STEPS = 16  # prices within a bar, of which it shows the first, the highest, the lowest and the last
_MOST_ROWS = 2_000_000  # of all symbols together: each takes about 700 bytes while it is made
_YEAR = 365 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    model: str
    seed: int = 1
    rows: int = 2520
    price: float = 100.0
    drift: float = 0.08  # a year, of the logarithm's mean
    volatility: float = 0.2  # a year
    timeframe: str = "1d"
    start: int = 0
    symbols: tuple[str, ...] = ()


def create(options: Mapping[str, str]) -> SyntheticSource:
    names = ("model", "seed", "rows", "price", "drift", "volatility", "timeframe", "start", "symbols")
    check_options("synthetic", options, names)
    return SyntheticSource(options)


class SyntheticSource:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._recipe = _parse(options)

    def load(self, request: Request) -> Bars:
        recipe = self._recipe
        known = self.symbols()
        missing = [name for name in request.symbols if name not in known]
        if missing and not (len(request.symbols) == 1 and not recipe.symbols):
            raise DataError(f"synthetic:{recipe.model} has no {missing[0]}: name it with ?symbols={missing[0]}")
        names = request.symbols or known
        if recipe.rows * len(names) > _MOST_ROWS:
            raise DataError(
                f"{recipe.rows:,} rows of {len(names):,} symbols are more than {_MOST_ROWS:,} together: ask for fewer"
            )
        made = {name: within(_make(recipe, name), request.start, request.end) for name in names}
        query = urlencode({k: v for k, v in self._options.items() if k != "model"}, safe=",:")
        return Bars(
            candles=made,
            timeframe=recipe.timeframe,
            source=f"synthetic:{recipe.model}" + (f"?{query}" if query else ""),
            adjusted="none",
            synthetic=True,
            notes=(f"SYNTHETIC: made up by {recipe.model} with seed {recipe.seed}, no market printed these prices",),
        )

    def symbols(self) -> Sequence[str]:
        return self._recipe.symbols or (self._recipe.model.upper(),)


def count_rows(options: Mapping[str, str], symbols: Sequence[str] = ()) -> int:
    """How many rows would be made, of all instruments together; `symbols` are those asked for beside the options."""
    recipe = _parse(options)
    return recipe.rows * max(1, len(recipe.symbols), len(symbols))


def _parse(options: Mapping[str, str]) -> Recipe:
    model = options["model"]
    if model not in _MODELS:
        raise DataError(f"synthetic has no model {model!r}: use {', '.join(_MODELS)}")
    timeframe = options.get("timeframe", "1d")
    step = timeframe_ns(timeframe)
    if timeframe.endswith("mo"):
        raise DataError("synthetic makes bars of up to weeks: make days, and ask for --timeframe 1mo")
    recipe = Recipe(
        model=model,
        seed=_whole(options, "seed", 1, 0, 2**63 - 1),
        rows=_whole(options, "rows", 2520, 1, _MOST_ROWS),
        price=_number(options, "price", 100.0, 1e-6, 1e9),
        drift=_number(options, "drift", 0.08, -10.0, 10.0),
        volatility=_number(options, "volatility", 0.2, 0.0, 10.0),
        timeframe=timeframe,
        start=parse_moment(options.get("start", "2010-01-04")),
        symbols=tuple(dict.fromkeys(s.strip() for s in options.get("symbols", "").split(",") if s.strip())),
    )
    if recipe.start + recipe.rows * step > 2**62:
        raise DataError(f"{recipe.rows} bars of {timeframe} reach past the year 2116: ask for fewer rows")
    return recipe


def _make(recipe: Recipe, symbol: str) -> Candles:
    # The symbol is part of the seed, so that an instrument stays the same when others are added beside it.
    rng = np.random.default_rng([recipe.seed, zlib.crc32(symbol.encode())])
    step_ns = timeframe_ns(recipe.timeframe)
    span = step_ns / _YEAR / _STEPS
    count = recipe.rows * _STEPS
    drift, volatility = _weather(recipe, rng)
    moves = (drift - volatility**2 / 2) * span + volatility * np.sqrt(span) * rng.standard_normal(count)
    if recipe.model == "jump":
        jumps = rng.random(count) < 4 * span  # four a year
        moves += jumps * rng.normal(-0.01, 0.05, count)
    path = np.concatenate([[0.0], np.cumsum(moves)])
    prices = recipe.price * np.exp(np.clip(path, -60.0, 60.0))
    inside = np.column_stack([prices[:-1].reshape(-1, _STEPS), prices[_STEPS::_STEPS]])
    volume = np.floor(1e6 * np.exp(0.4 * rng.standard_normal(recipe.rows)))
    time = recipe.start + np.arange(recipe.rows, dtype=np.int64) * step_ns
    return Candles(time, inside[:, 0], inside.max(axis=1), inside.min(axis=1), inside[:, -1], volume)


def _weather(recipe: Recipe, rng: np.random.Generator) -> tuple[Floats | np.float64, Floats | np.float64]:
    """Drift and volatility of each step: for regime, calm or rough for about a hundred bars each."""
    if recipe.model != "regime":
        return np.float64(recipe.drift), np.float64(recipe.volatility)
    rough = np.repeat(np.cumsum(rng.random(recipe.rows) < 0.01) % 2 == 1, _STEPS)
    drift = np.where(rough, -recipe.drift, 2 * recipe.drift)
    return drift, np.where(rough, 2 * recipe.volatility, 0.6 * recipe.volatility)


def _whole(options: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = options.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        raise DataError(f"{name}={text} is not a whole number: give one from {least} to {most}") from None
    if not least <= value <= most:
        raise DataError(f"{name}={text} is out of range: give a whole number from {least} to {most}")
    return value


def _number(options: Mapping[str, str], name: str, default: float, least: float, most: float) -> float:
    text = options.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        raise DataError(f"{name}={text} is not a number: give one from {least:g} to {most:g}") from None
    if not least <= value <= most:
        raise DataError(f"{name}={text} is out of range: give a number from {least:g} to {most:g}")
    return value
