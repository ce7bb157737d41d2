"""What the zygote does before the first fork, so that no child has to: imports, first calls, huge pages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from ringfence.guest import serve as guest
from ringfence.sandbox.native import syscalls as sc

_HUGE_PAGE = 2 << 20

guest_main: Callable[[int, int], None] = guest.main


def load(names: Sequence[str]) -> None:
    """Import what is there, and use it once: much of numpy, pandas and numba is set up at the first call."""
    loaded = [name for name in names if _import(name)]
    for name in loaded:
        exercise = _EXERCISES.get(name)
        if exercise is not None:
            exercise()
    guest.rehearse()


def _import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name is not None and name.startswith(e.name):
            return False
        raise
    return True


def _exercise_numpy() -> None:
    import numpy as np

    a = np.arange(64.0).reshape(8, 8)
    np.linalg.solve(a + np.eye(8), a)
    np.random.default_rng(0).normal(size=8).cumsum().mean()


def _exercise_pandas() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=pd.date_range("2024-01-01", periods=3))
    frame["a"].rolling(2).mean().to_list()
    frame.groupby(frame.index.month).sum()
    str(frame)


def _exercise_talib() -> None:
    import numpy as np
    import talib

    talib.SMA(np.arange(30.0), timeperiod=5)


def _exercise_numba() -> None:
    # Serial only: a parallel kernel starts OpenMP here, and children that use it afterwards are killed.
    import numba

    numba.njit(lambda x: x + 1.0)(1.0)


_EXERCISES: dict[str, Callable[[], None]] = {
    "numpy": _exercise_numpy,
    "pandas": _exercise_pandas,
    "talib": _exercise_talib,
    "numba": _exercise_numba,
}


def collapse_heap() -> None:
    """Gather the heap into huge pages, so that a fork copies far fewer page-table entries."""
    try:
        with open("/proc/self/maps") as f:
            rows = [line.split(maxsplit=5) for line in f]
    except FileNotFoundError:  # no proc in the view; a slower fork is all it costs
        return
    for row in rows:
        anonymous = len(row) == 5 or row[5].strip() == "[heap]"
        if not anonymous or not row[1].startswith("rw-p"):
            continue
        start, end = (int(part, 16) for part in row[0].split("-"))
        start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
        if end > start:
            sc.madvise(start, end - start, sc.MADV_COLLAPSE)
