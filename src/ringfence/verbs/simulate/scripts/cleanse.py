"""Doubtful bars of every instrument: mended where that is safe, flagged where it is not, all of it listed."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from ringfence.trade.arrow import read_bars
from ringfence.trade.bars import COLUMNS
from ringfence.trade.models import cleanse
from ringfence.trade.times import iso, iso_all

THRESHOLD = 10.0  # robust standard deviations
STALE = 5  # bars without any movement
LISTED = 200  # changes that are told one by one; the file has all of them

bars = read_bars(Path("/bars/bars.arrow"))
replaced = flagged = 0
listed: list[dict[str, object]] = []
with open("changes.csv", "w", newline="") as log, open("cleansed.csv", "w", newline="") as table:
    changes, rows = csv.writer(log), csv.writer(table)
    changes.writerow(["symbol", "time", "column", "before", "after", "action", "reason"])
    rows.writerow(["date", "symbol", *COLUMNS])
    for symbol, candles in bars:
        made = cleanse(candles, threshold=THRESHOLD, stale=STALE)
        for c in made.changes:
            row = [symbol, iso(c.time), c.column, c.before, c.after, c.action, c.reason]
            changes.writerow(row)
            listed.append(dict(zip(["symbol", "time", "column", "before", "after", "action", "reason"], row)))
        replaced += len({c.row for c in made.changes if c.action == "replaced"})
        flagged += len({c.row for c in made.changes if c.action == "flagged"})
        columns = [getattr(made.candles, name).tolist() for name in COLUMNS]
        for time, *values in zip(iso_all(made.candles.time), *columns):
            rows.writerow([time, symbol, *values])
        sys.stdout.write(f"{symbol}: {len(candles)} bars, {len(made.changes)} entries in the log\n")
result = {
    "observations": bars.rows,
    "replaced_bars": replaced,
    "flagged_bars": flagged,
    "entries": len(listed),
    "changes": listed[:LISTED],
}
