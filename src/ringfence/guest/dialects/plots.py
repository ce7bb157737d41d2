"""bt.plot() in a jail: a self-contained page in the working directory. It comes back as an artifact."""

from __future__ import annotations

import functools
import os
import webbrowser
from collections.abc import Callable
from typing import Any

_FOLDER = "/job"
_MOST = 20

# A drawing may fail in as many ways as the drawing libraries have lines; none of them is worth a script's result.
DRAWING_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Plots:
    """The files made, and what is said where one was not."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.files: list[str] = []
        self._warn = warn

    def hook(self, library: Any) -> None:
        from bokeh.settings import settings

        settings.resources = "inline"  # a page that is opened somewhere else finds no network
        library._plotting._add_popcon = lambda: None  # it would tell the library's author who looks at the page
        library.backtesting.Backtest.plot = self._drawing(library.backtesting.Backtest.plot)
        library.lib.plot_heatmaps = self._drawing(library.lib.plot_heatmaps)
        _silence_browsers()

    def _drawing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def draw(*args: object, **kwargs: Any) -> Any:
            if len(self.files) >= _MOST:
                self._warn(f"plot(): more than {_MOST} plots; this one was not drawn")
                return None
            path = self._place(kwargs.get("filename"))
            kwargs |= {"filename": path, "open_browser": False}
            try:
                figure = original(*args, **kwargs)
            except DRAWING_ERRORS as e:
                self._warn(f"plot() failed and was left out: {type(e).__name__}: {e}")
                return None
            self.files.append(os.path.relpath(path, _FOLDER))
            return figure

        return draw

    def _place(self, asked: object) -> str:
        """The script's own file name where it can be written, else plot.html, plot-2.html and so on."""
        if isinstance(asked, (str, os.PathLike)) and os.fspath(asked):
            path = os.path.abspath(str(os.fspath(asked)))
            path = path if path.endswith(".html") else path + ".html"
            if os.path.isdir(os.path.dirname(path)) and os.access(os.path.dirname(path), os.W_OK):
                return path
        number = len(self.files) + 1
        return os.path.join(_FOLDER, "plot.html" if number == 1 else f"plot-{number}.html")


def _silence_browsers() -> None:
    class Nobody(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            return True

    nobody = Nobody("nobody")
    webbrowser.get = lambda using=None: nobody
    webbrowser.open = nobody.open
    webbrowser.open_new = nobody.open_new
    webbrowser.open_new_tab = nobody.open_new_tab
