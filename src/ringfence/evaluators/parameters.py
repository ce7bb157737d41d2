"""Whether every number, ticker and rule in the user's words is in the strategy: RSI 99 for a requested 35 is not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ringfence.evaluators.case import Case
from ringfence.evaluators.verdict import Kind, Verdict, found, skipped
from ringfence.evaluators.wanted import Fact, facts, facts_of_words, spelled
from ringfence.trade.written import Written

_HAIR = 1e-9
# How programs call what the catalogue calls otherwise.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "sma": ("sma", "ma", "moving_average"),
    "volume_average": ("volume_average", "average_volume", "volume_sma", "vol_sma", "avg_volume"),
    "bollinger": ("bollinger", "bbands", "bb"),
    "keltner": ("keltner", "kc"),
    "stochastic": ("stochastic", "stoch", "stochf"),
    "plus_di": ("plus_di", "di"),
    "minus_di": ("minus_di", "di"),
    "williams_r": ("williams_r", "williams", "willr"),
    "roc": ("roc", "rate_of_change", "pct_change"),
    "momentum": ("momentum", "mom"),
    "session_vwap": ("session_vwap", "vwap"),
    "cloud": ("cloud", "ichimoku"),
    "parabolic_sar": ("parabolic_sar", "sar", "psar"),
}
# What it may be made with, by hand: it is in the program then, but its settings may stand anywhere.
_BY_HAND: Mapping[str, tuple[str, ...]] = {
    "sma": ("rolling", "mean", "average"),
    "ema": ("ewm",),
    "volume_average": ("volume",),
    "bollinger": ("band", "std"),
    "keltner": ("atr",),
    "donchian": ("highest", "lowest", "max", "min"),
    "highest": ("max", "donchian", "maximum"),
    "lowest": ("min", "donchian", "minimum"),
    "roc": ("momentum", "close"),
    "momentum": ("diff", "roc", "close"),
    "cloud": ("senkou", "span"),
    "ichimoku": ("tenkan", "kijun", "senkou"),
    "volatility": ("std",),
}
_SHORTS = ("sell", "short", "order_target_percent", "rebalance")
_LEAVES = ("close", "exit", "liquidate", "close_position", "rebalance", "order_target_percent")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametersEvaluator:
    name: str = "parameters"
    kind: Kind = "deterministic"

    def judge(self, case: Case) -> Verdict:
        described = case.description is not None
        asked = facts(case.description) if case.description is not None else facts_of_words(case.idea)
        if not asked:
            return skipped(self.name, "the words hold no number, ticker or indicator that could be looked for")
        written = case.written
        if written is None:
            return skipped(self.name, "nobody has looked at the text: check it first")
        errors, warnings, kept = [], [], 0
        for fact in asked:
            missing, doubt = _look(fact, written, case)
            if missing and fact.usual and not spelled(fact.value, case.idea):
                missing, doubt = "", f"{missing} (it was not said, and is what is usual)"
            errors += [missing] if missing else []
            warnings += [doubt] if doubt else []
            kept += not missing
        if not described:
            warnings.append(
                "nobody could put the words as rules: only their digits, tickers and indicators were looked for"
            )
        details = {"asked": len(asked), "kept": kept, "by": "description" if described else "words"}
        return found(self.name, score=kept / len(asked), errors=errors, warnings=warnings, details=details)


def _look(fact: Fact, written: Written, case: Case) -> tuple[str, str]:
    """What is missing, and what is doubtful; both empty where the fact is in the program."""
    if fact.kind == "ticker":
        return _ticker(fact, written, case)
    if fact.kind == "indicator":
        there = any(_about(fact.of, name) or _about(fact.of, name, _BY_HAND) for name in written.names)
        return ("" if there else f"{fact.says} was asked for and is not in the program: compute it"), ""
    if fact.kind in ("short", "exit"):
        wanted = _SHORTS if fact.kind == "short" else (*_LEAVES, "sell" if fact.of == "long" else "buy")
        guarded = fact.kind == "exit" and bool(written.guards)
        called = {call.name for call in written.calls} | written.texts
        there = guarded or not called.isdisjoint(wanted)
        return ("" if there else f"{fact.says} was asked for and the program never orders it: add it"), ""
    if fact.kind == "setting":
        near = [n for call in written.calls if _about(fact.of, call.name) for n in call.numbers]
        return _number(fact, near, written)
    if fact.kind == "level":
        return _level(fact, written)
    if fact.kind in ("stop", "target", "trail"):
        return _number(fact, written.guards.get(fact.kind, ()), written)
    return _number(fact, (), written)


def _about(indicator: str, name: str, names: Mapping[str, tuple[str, ...]] = _NAMES) -> bool:
    """Whether a name in a program speaks of an indicator: rsi, rsi14, fast_rsi, talib.RSI."""
    plain = re.sub(r"\d+", "", name).strip("_")
    words = {plain, *plain.split("_")}
    wanted = names.get(indicator, (indicator,) if names is _NAMES else ())
    return any(one in words or ("_" in one and one in plain) for one in wanted)


def _number(fact: Fact, near: Iterable[float], written: Written) -> tuple[str, str]:
    """Where the program has numbers in the very place, one of them must be it; else it may stand anywhere."""
    near = sorted(set(near))
    if near:
        if any(_same(fact, n) for n in near):
            return "", ""
        told = ", ".join(_shown(fact, n) for n in near[:4])
        return f"{fact.says} was asked for and the program has {told}: write {_plain(fact)}", ""
    if any(_same(fact, n) for n in written.numbers):
        return "", ""
    return f"{fact.says} was asked for and is nowhere in the program: write {_plain(fact)}", ""


def _level(fact: Fact, written: Written) -> tuple[str, str]:
    if not fact.value:
        return "", ""  # zero is where the sign changes, and stands in every program
    about = [
        one
        for one in written.comparisons
        if fact.of and any(_about(fact.of, n) or _about(fact.of, written.series.get(n, "")) for n in one.names)
    ]
    missing, _ = _number(fact, [one.value for one in about], written)
    ways = {one.way for one in about if _same(fact, one.value)} - {""}
    if not missing and fact.way and ways and fact.way not in ways:
        return "", f"{fact.says} was asked for and the program asks for the other side of {fact.value:g}: look at it"
    return missing, ""


def _ticker(fact: Fact, written: Written, case: Case) -> tuple[str, str]:
    """By name, or by being what the program is run on."""
    symbol = fact.of
    data: tuple[str, ...] = ()
    if case.bars is not None:
        data = case.bars.symbols
    elif case.run is not None and case.run.bars is not None:
        data = case.run.bars.symbols
    words = set(_words(written.texts))
    if data and symbol not in data:
        return f"{symbol} was asked for and the data has {', '.join(data[:6])}: load {symbol} too", ""
    if symbol in words:
        return "", ""
    if not data:
        return "", f"{symbol} is not named in the program: run it on bars of {symbol}"
    others = [name for name in data if name != symbol and name in words]
    if written.asks_for_symbols or (symbol == data[0] and not others):
        return "", ""
    return f"{symbol} was asked for and the program never trades it: name it", ""


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield text
        if len(text) < 200:
            yield from text.replace(",", " ").split()


def _same(fact: Fact, written: float) -> bool:
    """Also as a fraction, as what is left after it, and one off where bars are counted from the other end."""
    value = fact.value
    forms = [value, *fact.also]
    if fact.unit == "percent":
        forms += [value / 100, 1 - value / 100, 1 + value / 100]
    elif fact.unit == "bars":
        forms += [value - 1, value + 1]
    return any(abs(abs(written) - abs(form)) <= _HAIR * max(1.0, abs(form)) for form in forms)


def _shown(fact: Fact, value: float) -> str:
    if fact.unit != "percent":
        return f"{value:g}"
    share = (
        value if abs(value) < 0.5 else 1 - value if abs(value) < 1 else value - 1 if 1 < value < 1.5 else value / 100
    )
    return f"{100 * share:.4g} %"


def _plain(fact: Fact) -> str:
    return f"{fact.value / 100:g}" if fact.unit == "percent" else f"{fact.value:g}"


def create() -> ParametersEvaluator:
    return ParametersEvaluator()
