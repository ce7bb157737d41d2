"""Randomness of a run: the children of one zygote share its generators' state, so each starts from its own seed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import random
import sys
from collections.abc import Sequence
from types import ModuleType

_NUMPY_RANDOM = "numpy.random"


def reseed(seed: int) -> None:
    random.seed(seed)
    numpy_random = sys.modules.get(_NUMPY_RANDOM)
    if numpy_random is not None:
        _seed_numpy(numpy_random, seed)
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _SeedAtImport)]
    sys.meta_path.insert(0, _SeedAtImport(seed))


def _seed_numpy(module: ModuleType, seed: int) -> None:
    module.seed([seed & 0xFFFFFFFF, seed >> 32])


class _SeedAtImport:
    """Seeds numpy's global generator when the program imports it; importing it here would cost every run the time."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _NUMPY_RANDOM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_seed(module: ModuleType) -> None:
            execute(module)
            _seed_numpy(module, self._seed)

        spec.loader.exec_module = execute_and_seed  # type: ignore[method-assign]
        return spec
