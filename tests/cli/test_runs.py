"""`ringfence runs`: what was stored comes out, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ringfence.store import RunRecord, RunUsage, open_store
from ringfence.testing.runs import TEXT, make_draft, make_metrics, make_run, make_trade
from ringfence.trade.run import Evidence, Lookahead, Run

from tests.cli.command import Done, environment, on_terminal

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
USAGE = RunUsage(wall_ms=1500.0, cpu_ms=900.0, peak_memory_bytes=64 << 20)
EVIL = "\x1b]0;owned\x07[bold]x\u202ey\n"

Call = Callable[..., Done]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RINGFENCE_DATABASE", raising=False)
    return tmp_path / "home"


@pytest.fixture
def runs(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Call `ringfence runs …` in this process."""
    from ringfence.cli import main

    def call(*words: str) -> Done:
        code = main(["runs", *words])
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture
def save(home: Path) -> Callable[..., RunRecord]:
    def save_run(run: Run | None = None, *, text: str = TEXT, hours: int = 0) -> RunRecord:
        with open_store(f"sqlite:///{home}/ringfence.db") as store:
            now = NOON + timedelta(hours=hours)
            return store.save_run(run or make_run(), draft_text=text, usage=USAGE, now=now)

    return save_run


Save = Callable[..., RunRecord]


def test_before_the_first_run_there_is_nothing_and_nothing_is_made(runs: Call, home: Path) -> None:
    assert runs("list") == Done(0, "", "ringfence: there are no runs yet: `ringfence backtest FILE` makes one\n")
    assert runs("list", "--json") == Done(0, "[]\n", "")
    for words in (("show", "abc"), ("compare", "a", "b")):
        done = runs(*words)
        assert (done.code, done.out) == (73, "")
        assert "there are no runs yet" in done.err
    assert runs("export").out == ""
    assert not home.exists()


def test_a_list_has_a_line_for_each_run(runs: Call, save: Save) -> None:
    old = save(make_run(metrics=make_metrics(total_return=0.5)))
    new = save(make_run(seed=1, verdict="failed", metrics=None, provenance="claimed"), hours=1)
    done = runs("list")
    heading, first, second = done.out.splitlines()
    assert heading.split()[:3] == ["run", "made", "(UTC)"]
    assert first.startswith(new.run_id[:12]) and "failed" in first and "–" in first and "claimed" in first
    assert second.startswith(old.run_id[:12]) and "50.00 %" in second and "verified" in second and "GOOG" in second
    assert done.err == ""


def test_a_list_as_json_is_all_records(runs: Call, save: Save) -> None:
    records = [save(make_run(seed=n), hours=n) for n in range(3)]
    done = runs("list", "--json")
    assert json.loads(done.out) == [record.to_json() for record in reversed(records)]
    assert done.err == ""


def test_a_list_is_cut_and_says_so(runs: Call, save: Save) -> None:
    for n in range(3):
        save(make_run(seed=n))
    done = runs("list", "--limit", "2")
    assert len(done.out.splitlines()) == 3
    assert done.err == "ringfence: 2 of 3 runs are shown: --limit shows more\n"


def test_a_list_is_filtered_and_sorted(runs: Call, save: Save) -> None:
    bars = make_run().bars
    assert bars is not None
    good = save(make_run(metrics=make_metrics(sharpe=2.0)))
    bad = save(make_run(seed=1, verdict="no_trades", metrics=make_metrics(sharpe=-1.0)), hours=1)
    other = save(
        make_run(draft=make_draft("x", name="other"), bars=replace(bars, symbols=("MSFT",))), text="x", hours=2
    )

    def ids(*words: str) -> list[str]:
        return [record["run_id"] for record in json.loads(runs("list", "--json", *words).out)]

    assert ids("--sort", "sharpe_ratio") == [good.run_id, other.run_id, bad.run_id]
    assert ids("--sort", "strategy_name") == [bad.run_id, good.run_id, other.run_id]
    assert (
        ids("--strategy", "other") == ids("--symbol", "MSFT") == ids("--since", "2026-01-31T13:30Z") == [other.run_id]
    )
    assert ids("--verdict", "no_trades") == [bad.run_id]
    assert ids("--since", "2026-01-31T14:00:00+01:00") == [other.run_id, bad.run_id]
    assert "none of 3 runs matches" in runs("list", "--symbol", "AAPL").err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("list", "--limit", "0"), 78, "--limit 0"),
        (("list", "--since", "yesterday"), 69, "is not a date"),
        (("list", "--sort", "luck"), 2, "luck"),
        (("show",), 2, "RUN_ID"),
        (("show", "zz"), 73, "runs list"),
        (("export", "--format", "parquet"), 2, "--out"),
        (("export", "--out", "/nowhere/x.csv"), 66, "cannot be written"),
    ],
)
def test_a_wrong_request_is_one_sentence(runs: Call, save: Save, words: tuple[str, ...], code: int, told: str) -> None:
    save()
    done = runs(*words)
    assert (done.code, done.out) == (code, "")
    assert told in done.err and done.err.count("\n") == 1


def test_a_database_that_cannot_be_used_is_one_sentence(
    runs: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").write_text("my notes " * 100)
    monkeypatch.setenv("RINGFENCE_DATABASE", f"sqlite:///{tmp_path}/notes")
    done = runs("list")
    assert done.code == 73
    assert "no SQLite database" in done.err and done.err.count("\n") == 1


def test_a_run_is_shown_with_what_its_numbers_are_worth(runs: Call, save: Save) -> None:
    lookahead = Lookahead(
        status="suspect",
        reason="1 decision changed",
        cuts=3,
        evidence=(Evidence(time=0, test="truncated", cut=0, with_future="buy 1", without_future="nothing"),),
    )
    trades = tuple(make_trade(id=n) for n in range(12))
    run = make_run(lookahead=lookahead, provenance="mismatch", trades=trades, guidance=("lower it",))
    record = save(run)
    shown = runs("show", record.run_id[:8]).out
    assert shown.startswith(f"dip v1  {run.run_id}\n")
    assert "mismatch  the host replayed the orders and got other numbers" in shown
    assert "suspect  1 decision changed" in shown
    assert "1970-01-01T00:00:00Z: buy 1 with the future, nothing without it" in shown
    assert "Sharpe ratio" in shown and "0.70" in shown and "Yearly return for each unit of swing" in shown
    assert "warnings: 1 order was cancelled for margin" in shown
    assert "guidance: lower it" in shown
    assert "low=35" in shown
    assert "2020-01-02T00:00 at 1000.1" in shown
    assert "and 2 more trades" in shown
    assert "1.50 s, cpu 0.90 s" in shown


def test_a_run_without_bars_or_metrics_is_shown(runs: Call, save: Save) -> None:
    own = {"Return [%]": 12.345678, "_trades": "inside", "# Trades": 3}
    save(make_run(bars=None, metrics=None, trades=(), statistics=own, provenance="claimed"))
    run_id = json.loads(runs("list", "--json").out)[0]["run_id"]
    shown = runs("show", run_id).out
    assert "the script's own statistics" in shown and "12.3457" in shown and "_trades" not in shown
    assert "which nobody has checked" in shown


def test_a_run_as_json_is_what_was_saved_byte_for_byte(runs: Call, save: Save) -> None:
    run = make_run(warnings=(EVIL,))
    save(run)
    assert runs("show", run.run_id, "--json") == Done(0, json.dumps(run.to_json()) + "\n", "")


def test_two_runs_are_compared(runs: Call, save: Save) -> None:
    text = TEXT.replace("35", "20")
    first = save()
    changed = make_draft(text, parameters={"low": 20})
    second = save(make_run(draft=changed, seed=7, metrics=make_metrics(sharpe=1.2, cagr=None)), text=text)
    found = json.loads(runs("compare", first.run_id, second.run_id, "--json").out)
    assert found["metrics"]["sharpe"] == {"first": 0.7000000000000001, "second": 1.2, "difference": 0.49999999999999989}
    assert found["metrics"]["cagr"] == {"first": 0.1, "second": None, "difference": None}
    assert found["parameters"] == {"low": {"first": 35, "second": 20}}
    assert found["conditions"] == {"seed": {"first": 0, "second": 7}}
    assert "-    low = 35\n+    low = 20" in found["code_diff"]
    assert (found["first"]["version"], found["second"]["version"]) == (1, 2)
    shown = runs("compare", first.run_id, second.run_id).out
    assert "+0.50" in shown
    assert "-    low = 35\n+    low = 20\n" in shown
    assert "--- dip v1\n+++ dip v2\n" in shown


def test_equal_runs_differ_in_nothing(runs: Call, save: Save) -> None:
    record = save()
    found = json.loads(runs("compare", record.run_id, record.run_id, "--json").out)
    assert (found["parameters"], found["conditions"], found["code_diff"]) == ({}, {}, "")
    assert found["metrics"]["sharpe"]["difference"] == 0.0
    assert "not the same" not in runs("compare", record.run_id, record.run_id).out


def test_stored_text_does_not_steer_the_screen(runs: Call, save: Save) -> None:
    evil = make_draft(EVIL, name=EVIL, parameters={EVIL: EVIL})
    bars = make_run().bars
    assert bars is not None
    first = save(
        make_run(
            draft=evil,
            bars=replace(bars, symbols=(EVIL,), source=EVIL),
            verdict=EVIL,
            reason=EVIL,
            warnings=(EVIL,),
            guidance=(EVIL,),
            healed=(EVIL,),
            statistics={EVIL: EVIL},
            trades=(make_trade(symbol=EVIL, exit_reason=EVIL),),
            lookahead=Lookahead(status="clean", reason=EVIL),
        ),
        text=EVIL,
    )
    second = save()
    for words in (("list",), ("show", first.run_id), ("compare", first.run_id, second.run_id)):
        shown = runs(*words).out
        assert "\\x1b]0;owned\\x07[bold]x\\u202ey" in shown
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}


def test_runs_are_exported_whole(runs: Call, save: Save, tmp_path: Path) -> None:
    made = [make_run(seed=n) for n in range(3)]
    for n, run in enumerate(made):
        save(run, hours=n)
    lines = "".join(json.dumps(run.to_json()) + "\n" for run in made)
    assert runs("export") == Done(0, lines, "")
    out = tmp_path / "runs.jsonl"
    assert runs("export", "--out", str(out)) == Done(0, "", f"ringfence: 3 runs exported to {out}\n")
    assert out.read_text() == lines
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["runs.jsonl"]


def test_runs_are_exported_flat(runs: Call, save: Save, tmp_path: Path) -> None:
    records = [save(), save(make_run(seed=1, metrics=None, reason='=HYPERLINK("x")', bars=None), hours=1)]
    rows = list(csv.DictReader(io.StringIO(runs("export", "--format", "csv").out)))
    assert [row["run_id"] for row in rows] == [record.run_id for record in records]
    assert (rows[0]["sharpe_ratio"], rows[0]["metric_sortino"], rows[0]["symbols"]) == (
        "0.7000000000000001",
        "1.1",
        "GOOG",
    )
    assert rows[0]["created_at"] == "2026-01-31T12:00:00Z"
    assert (rows[1]["metric_sortino"], rows[1]["reason"]) == ("", '\'=HYPERLINK("x")')
    out = tmp_path / "runs.parquet"
    assert runs("export", "--format", "parquet", "--out", str(out)).code == 0
    table = pq.read_table(out).to_pylist()
    assert [row["run_id"] for row in table] == [record.run_id for record in records]
    assert table[0]["created_at"] == NOON and table[0]["symbols"] == ["GOOG"]
    assert (table[0]["metric_trades"], table[1]["metric_trades"], table[1]["reason"]) == (1, None, '=HYPERLINK("x")')


def test_an_export_is_filtered(runs: Call, save: Save) -> None:
    save()
    failed = make_run(seed=1, verdict="failed")
    save(failed)
    assert runs("export", "--verdict", "failed").out == json.dumps(failed.to_json()) + "\n"
    assert "none matches" in runs("export", "--verdict", "timeout").err


def test_on_a_terminal_the_verdict_has_a_colour_and_the_code_is_harmless(save: Save, home: Path) -> None:
    record = save(make_run(reason=EVIL))
    done = on_terminal("runs", "show", record.run_id, env=environment(RINGFENCE_HOME=str(home)))
    assert done.code == 0
    assert "\x1b]0;" not in done.out
    assert "\\x1b]0;owned" in done.out


def test_a_narrow_terminal_gets_fewer_columns_and_no_number_cut_short(save: Save, home: Path) -> None:
    record = save(make_run(metrics=make_metrics(total_return=12.3456)))
    shown = {
        width: on_terminal(
            "runs", "list", env=environment(RINGFENCE_HOME=str(home), COLUMNS=str(width), NO_COLOR="1")
        ).out
        for width in (200, 80, 50)
    }
    assert "look-ahead" in shown[200] and "symbols" in shown[200]
    assert "symbols" not in shown[80]
    for text in shown.values():
        assert record.run_id[:12] in text and "1234.56 %" in text and "0.70" in text


def test_building_the_command_loads_no_database() -> None:
    program = (
        "import sys\nfrom ringfence.cli.dispatch import make_app\n"
        "make_app([('runs', 'ringfence.cli.runs', 'x')])\n"
        "sys.exit(bool({'sqlalchemy', 'numpy', 'pyarrow', 'rich.table'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
