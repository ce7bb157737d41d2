"""Rules on how it trades, and on what makes its results hard to trust."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ringfence.trade import syntax
from ringfence.trade.classes import origin_of
from ringfence.trade.lint.program import Program, is_negative, keyword
from ringfence.trade.lint.rule import Rule, Spot

_ENTRIES = frozenset({"self.buy", "self.sell"})
_STOPS = frozenset({"sl", "sl_price", "trail", "stop", "stop_loss"})
_TARGETS = frozenset({"self.order_target_percent", "self.rebalance"})
_POSITION = frozenset({"size", "pl", "pl_pct", "is_long", "is_short", "close"})  # of backtesting.py
_ROUNDING = frozenset({"int", "round", "floor", "ceil", "trunc"})
_CLOCKS = frozenset(
    f"{name}.{call}"
    for name in ("datetime.datetime", "datetime.date", "pandas.Timestamp")
    for call in ("now", "utcnow", "today")
) | {"time.time", "time.time_ns"}
_SEEDS = frozenset({"random.seed", "numpy.random.seed"})
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState", "random.Random"})
_NOT_NUMBERS = frozenset({"numpy.nan", "numpy.NaN", "numpy.NAN", "math.nan"})


def _orders(program: Program) -> list[ast.Call]:
    return [call for call in program.calls(*program.lineage) if syntax.dotted(call.func) in _ENTRIES]


def no_exit(program: Program) -> Iterator[Spot]:
    if program.draft.dialect == "signals":
        actions = {
            n.value for n in program.walk(*program.lineage) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        if "buy" in actions and not actions & {"sell", "rebalance", "close"}:
            yield program.lineage[-1], "it signals `buy` and never `sell`"
        return
    orders = _orders(program)
    closes = any(
        isinstance(call.func, ast.Attribute) and call.func.attr in ("close", "close_position", "close_all_positions")
        for call in program.calls(*program.lineage)
    )
    both = {syntax.dotted(call.func) for call in orders} == _ENTRIES
    if (
        orders
        and not closes
        and not both
        and not _has_targets(program)
        and not _guards(program, {*_STOPS, "tp", "tp_price"})
    ):
        yield orders[0], "positions are opened and nothing ever closes them"


def no_stop(program: Program) -> Iterator[Spot]:
    orders = _orders(program)
    if orders and not _guards(program, set(_STOPS)):
        yield orders[0], "no order has a stop, so one trade can lose without bound"


def _has_targets(program: Program) -> bool:
    return any(syntax.dotted(call.func) in _TARGETS for call in program.calls(*program.lineage))


def _guards(program: Program, names: set[str]) -> bool:
    """Whether an order has one of these, a trade is given one later, or a base of the library sets them."""
    for node in program.walk(*program.lineage):
        if isinstance(node, ast.Call) and any(k.arg in names or k.arg is None for k in node.keywords):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in names:
            return True
    bases = [origin_of(syntax.dotted(base), program.imports) for one in program.lineage for base in one.bases]
    return any(base.endswith("TrailingStrategy") for base in bases)


def position_unchecked(program: Program) -> Iterator[Spot]:
    if any(
        getattr(keyword(call, "exclusive_orders"), "value", False) is True for call in program.calls(program.module)
    ):
        return
    for function in program.step:
        buys = [call for call in program.calls(function) if syntax.dotted(call.func) in _ENTRIES]
        words = {
            n.attr if isinstance(n, ast.Attribute) else n.id
            for n in program.walk(function)
            if isinstance(n, (ast.Attribute, ast.Name))
        }
        if buys and not any("position" in word.lower() or word in ("trades", "orders") for word in words):
            yield buys[0], "it orders again on every bar on which the condition holds, whatever it has already"
            return


def fixed_size(program: Program) -> Iterator[Spot]:
    for call in _orders(program):
        size = keyword(call, "size")
        if isinstance(size, ast.Constant) and type(size.value) is int and size.value > 1:
            yield call, f"size={size.value} is a number of units, the same at every price and account"


def broken_size(program: Program) -> Iterator[Spot]:
    if program.draft.dialect != "backtesting.py":
        return
    rounding = program.tree.places(lambda node: isinstance(node, ast.Call) and syntax.last_name(node.func) in _ROUNDING)
    for call in _orders(program):
        size = keyword(call, "size")
        if isinstance(size, ast.Constant) and isinstance(size.value, float) and size.value > 1 and size.value % 1:
            yield call, f"size={size.value} is neither a fraction nor a whole number, and is refused"
        elif isinstance(size, ast.BinOp) and isinstance(size.op, ast.Div) and not program.tree.holds(size, rounding):
            yield call, "a size that is divided is seldom a whole number, and above 1 it is refused"


def wrong_kind_of_stop(program: Program) -> Iterator[Spot]:
    """backtesting.py wants a price, our own dialect a fraction of it."""
    prices = program.tree.places(
        lambda node: isinstance(node, ast.Attribute) and syntax.dotted(node).startswith("self.data")
    )
    for call in _orders(program):
        for name in ("sl", "tp"):
            value = keyword(call, name)
            if program.draft.dialect == "backtesting.py":
                if isinstance(value, ast.Constant) and isinstance(value.value, float) and 0 < value.value < 1:
                    yield call, f"{name}={value.value} is a price in backtesting.py, not a fraction"
            elif value is not None and program.tree.holds(value, prices):
                yield call, f"{name} is a fraction of the price here, and this is a price"


def invented_attribute(program: Program) -> Iterator[Spot]:
    if program.draft.dialect != "backtesting.py":
        return
    for node in program.walk(*program.lineage):
        if not isinstance(node, ast.Attribute):
            continue
        owner = syntax.dotted(node.value)
        if owner == "self.position" and node.attr not in _POSITION:
            yield node, f"a position of backtesting.py has no {node.attr}"
        elif owner == "self" and node.attr == "broker" and isinstance(node.ctx, ast.Load):
            yield node, "a strategy of backtesting.py has no broker"


def compared_with_nan(program: Program) -> Iterator[Spot]:
    for node in program.walk(program.module):
        if not isinstance(node, ast.Compare):
            continue
        equality = any(isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)) for op in node.ops)
        if equality and any(_is_nan(program, side) for side in (node.left, *node.comparators)):
            yield node, "NaN is equal to nothing, not even to itself"


def _is_nan(program: Program, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and syntax.dotted(node.func) == "float" and node.args:
        return getattr(node.args[0], "value", "") in ("nan", "NaN")
    return program.name_of(node) in _NOT_NUMBERS


def equal_floats(program: Program) -> Iterator[Spot]:
    for node in program.walk(*program.step):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = (node.left, node.comparators[0])
        part = any(isinstance(s, ast.Constant) and isinstance(s.value, float) and s.value % 1 for s in sides)
        if part or all(_is_price(side) for side in sides):
            yield node, "two computed prices are hardly ever exactly equal"


def _is_price(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and is_negative(node.slice) and syntax.dotted(node.value).startswith("self.")


def swallowed(program: Program) -> Iterator[Spot]:
    for node in program.walk(program.module):
        if not isinstance(node, ast.ExceptHandler):
            continue
        broad = node.type is None or syntax.last_name(node.type) in ("Exception", "BaseException")
        silent = all(
            isinstance(item, (ast.Pass, ast.Continue))
            or (isinstance(item, ast.Return) and (item.value is None or isinstance(item.value, ast.Constant)))
            or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
            for item in node.body
        )
        if broad and silent:
            yield node, "every error is swallowed here, so a broken strategy looks like a quiet one"


def read_clock(program: Program) -> Iterator[Spot]:
    for node in program.walk(*program.lineage, *program.indicators):
        if isinstance(node, ast.Call) and program.name_of(node.func) in _CLOCKS:
            yield node, f"{syntax.dotted(node.func)}() is the time of the run, not of the bar"


def unseeded(program: Program) -> Iterator[Spot]:
    calls = [(call, program.name_of(call.func)) for call in program.calls(program.module)]
    seeded = any(name in _SEEDS for _, name in calls)
    for call, name in calls:
        if name in _GENERATORS:
            if not call.args and not call.keywords:
                yield call, f"{syntax.dotted(call.func)}() without a seed gives another result each time"
        elif not seeded and name.startswith(("random.", "numpy.random.")) and name not in _SEEDS:
            yield call, f"{syntax.dotted(call.func)}() without a seed gives another result each time"


RULES = (
    Rule("RF401", "warning", no_exit, "close on a condition, or give the order sl= and tp="),
    Rule("RF402", "info", no_stop, "give the order sl="),
    Rule("RF403", "info", position_unchecked, "ask first: `if not self.position:`"),
    Rule("RF404", "info", fixed_size, "use a fraction of the equity, such as size=0.5"),
    Rule("RF405", "warning", compared_with_nan, "use `np.isnan(x)`"),
    Rule("RF406", "info", equal_floats, "compare with < and >, or `abs(a - b) < small`"),
    Rule("RF407", "warning", swallowed, "catch what you expect by its name, and let the rest stop the run"),
    Rule("RF408", "info", broken_size, "round it: `int(...)`, or keep it below 1"),
    Rule(
        "RF409",
        "warning",
        invented_attribute,
        "it has size, pl, pl_pct, is_long, is_short and close(); see self.trades, self.equity",
    ),
    Rule(
        "RF410",
        "warning",
        wrong_kind_of_stop,
        "backtesting.py: a price, close * 0.95; native: a fraction, 0.05, or sl_price=",
    ),
    Rule(
        "RF501",
        "warning",
        read_clock,
        "use the time of the bar: `self.data.index[-1]`, or `self.data.now` in the native dialect",
    ),
    Rule("RF502", "warning", unseeded, "give it a seed, `np.random.default_rng(1)`, or run with --seed"),
)
