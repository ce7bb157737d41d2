"""Run AI-written trading code behind a fence, fast, and tell the truth about it.

Importing this package does nothing: no environment is read, no logging is set up and no heavy
library is loaded. The names below are fetched from their modules when first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the checkers know this name; importing typing for it would cost half of `ringfence --help`

if TYPE_CHECKING:
    from ringfence.base.errors import (
        DataError as DataError,
        DraftError as DraftError,
        InputError as InputError,
        JobError as JobError,
        LimitError as LimitError,
        MountError as MountError,
        OrderError as OrderError,
        RefusedError as RefusedError,
        RingfenceError as RingfenceError,
        SandboxError as SandboxError,
        SettingsError as SettingsError,
        SourceError as SourceError,
        SourceTooLarge as SourceTooLarge,
        StoreError as StoreError,
    )
    from ringfence.sandbox import open_sandbox as open_sandbox, open_session as open_session
    from ringfence.sandbox.job import Cancel as Cancel, Job as Job, Limits as Limits, Mount as Mount
    from ringfence.sandbox.outcome import Outcome as Outcome
    from ringfence.trade.arrays import Arrays as Arrays
    from ringfence.trade.indicators import (
        adx as adx,
        atr as atr,
        bollinger as bollinger,
        cci as cci,
        crossed as crossed,
        crossover as crossover,
        crossunder as crossunder,
        donchian as donchian,
        ema as ema,
        falling as falling,
        highest as highest,
        ichimoku as ichimoku,
        keltner as keltner,
        lowest as lowest,
        macd as macd,
        mfi as mfi,
        minus_di as minus_di,
        momentum as momentum,
        obv as obv,
        parabolic_sar as parabolic_sar,
        plus_di as plus_di,
        rising as rising,
        roc as roc,
        rsi as rsi,
        session_vwap as session_vwap,
        sma as sma,
        standard_deviation as standard_deviation,
        stochastic as stochastic,
        supertrend as supertrend,
        true_range as true_range,
        volume_average as volume_average,
        vwap as vwap,
        williams_r as williams_r,
        wma as wma,
    )
    from ringfence.trade.signals import BaseStrategy as BaseStrategy, Signal as Signal
    from ringfence.trade.strategy import Strategy as Strategy, param as param
    from ringfence.verbs.run import run as run

__version__ = "0.1.0"

_HOMES = {
    "run": "ringfence.verbs.run",
    "open_sandbox": "ringfence.sandbox",
    "open_session": "ringfence.sandbox",
    "Job": "ringfence.sandbox.job",
    "Limits": "ringfence.sandbox.job",
    "Mount": "ringfence.sandbox.job",
    "Cancel": "ringfence.sandbox.job",
    "Outcome": "ringfence.sandbox.outcome",
    "Strategy": "ringfence.trade.strategy",
    "param": "ringfence.trade.strategy",
    "Arrays": "ringfence.trade.arrays",
    "BaseStrategy": "ringfence.trade.signals",
    "Signal": "ringfence.trade.signals",
    "sma": "ringfence.trade.indicators",
    "ema": "ringfence.trade.indicators",
    "wma": "ringfence.trade.indicators",
    "standard_deviation": "ringfence.trade.indicators",
    "bollinger": "ringfence.trade.indicators",
    "rsi": "ringfence.trade.indicators",
    "macd": "ringfence.trade.indicators",
    "stochastic": "ringfence.trade.indicators",
    "cci": "ringfence.trade.indicators",
    "williams_r": "ringfence.trade.indicators",
    "roc": "ringfence.trade.indicators",
    "momentum": "ringfence.trade.indicators",
    "highest": "ringfence.trade.indicators",
    "lowest": "ringfence.trade.indicators",
    "donchian": "ringfence.trade.indicators",
    "true_range": "ringfence.trade.indicators",
    "atr": "ringfence.trade.indicators",
    "keltner": "ringfence.trade.indicators",
    "adx": "ringfence.trade.indicators",
    "plus_di": "ringfence.trade.indicators",
    "minus_di": "ringfence.trade.indicators",
    "ichimoku": "ringfence.trade.indicators",
    "supertrend": "ringfence.trade.indicators",
    "parabolic_sar": "ringfence.trade.indicators",
    "volume_average": "ringfence.trade.indicators",
    "vwap": "ringfence.trade.indicators",
    "session_vwap": "ringfence.trade.indicators",
    "obv": "ringfence.trade.indicators",
    "mfi": "ringfence.trade.indicators",
    "crossover": "ringfence.trade.indicators",
    "crossunder": "ringfence.trade.indicators",
    "crossed": "ringfence.trade.indicators",
    "rising": "ringfence.trade.indicators",
    "falling": "ringfence.trade.indicators",
    "DataError": "ringfence.base.errors",
    "OrderError": "ringfence.base.errors",
    "DraftError": "ringfence.base.errors",
    "StoreError": "ringfence.base.errors",
    "RingfenceError": "ringfence.base.errors",
    "JobError": "ringfence.base.errors",
    "LimitError": "ringfence.base.errors",
    "SourceError": "ringfence.base.errors",
    "InputError": "ringfence.base.errors",
    "MountError": "ringfence.base.errors",
    "RefusedError": "ringfence.base.errors",
    "SandboxError": "ringfence.base.errors",
    "SettingsError": "ringfence.base.errors",
    "SourceTooLarge": "ringfence.base.errors",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'ringfence' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
