"""Run by path, in any interpreter that has numpy: one engine in a process of its own, asked line by line to run.

    python -P backtest_worker.py ENGINE.py TABLE.npz

It imports nothing of ours. The engine is a file beside it, with `version()`, `prepare(table, strategy)` and, where
every run needs something new, `set_up(prepared)`, which are not timed; with functions that are, and `trades(finished)`.
The clock is here, so it is the same for all.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
import time
from functools import cache
from types import ModuleType

import numpy as np

Table = dict[str, np.ndarray]


def main(engine_file: str, table_file: str) -> None:
    # Engines write to standard output as they please: what they write there goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        engine = load(engine_file)
    except ImportError as e:
        say({"missing": str(e)})
        return
    say({"version": engine.version()})
    with np.load(table_file) as file:
        whole: Table = {name: file[name] for name in file.files}

    @cache
    def prepared(count: int, strategy: str) -> object:
        return engine.prepare({name: column[:count].copy() for name, column in whole.items()}, strategy)

    for line in sys.stdin:
        ask = json.loads(line)
        run, set_up = getattr(engine, ask["entry"]), getattr(engine, "set_up", None)
        given = prepared(ask["bars"], ask["strategy"])
        if set_up is not None:
            given = set_up(given)
        gc.collect()
        start = time.process_time()
        finished = run(given)
        cpu_seconds = time.process_time() - start
        say({"cpu_seconds": cpu_seconds, "trades": engine.trades(finished)})
        del finished, given


def load(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("engine", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine"] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
