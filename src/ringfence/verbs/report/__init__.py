"""The tear sheet: one Run as one HTML file that needs nothing else, and as one picture.

Everything a strategy wrote (its name, its reasons, its output, its code) is hostile here: it is spelled out by
`inert`, escaped by the template, and never becomes markup, script or style. The page's policy forbids every
download, and allows only the scripts and the style whose hashes it names.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringfence.base.errors import DataError
from ringfence.trade.bars import Candles
from ringfence.trade.run import Json

try:
    from ringfence.verbs.report.page import tear_sheet
except ModuleNotFoundError as e:
    raise DataError(f"a tear sheet needs {e.name}: run `pip install 'ringfence[trade]'`") from e

__all__ = ["tear_sheet", "summary_png"]


def summary_png(document: Mapping[str, Json], *, candles: Mapping[str, Candles] | None = None) -> bytes:
    """The run as a PNG: equity, drawdown, prices of the first instrument, key figures and badges."""
    from ringfence.verbs.report.picture import draw  # matplotlib takes longer to load than a page takes to make

    return draw(document, candles or {})
