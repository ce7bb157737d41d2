"""What the zygote does before the first fork, so that no child has to: imports, first calls, huge pages."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import io
import logging
import sys
import weakref
from collections.abc import Callable, Sequence

from ringfence.guest import serve as guest
from ringfence.sandbox.native import syscalls as sc

_HUGE_PAGE = 2 << 20
_OBJECT_ROOM = 96 << 20  # about what the quant profile's objects take
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3

guest_main: Callable[[int, int], None] = guest.main


def load(names: Sequence[str]) -> None:
    """Import what is there, and use it once: much of numpy, pandas and numba is set up at the first call."""
    loaded = [name for name in names if _import(name)]
    for name in loaded:
        exercise = _EXERCISES.get(name)
        if exercise is not None:
            exercise()
    _forget_exit_handlers()
    guest.rehearse()


def _forget_exit_handlers() -> None:
    """The libraries' own clean-up is for a process that ends whole; a job's is dropped by the kernel, and it waits
    for nothing. What a program can notice is kept: log files are flushed, worker processes are waited for."""
    atexit._clear()
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]  # so a program's own is registered
    atexit.register(logging.shutdown)
    workers = sys.modules.get("multiprocessing.util")
    if workers is not None:
        atexit.register(workers._exit_function)


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
    """The calls of an ordinary strategy: pandas finds out much about types and kernels only when first asked."""
    import numpy as np
    import pandas as pd

    close = pd.Series(np.linspace(100.0, 110.0, 64), index=pd.date_range("2024-01-01", periods=64, freq="h"))
    frame = pd.DataFrame({"close": close, "volume": np.arange(64), "side": ["buy", "sell"] * 32})
    for window in (frame["close"].rolling(5), frame["close"].ewm(span=5), frame["close"].expanding()):
        window.mean()
        window.std()
    frame["signal"] = (frame["close"].pct_change().shift(1).fillna(0.0) > 0).astype(int)
    frame.groupby("side")["close"].agg(["mean", "max"])
    frame.resample("D").agg({"close": "last", "volume": "sum"})
    frame.merge(frame[["volume", "close"]], on="volume").sort_values("volume").dropna()
    pd.concat([frame, frame]).describe()
    frame.loc[frame["close"] > 101.0, "close"].cumsum().iloc[-1]
    pd.read_csv(io.StringIO(frame.to_csv()), index_col=0, parse_dates=True)
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


class Heap:
    """The zygote's heap, kept together so that it can be gathered into huge pages: a fork copies, and an exit
    drops, one entry for a huge page instead of 512.

    Imports scatter their objects between the libraries they map. So before them room for the objects is taken in
    one piece, and the C library is told to grow its own heap in large steps.
    """

    def __init__(self) -> None:
        # The thresholds that glibc reaches by itself in a program that uses large arrays.
        _mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        _mallopt(_M_TRIM_THRESHOLD, 64 << 20)
        _mallopt(_M_TOP_PAD, 64 << 20)
        objects = [bytes(470) for _ in range(_OBJECT_ROOM // 512)]
        self._pins = objects[::1500]  # one in each arena of 1 MiB, which Python would give back if it were empty

    def gather(self) -> None:
        """To be called after the imports."""
        _mallopt(_M_TOP_PAD, 128 << 10)
        for start, end in _heap_ranges():
            start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
            if end > start:
                sc.madvise(start, end - start, sc.MADV_COLLAPSE)


def _mallopt(option: int, value: int) -> None:
    """A C library without mallopt has other means, or none; either way it is only speed."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(ctypes.c_int(option), ctypes.c_int(value))


def _heap_ranges() -> list[tuple[int, int]]:
    try:
        with open("/proc/self/maps") as f:
            rows = [line.split(maxsplit=5) for line in f]
    except FileNotFoundError:  # no proc in the view; a slower fork is all it costs
        return []
    anonymous = (row for row in rows if len(row) == 5 or row[5].strip() == "[heap]")
    return [(int(row[0].split("-")[0], 16), int(row[0].split("-")[1], 16)) for row in anonymous if row[1] == "rw-p"]
