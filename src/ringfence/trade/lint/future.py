"""Rules on looking ahead: smells of code that knows tomorrow. The re-run on cut history is the proof, not these."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ringfence.trade import syntax
from ringfence.trade.lint.program import Body, Program, argument, is_negative, is_series, keyword
from ringfence.trade.lint.rule import Rule, Spot

_PRICE_WORDS = frozenset(
    [
        "open",
        "high",
        "low",
        "close",
        "volume",
        "price",
        "prices",
        "data",
        "df",
        "bars",
        "candles",
        "ohlc",
        "ohlcv",
        "returns",
        "ret",
        "series",
        "arr",
        "closes",
        "highs",
        "lows",
    ]
)
_STATISTICS = frozenset(
    ["max", "min", "mean", "std", "var", "median", "quantile", "sum", "argmax", "argmin", "idxmax", "idxmin", "rank"]
)
_FUNCTIONS = {"max", "min", "sum"} | frozenset(
    f"numpy.{prefix}{name}"
    for prefix in ("", "nan")
    for name in ("max", "min", "amax", "amin", "mean", "std", "var", "median", "percentile", "quantile", "average")
)
_MOST_TARGETS = 16  # of one assignment
_FITS = frozenset({"fit", "fit_transform", "fit_predict", "polyfit"})
_BOTH_WAYS = {
    "filtfilt": "filters backwards as well as forwards",
    "sosfiltfilt": "filters backwards as well as forwards",
    "savgol_filter": "smooths with values on both sides",
    "gaussian_filter1d": "smooths with values on both sides",
    "hilbert": "transforms the whole series at once",
    "rfft": "transforms the whole series at once",
    "fft": "transforms the whole series at once",
    "ifft": "transforms the whole series at once",
    "detrend": "takes the trend from the whole series",
    "seasonal_decompose": "takes trend and season from both sides",
    "hpfilter": "takes the trend from both sides",
    "argrelextrema": "knows a high only by what comes after it",
    "argrelmax": "knows a high only by what comes after it",
    "argrelmin": "knows a low only by what comes after it",
    "find_peaks": "knows a peak only by what comes after it",
    "zigzag": "knows a turn only by what comes after it",
}
_READERS = frozenset(
    [
        "pandas.read_csv",
        "pandas.read_parquet",
        "pandas.read_excel",
        "pandas.read_json",
        "pandas.read_pickle",
        "pandas.read_feather",
        "numpy.load",
        "numpy.loadtxt",
        "numpy.genfromtxt",
        "open",
        "builtins.open",
    ]
)


def shifted_back(program: Program) -> Iterator[Spot]:
    for call in program.calls(program.module):
        name = syntax.last_name(call.func)
        moves = isinstance(call.func, ast.Attribute) and name in ("shift", "tshift", "diff", "pct_change")
        if moves and is_negative(argument(call, 0, "periods")):
            yield call, f".{name}() with a negative number brings later values to this bar"


def rolled(program: Program) -> Iterator[Spot]:
    for call in program.calls(program.module):
        if program.name_of(call.func) == "numpy.roll":
            how = (
                "brings later values to this bar"
                if is_negative(argument(call, 1, "shift"))
                else "puts the last values first"
            )
            yield call, f"np.roll goes round the end of the array and {how}"


def indexed_ahead(program: Program) -> Iterator[Spot]:
    for node in program.walk(program.module):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or not _is_price(node.value):
            continue
        index = node.slice
        if isinstance(index, ast.Slice) and index.upper is None and index.lower is not None:
            index = index.lower
        if _is_ahead(index) and not _is_pairing(program, node):
            yield node, "an index of the form [i + n] reads a later bar than i"


def _is_ahead(node: ast.expr) -> bool:
    """`i + 1`, where `i` is a plain name; a name of a length or an offset says nothing about where it points."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and isinstance(node.left, ast.Name)
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
        and node.right.value > 0
        and node.left.id in ("i", "j", "k", "t", "idx", "index", "bar", "pos", "current", "current_idx")
    )


def _is_pairing(program: Program, node: ast.AST) -> bool:
    """The loop's own result is written one further: `out[i + 1] = f(x[i + 1])` decides at i + 1, not at i."""
    statement = program.statement(node)
    if not isinstance(statement, ast.Assign):
        return False
    return any(isinstance(t, ast.Subscript) and _is_ahead(t.slice) for t in statement.targets[:_MOST_TARGETS])


def _is_price(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in ("iloc", "values"):
        node = node.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return True
    if syntax.dotted(node).startswith("self.data"):
        return True
    return syntax.last_name(node).lower() in _PRICE_WORDS


def centred(program: Program) -> Iterator[Spot]:
    for call in program.calls(program.module):
        value = keyword(call, "center")
        if syntax.last_name(call.func) == "rolling" and isinstance(value, ast.Constant) and value.value is True:
            yield call, "a centred window holds as many later values as earlier ones"


def filled_back(program: Program) -> Iterator[Spot]:
    for call in program.calls(program.module):
        name, method = syntax.last_name(call.func), keyword(call, "method")
        fills = isinstance(method, ast.Constant) and method.value in ("bfill", "backfill")
        if isinstance(call.func, ast.Attribute) and (
            name in ("bfill", "backfill") or (name in ("fillna", "reindex", "asfreq") and fills)
        ):
            yield call, "filling backwards puts a later value where none was known yet"


def interpolated(program: Program) -> Iterator[Spot]:
    for call in program.calls(program.module):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "interpolate":
            yield call, "interpolate() draws a line to a later value"


def whole_statistic(program: Program) -> Iterator[Spot]:
    for function, call in _whole_calls(program):
        names = program.series_names(function)
        if keyword(call, "axis") is not None:
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr in _STATISTICS and is_series(call.func.value, names):
            yield call, f".{call.func.attr}() here is taken over all of history, the future with it"
        elif program.name_of(call.func) in _FUNCTIONS and len(call.args) > 0 and is_series(call.args[0], names):
            if syntax.dotted(call.func) in ("max", "min") and len(call.args) > 1:
                continue  # of two values, element by element or not at all
            yield call, f"{syntax.dotted(call.func)}() here is taken over all of history, the future with it"


def _whole_calls(program: Program) -> Iterator[tuple[Body, ast.Call]]:
    # In `init` only backtesting.py shows all of history; ours shows what is past there, and all of it in `arrays`.
    ours = tuple(function for name, function in program.methods.items() if name == "arrays")
    setup = program.setup if program.draft.dialect == "backtesting.py" else ours
    # The indicator functions first: their arguments are series, also where they stand inside of `init`.
    for function, call in program.tree.walk_each((*program.indicators, *setup)):
        if isinstance(call, ast.Call):
            assert isinstance(function, Body)
            yield function, call


def fitted(program: Program) -> Iterator[Spot]:
    later = {id(call) for call in program.calls(*program.step)}
    for call in program.calls(program.module):
        if id(call) in later or not isinstance(call.func, ast.Attribute) or call.func.attr not in _FITS:
            continue
        data = call.args[0] if call.args else None
        part = isinstance(data, ast.Subscript) or (data is not None and "train" in syntax.last_name(data).lower())
        if data is not None and not part:
            yield call, f".{call.func.attr}() learns from all of history, the future with it"


def resampled(program: Program) -> Iterator[Spot]:
    shifts = program.tree.places(lambda node: isinstance(node, ast.Call) and syntax.last_name(node.func) == "shift")
    for _, call in _whole_calls(program):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "resample":
            continue
        if any(getattr(keyword(call, name), "value", None) == "right" for name in ("label", "closed")):
            continue
        if not program.tree.holds(program.statement(call), shifts):
            yield call, "a resampled bar carries its last value at its first stamp, before it is known"


def frozen_array(program: Program) -> Iterator[Spot]:
    """An array that was made in `init` does not grow: its [-1] is the same on every bar."""
    made = _arrays_made(program)
    library = program.draft.dialect == "backtesting.py"
    which = "the last bar of all history" if library else "what it was before the first bar"
    for node in program.walk(*program.step):
        if not isinstance(node, ast.Subscript) or not is_negative(node.slice):
            continue
        value = node.value
        if isinstance(value, ast.Attribute) and value.attr in ("iloc", "values"):
            value = value.value
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            value = value.value
        name = syntax.dotted(value)
        if name in made:
            yield node, f"{name} is a plain array made in `init`: its [-1] is {which}, on every bar"


def _arrays_made(program: Program) -> set[str]:
    found: set[str] = set()
    wrapped: set[str] = set()
    for function in program.setup:
        names = program.series_names(function)
        for node in program.walk(function):
            if not isinstance(node, ast.Assign):
                continue
            targets = [part for t in node.targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
            own = {name for name in map(syntax.dotted, targets) if name.startswith("self.") and name.count(".") == 1}
            if own:
                (found if _is_plain_array(program, node.value, names) else wrapped).update(own)
    return found - wrapped


def _is_plain_array(program: Program, value: ast.expr, names: frozenset[str]) -> bool:
    calls = list(program.calls(value))
    if any(syntax.last_name(call.func) in ("I", "resample_apply", "timeframe") for call in calls):
        return False
    if not calls and isinstance(value, (ast.Attribute, ast.Subscript)) and program.draft.dialect != "backtesting.py":
        return False  # an alias of a column of ours grows with it
    if isinstance(value, ast.Subscript) and isinstance(value.slice, (ast.UnaryOp, ast.Slice)):
        return False  # one value, or a part
    return is_series(value, names) or any(is_series(arg, names) for call in calls for arg in call.args)


def both_ways(program: Program) -> Iterator[Spot]:
    later = {id(call) for call in program.calls(*program.step)}
    for call in program.calls(program.module):
        name = syntax.last_name(call.func).lower()
        if name in _BOTH_WAYS and id(call) not in later:
            yield call, f"{name} {_BOTH_WAYS[name]}"
    for call in program.calls(*program.lineage):  # or handed over: self.I(savgol_filter, ...)
        for given in call.args[:1] if syntax.dotted(call.func) == "self.I" else []:
            name = syntax.last_name(given).lower()
            if name in _BOTH_WAYS:
                yield given, f"{name} {_BOTH_WAYS[name]}"


def last_of_all(program: Program) -> Iterator[Spot]:
    if program.draft.dialect != "backtesting.py":
        return
    for node in program.walk(*program.setup):
        if isinstance(node, ast.Subscript) and is_negative(node.slice):
            value = (
                node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "iloc" else node.value
            )
            if syntax.dotted(value).startswith("self.data."):
                yield node, "in `init` the data is complete: [-1] is its very last bar"


def own_files(program: Program) -> Iterator[Spot]:
    roots = program.lineage if program.draft.dialect == "backtesting.py" else (program.module,)
    for node in program.walk(*roots):
        if isinstance(node, ast.Call) and program.name_of(node.func) in _READERS:
            yield (
                node,
                f"{syntax.dotted(node.func)}() reads a file, which may hold the future and is not there by itself",
            )


RULES = (
    Rule("RF201", "warning", shifted_back, "shift by a positive number: the past is what is known"),
    Rule("RF202", "warning", rolled, "use `pd.Series(x).shift(n)`, which leaves the gap empty"),
    Rule("RF203", "warning", indexed_ahead, "decide at i with what is at i and before"),
    Rule("RF204", "warning", centred, "leave `center=True` out"),
    Rule("RF205", "warning", filled_back, "use `ffill()`, or leave the gap"),
    Rule("RF206", "warning", interpolated, "use `ffill()`"),
    Rule("RF207", "warning", whole_statistic, "take it over a window: `.rolling(n)` or `.expanding()`"),
    Rule("RF208", "warning", fitted, "fit on the part before the test, or inside `next` on what is past"),
    Rule("RF209", "warning", resampled, "add `.shift(1)` after it, so that only finished bars count"),
    Rule("RF210", "warning", frozen_array, "wrap it: `self.x = self.I(function, self.data.Close, ...)`"),
    Rule("RF211", "warning", both_ways, "use what only looks back: ewm, lfilter, a rolling extreme"),
    Rule("RF212", "warning", last_of_all, "read it in `next`"),
    Rule("RF213", "info", own_files, "let the host load prices, or show the file with --mount"),
)
