"""Whatever a description can say, its program runs: over few bars and many, with instruments that begin late and have
days of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from ringfence import open_sandbox
from ringfence.sandbox.job import Job, Limits
from ringfence.trade.arrow import write_bars
from ringfence.trade.bars import Bars, Candles
from ringfence.trade.checked import check_text
from ringfence.trade.description import Description
from ringfence.trade.description.code import to_code
from ringfence.trade.draft import read_draft

from tests.agents.described import SYMBOLS, descriptions
from tests.trade.prices import make_candles
from tests.verbs.judged import STRATEGY_SANDBOX

SCRIPT = Path(__file__).parent / "play_programs.py"
PROGRAMS = 150
LATEST = 23  # bars after the first instrument began


def drawn(count: int) -> list[Description]:
    """The same ones on every run."""
    found: list[Description] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(descriptions(others=True))
    def collect(description: Description) -> None:
        found.append(description)

    collect()
    return found


def ragged(rows: int) -> Bars:
    """Every instrument that a description may name: some begin late, some rest on two days of seven."""
    made = {}
    for n, symbol in enumerate((*SYMBOLS, "TLT")):
        whole = make_candles(rows, n + 1)
        days = np.arange(rows)
        open_days = (days >= (n * 7 + 5) % LATEST) & ((days % 7 < 5) | (n % 2 == 0))
        made[symbol] = Candles(*(getattr(whole, column)[open_days] for column in Candles.__slots__))
    return Bars(candles=made, timeframe="1d", source="test", synthetic=True)


def test_every_program_runs_over_few_bars_and_many(tmp_path: Path) -> None:
    programs = []
    for code in dict.fromkeys(to_code(description) for description in drawn(PROGRAMS)):
        assert check_text(code, name="described").ok, code
        programs.append((code, read_draft(code, name="described").class_name))
    files = {"programs.json": json.dumps(programs).encode()}
    for name, bars in {"few": ragged(60), "many": ragged(500)}.items():
        write_bars(bars, tmp_path / name)
        files[f"{name}.arrow"] = (tmp_path / name).read_bytes()
    job = Job(code=SCRIPT.read_text(), files=files, limits=Limits(wall_seconds=300, memory_mb=2048))
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        outcome = sandbox.run(job)
    named = re.search(r"program_(\d+)", str(outcome.error))
    assert outcome.status == "ok", f"{outcome.error}\n{programs[int(named[1])][0] if named else ''}"
    assert isinstance(outcome.result, int)
    assert outcome.result > PROGRAMS // 3
