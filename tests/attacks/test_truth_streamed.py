"""Streamed, the future is not inside the fence; at the end all of it is the past, and no order may be moved into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringfence import open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import PRESETS
from ringfence.trade.draft import read_draft
from ringfence.trade.run import Run
from ringfence.verbs.backtest import Request, backtest

from tests.verbs.judged import HEAD, STRATEGY_SANDBOX, on_each_bar, sample

HINDSIGHT = (
    HEAD
    + """
class Judged(Strategy):
    def init(self):
        self.seen = []

    def next(self):
        self.seen.append((self._book.now, self.data.close[-1], self.data.open[-1]))

    def on_end(self):
        import ringfence.guest.stream
        from ringfence.trade.intents import Intent

        seen = self.seen[:-2]
        low = min(seen, key=lambda r: r[1])[0]
        high = max((r for r in seen if r[0] > low), key=lambda r: r[1])[0]
        opens = {now: price for now, _, price in self.seen}
        bought, sold = opens[low + 1] * 1.0002, opens[high + 1] * 0.9998
        cash = 100_000 - 100 * bought * 1.001 + 100 * sold * 0.999
        self._book.log[:] = [Intent(low, "order", 0, 1, quantity=100.0), Intent(high, "close", 0, portion=1.0)]
        ringfence.guest.stream.claim_of = lambda book: {"cash": cash, "equity": cash, "fills": 2}
"""
)


@pytest.fixture(scope="module")
def strategies() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        yield sandbox


def streamed(sandbox: Sandbox, text: str) -> Run:
    limits = replace(PRESETS["backtest"], wall_seconds=20.0)
    bars = sample("GOOG", end="2005-06-01")
    request = Request(draft=read_draft(text, name="judged"), bars=bars, streamed=True, limits=limits)
    return backtest(request, sandbox=sandbox).run


def test_an_honest_strategy_is_verified_and_clean(strategies: Sandbox) -> None:
    run = streamed(
        strategies,
        on_each_bar("if len(self.data) % 9 == 0: self.buy(size=5)", "elif self.position: self.position.close()"),
    )
    assert (run.verdict, run.provenance, run.lookahead.status) == ("traded", "verified", "clean")


def test_orders_cannot_be_put_into_the_past_when_it_is_known(strategies: Sandbox) -> None:
    run = streamed(strategies, HINDSIGHT)
    assert not (run.verdict == "traded" and run.provenance == "verified" and run.lookahead.status == "clean"), (
        run.reason
    )


def test_forged_books_are_a_mismatch(strategies: Sandbox) -> None:
    run = streamed(strategies, on_each_bar("if len(self.data) == 50: self.buy(size=5); self._book.cash = 1e9"))
    assert run.provenance == "mismatch"


def test_a_failure_is_told_with_its_line_and_bar(strategies: Sandbox) -> None:
    run = streamed(strategies, on_each_bar("if len(self.data) == 60: 1 / 0"))
    assert run.verdict == "failed"
    assert "ZeroDivisionError: division by zero at line 9, on bar 59" in run.reason


def test_leaving_ends_the_run_on_that_bar(strategies: Sandbox) -> None:
    run = streamed(strategies, on_each_bar("if len(self.data) == 60: raise SystemExit"))
    assert run.verdict == "failed" and "on bar 59" in run.reason
