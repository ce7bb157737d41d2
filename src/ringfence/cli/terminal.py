"""Writing to the terminal: guest output made harmless, and a progress line that goes away.

A terminal obeys what it is sent: escape sequences can retitle it, type into it or hide text, so what
a guest wrote is shown on a terminal with its control characters spelled out. A pipe or a file gets
the guest's bytes unchanged.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from ringfence.sandbox import Stream

# C0 but tab and newline, DEL, C1, line and paragraph separators, and the marks that reorder text on screen.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TICK_SECONDS = 0.1
_ERASE = "\r\x1b[K"


def clean(text: str) -> str:
    """`text` with every character a terminal would act on spelled out, such as \\x1b."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def clean_line(text: str) -> str:
    """The same for what must stay on one line."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def say(sentence: str) -> None:
    """One sentence of ours on standard error."""
    sentence = clean_line(sentence) if sys.stderr.isatty() else sentence
    emit(sys.stderr, f"ringfence: {sentence}\n")


def emit(stream: TextIO, text: str) -> None:
    """Write text that may hold what the stream's encoding cannot say."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class _Cleaner:
    """Bytes of one guest stream, as they come, to text that is safe on a terminal."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""  # a carriage return whose newline may be in the next piece

    def __call__(self, data: bytes, final: bool = False) -> str:
        text = self._held + self._decode(data, final)
        self._held = "\r" if text.endswith("\r") and not final else ""
        text = text[: len(text) - len(self._held)].replace("\r\n", "\n")
        # A lone carriage return is how progress bars go back; here each state gets a line, so nothing is hidden.
        return clean(text.replace("\r", "\n"))


class Screen:
    """Both of our streams, written from any thread, with at most one progress line below what was written."""

    def __init__(
        self,
        *,
        on_broken: Callable[[], None] = lambda: None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._streams: dict[Stream, TextIO] = {"stdout": stdout or sys.stdout, "stderr": stderr or sys.stderr}
        self._cleaners = {name: _Cleaner() for name in self._streams}
        self._lock = threading.Lock()
        self._line_start = True  # the terminal's cursor is in the first column
        self._drawn = False
        self._on_broken = on_broken
        self.broken = False  # the reader of one of our streams went away

    def guest(self, name: Stream, data: bytes) -> None:
        """Show what the guest wrote."""
        stream = self._streams[name]
        if stream.isatty():
            self._put(stream, self._cleaners[name](data))
        else:
            self._put(stream, data)

    def end(self) -> None:
        """Show what was held back, and leave the terminal's cursor at the start of a line."""
        for name, stream in self._streams.items():
            if stream.isatty():
                self._put(stream, self._cleaners[name](b"", final=True))
        if not self._line_start:
            terminal = next(stream for stream in self._streams.values() if stream.isatty())
            self._put(terminal, "\n")

    @contextmanager
    def progress(self, limit_seconds: float) -> Iterator[None]:
        """Show elapsed and allowed time while the body runs, on a terminal that can take it back."""
        if not self._streams["stderr"].isatty() or os.environ.get("TERM", "dumb") == "dumb":
            yield
            return
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(over, limit_seconds), name="progress", daemon=True)
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()
            with self._lock:
                self._erase()

    def _tick(self, over: threading.Event, limit_seconds: float) -> None:
        start = time.monotonic()
        # The first tick comes late: a run of milliseconds should not flicker.
        while not over.wait(_TICK_SECONDS):
            elapsed = time.monotonic() - start
            if elapsed < 3 * _TICK_SECONDS:
                continue
            with self._lock:
                if self._line_start and not over.is_set():
                    emit(self._streams["stderr"], f"{_ERASE}running {elapsed:.1f} s of {limit_seconds:g} s")
                    self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            emit(self._streams["stderr"], _ERASE)
            self._drawn = False

    def _put(self, stream: TextIO, data: str | bytes) -> None:
        if not data or self.broken:
            return
        with self._lock:
            self._erase()
            try:
                if isinstance(data, str):
                    emit(stream, data)
                    self._line_start = data.endswith("\n")
                else:
                    stream.flush()
                    stream.buffer.write(data)
                    stream.buffer.flush()
            except BrokenPipeError:
                self.broken = True
        if self.broken:
            self._on_broken()
