"""Price files for the corpus: synthetic, the same in every run, and laid out as the files that scripts expect."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def _walk(rows: int, start: float, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    close = start * np.exp(np.cumsum(rng.normal(0.0002, 0.012, rows)))
    open_ = np.concatenate([[start], close[:-1]])
    spread = np.abs(rng.normal(0, 0.006, rows)) * close
    high, low = np.maximum(open_, close) + spread, np.minimum(open_, close) - spread
    volume = rng.integers(1_000, 100_000, rows)
    return np.round(np.column_stack([open_, high, low, close, volume]), 2)


def padded_csv(rows: int = 1500) -> bytes:
    """Padded lower-case names and a comma at the end of each line, as one well-known exchange export has."""
    stamps = pd.date_range("2023-01-01", periods=rows, freq="15min")
    lines = ["datetime, open, high, low, close, volume,"]
    for stamp, row in zip(stamps, _walk(rows, 100.0, 7), strict=True):
        lines.append(f"{stamp}, " + ", ".join(f"{value:.2f}" for value in row) + ",")
    return ("\n".join(lines) + "\n").encode()


def tidy_csv(rows: int = 1200) -> bytes:
    stamps = pd.bdate_range("2018-01-01", periods=rows)
    frame = pd.DataFrame(_walk(rows, 150.0, 11), columns=["Open", "High", "Low", "Close", "Volume"], index=stamps)
    return frame.to_csv(index_label="Date").encode()
