"""Line editing at a prompt, with a history that is kept where its file can be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LINES = 1000


@contextmanager
def history(name: str) -> Iterator[None]:
    try:
        import readline  # importing it is what gives input() line editing
    except ImportError:
        yield
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    file = state / "ringfence" / f"{name}_history"
    try:
        readline.read_history_file(file)
    except OSError:
        pass  # the first time, or a home that cannot be read: start without
    try:
        yield
    finally:
        readline.set_history_length(_LINES)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)
        except OSError:
            pass  # nothing the user asked for is lost
