"""Futures drawn at random: as a geometric Brownian motion, or from blocks of what has happened."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ringfence.base.errors import DataError
from ringfence.trade.bars import Floats

Method = Literal["gbm", "bootstrap"]
MOST_CELLS = 4_000_000  # paths times bars times instruments: 32 MB, of which there are a few copies


def normal_steps(rng: np.random.Generator, drift: Floats, covariance: Floats, horizon: int, paths: int) -> Floats:
    """Log returns of shape (paths, horizon, instruments), independent from bar to bar, jointly normal in a bar."""
    # Not Cholesky: two instruments that move as one have a covariance that is only half definite.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    noise = rng.standard_normal((paths, horizon, len(drift)))
    made: Floats = noise @ root.T + drift
    return made


def block_steps(rng: np.random.Generator, returns: Floats, block: int, horizon: int, paths: int) -> Floats:
    """Log returns of shape (paths, horizon, instruments): blocks of `block` bars in a row, drawn with replacement.

    The history is closed to a circle, so that its first and last bars are drawn as often as the others.
    """
    count = len(returns)
    if not 1 <= block <= count:
        raise DataError(f"a block of {block} bars cannot be drawn from {count} returns: choose 1 to {count}")
    blocks = -(-horizon // block)
    starts = rng.integers(0, count, size=(paths, blocks))
    rows = (starts[:, :, None] + np.arange(block)) % count
    made: Floats = returns[rows.reshape(paths, blocks * block)[:, :horizon]]
    return made


def default_block(count: int) -> int:
    """The usual order of growth, the cube root of the sample, which keeps some of the clustering of volatility."""
    return max(1, round(math.cbrt(count)))


def worst_drawdown(curves: Floats) -> Floats:
    """For each row the deepest fall from a high, as a negative fraction."""
    peaks = np.maximum.accumulate(curves, axis=1)
    made: Floats = (curves / peaks - 1.0).min(axis=1)
    return made


def tail(returns: Floats, confidence: float) -> tuple[float, float]:
    """Value at risk and expected shortfall of these returns, both as a loss: positive where money is lost."""
    edge = float(np.quantile(returns, 1.0 - confidence))
    return -edge, -float(returns[returns <= edge].mean())
