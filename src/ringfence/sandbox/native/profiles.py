"""Profiles: which libraries a zygote imports before it forks."""

from __future__ import annotations

from collections.abc import Mapping

# In this order; what is not installed is left out, because a profile is what is there.
PROFILES: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "quant": (
        "numpy",
        "numpy.random",
        "pandas",
        "scipy.stats",
        "talib",
        "numba",
        "matplotlib.pyplot",
        "backtesting",
    ),
}
