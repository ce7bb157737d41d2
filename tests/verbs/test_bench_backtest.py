"""The backtest benchmark judges by what it measured, says what it could not, and calls two engines equal only if so."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from ringfence.base.errors import SandboxError, SettingsError
from ringfence.trade.bars import Floats
from ringfence.verbs.bench.backtest import Plan, bench_backtest
from ringfence.verbs.bench.backtest_agree import Agreement, Rule, agree
from ringfence.verbs.bench.backtest_bars import first_bars, make_bars, signals, write_table
from ringfence.verbs.bench.backtest_report import LARGE, MIDDLE, SIDES, BacktestBench, Case, Measured, judge
from ringfence.verbs.bench.backtest_sides import OURS, Player, Trade, find_peer
from ringfence.verbs.bench.peers import PeerMissing
from ringfence.verbs.bench.report import Machine

OWN = Path(sys.executable)
MACHINE = Machine(cores=2, cpu="x", kernel="6", python="3.11", load_before=0.1, docker=None, isolation={"a": "b"})
TRADES: tuple[Trade, ...] = ((3, 10.0, 5, 11.0, 7), (6, 12.0, 9, 9.0, 8))
CLOSE: Floats = np.arange(100.0, 110.0)


def measured(seconds: float) -> Measured:
    return Measured.of([seconds * 2, seconds, seconds * 3])


def numbers(strategy: str = "s1", seconds: Mapping[str, float] = MappingProxyType({})) -> dict[Case, Measured]:
    """Made-up times in which every promise is just kept; a side that is given takes the seconds given."""
    told = {
        "ringfence": 0.1, "backtesting_py": 1.0, "nautilus_trader": 4.0, "ringfence_arrays": 0.05, "vectorbt": 0.05,
        "outside": 0.1, "inside": 0.1049, "large": 1.5, **seconds,
    }  # fmt: skip
    large = told.pop("large")
    found = {
        Case(side, strategy, LARGE if side in ("ringfence_arrays", "vectorbt") else MIDDLE): measured(s)
        for side, s in told.items()
    }
    return {**found, Case("ringfence", strategy, LARGE): measured(large)}


def said(equal: bool | None, *, ours: str = "ringfence", peer: str = "backtesting_py") -> Agreement:
    return Agreement(
        ours=ours, peer=peer, strategy="s1", bars=MIDDLE, trades=2, peer_trades=3, compared="all", equal=equal,
        first_difference=None if equal else "trade 2 is another",
    )  # fmt: skip


def verdicts(found: dict[Case, Measured], *agreement: Agreement) -> dict[str, bool | None]:
    return {t.name: t.met for t in judge(found, agreement) if t.name.startswith("s1")}


def report() -> BacktestBench:
    found = numbers()
    return BacktestBench(
        quick=False, engines={"ringfence": "1"}, measurements=found, agreement=(said(False),),
        targets=judge(found, [said(False)]), machine=MACHINE, absent={"vectorbt": "not here: make one"}, seconds=1.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "table.npz"
    write_table(make_bars(600), path)
    return path


# Judging


def test_the_least_time_is_what_counts() -> None:
    assert Measured.of([3.0, 1.0, 2.0, 9.0]) == Measured(least_seconds=1.0, median_seconds=2.5, rounds=4)


def test_promises_that_are_just_kept_are_met() -> None:
    assert verdicts(numbers(), said(True)) == {
        "s1_vs_backtesting_py": True, "s1_vs_nautilus_trader": True, "s1_arrays_vs_vectorbt": True, "s1_flat": True,
        "s1_inside_vs_outside": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("side", "seconds", "missed"),
    [
        ("backtesting_py", 0.99, "s1_vs_backtesting_py"),
        ("nautilus_trader", 3.99, "s1_vs_nautilus_trader"),
        ("ringfence_arrays", 0.051, "s1_arrays_vs_vectorbt"),
        ("large", 1.51, "s1_flat"),
        ("inside", 0.1051, "s1_inside_vs_outside"),
    ],
)
def test_one_that_is_not_is_missed_and_no_other(side: str, seconds: float, missed: str) -> None:
    found = verdicts(numbers(seconds={side: seconds}))
    assert [name for name, met in found.items() if not met] == [missed]


def test_who_trades_otherwise_was_not_outrun() -> None:
    assert verdicts(numbers(), said(False))["s1_vs_backtesting_py"] is False
    assert verdicts(numbers(), said(None))["s1_vs_backtesting_py"] is True
    assert verdicts(numbers(), said(False, peer="nautilus_trader"))["s1_vs_backtesting_py"] is True
    assert verdicts(numbers(), said(False, ours="inside", peer="outside"))["s1_inside_vs_outside"] is False


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert set(verdicts({}).values()) == {None}
    few = {case: m for case, m in numbers().items() if case.side != "vectorbt"}
    assert verdicts(few)["s1_arrays_vs_vectorbt"] is None
    assert verdicts(few)["s1_flat"] is True


# Agreement


@pytest.mark.parametrize("rule", ["exact", "bars"])
def test_the_same_trades_agree(rule: Rule) -> None:
    assert agree("ringfence", "vectorbt", "s1", rule, TRADES, TRADES, CLOSE).equal is True


@pytest.mark.parametrize("column", range(5))
def test_any_other_number_is_a_disagreement_and_is_shown(column: int) -> None:
    other = list(TRADES[1])
    other[column] += 0.001
    theirs: tuple[Trade, ...] = (TRADES[0], (other[0], other[1], other[2], other[3], other[4]))
    found = agree("ringfence", "backtesting_py", "s1", "exact", TRADES, theirs, CLOSE)
    assert found.equal is False
    assert found.first_difference is not None
    assert found.first_difference.startswith("trade 2 is (6")


def test_a_trade_too_few_is_a_disagreement() -> None:
    found = agree("ringfence", "backtesting_py", "s1", "exact", TRADES, TRADES[:1], CLOSE)
    assert (found.equal, found.first_difference) == (False, "2 trades with us and 1 there")


def test_by_bars_prices_may_differ_and_bars_may_not() -> None:
    dearer = tuple((a, p + 1, b, q + 1, n + 1) for a, p, b, q, n in TRADES)
    assert agree("ringfence_arrays", "vectorbt", "s2", "bars", TRADES, dearer, CLOSE).equal is True
    later = tuple((a, p, b + 1, q, n) for a, p, b, q, n in TRADES)
    assert agree("ringfence_arrays", "vectorbt", "s2", "bars", TRADES, later, CLOSE).equal is False


def test_who_fills_at_the_close_is_held_to_the_close_of_the_decision() -> None:
    at_close: tuple[Trade, ...] = ((3, 102.0, 5, 104.0, 1), (6, 105.0, 9, 108.0, 1))
    on_the_last_bar: Trade = (9, 108.0, 10, 109.0, 1)
    found = agree("ringfence", "nautilus_trader", "s1", "decisions", TRADES, (*at_close, on_the_last_bar), CLOSE)
    assert found.equal is True
    assert agree("ringfence", "nautilus_trader", "s1", "decisions", TRADES, TRADES, CLOSE).equal is False


def test_what_cannot_be_compared_is_said_to_be_so() -> None:
    found = agree("ringfence", "nautilus_trader", "s2", "count", TRADES, TRADES[:1], CLOSE)
    assert (found.equal, found.trades, found.peer_trades) == (None, 2, 1)


# The bars


def test_the_bars_are_the_same_every_time_and_stay_in_range() -> None:
    bars = make_bars(5_000)
    assert bars.sha256 == make_bars(5_000).sha256
    assert bars.synthetic
    close = bars.candles["MADE"].close
    assert 20 < close.min() < close.max() < 500
    assert first_bars(bars, 100).sha256 == make_bars(100).sha256


def test_the_signals_of_a_bar_do_not_know_the_next() -> None:
    close = make_bars(2_000).candles["MADE"].close
    for name, column in signals(close).items():
        assert column.any(), name
        assert np.array_equal(column[:1_000], signals(close[:1_000])[name])


# The engines' processes


def test_our_engine_answers_with_a_time_and_its_trades(table: Path) -> None:
    player = Player(OWN, OURS, table)
    try:
        answers = [player.run(entry, "s1", 600) for entry in ("whole", "loop", "arrays")]
    finally:
        player.close()
    assert all(answer.cpu_seconds > 0 for answer in answers)
    assert len(answers[0].trades) > 3
    assert answers[0].trades == answers[1].trades == answers[2].trades


def test_an_engine_that_dies_is_our_failure_and_says_its_last_line(table: Path, tmp_path: Path) -> None:
    engine = tmp_path / "backtest_dying.py"
    engine.write_text(
        "def version(): return '1'\ndef prepare(table, strategy): return 0\ndef whole(given): print('chatter'); 1 / 0\n"
    )
    player = Player(OWN, engine, table)
    try:
        with pytest.raises(SandboxError, match=r"dying ended without an answer \(ZeroDivisionError"):
            player.run("whole", "s1", 600)
    finally:
        player.close()


def test_a_library_that_is_not_there_makes_the_peer_missing(table: Path, tmp_path: Path) -> None:
    engine = tmp_path / "backtest_other.py"
    engine.write_text("import no_such_engine\n")
    with pytest.raises(PeerMissing, match=r"No module named 'no_such_engine': install it"):
        find_peer(engine, [OWN], table, "install it")
    engine.write_text("raise ValueError('too new')\n")
    with pytest.raises(PeerMissing, match=r"ValueError: too new\): install it"):
        find_peer(engine, [OWN], table, "install it")
    with pytest.raises(PeerMissing, match=r"no interpreter was named .*: install it"):
        find_peer(engine, [], table, "install it")


def test_the_first_interpreter_that_has_it_is_taken(table: Path, tmp_path: Path) -> None:
    broken, engine = tmp_path / "python", tmp_path / "backtest_one.py"
    broken.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    engine.write_text("def version(): return '7'\n")
    player = find_peer(engine, [broken, OWN], table, "install it")
    player.close()
    assert player.version == "7"


# The report


def test_the_json_is_strict_and_complete() -> None:
    told = json.loads(json.dumps(report().to_json(), allow_nan=False))
    assert set(told) == {
        "quick", "engines", "measurements", "flatness", "agreement", "targets", "machine", "absent", "seconds",
    }  # fmt: skip
    assert told["measurements"][0] == {
        "side": "ringfence", "strategy": "s1", "bars": MIDDLE, "least_seconds": 0.1, "median_seconds": 0.2,
        "rounds": 3, "bars_per_second": 1_000_000,
    }  # fmt: skip
    assert told["flatness"] == {"s1": 1.5}
    assert told["agreement"][0]["equal"] is False


def test_the_rows_say_what_was_missed_what_is_absent_and_who_disagrees() -> None:
    rows = report().rows()
    assert {len(row) for row in rows} == {4}
    text = "\n".join(" ".join(row) for row in rows)
    assert "s1, 100,000 bars, against backtesting.py 10.0 ×  at least 10.0 ×: missed" in text
    assert "DISAGREE" in text
    assert "trade 2 is another" in text
    assert "not here: make one" in text
    assert "no promise was judged" not in text
    assert "no promise was judged" in "\n".join(row[3] for row in replace(report(), quick=True).rows())


def test_a_disagreement_is_never_all_met() -> None:
    both = {**numbers("s1"), **numbers("s2")}
    fine = replace(report(), measurements=both, targets=judge(both, ()), agreement=())
    assert fine.all_met
    assert not replace(fine, agreement=(said(False, ours="ringfence_arrays", peer="ringfence"),)).all_met


# The whole


def test_nothing_is_measured_in_no_rounds() -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        bench_backtest(rounds=0, quick=False, peers=(), on_progress=lambda step: None)


def test_a_plan_has_every_side_with_its_bars() -> None:
    assert set(Plan.whole(1).bars) == set(Plan.quick().bars) == set(SIDES)
    assert max(Plan.quick().bars["ringfence"]) == 10_000


def test_a_quick_look_measures_compares_and_claims_nothing() -> None:
    steps: list[str] = []
    found = bench_backtest(rounds=5, quick=True, peers=(), on_progress=steps.append)
    sides = set(SIDES) - {"nautilus_trader", "vectorbt"}
    assert {case.side for case in found.measurements} == sides
    assert {m.rounds for m in found.measurements.values()} == {1}
    assert set(found.absent) == {"nautilus_trader", "vectorbt"}
    assert all("scripts/bench-peers" in why for why in found.absent.values())
    assert [a for a in found.agreement if not a.equal] == []
    assert {(a.ours, a.peer) for a in found.agreement} == {
        ("ringfence", "backtesting_py"), ("ringfence_arrays", "ringfence"), ("inside", "outside"),
    }  # fmt: skip
    assert all(a.trades > 20 for a in found.agreement)
    assert {t.met for t in found.targets} == {None}
    assert found.engines["backtesting_py"]
    assert found.machine.isolation
    assert "round 1 of 1: backtesting.py, s1, 2,520 bars" in steps
