"""Runs on the screen. Names, reasons and code come from strategies: nothing of them may steer the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from ringfence.cli.console import open_console, print_table
from ringfence.cli.sizes import show_bytes
from ringfence.cli.terminal import clean_line
from ringfence.store import RunRecord, StoredRun
from ringfence.trade.metrics import METRIC_HINTS
from ringfence.trade.run import Json
from ringfence.verbs.runs import Comparison, Figure

_SHORT_ID = 12
_TRADES = 10
_LONGEST = 60
_GOOD = {"verified": "green", "clean": "green", "traded": "green"}
_BAD = {"mismatch": "bold red", "suspect": "bold red", "failed": "bold red"}
# What a narrow screen goes without, the first first: a number that is cut off would read as another number.
_SPARED_OF_RUNS = ("reason", "symbols", "wins", "made (UTC)", "look-ahead", "drawdown", "v", "trades", "provenance")
_SPARED_OF_TRADES = ("why out", "quantity", "side", "symbol", "profit")
_PROVENANCE = {
    "verified": "the host replayed the orders and got the same numbers",
    "claimed": "the script's own numbers, which nobody has checked",
    "mismatch": "the host replayed the orders and got other numbers: do not trust the script's",
}


def show_listing(runs: Iterable[RunRecord]) -> None:
    headings = (
        "run", "made (UTC)", "strategy", "v", "verdict", "return", "Sharpe", "drawdown", "wins", "trades",
        "provenance", "look-ahead", "symbols", "reason",
    )  # fmt: skip
    _print_fitting(headings, [_listed(record) for record in runs], _SPARED_OF_RUNS)


def _print_fitting(headings: Sequence[str], rows: Sequence[Sequence[Text | str]], spared: Sequence[str]) -> None:
    """A table without as many of the `spared` columns as the screen is too narrow for."""
    widths = {
        heading: max(cell_len(heading), *(cell_len(str(row[n])) for row in rows)) for n, heading in enumerate(headings)
    }
    screen = open_console().width
    for heading in spared:
        if sum(widths.values()) + 2 * len(widths) <= screen:
            break
        del widths[heading]
    kept = [n for n, heading in enumerate(headings) if heading in widths]
    print_table([headings[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _listed(run: RunRecord) -> Sequence[Text | str]:
    return (
        run.run_id[:_SHORT_ID],
        f"{run.created_at:%Y-%m-%d %H:%M}",
        _brief(run.strategy_name),
        str(run.version),
        _standing(run),
        _percent(run.total_return),
        _ratio(run.sharpe_ratio),
        _percent(run.max_drawdown),
        _percent(run.win_rate),
        "–" if run.num_trades is None else str(run.num_trades),
        _word(run.provenance),
        _word(run.lookahead),
        _brief(", ".join(run.symbols)),
        _brief(run.error_message or run.reason),
    )


def _standing(run: RunRecord) -> Text:
    """The verdict, and what speaks against it: this column stays when the terminal is narrow."""
    doubts = [word for word in (run.provenance, run.lookahead) if word in _BAD]
    return Text.assemble(_word(run.verdict), *(part for doubt in doubts for part in (", ", _word(doubt))))


def show_run(run: StoredRun) -> None:
    console = open_console()
    record = run.record
    heading = Text.assemble((clean_line(record.strategy_name), "bold"), f" v{record.version}  {record.run_id}")
    console.print(heading)
    print_table(("", ""), _facts(run))
    figures = _object(run.json.get("metrics"))
    if figures:
        console.print()
        rows = [(*_metric(name, value), _hint(name)) for name, value in figures.items()]
        print_table(("metric", "value", "what it tells"), rows)
    own = _object(run.json.get("statistics"))
    if own:
        console.print()
        told = [(_brief(name), _value(value)) for name, value in own.items() if not name.startswith("_")]
        print_table(("the script's own statistics", ""), told)
    for title, style in (("warnings", "yellow"), ("healed", "yellow"), ("guidance", "cyan")):
        for line in _array(run.json.get(title)):
            console.print(Text.assemble((f"{title}: ", style), clean_line(str(line))))
    _show_trades(_array(run.json.get("trades")))


def _facts(run: StoredRun) -> list[tuple[str, Text | str]]:
    record, lookahead = run.record, _object(run.json.get("lookahead"))
    bars, draft = _object(run.json.get("bars")), _object(run.json.get("draft"))
    facts: list[tuple[str, Text | str]] = [
        ("verdict", Text.assemble(_word(record.verdict), f"  {clean_line(record.reason)}")),
        ("provenance", _provenance(run)),
        ("look-ahead", Text.assemble(_word(record.lookahead), f"  {clean_line(str(lookahead.get('reason', '')))}")),
    ]
    for item in _array(lookahead.get("evidence")):
        facts.append(("  evidence", Text(_evidence(_object(item)), "red")))
    if record.error_message:
        facts.append(("error", Text(clean_line(record.error_message), "red")))
    if bars:
        span = f"{str(bars.get('start'))[:10]} to {str(bars.get('end'))[:10]}, {bars.get('timeframe')}"
        made_up = ", synthetic" if bars.get("synthetic") else ""
        told = f"{', '.join(record.symbols)}  {span}, {bars.get('rows')} rows, {bars.get('source')}{made_up}"
        facts.append(("bars", clean_line(told)))
    parameters = _object(draft.get("parameters"))
    facts.append(("parameters", ", ".join(f"{_brief(k)}={_value(v)}" for k, v in parameters.items()) or "none"))
    facts.append(("draft", clean_line(f"{record.dialect}, sha256 {record.code_hash}")))
    memory = show_bytes(record.peak_memory_bytes)
    facts.append(("cost", f"{record.execution_time:.2f} s, cpu {record.cpu_ms / 1000:.2f} s, memory {memory}"))
    made = f"{record.created_at:%Y-%m-%d %H:%M:%S} UTC"
    again = f", again {record.updated_at:%Y-%m-%d %H:%M:%S} UTC" if record.updated_at != record.created_at else ""
    facts.append(("made", made + again))
    return facts


def _provenance(run: StoredRun) -> Text | str:
    if run.record.provenance == "claimed" and not run.json.get("metrics") and not run.json.get("statistics"):
        return "–  it gave no numbers"
    return Text.assemble(_word(run.record.provenance), f"  {_PROVENANCE[run.record.provenance]}")


def _evidence(item: Mapping[str, Json]) -> str:
    told = f"{item.get('time')}: {item.get('with_future')} with the future, {item.get('without_future')} without it"
    return clean_line(told)


def _show_trades(trades: Sequence[Json]) -> None:
    if not trades:
        return
    open_console().print()
    rows = []
    for trade in map(_object, trades[:_TRADES]):
        way_in = f"{str(trade.get('entry_time'))[:16]} at {_value(trade.get('entry_price'))}"
        left = trade.get("exit_time")
        way_out = "open" if left is None else f"{str(left)[:16]} at {_value(trade.get('exit_price'))}"
        cells = (trade.get("symbol"), trade.get("side"), trade.get("qty"), way_in, way_out, trade.get("pnl"))
        rows.append(
            (*(_value(cell) for cell in cells), _percent(trade.get("pnl_pct")), _value(trade.get("exit_reason")))
        )
    headings = ("symbol", "side", "quantity", "in", "out", "profit", "return", "why out")
    _print_fitting(headings, rows, _SPARED_OF_TRADES)
    if len(trades) > _TRADES:
        open_console().print(Text(f"and {len(trades) - _TRADES} more trades: --json has all of them", "dim"))


def show_comparison(comparison: Comparison) -> None:
    console = open_console()
    first, second = comparison.first.record, comparison.second.record
    headings = ("", *(f"{_brief(r.strategy_name)} v{r.version} {r.run_id[:_SHORT_ID]}" for r in (first, second)))
    facts = [
        (name, _word(str(getattr(first, name))), _word(str(getattr(second, name))))
        for name in ("verdict", "provenance", "lookahead")
    ]
    print_table((*headings, "difference"), [*((*fact, "") for fact in facts), *map(_compared, comparison.figures)])
    for title, figures in (("parameters", comparison.parameters), ("not the same", comparison.conditions)):
        if figures:
            console.print()
            rows = [(_brief(f.name), _value(f.first), _value(f.second)) for f in figures]
            print_table((title, *headings[1:]), rows)
    if comparison.code_diff:
        console.print()
        for line in comparison.code_diff.split("\n"):
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            console.print(Text(clean_line(line), style))


def _compared(figure: Figure) -> Sequence[str]:
    label, first = _metric(figure.name, figure.first)
    _, second = _metric(figure.name, figure.second)
    gain = figure.difference
    shown = "" if gain is None else _metric(figure.name, gain)[1]
    return label, first, second, f"+{shown}" if gain is not None and gain > 0 else shown


def _metric(name: str, value: Json) -> tuple[str, str]:
    """Its label and its value in its unit."""
    hint = METRIC_HINTS.get(name)
    if hint is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return hint.label if hint else _brief(name), _value(value)
    if hint.unit == "percent":
        return hint.label, _percent(value)
    elif hint.unit == "ratio":
        return hint.label, _ratio(value)
    elif hint.unit == "money":
        return hint.label, f"{value:,.2f}"
    elif hint.unit == "days":
        return hint.label, f"{value:.1f} days"
    return hint.label, _value(value)


def _hint(name: str) -> str:
    return METRIC_HINTS[name].hint if name in METRIC_HINTS else ""


def _percent(value: Json) -> str:
    return f"{value * 100:.2f} %" if isinstance(value, (int, float)) else "–"


def _ratio(value: Json) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else "–"


def _value(value: Json) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else _brief(str(value))


def _brief(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _word(word: str) -> Text:
    return Text(_brief(word), _GOOD.get(word) or _BAD.get(word) or "")


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _array(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else []
