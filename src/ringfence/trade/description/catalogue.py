"""The lines a description may name: settings with their customary values, parts, and how each is called in English.

A name is the function of the same name in `ringfence`, where `function` is empty; `columns` is what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ringfence.trade.description.model import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    name: str
    usual: float
    whole: bool = True
    least: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    english: str  # how the echo calls it
    columns: tuple[str, ...] = ("close",)
    settings: tuple[Setting, ...] = ()
    parts: tuple[str, ...] = ()  # in the order in which its function gives them
    scale: tuple[float, float] | None = None  # where its values must lie
    oversold: tuple[float, float] | None = None  # below the first it is sold out, above the second bought up


_HLC = ("high", "low", "close")
PRICES = ("open", "high", "low", "close", "volume")


def _period(usual: float, least: float = 1) -> tuple[Setting, ...]:
    return (Setting(name="period", usual=usual, least=least),)


_ICHIMOKU = (
    Setting(name="conversion", usual=9),
    Setting(name="base", usual=26),
    Setting(name="span", usual=52),
    Setting(name="ahead", usual=26),
)

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "open": Kind(english="open", columns=("open",)),
        "high": Kind(english="high", columns=("high",)),
        "low": Kind(english="low", columns=("low",)),
        "close": Kind(english="close"),
        "volume": Kind(english="volume", columns=("volume",)),
        "sma": Kind(english="SMA", settings=_period(20)),
        "ema": Kind(english="EMA", settings=_period(20)),
        "wma": Kind(english="WMA", settings=_period(20)),
        "volume_average": Kind(english="average volume", columns=("volume",), settings=_period(20)),
        "rsi": Kind(english="RSI", settings=_period(14, 2), scale=(0, 100), oversold=(30, 70)),
        "macd": Kind(
            english="MACD",
            settings=(
                Setting(name="fast", usual=12, least=2),
                Setting(name="slow", usual=26, least=2),
                Setting(name="signal", usual=9),
            ),
            parts=("line", "signal", "histogram"),
        ),
        "bollinger": Kind(
            english="Bollinger band",
            settings=(
                Setting(name="period", usual=20, least=2),
                Setting(name="deviations", usual=2, whole=False, least=0),
            ),
            parts=("upper", "middle", "lower"),
        ),
        "band_width": Kind(
            english="Bollinger band width",
            settings=(
                Setting(name="period", usual=20, least=2),
                Setting(name="deviations", usual=2, whole=False, least=0),
            ),
        ),
        "percent_b": Kind(
            english="Bollinger %b",
            settings=(
                Setting(name="period", usual=20, least=2),
                Setting(name="deviations", usual=2, whole=False, least=0),
            ),
        ),
        "keltner": Kind(
            english="Keltner channel",
            columns=_HLC,
            settings=(
                Setting(name="period", usual=20),
                Setting(name="multiple", usual=2, whole=False, least=0),
                Setting(name="atr_period", usual=10),
            ),
            parts=("upper", "middle", "lower"),
        ),
        "donchian": Kind(
            english="Donchian channel",
            columns=("high", "low"),
            settings=_period(20),
            parts=("upper", "middle", "lower"),
        ),
        "stochastic": Kind(
            english="stochastic",
            columns=_HLC,
            settings=(
                Setting(name="period", usual=14),
                Setting(name="smooth", usual=3),
                Setting(name="signal", usual=3),
            ),
            parts=("k", "d"),
            scale=(0, 100),
            oversold=(20, 80),
        ),
        "atr": Kind(english="ATR", columns=_HLC, settings=_period(14)),
        "adx": Kind(english="ADX", columns=_HLC, settings=_period(14, 2), scale=(0, 100)),
        "plus_di": Kind(english="+DI", columns=_HLC, settings=_period(14, 2), scale=(0, 100)),
        "minus_di": Kind(english="-DI", columns=_HLC, settings=_period(14, 2), scale=(0, 100)),
        "cci": Kind(english="CCI", columns=_HLC, settings=_period(20, 2), oversold=(-100, 100)),
        "williams_r": Kind(
            english="Williams %R", columns=_HLC, settings=_period(14), scale=(-100, 0), oversold=(-80, -20)
        ),
        "mfi": Kind(english="MFI", columns=(*_HLC, "volume"), settings=_period(14), scale=(0, 100), oversold=(20, 80)),
        "roc": Kind(english="rate of change", settings=_period(10)),
        "momentum": Kind(english="momentum", settings=_period(10)),
        "obv": Kind(english="OBV", columns=("close", "volume")),
        "vwap": Kind(english="VWAP", columns=(*_HLC, "volume"), settings=_period(20)),
        "session_vwap": Kind(english="session VWAP", columns=(*_HLC, "volume", "day")),
        "highest": Kind(english="high", columns=("high",), settings=_period(20)),
        "lowest": Kind(english="low", columns=("low",), settings=_period(20)),
        "ichimoku": Kind(
            english="Ichimoku",
            columns=("high", "low"),
            settings=_ICHIMOKU,
            parts=("conversion", "base", "span_a", "span_b"),
        ),
        "cloud": Kind(
            english="Ichimoku cloud",
            columns=("high", "low"),
            settings=_ICHIMOKU,
            parts=("top", "bottom"),
        ),
        "supertrend": Kind(
            english="Supertrend",
            columns=_HLC,
            settings=(Setting(name="period", usual=10), Setting(name="multiple", usual=3, whole=False, least=0)),
            parts=("line", "direction"),
        ),
        "parabolic_sar": Kind(
            english="Parabolic SAR",
            columns=("high", "low"),
            settings=(
                Setting(name="acceleration", usual=0.02, whole=False, least=0),
                Setting(name="maximum", usual=0.2, whole=False, least=0),
            ),
        ),
        "volatility": Kind(english="volatility", settings=_period(20, 2)),
    }
)  # fmt: skip

# Averages may be taken of another column or line, extremes too.
SOURCED = ("sma", "ema", "wma", "highest", "lowest", "rsi")


def usual_line(name: str, part: str = "") -> Line:
    """The line with customary settings; its first part where none is named."""
    kind = KINDS[name]
    return Line(
        name=name, values=tuple(s.usual for s in kind.settings), part=part or (kind.parts[0] if kind.parts else "")
    )


def warm_up(line: Line) -> int:
    """Bars until the line has its first value, counted generously."""
    before = warm_up(line.of) if line.of is not None else 1
    return int(sum(v for v, s in zip(line.values, KINDS[line.name].settings) if s.whole)) + line.ago + before
