"""A price file that is not where the script looks: the mounted one of the same name, or the bars that were given."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ringfence.guest.healing import tables
from ringfence.guest.healing.ledger import Ledger

_READERS = ("read_csv", "read_parquet", "read_excel", "read_feather")
_STAMPS = ("datetime", "Datetime", "date", "Date", "timestamp", "Timestamp", "time", "Time", "open_time")
_NAMING = ("parse_dates", "index_col", "usecols")


def install(ledger: Ledger, code: str, files: Sequence[str], bars: str | None) -> None:
    for name in _READERS:
        original = getattr(pd, name)
        read = _Reading(ledger, original, code, files, bars)
        setattr(pd, name, functools.wraps(original)(lambda *args, _read=read, **kwargs: _read(*args, **kwargs)))


class _Reading:
    def __init__(
        self, ledger: Ledger, original: Callable[..., Any], code: str, files: Sequence[str], bars: str | None
    ) -> None:
        self._ledger, self._original, self._code, self._files, self._bars = ledger, original, code, files, bars

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        place = args[0] if args else kwargs.get("filepath_or_buffer", kwargs.get("path", kwargs.get("io")))
        if not isinstance(place, (str, os.PathLike)):
            return self._original(*args, **kwargs)
        asked = os.fspath(place)
        found = self._find(str(asked))
        if found is None and self._bars is not None:
            return self._serve(str(asked), kwargs)
        rest = args[1:]
        kwargs = {k: v for k, v in kwargs.items() if k not in ("filepath_or_buffer", "path", "io")}
        found = found or str(asked)
        if os.path.exists(found) and self._original.__name__ == "read_csv":
            kwargs = self._renamed(found, kwargs)
        read = self._original(found, *rest, **kwargs)
        return tables.tidy(read, self._ledger) if isinstance(read, pd.DataFrame) else read

    def _find(self, asked: str) -> str | None:
        """Where the file is: as asked, or under the same name elsewhere."""
        if os.path.exists(asked) or "://" in asked:
            return asked
        name = re.split(r"[/\\]", asked)[-1]
        for path in self._files:
            if os.path.basename(path) == name:
                self._ledger.note("lossless", f"The file {asked!r} was read from {path!r}.")
                return path
        return None

    def _renamed(self, path: str, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Names in `parse_dates`, `index_col` and `usecols` as the header of the file spells them."""
        given = [kwargs[name] for name in _NAMING if name in kwargs]
        if not any(isinstance(names, (str, list)) for names in given) or "names" in kwargs or "header" in kwargs:
            return kwargs
        header = list(self._original(path, nrows=0, **{k: v for k, v in kwargs.items() if k in ("sep", "delimiter")}))

        def spell(name: object) -> object:
            if not isinstance(name, str) or name in header:
                return name
            found = tables.find(header, name)
            if found is not None:
                self._ledger.note("lossless", f"The column {name!r} was found as {found!r}.")
            return name if found is None else found

        fixed = dict(kwargs)
        for key in _NAMING:
            value = kwargs.get(key)
            if isinstance(value, (str, list)):
                fixed[key] = spell(value) if isinstance(value, str) else [spell(name) for name in value]
        return fixed

    def _serve(self, asked: str, kwargs: dict[str, Any]) -> pd.DataFrame:
        """The given bars in the shape that the text seems to expect of its own file."""
        self._ledger.note("semantic", f"The file {asked!r} does not exist: the given bars were used in its place.")
        frame = tables.from_bars(Path(self._bars or ""))
        if re.search(r"""['"]close['"]""", self._code) and not re.search(r"""['"]Close['"]""", self._code):
            frame.columns = [name.lower() for name in frame.columns]
        index = kwargs.get("index_col")
        if index is not None and index is not False:
            frame.index.name = index if isinstance(index, str) else "datetime"
            return frame
        named = [name for name in _STAMPS if re.search(rf"""['"]{name}['"]""", self._code)]
        if not named:
            return frame
        frame.index.name = named[0]
        return frame.reset_index()
