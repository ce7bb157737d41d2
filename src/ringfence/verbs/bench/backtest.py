"""How fast backtests are here, against other engines on the same bars and strategies, from one run on one machine.

CPU seconds, because they are what an engine needs whoever else is on the machine. Every side runs in a process of its
own, all take turns round by round, every other round in reverse, and what they traded is compared trade by trade.
Making the bars, importing the engines and compiling are not part of any time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ringfence.base.errors import RefusedError, SandboxError, SettingsError
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Floats
from ringfence.verbs.bench.backtest_agree import Agreement, Rule, agree
from ringfence.verbs.bench.backtest_bars import first_bars, make_bars, write_table
from ringfence.verbs.bench.backtest_report import (
    LARGE,
    MIDDLE,
    SIDES,
    SMALL,
    STRATEGIES,
    BacktestBench,
    Case,
    Measured,
    judge,
)
from ringfence.verbs.bench.backtest_sides import (
    OURS,
    Answer,
    Player,
    Run,
    Trade,
    find_peer,
    run_inside,
    run_outside,
)
from ringfence.verbs.bench.machine import describe_machine
from ringfence.verbs.bench.native import TRIVIAL, open_parking, run_checked
from ringfence.verbs.bench.peers import PeerMissing

__all__ = ["BacktestBench", "bench_backtest"]

_SPEC = "native:profile=strategy"
_HERE = OURS.parent
_QUICK_BARS = 10_000
_HOW_TO_GET_PEERS = (
    "make an interpreter that has it, in the repository with scripts/bench-peers, and name it with --peers"
)

# Whose trades are held against whose, and how far the rules of the two allow it.
_COMPARED: tuple[tuple[str, str, str, Rule], ...] = (
    ("ringfence", "backtesting_py", "s1", "exact"),
    ("ringfence", "backtesting_py", "s2", "exact"),
    ("ringfence", "nautilus_trader", "s1", "decisions"),
    ("ringfence", "nautilus_trader", "s2", "count"),
    ("ringfence_arrays", "ringfence", "s1", "exact"),
    ("ringfence_arrays", "vectorbt", "s1", "exact"),
    ("ringfence_arrays", "vectorbt", "s2", "bars"),
    ("inside", "outside", "s1", "exact"),
    ("inside", "outside", "s2", "exact"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How often, and which numbers of bars for which side."""

    rounds: int
    bars: Mapping[str, tuple[int, ...]]

    @classmethod
    def whole(cls, rounds: int) -> Plan:
        peer = (SMALL, MIDDLE)
        bars = {
            "ringfence": (*peer, LARGE), "ringfence_loop": (*peer, LARGE), "backtesting_py": peer,
            "nautilus_trader": peer, "ringfence_arrays": (LARGE,), "vectorbt": (LARGE,), "outside": (MIDDLE,),
            "inside": (MIDDLE,),
        }  # fmt: skip
        return cls(rounds=rounds, bars=bars)

    @classmethod
    def quick(cls) -> Plan:
        few = dict.fromkeys(("ringfence_arrays", "vectorbt", "outside", "inside"), (_QUICK_BARS,))
        return cls(rounds=1, bars={side: few.get(side, (SMALL, _QUICK_BARS)) for side in SIDES})

    def cases(self, sides: Mapping[str, Run]) -> list[Case]:
        return [Case(side, s, n) for side in SIDES if side in sides for s in STRATEGIES for n in self.bars[side]]


def bench_backtest(
    *, rounds: int, quick: bool, peers: Sequence[Path], on_progress: Callable[[str], None]
) -> BacktestBench:
    """Measure our engine and those of `peers`, interpreters that have nautilus_trader or vectorbt.

    A round takes about twenty seconds with both peers and eight without. `quick` is one round of few bars: a first
    look, in which no promise is judged.
    """
    if rounds < 1:
        raise SettingsError(f"{rounds} rounds measure nothing: give at least 1")
    plan = Plan.quick() if quick else Plan.whole(rounds)
    begun, load = time.monotonic(), os.getloadavg()[0]
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ringfence-bench-")))
        on_progress("making the bars")
        bars = make_bars(max(max(counts) for counts in plan.bars.values()))
        close = bars.candles[bars.symbols[0]].close
        table, file = folder / "table.npz", folder / "bars.arrow"
        write_table(bars, table)
        write_bars(first_bars(bars, plan.bars["inside"][0]), file)
        engines, sides = _find_engines(stack, table, peers, absent, on_progress)
        isolation = _open_fence(stack, file, sides, absent)
        # Everybody once without a clock: imports, caches and compilers are warm then, and the trades are there.
        answers = {case: _ask(sides, case, "warming up", on_progress) for case in plan.cases(sides)}
        samples: dict[Case, list[float]] = {case: [] for case in answers}
        for number in range(plan.rounds):
            step = f"round {number + 1} of {plan.rounds}"
            for case in reversed(samples) if number % 2 else samples:
                samples[case].append(_ask(sides, case, step, on_progress).cpu_seconds)
    measurements = {case: Measured.of(seconds) for case, seconds in samples.items()}
    agreement = _compare({case: answer.trades for case, answer in answers.items()}, close)
    return BacktestBench(
        quick=quick,
        engines=engines,
        measurements=measurements,
        agreement=agreement,
        targets=judge({} if quick else measurements, agreement),
        machine=describe_machine(load, None, isolation),
        absent=absent,
        seconds=time.monotonic() - begun,
    )


def _ask(sides: Mapping[str, Run], case: Case, step: str, on_progress: Callable[[str], None]) -> Answer:
    on_progress(f"{step}: {SIDES[case.side]}, {case.strategy}, {case.bars:,} bars")
    return sides[case.side](case.strategy, case.bars)


def _find_engines(
    stack: ExitStack,
    table: Path,
    peers: Sequence[Path],
    absent: dict[str, str],
    on_progress: Callable[[str], None],
) -> tuple[dict[str, str], dict[str, Run]]:
    """The engines that are here, by name with their versions, and how to run each; `absent` gets the others."""
    on_progress("starting the engines")
    own = Path(sys.executable)
    players = {"ringfence": Player(own, OURS, table)}
    stack.callback(players["ringfence"].close)
    wanted = (
        (
            "backtesting_py",
            "backtest_backtesting_py.py",
            (own,),
            "install it with `pip install ringfence[backtesting]`",
        ),
        ("nautilus_trader", "backtest_nautilus.py", peers, _HOW_TO_GET_PEERS),
        ("vectorbt", "backtest_vectorbt.py", peers, _HOW_TO_GET_PEERS),
    )
    for name, file, pythons, remedy in wanted:
        try:
            players[name] = find_peer(_HERE / file, pythons, table, remedy)
        except PeerMissing as e:
            absent[name] = str(e)
        else:
            stack.callback(players[name].close)
    ours = players["ringfence"]
    sides: dict[str, Run] = {
        "ringfence_loop": partial(ours.run, "loop"),
        "ringfence_arrays": partial(ours.run, "arrays"),
        **{name: partial(p.run, "arrays" if name == "vectorbt" else "whole") for name, p in players.items()},
    }
    return {name: player.version for name, player in players.items()}, sides


def _open_fence(stack: ExitStack, file: Path, sides: dict[str, Run], absent: dict[str, str]) -> dict[str, str]:
    """Add the script inside and outside; what the fence is made of, if there is one."""
    try:
        sandbox = stack.enter_context(open_parking(_SPEC))
        isolation = run_checked(sandbox, TRIVIAL).isolation
    except (SandboxError, RefusedError) as e:
        absent["inside"] = str(e)
        return {}
    sides["outside"] = lambda strategy, bars: run_outside(file, strategy)
    sides["inside"] = lambda strategy, bars: run_inside(sandbox, file, strategy)
    return dict(isolation)


def _compare(trades: Mapping[Case, tuple[Trade, ...]], close: Floats) -> tuple[Agreement, ...]:
    found = []
    for ours, peer, strategy, rule in _COMPARED:
        for case, mine in trades.items():
            theirs = trades.get(Case(peer, strategy, case.bars))
            if case[:2] == (ours, strategy) and theirs is not None:
                found.append(agree(ours, peer, strategy, rule, mine, theirs, close[: case.bars]))
    return tuple(found)
