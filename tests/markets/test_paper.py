"""Paper trading proves the cases of every broker in Decimals, and survives whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import fields, replace
from decimal import Decimal, localcontext
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, OrderError
from ringfence.markets.paper import PaperBroker
from ringfence.testing.broker import BrokerSuite
from ringfence.testing.broker_desk import FREE, NO_COSTS, Prices
from ringfence.trade.intents import Intent
from ringfence.trade.orders import Bracket, Fill
from ringfence.trade.run import Costs, FillRules
from ringfence.trade.times import DAY

CENTS = replace(FREE, costs=replace(NO_COSTS, percent=0.001))
FULL_COSTS = Costs(percent=0.001, per_share=0.005, minimum=1, slippage_bps=2, spread_bps=1)


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class PaperDesk:
    """Shows the rows of a case one by one; a bar is over when the next one begins."""

    def __init__(self, rules: FillRules, prices: Prices, bars_per_day: int) -> None:
        self._clock = Clock()
        self.broker = PaperBroker(list(prices), rules, clock=self._clock)
        self._prices, self._row, self._per_day = prices, 0, bars_per_day
        self.bar()

    def bar(self) -> None:
        row, step = self._row, DAY // self._per_day
        shown = {s: [Decimal(str(p)) for p in r] for s, rows in self._prices.items() if (r := rows[row]) is not None}
        self.broker.show_bars(row * step, shown, day_over=(row + 1) % self._per_day == 0)
        self._row += 1
        self._clock.now = self._row * step

    def fills(self) -> Sequence[Fill]:
        return self.broker.get_fills()


class TestPaperBroker(BrokerSuite):
    def make(self, rules: FillRules, prices: Prices, *, bars_per_day: int = 1) -> PaperDesk:
        return PaperDesk(rules, prices, bars_per_day)


def open_broker(path: Path | None = None, rules: FillRules = FREE, clock: Clock | None = None) -> PaperBroker:
    return PaperBroker(["X", "Y"], rules, clock=clock or Clock(), journal=path)


def assert_decimals(value: object) -> None:
    for field in fields(value):  # type: ignore[arg-type]
        part = getattr(value, field.name)
        assert not isinstance(part, float), f"{field.name} is {part!r}"
        if field.name in ("quantity", "filled_quantity", "price", "fee", "cash", "equity", "buying_power"):
            assert type(part) is Decimal, f"{field.name} is {part!r}"
        if isinstance(part, Bracket):
            assert_decimals(part)


def test_every_number_is_a_decimal_even_where_floats_were_given() -> None:
    broker = open_broker(rules=replace(FREE, costs=FULL_COSTS, fractional=True, margin=0.5))
    broker.show_bar("X", 0, 100.1, 100.3, 99.9, 100.2)
    broker.submit_order("X", 1.5, "buy", bracket=Bracket(sl=90.5, tp=110.1))
    broker.submit_order("X", 2, "sell", "trailing_stop", trail_percent=5.5)
    broker.submit_order("X", float("nan"), "buy")
    broker.submit_order("X", 0.3, "buy", "stop_limit", stop_price=101.1, limit_price=101.2)
    seen: list[object] = [*broker.get_orders()]
    broker.show_bar("X", DAY, 100.4, 102, 93, 94)
    broker.close_position("X")
    seen += broker.get_orders()
    broker.show_bar("X", 2 * DAY, 95, 95, 94, 94)
    broker.submit_order("X", 3, "sell")
    broker.show_bar("X", 3 * DAY, 95, 95, 94, 94)
    assert len(broker.get_fills()) >= 4
    seen += [broker.get_account(), *broker.get_orders(), *broker.get_fills(), *broker.get_all_positions()]
    for value in seen:
        assert_decimals(value)
    position = broker.get_all_positions()[0]
    for amount in (position.average_price, position.market_price, position.market_value, position.unrealized_pnl):
        assert type(amount) is Decimal
    assert type(broker.get_current_price("X")) is Decimal


def test_cents_are_exact() -> None:
    broker = open_broker(rules=CENTS)
    broker.show_price("X", 0, Decimal("10.10"))
    broker.submit_order("X", 3, "buy")
    broker.show_price("X", 1, Decimal("10.10"))
    assert broker.get_fills()[0].fee == Decimal("0.0303")
    assert broker.get_account().cash == Decimal("9969.6697")  # 10,000 - 30.30 - 0.0303
    assert broker.get_account().equity == Decimal("9999.9697")


def test_the_callers_decimal_context_changes_nothing() -> None:
    accounts = []
    for digits in (28, 3):
        with localcontext() as context:
            context.prec = digits
            broker = open_broker(rules=replace(FREE, costs=FULL_COSTS))
            broker.show_price("X", 0, "123.4567")  # type: ignore[arg-type]
            broker.submit_order("X", 7, "buy")
            broker.show_price("X", 1, "123.4567")  # type: ignore[arg-type]
            accounts.append(broker.get_account())
    assert accounts[0] == accounts[1]


def test_ticks_fill_orders_as_they_come() -> None:
    broker = open_broker()
    broker.show_price("X", 0, 100)
    broker.submit_order("X", 10, "buy", "limit", limit_price=98, bracket=Bracket(sl=95))
    assert broker.show_price("X", 1, 99) == []
    (bought,) = broker.show_price("X", 2, 97)
    assert (bought.price, bought.time) == (97, 2)
    (sold,) = broker.show_price("X", 3, 94)
    assert (sold.price, sold.reason) == (94, "stop")


def test_a_bar_does_not_fill_what_was_ordered_after_it_began() -> None:
    clock = Clock()
    broker = open_broker(clock=clock)
    broker.show_bar("X", 0, 100, 100, 100, 100)
    clock.now = DAY + 1
    late = broker.submit_order("X", 10, "buy", "limit", "day", limit_price=101)
    assert broker.show_bar("X", DAY, 90, 100, 90, 95) == []
    assert broker.get_order(late.id).status == "open"
    (fill,) = broker.show_bar("X", 2 * DAY, 99, 99, 99, 99)
    assert fill.price == 99


def test_an_order_that_came_too_late_for_a_bar_is_cancelled_when_that_bar_ruins_the_account() -> None:
    clock = Clock()
    broker = open_broker(clock=clock)
    broker.show_bar("X", 0, 100, 100, 100, 100)
    broker.submit_order("X", 100, "sell")
    broker.show_bar("X", DAY, 100, 100, 100, 100)
    clock.now = 2 * DAY + 1
    late = broker.submit_order("X", 1, "buy")
    broker.show_bar("X", 2 * DAY, 300, 300, 300, 300)
    assert broker.get_order(late.id).status == "cancelled"
    assert broker.get_orders(open_only=True) == []


def test_orders_of_the_day_end_when_a_tick_feed_says_so() -> None:
    broker = open_broker()
    broker.show_price("X", 0, 100)
    order = broker.submit_order("X", 10, "buy", "limit", "day", limit_price=90)
    kept = broker.submit_order("X", 10, "buy", "limit", "gtc", limit_price=90)
    broker.show_price("X", 1, 99)
    assert broker.get_order(order.id).status == "open"
    broker.end_day()
    assert (broker.get_order(order.id).status, broker.get_order(kept.id).status) == ("expired", "open")


def test_there_are_no_orders_before_the_first_price() -> None:
    with pytest.raises(OrderError, match="price"):
        open_broker().submit_order("X", 1, "buy")


def test_only_so_many_bars_are_kept() -> None:
    broker = PaperBroker(["X"], FREE, clock=Clock(), history=3)
    for k in range(5):
        broker.show_bar("X", k * DAY, 100 + k, 100 + k, 100 + k, 100 + k, volume=k)
    bars = broker.get_bars("X", 100)
    assert (bars.close.tolist(), bars.volume.tolist()) == ([102, 103, 104], [2, 3, 4])
    assert (bars.time.tolist(), len(broker.get_bars("X", -1))) == ([2 * DAY, 3 * DAY, 4 * DAY], 0)


@pytest.mark.parametrize(
    "row",
    [
        (100, 99, 98, 99),
        (100, 101, 102, 100),
        (0, 1, 0, 1),
        (-1, 1, -1, 1),
        (float("nan"),) * 4,
        (float("inf"),) * 4,
        ("ten",) * 4,
        (1, 1, 1),
        (1, 1, 1, 1, -1),
        ("1e-400",) * 4,
        ("sNaN",) * 4,
    ],
)
def test_prices_that_no_market_printed_are_refused(row: Sequence[float]) -> None:
    broker = open_broker()
    with pytest.raises(DataError, match="X at 1970"):
        broker.show_bars(0, {"X": row})
    assert broker.get_account().equity == 10_000
    with pytest.raises(OrderError):
        broker.get_current_price("X")


def test_a_bar_that_is_shown_again_does_nothing_and_an_older_one_is_refused() -> None:
    broker = open_broker()
    broker.show_bar("X", DAY, 100, 100, 100, 100)
    broker.submit_order("X", 10, "buy")
    assert broker.show_bar("X", DAY, 100, 100, 100, 100) == []
    with pytest.raises(DataError, match="order"):
        broker.show_bar("X", DAY, 101, 101, 101, 101)
    with pytest.raises(DataError, match="order"):
        broker.show_bar("X", 0, 100, 100, 100, 100)
    with pytest.raises(OrderError, match="NOSUCH"):
        broker.show_bar("NOSUCH", 0, 100, 100, 100, 100)
    assert broker.get_fills() == []


# The journal.


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
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
        for _ in range(2):
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
