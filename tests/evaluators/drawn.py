"""Strategies of rules as hypothesis draws them, with short periods and near levels, so that most of them trade."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from ringfence.trade.description import model as m
from ringfence.trade.description.catalogue import KINDS, PRICES

_AVERAGES = ("sma", "ema", "wma")
_SCALED = ("rsi", "stochastic", "mfi", "adx", "williams_r")


@st.composite
def averages(draw: st.DrawFn) -> m.Line:
    name = draw(st.sampled_from((*_AVERAGES, "close", "open", "bollinger", "keltner", "donchian", "highest", "lowest")))
    settings = {"bollinger": (draw(st.integers(5, 20)), 1), "keltner": (draw(st.integers(5, 20)), 1, 5)}
    kind = KINDS[name]
    values = () if name in PRICES else settings.get(name, (draw(st.integers(2, 20)),))
    part = draw(st.sampled_from(kind.parts)) if kind.parts else ""
    ago = 1 if name in ("donchian", "highest", "lowest") else draw(st.sampled_from((0, 0, 0, 2)))
    made = m.Line(name=name, values=values, part=part, ago=ago)
    smoothed = name in _AVERAGES and draw(st.integers(0, 3)) == 0
    return replace(made, of=m.Line(name="ema", values=(5,))) if smoothed else made


def _operands(line: m.Line) -> tuple[m.Operand, ...]:
    apart = m.Apart(line=line, ranges=-0.5, atr=m.Line(name="atr", values=(5,)))
    return line, m.Beyond(line=line, percent=1), m.Scaled(line=line, times=0.99), apart


@st.composite
def comparisons(draw: st.DrawFn) -> m.Compare | m.Between:
    if draw(st.booleans()):
        name = draw(st.sampled_from(_SCALED))
        kind = KINDS[name]
        values = tuple(min(s.usual, 9) for s in kind.settings)
        line = m.Line(name=name, values=values, part=kind.parts[0] if kind.parts else "")
        low, high = kind.scale or (0, 100)
        first = draw(st.integers(int(low) + 20, int(high) - 30))
        if draw(st.integers(0, 3)) == 0:
            return m.Between(left=line, low=m.Number(value=first), high=m.Number(value=first + 20))
        right: m.Operand = m.Number(value=first)
    else:
        line = draw(averages())
        other = draw(averages())
        right = draw(st.sampled_from(_operands(other)))
    return m.Compare(left=line, level=draw(st.sampled_from(("above", "below", "at_least", "at_most"))), right=right)


ways: st.SearchStrategy[m.Way] = st.sampled_from(("up", "down"))
directions: st.SearchStrategy[m.Direction] = st.sampled_from(("above", "below", "either"))
calendars: tuple[m.Condition, ...] = (
    m.OnSchedule(every="month", on="first"),
    m.OnSchedule(every="month", on="last"),
    m.OnSchedule(every="week", on="first"),
    m.OnSchedule(every="week", on="last"),
    m.OnSchedule(every="week", on="thursday"),
    m.OnSchedule(every="month", on="15"),
    m.MonthDays(first=2, last=4),
    m.MonthDays(first=-3, last=-1),
    m.EveryBars(bars=7),
    m.OnWeekdays(days=("tuesday", "friday")),
)
sizes: tuple[m.Sizing, ...] = (m.AllIn(), m.PercentOfEquity(percent=50), m.FixedShares(count=100))


@st.composite
def simple(draw: st.DrawFn) -> m.Condition:
    what = draw(st.sampled_from(("level", "level", "cross", "cross", "trend", "change", "held", "calendar")))
    compared = draw(comparisons())
    if what == "cross" and isinstance(compared, m.Compare):
        return m.Cross(left=compared.left, direction=draw(directions), right=compared.right)
    if what == "trend":
        return m.Trend(line=draw(averages()), way=draw(ways), bars=draw(st.integers(1, 3)))
    if what == "change":
        line = m.Line(name="close")
        return m.Change(line=line, way=draw(ways), percent=draw(st.integers(1, 3)), bars=draw(st.integers(1, 5)))
    if what == "held":
        return m.Held(condition=compared, bars=draw(st.integers(1, 3)))
    if what == "calendar":
        return draw(st.sampled_from(calendars))
    left = compared.left
    if isinstance(compared, m.Compare) and isinstance(left, m.Line) and left.name in _AVERAGES and draw(st.booleans()):
        return replace(compared, left=replace(left, values=(3,), ago=0, timeframe="1w"))
    return compared


def _joined(children: st.SearchStrategy[m.Condition]) -> st.SearchStrategy[m.Condition]:
    several = st.lists(children, min_size=2, max_size=2).map(tuple)
    return st.one_of(
        several.map(lambda parts: m.AllOf(parts=parts)),
        several.map(lambda parts: m.AnyOf(parts=parts)),
        st.lists(children, min_size=3, max_size=3).map(lambda parts: m.SomeOf(count=2, parts=tuple(parts))),
        children.map(lambda part: m.Not(part=part)),
    )


conditions = st.recursive(simple(), _joined, max_leaves=3)


@st.composite
def distances(draw: st.DrawFn, *, risk: bool = False) -> m.Distance:
    kind = draw(st.sampled_from(("percent", "percent", "atr", *(("risk",) if risk else ()))))
    if kind == "percent":
        return m.Distance(kind="percent", value=draw(st.integers(2, 8)))
    if kind == "risk":
        return m.Distance(kind="risk", value=draw(st.integers(1, 3)))
    return m.Distance(kind="atr", value=draw(st.sampled_from((1.5, 2, 3))), period=draw(st.integers(5, 14)))


@st.composite
def guards(draw: st.DrawFn) -> m.Guards:
    stop = draw(st.none() | distances())
    portions = draw(st.sampled_from(((), (), (), (50,), (25, 25), (40, 60))))
    far = sorted(draw(st.lists(st.integers(2, 9), min_size=2, max_size=2, unique=True)))
    partials = tuple(
        m.Partial(portion=portion, at=m.Distance(kind="percent", value=value)) for portion, value in zip(portions, far)
    )
    trail = draw(
        st.none() | st.builds(m.Trail, distance=distances(), rest=st.booleans() if partials else st.just(False))
    )
    secured = draw(st.none() | st.builds(m.BreakEven, after=distances(risk=stop is not None)))
    if draw(st.booleans()) and partials:
        secured = m.BreakEven()
    target = m.Distance(kind="percent", value=12) if partials else draw(distances(risk=stop is not None))
    return m.Guards(
        stop=stop,
        target=draw(st.none() | st.just(target)),
        trail=trail,
        partials=partials,
        break_even=secured,
        time_stop_bars=draw(st.sampled_from((0, 0, 4, 9))),
    )


@st.composite
def descriptions(draw: st.DrawFn) -> m.Description:
    """One or two sides, one or two instruments; always a way out."""
    sides: tuple[m.Side, ...] = draw(st.sampled_from((("long",), ("long",), ("short",), ("long", "short"))))
    entries = tuple(m.Entry(side=side, when=draw(conditions)) for side in sides)
    portions = draw(st.sampled_from(((), (100,), (100,), (40, 100), (33, 100, 33), (25, 75), (40, 30))))
    guarded = draw(guards())
    if not portions and len(sides) == 1:
        guarded = replace(guarded, time_stop_bars=guarded.time_stop_bars or 6)
    gone = sum(portion for portion in (*portions, *(p.portion for p in guarded.partials)) if portion < 100)
    if guarded.partials and (gone >= 100 or 100 not in portions):
        portions = tuple(portion for portion in portions if portion == 100)
    if 100 not in portions:
        guarded = replace(guarded, time_stop_bars=guarded.time_stop_bars or 6)
    parted = any(portion < 100 for portion in portions)
    if parted and not guarded.partials:
        trail = replace(guarded.trail, rest=draw(st.booleans())) if guarded.trail is not None else None
        of_rest = guarded.target is not None and draw(st.booleans())
        guarded = replace(guarded, trail=trail, target_rest=of_rest)
    exits = tuple(m.Exit(side=side, when=draw(conditions), portion=portion) for side in sides for portion in portions)
    runs = bool(exits and (guarded.partials or parted)) and draw(st.booleans())
    exits = tuple(replace(rule, rest=rule.portion == 100) for rule in exits) if runs else exits
    if runs:
        guarded = replace(guarded, time_stop_bars=guarded.time_stop_bars or 6)
    size = draw(st.sampled_from(sizes))
    plan = m.Signals(entries=entries, exits=exits, guards=guarded, sizing=size)
    symbols = draw(st.sampled_from((("GOOG",), ("AAPL",), ("GOOG", "AAPL"))))
    parting = guarded.break_even is not None and guarded.break_even.after is None
    if runs or parting or (guarded.trail is not None and guarded.trail.rest):
        symbols = symbols[
            :1
        ]  # of two, one may leave too little cash for a part of the other, and then there is no rest
    return m.Description(plan=plan, symbols=symbols)
