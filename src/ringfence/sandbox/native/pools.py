"""The pools of one sandbox: one of the lean profile, and one of the full one from the first job on that wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ringfence.base.errors import SandboxError
from ringfence.sandbox.native.pool import Pool
from ringfence.sandbox.native.profiles import Profile


class Pools:
    def __init__(self, make: Callable[[Sequence[str]], Pool], profile: Profile) -> None:
        self._make, self._profile = make, profile
        self.lean = make(profile.lean)
        self._full: Pool | None = None
        self._starter: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closing = False

    def pool_for(self, code: str | None) -> Pool:
        """The pool for a program. The full one is started in the background: until it stands, the lean one serves,
        and the program imports for itself what it wants."""
        if code is None or not self._profile.wants_full(code):
            return self.lean
        self._begin_full()
        return self._full or self.lean

    def _begin_full(self) -> threading.Thread | None:
        with self._lock:
            if self._full is None and self._starter is None and not self._closing:
                self._starter = threading.Thread(target=self._start_full, name="ringfence-full", daemon=True)
                self._starter.start()
            return self._starter

    def warm_up(self) -> None:
        """Start the full one now, if the profile has one, and wait until it stands."""
        starter = self._begin_full() if self._profile.full else None
        if starter is not None:
            starter.join()

    def _start_full(self) -> None:
        try:
            full = self._make(self._profile.full)
        except (SandboxError, OSError):
            full = None  # the lean one goes on serving; the next program that wants the full one tries again
        with self._lock:
            self._full, self._starter = full, None

    def close(self) -> None:
        with self._lock:
            self._closing = True
            starter = self._starter
        if starter is not None:
            starter.join()
        self.lean.close()
        if self._full is not None:
            self._full.close()
