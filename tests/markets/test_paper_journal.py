"""The journal of paper trading: nothing acknowledged is lost, and a new broker stands where the old one stood."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, OrderError
from ringfence.markets.paper import PaperBroker
from ringfence.testing.broker_desk import FREE
from ringfence.trade.intents import Intent
from ringfence.trade.orders import Bracket
from ringfence.trade.times import DAY

from tests.markets.test_paper import CENTS, FULL_COSTS, Clock, assert_decimals, open_broker


def played(path: Path | None) -> PaperBroker:
    """A bit of everything."""
    clock = Clock()
    broker = open_broker(path, replace(FREE, costs=FULL_COSTS, fractional=True), clock)
    for k, price in enumerate((100, 101, 99, 103, 97, 104)):
        broker.show_bars(k * DAY, {"X": (price, price + 2, price - 2, price), "Y": (50 + k,) * 4})
        clock.now = (k + 1) * DAY
        broker.submit_order("X", "1.25", "buy", bracket=Bracket(sl=price - 4, tp=price + 4), client_id=f"buy {k}")  # type: ignore[arg-type]
        gone = broker.submit_order("Y", 1, "sell", "limit", "day", limit_price=60)
        if k % 2:
            broker.cancel_order(gone.id)
            broker.close_position("X")
    lot = broker.book.lots[-1]
    lot.sl = 12.5
    broker.end_day()
    broker.submit_order("X", float("nan"), "buy", client_id="nonsense")
    return broker


def state(broker: PaperBroker) -> list[object]:
    return [broker.get_account(), broker.get_orders(), broker.get_fills(), broker.get_all_positions()]


def same(a: PaperBroker, b: PaperBroker) -> bool:
    return str(state(a)) == str(state(b))  # as text, because a number that is none is not equal to itself


def reopened(path: Path) -> PaperBroker:
    return open_broker(path, replace(FREE, costs=FULL_COSTS, fractional=True))


def test_a_new_broker_on_the_journal_stands_where_the_old_one_stood(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with played(path) as first:
        assert len(first.get_fills()) > 6
        assert same(first, played(None))
    with reopened(path) as second:
        assert same(second, first)
        assert second.book.lots[-1].sl == Decimal("12.5")
        assert second.get_bars("X", 10).close.tolist() == first.get_bars("X", 10).close.tolist()
        second.show_bar("X", 6 * DAY, 90, 90, 90, 90)
        later = state(second)
    with reopened(path) as third:
        assert str(state(third)) == str(later)


def test_an_order_sent_again_after_a_restart_is_the_order_it_was(tmp_path: Path) -> None:
    played(tmp_path / "journal").close()
    with reopened(tmp_path / "journal") as broker:
        count = len(broker.get_orders())
        again = broker.submit_order("X", 1, "buy", client_id="buy 2")
        assert (again.client_id, again.quantity) == ("buy 2", Decimal("1.25"))
        assert len(broker.get_orders()) == count


def test_every_beginning_of_a_journal_is_a_journal(tmp_path: Path) -> None:
    """A crash may cut a file anywhere; what was acknowledged before that is kept, and one can go on."""
    path = tmp_path / "journal"
    played(path).close()
    whole = path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    for cut in range(0, len(whole), 37):
        path.write_bytes(whole[:cut])
        with reopened(path) as broker:
            broker.show_bar("X", 100 * DAY, 100, 100, 100, 100)
            after = state(broker)
        kept = max((end for end in ends if end <= cut), default=0)
        assert path.read_bytes()[:kept] == whole[:kept]
        with reopened(path) as broker:
            assert str(state(broker)) == str(after)


def test_a_journal_that_is_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    played(path).close()
    lines = path.read_text().splitlines()
    for damaged in ("{", "[]", '{"event":"none"}', '{"event":"intent","at":1,"client_id":null,"intent":[1,"cancel"]}'):
        path.write_text("\n".join([*lines[:4], damaged, *lines[5:]]) + "\n")
        with pytest.raises(DataError, match="line 5"):
            reopened(path)


def test_a_journal_of_other_rules_is_refused(tmp_path: Path) -> None:
    open_broker(tmp_path / "journal").close()
    with pytest.raises(DataError, match="rules"):
        open_broker(tmp_path / "journal", CENTS)


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    with open_broker(tmp_path / "journal"), pytest.raises(DataError, match="in use"):
        open_broker(tmp_path / "journal")
    open_broker(tmp_path / "journal").close()


def test_a_journal_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        open_broker(tmp_path / "nowhere" / "journal")


def test_nothing_is_done_that_could_not_be_written(tmp_path: Path) -> None:
    """The disk is full: /dev/full cannot be truncated, so a limit on the size of files stands in for it."""
    code = """
        import resource, signal, sys
        from pathlib import Path
        from ringfence.base.errors import DataError
        from ringfence.markets.paper import PaperBroker
        from ringfence.trade.run import FillRules
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        broker = PaperBroker(["X"], FillRules(), clock=lambda: 0, journal=Path(sys.argv[1]))
        broker.show_price("X", 0, 100)
        size = Path(sys.argv[1]).stat().st_size
        for most in (size + 20, resource.RLIM_INFINITY):  # nor later, when there is room again
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            try:
                broker.submit_order("X", 1, "buy")
            except DataError:
                pass
            else:
                raise SystemExit("it was acknowledged")
        assert broker.get_orders() == []
        assert Path(sys.argv[1]).stat().st_size == size
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "journal")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_that_was_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from ringfence.markets.paper import PaperBroker
        from ringfence.testing.broker_desk import FREE
        broker = PaperBroker(["X", "Y"], FREE, clock=lambda: 0, journal=Path(sys.argv[1]))
        for k in range(100_000):
            broker.show_price("X", k, 100)
            order = broker.submit_order("X", 1, "buy", "limit", limit_price=50, client_id=str(k))
            print(order.client_id, flush=True)
    """
    path = tmp_path / "journal"
    argv = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(25)]
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.read().split()
    with open_broker(path) as broker:
        kept = [order.client_id for order in broker.get_orders()]
        assert kept[: len(told)] == told
        assert len(kept) <= len(told) + 1


def test_the_journal_is_lines_of_json(tmp_path: Path) -> None:
    played(tmp_path / "journal").close()
    events = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert [e["event"] for e in events[:3]] == ["paper", "bars", "intent"]
    assert {e["event"] for e in events} == {"paper", "bars", "intent", "day"}


def test_a_strategy_that_trades_on_the_book_is_in_the_journal_too(tmp_path: Path) -> None:
    with open_broker(tmp_path / "journal") as broker:
        broker.show_price("X", 0, 100)
        broker.book.submit(Intent(broker.book.now, "order", 0, 1, target=0.5, sl_pct=0.1, trail_pct=0.2))
        broker.show_price("X", 1, 100)
        assert broker.get_all_positions()[0].quantity == 50
        assert_decimals(broker.get_fills()[0])
        broker.book.lots[0].close(0.5)
        with pytest.raises(OrderError):
            broker.book.lots[0].close(float("nan"))
        with pytest.raises(OrderError):
            broker.book.lots[0].sl = float("nan")
        broker.show_price("X", 2, 100)
        before = state(broker)
    with open_broker(tmp_path / "journal") as broker:
        assert str(state(broker)) == str(before)
        broker.show_price("X", 3, 89)
        assert broker.get_fills()[-1].reason == "stop"
