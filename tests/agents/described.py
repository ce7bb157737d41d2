"""Descriptions as hypothesis draws them: every kind of line, condition, guard, size and plan that English can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from ringfence.agents.rules.measures.scales import scale
from ringfence.trade.description import model as m
from ringfence.trade.description.catalogue import KINDS, PRICES, SOURCED, usual_line
from ringfence.trade.description.lines import map_lines

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SIDES: tuple[tuple[m.Side, ...], ...] = (("long",), ("short",), ("long", "short"), ("long", "long"))
SYMBOLS = ("AAPL", "MSFT", "IBM", "GOOG", "SPY", "BTC-USD", "BRK.B")

flags = st.booleans()
whole = st.one_of(st.integers(1, 10), st.integers(1, 400))
periods = st.one_of(st.integers(2, 20), st.integers(2, 300))
decimal = st.one_of(st.integers(1, 300), st.integers(1, 9999).map(lambda n: n / 100).filter(lambda x: x != int(x)))
percents = st.one_of(st.integers(1, 99), st.integers(1, 999).map(lambda n: n / 10).filter(lambda x: x != int(x)))


@st.composite
def lines(draw: st.DrawFn, names: Sequence[str] = tuple(sorted(KINDS))) -> m.Line:
    name = draw(st.sampled_from(names))
    kind = KINDS[name]
    values = tuple(draw(periods) if s.whole else draw(decimal) for s in kind.settings)
    if name == "macd":  # the fast average is faster than the slow one
        values = (min(values[:2]), max(values[:2]) + 1, values[2])
    made = m.Line(name=name, values=values, part=draw(st.sampled_from(kind.parts)) if kind.parts else "")
    if name in SOURCED and draw(st.integers(0, 4)) == 0:
        made = replace(made, of=draw(inner_lines()))
    elif name in SOURCED and draw(st.booleans()):
        others = [c for c in PRICES if c != kind.columns[0]]
        made = replace(made, source=draw(st.sampled_from(others)))
    return replace(
        made,
        ago=draw(st.sampled_from((0, 0, 1, 2, 5))),
        timeframe=draw(st.sampled_from(("", "", "", "1w", "1mo"))),
    )


@st.composite
def inner_lines(draw: st.DrawFn) -> m.Line:
    """What an average or an extreme may be computed of."""
    name = draw(st.sampled_from(("rsi", "obv", "adx", "band_width", "stochastic", "macd", "atr", "roc", "ema")))
    kind = KINDS[name]
    return replace(usual_line(name), part=draw(st.sampled_from(kind.parts)) if kind.parts else "")


@st.composite
def numbers_on(draw: st.DrawFn, left: m.Line) -> m.Number:
    """A number that the line can have."""
    of = left.of is not None and left.name != "rsi"
    low, high = KINDS[left.of.name if of and left.of is not None else left.name].scale or (-200, 300)
    return m.Number(value=draw(st.integers(int(low), int(high))))


@st.composite
def operands(draw: st.DrawFn, left: m.Line) -> m.Operand:
    """What `left` may be compared with: something of its own scale."""
    kind = draw(st.sampled_from(("line", "line", "number", "scaled", "beyond", "apart")))
    if kind == "number":
        return draw(numbers_on(left))
    alike = [name for name in sorted(KINDS) if scale(usual_line(name)) == scale(left)]
    line = draw(lines(alike) if alike else st.just(left))
    if scale(line) != scale(left):
        line = left
    if kind == "line":
        return line
    if kind == "scaled" and line.name != "atr":
        return m.Scaled(line=line, times=draw(decimal))
    if kind == "apart" and scale(line) == "price" and line.name != "ema":  # beside an EMA it is a Keltner channel
        range_ = m.Line(name="atr", values=(draw(st.integers(2, 50)),), timeframe=line.timeframe, symbol=line.symbol)
        return m.Apart(line=line, ranges=draw(decimal) * draw(st.sampled_from((1, -1))), atr=range_)
    return m.Beyond(line=line, percent=draw(percents) * draw(st.sampled_from((1, -1))))


@st.composite
def comparisons(draw: st.DrawFn) -> m.Compare | m.Between:
    left = draw(lines())
    if draw(st.integers(0, 4)) == 0:
        return m.Between(left=left, low=draw(numbers_on(left)), high=draw(numbers_on(left)))
    return m.Compare(
        left=left, level=draw(st.sampled_from(("above", "below", "at_least", "at_most"))), right=draw(operands(left))
    )


@st.composite
def crosses(draw: st.DrawFn) -> m.Cross:
    left = draw(lines())
    return m.Cross(left=left, direction=draw(st.sampled_from(("above", "below", "either"))), right=draw(operands(left)))


def schedules() -> st.SearchStrategy[m.OnSchedule | m.EveryBars]:
    return st.one_of(
        st.sampled_from(DAYS).map(lambda day: m.OnSchedule(every="week", on=day)),
        st.builds(
            m.OnSchedule,
            every=st.sampled_from(("week", "month", "quarter", "year")),
            on=st.sampled_from(("first", "last")),
        ),
        st.just(m.OnSchedule(every="day", on="first")),
        st.builds(
            m.OnSchedule,
            every=st.sampled_from(("week", "month")),
            on=st.sampled_from(("first", "last")),
            each=st.integers(2, 6),
        ),
        st.sampled_from(DAYS).map(lambda day: m.OnSchedule(every="week", on=day, each=2)),
        st.integers(2, 28).map(lambda day: m.OnSchedule(every="month", on=str(day))),
        whole.map(lambda n: m.EveryBars(bars=n)),
    )


def calendars() -> st.SearchStrategy[m.Condition]:
    days = st.sets(st.sampled_from(DAYS), min_size=1).map(
        lambda chosen: m.OnWeekdays(days=tuple(sorted(chosen, key=DAYS.index)))
    )
    hours = st.builds(m.InHours, start=st.sampled_from(("09:30", "10:00")), end=st.sampled_from(("15:30", "16:00")))
    months = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True).map(
        lambda chosen: m.InMonths(months=tuple(chosen))
    )
    numbered = st.lists(st.integers(1, 9), min_size=2, max_size=2).map(sorted)
    in_month = numbered.flatmap(
        lambda ends: st.sampled_from(
            (m.MonthDays(first=ends[0], last=ends[1]), m.MonthDays(first=-ends[1], last=-ends[0]))
        )
    )
    return st.one_of(schedules(), days, hours, months, in_month)


simple: st.SearchStrategy[m.Condition] = st.one_of(
    comparisons(),
    crosses(),
    st.builds(m.Trend, line=lines(), way=st.sampled_from(("up", "down")), bars=whole),
    st.builds(
        m.Change, line=lines(), way=st.sampled_from(("up", "down")), percent=percents, bars=whole, strict=st.booleans()
    ),
    st.builds(m.Held, condition=comparisons(), bars=whole),
    calendars(),
)


def _at_once(parts: tuple[m.Condition, ...]) -> bool:
    """Two schedules at once are asked about, a date is said first, and an and within an and is one."""
    dated = [n for n, part in enumerate(parts) if isinstance(part, (m.OnSchedule, m.EveryBars))]
    return dated in ([], [0]) and not any(isinstance(part, m.AllOf) for part in parts)


def _joined(children: st.SearchStrategy[m.Condition]) -> st.SearchStrategy[m.Condition]:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.filter(_at_once).map(lambda ps: m.AllOf(parts=ps)),
        several.filter(lambda ps: not any(isinstance(p, m.AnyOf) for p in ps)).map(lambda ps: m.AnyOf(parts=ps)),
        several.flatmap(lambda ps: st.integers(1, len(ps)).map(lambda count: m.SomeOf(count=count, parts=ps))),
        children.map(lambda p: m.Not(part=p)),
    )


conditions: st.SearchStrategy[m.Condition] = st.recursive(simple, _joined, max_leaves=5)
distances = st.one_of(
    st.builds(m.Distance, kind=st.just("percent"), value=percents),
    st.builds(m.Distance, kind=st.just("atr"), value=decimal, period=st.integers(2, 50)),
)
stops = st.one_of(distances, st.builds(m.Distance, kind=st.just("price"), value=decimal))


@st.composite
def guards(draw: st.DrawFn) -> m.Guards:
    stop = draw(st.none() | stops)
    # A target of a short sale lies above nothing.
    near = 99 if stop is None or stop.kind != "percent" else 99 / stop.value
    risks = st.builds(m.Distance, kind=st.just("risk"), value=st.integers(1, max(1, int(near))))
    targets = distances if stop is None or near <= 1 else st.one_of(distances, risks)
    partials = tuple(
        m.Partial(portion=portion, at=draw(targets))
        for portion in draw(st.sampled_from(((), (), (50,), (25, 25), (40, 60))))
    )
    trail = draw(st.none() | st.builds(m.Trail, distance=distances, rest=st.booleans() if partials else st.just(False)))
    if trail is not None and draw(st.booleans()):
        trail = replace(trail, best="close" if trail.distance.kind == "percent" else "price")
    secured = st.builds(m.BreakEven, after=targets)
    return m.Guards(
        stop=stop,
        target=draw(st.none() | targets),
        break_even=draw(st.none() | (secured | st.just(m.BreakEven()) if partials else secured)),
        trail=trail,
        partials=partials,
        time_stop_bars=draw(st.just(0) | whole),
    )


sizings: st.SearchStrategy[m.Sizing] = st.one_of(
    st.just(m.AllIn()),
    st.integers(1, 99).map(lambda p: m.PercentOfEquity(percent=p)),
    decimal.map(lambda a: m.FixedCash(amount=a)),
    whole.map(lambda n: m.FixedShares(count=n)),
    percents.map(lambda p: m.RiskPerTrade(percent=p)),
    decimal.map(lambda a: m.RiskCash(amount=a)),
    st.builds(
        m.VolatilityTarget, percent=percents, period=st.integers(2, 100), bars_per_year=st.sampled_from((52, 252))
    ),
)


def cases() -> st.SearchStrategy[m.Case]:
    return st.builds(m.Case, when=conditions, value=whole, more=st.booleans())


@st.composite
def divided(draw: st.DrawFn, symbols: tuple[str, ...]) -> m.Sizing:
    """A sum for several instruments."""
    kind = draw(st.sampled_from(("each", "split", "equal", "varied")))
    if kind == "each":
        return m.CashEach(amounts=tuple(draw(whole) for _ in symbols))
    part = 100 // len(symbols)
    weights = (*[part] * (len(symbols) - 1), 100 - part * (len(symbols) - 1))
    split = m.CashSplit(amount=draw(whole), weights=() if kind == "equal" else weights)
    return m.Varied(usual=split, cases=(draw(cases()),)) if kind == "varied" else split


@st.composite
def signals(draw: st.DrawFn) -> m.Signals:
    sides: tuple[m.Side, ...] = draw(st.sampled_from(SIDES))
    # A rule that is said twice is one rule.
    entries = tuple(dict.fromkeys(m.Entry(side=side, when=draw(conditions)) for side in sides))
    left = [side for side in dict.fromkeys(sides) if draw(flags)]
    exits = tuple(m.Exit(side=side, when=draw(conditions)) for side in left)
    guarded, sizing = draw(guards()), draw(sizings)
    gone = sum(partial.portion for partial in guarded.partials)
    trimmed = draw(st.sampled_from(((), (), (25,), (50,), (20, 30)))) if exits and gone <= 50 else ()
    # A part that is said twice is one part, and it is sold once, not again and again.
    parts = dict(zip((draw(conditions.filter(lambda what: not _dated(what))) for _ in trimmed), trimmed))
    exits = (*exits, *(m.Exit(side=exits[0].side, when=when, portion=portion) for when, portion in parts.items()))
    if exits and (guarded.partials or parts) and draw(flags):
        exits = (replace(exits[0], rest=True), *exits[1:])
    if parts and not guarded.partials:
        of_rest = guarded.target is not None and draw(flags)
        trail = replace(guarded.trail, rest=draw(flags)) if guarded.trail is not None else None
        guarded = replace(guarded, target_rest=of_rest, trail=trail)
    if isinstance(sizing, (m.RiskPerTrade, m.RiskCash)) and guarded.stop is None:
        sizing = m.AllIn()
    if isinstance(sizing, m.PercentOfEquity) and any(_dated(entry.when) for entry in entries):
        sizing = m.AllIn()  # whether more is bought each time depends on the exits
    if isinstance(sizing, (m.FixedCash, m.FixedShares, m.PercentOfEquity)) and draw(flags):
        sizing = m.Varied(usual=sizing, cases=tuple(draw(st.lists(cases(), min_size=1, max_size=2))))
    counted = isinstance(m.usual_size(sizing), (m.FixedCash, m.FixedShares))
    adds = counted and any(_dated(entry.when) for entry in entries)
    return m.Signals(entries=entries, exits=exits, guards=guarded, sizing=sizing, adds=adds)


def _dated(when: m.Condition) -> bool:
    parts = when.parts if isinstance(when, m.AllOf) else (when,)
    return any(
        isinstance(part, (m.OnSchedule, m.EveryBars))
        or (isinstance(part, m.MonthDays) and part.first == part.last)
        or (isinstance(part, m.AnyOf) and all(map(_dated, part.parts)))
        for part in parts
    )


baskets = st.lists(st.sampled_from(SYMBOLS), min_size=2, max_size=5, unique=True).map(tuple)
rhythms = schedules()


@st.composite
def choices(draw: st.DrawFn, symbols: tuple[str, ...]) -> m.Description:
    """Two baskets of which one has weights, with a rule about one instrument."""
    rule = map_lines(
        draw(simple.filter(lambda what: not isinstance(what, m.Cross))), lambda line: replace(line, symbol=symbols[0])
    )
    part = 100 // len(symbols)
    held = m.Basket(symbols=symbols, weights=(*[part] * (len(symbols) - 1), 100 - part * (len(symbols) - 1)))
    others: tuple[m.Basket, ...] = (
        m.Basket(),
        m.Basket(symbols=("TLT",)),
        m.Basket(symbols=("TLT", symbols[0])),
        m.Basket(symbols=("TLT", symbols[0]), weights=(60, 40)),
    )
    plan = m.Choice(rule=rule, held=held, other=draw(st.sampled_from(others)), rebalance=draw(rhythms))
    return m.Description(plan=plan, symbols=tuple(dict.fromkeys((*held.symbols, *plan.other.symbols))))


@st.composite
def descriptions(draw: st.DrawFn, *, others: bool = False) -> m.Description:
    """`others`: some go by the lines of an instrument that they do not trade."""
    kind = draw(st.sampled_from(("signals", "signals", "signals", "allocation", "rotation", "pair", "level", "choice")))
    if kind == "signals":
        symbols = draw(st.one_of(st.just(()), st.sampled_from(SYMBOLS).map(lambda s: (s,)), baskets))
        ruled = draw(signals())
        if len(symbols) > 1 and draw(flags):
            dated = any(_dated(entry.when) for entry in ruled.entries)
            ruled = replace(ruled, sizing=draw(divided(symbols)), adds=dated)
        made = m.Description(plan=ruled, symbols=symbols, every=not symbols and draw(st.booleans()))
        if others and symbols and draw(st.integers(0, 3)) == 0:
            other = draw(st.sampled_from([symbol for symbol in SYMBOLS if symbol not in symbols]))
            return map_lines(made, lambda line: replace(line, symbol=other))
        return made
    symbols = draw(baskets)
    if kind == "allocation":
        weights = draw(st.sampled_from(((), tuple([100 // len(symbols)] * len(symbols)))))
        plan = m.Allocation(weights=weights, rebalance=draw(st.none() | rhythms))
        if not weights and draw(st.booleans()):
            return m.Description(plan=plan, every=True)
        return m.Description(plan=plan, symbols=symbols)
    if kind == "choice":
        return draw(choices(symbols))
    if kind == "level":
        aim = st.builds(
            m.VolatilityTarget, percent=percents, period=st.integers(2, 100), bars_per_year=st.sampled_from((52, 252))
        )
        lasting = simple.filter(lambda what: not isinstance(what, m.Cross))
        level = m.Levelled(target=draw(aim), rebalance=draw(rhythms), only=draw(st.none() | lasting))
        return m.Description(plan=level, symbols=symbols[:1])
    if kind == "rotation":
        rank = draw(lines().filter(lambda one: one.name not in ("momentum",)))
        rotation = m.Rotation(
            count=draw(st.integers(1, len(symbols) - 1)),
            rank=rank,
            also=tuple(
                draw(
                    st.lists(lines(("roc", "rsi")), max_size=2, unique=True).map(lambda a: [x for x in a if x != rank])
                )
            ),
            highest=draw(st.booleans()),
            rebalance=draw(rhythms),
            only=draw(st.none() | simple),
            otherwise=draw(st.sampled_from(("", "TLT"))),
        )
        if rotation.only is not None:
            rotation = replace(rotation, chosen_first=draw(st.booleans()))
        return m.Description(plan=rotation, symbols=symbols)
    pair = m.Pair(
        measure=draw(st.sampled_from(("ratio", "log ratio", "spread"))),
        period=draw(st.integers(2, 300)),
        entry=draw(decimal),
        exit=draw(st.just(0) | decimal),
        stop=draw(st.just(0) | decimal),
        percent=draw(st.sampled_from((50, 50, 25, 12.5))),
        time_stop_bars=draw(st.just(0) | whole),
    )
    return m.Description(plan=pair, symbols=symbols[:2])
