"""A number after the part of an indicator: %D(3), signal(9), kijun(26), span B(52) are settings of the one that was
named, and never make another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from ringfence.agents.rules.measures.settings import PARTED, settings
from ringfence.agents.rules.reader import Reader
from ringfence.trade.description.catalogue import KINDS, usual_line
from ringfence.trade.description.lines import lines_of, map_lines
from ringfence.trade.description.model import Description, Line

# Which setting is the part's own, and by which settings a part is computed.
_OWN = {("stochastic", "d"): 2, ("macd", "signal"): 2, ("ichimoku", "base"): 1, ("ichimoku", "span_b"): 2}
_USED = {
    "stochastic": {"k": (0, 1), "d": (0, 1, 2)},
    "macd": {"line": (0, 1), "signal": (0, 1, 2), "histogram": (0, 1, 2)},
    "ichimoku": {"conversion": (0,), "base": (1,), "span_a": (0, 1, 3), "span_b": (2, 3)},
}
PARTS = ("PERCENT_D", "MACD_SIGNAL", "MACD_HISTOGRAM", "KIJUN", "SPAN_A", "SPAN_B")
_FIRSTS = ("PERCENT_K", "TENKAN")  # a number after these is the first setting


def place(made: Line) -> int:
    """Where the part's own setting stands among those of its indicator."""
    return _OWN.get((made.name, made.part), 0)


def own_setting(r: Reader, made: Line, given: int | None, named: Line | None) -> Line:
    """`made` with what is said beside its part; `given` stood before it, `named` is what it is held against."""
    first, word = r.i, r.peek(-1).text
    held = named.values if named is not None and named.name == made.name else None
    last = next((one.values for one in (r.it, r.right) if one is not None and one.name == made.name), None)
    values = held or r.known.get(made.name) or last
    said = values is not None
    base = replace(made, values=values or made.values)
    found = settings(r, made)
    count = sum(token.kind == "NUM" for token in r.tokens[first : r.i])
    if count > 1 or (count == 0 and given is None):
        return found if count else base
    if count and given is not None and given != found.values[0]:
        raise r.ask(f"two periods for the {KINDS[made.name].english}", ["say one of them"], first)
    value = given if given is not None else found.values[0]
    if not count and not said and word.startswith("stoch") and made.part == "d":
        return replace(made, values=(value, *made.values[1:]))  # the 14-day stochastic %D
    at = _OWN.get((made.name, made.part))
    same = at is not None and value == base.values[at]
    free = made.name == "ichimoku" or said
    if not same and (at is None or not free or _whole(r, made.name) or value == base.values[0]):
        raise r.ask(
            f"which setting of the {KINDS[made.name].english} is {value:g}?",
            [f"say all of them with its name: {KINDS[made.name].english}{tuple(usual_line(made.name).values)}"],
            first - 1,
        )
    assert at is not None
    r.own.add(made.name)
    return replace(base, values=(*base.values[:at], value, *base.values[at + 1 :]))


def first_setting(r: Reader, kind: str, name: str, word: str) -> None:
    """%K(14), tenkan(9): beside a part, the number must be that of the indicator wherever it is named."""
    if kind in _FIRSTS and r.peek(-1).kind in (")", "NUM") and not word.startswith(("stoch", "ichimoku")):
        r.own.add(name)


def _whole(r: Reader, name: str) -> bool:
    """Whether all the settings of an indicator were said before: stochastic(14, 3, 3)."""
    wanted = len(KINDS[name].settings) - (name == "ichimoku")
    kinds = {kind for kind, (one, _) in PARTED.items() if one == name}
    for n, token in enumerate(r.tokens[: r.i]):
        if token.kind not in kinds:
            continue
        count, k = 0, n + 1
        while k < r.i and r.tokens[k].kind in ("NUM", "(", ",", "SLASH", "AND", "BAR", "DAY"):
            count += r.tokens[k].kind == "NUM"
            k += 1
        if count >= wanted:
            return True
    return False


def one_indicator(made: Description, own: Collection[str]) -> Description | str:
    """Lines of an indicator whose parts had numbers of their own: the same settings for all of them, or a refusal."""
    for name in sorted(own):
        values: dict[int, float] = {}
        for line in lines_of(made):
            used = _USED[name].get(line.part, ()) if line.name == name else ()
            for at in range(4) if (name, line.name) == ("ichimoku", "cloud") else used:
                if values.setdefault(at, line.values[at]) != line.values[at]:
                    english = KINDS[name].english
                    return f"two settings for the {english}: say all of them with its name, as {english}" + str(
                        tuple(usual_line(name).values)
                    )
        made = map_lines(made, partial(_settled, name=name, values=values))
    return made


def _settled(line: Line, *, name: str, values: dict[int, float]) -> Line:
    if line.name != name:
        return line
    return replace(line, values=tuple(values.get(n, value) for n, value in enumerate(line.values)))
