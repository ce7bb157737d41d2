"""The sessions of a server: few, each with an id that cannot be guessed, ended when they have been idle."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass

from ringfence.base.errors import InputError, RefusedError, SandboxError
from ringfence.mcp.fence import Fence, Hold
from ringfence.sandbox import Session
from ringfence.sandbox.job import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    session_id: str
    session: Session
    limits: Limits
    hold: Hold


class Sessions:
    """Safe from many threads."""

    def __init__(self, fence: Fence, *, most: int, idle_seconds: float) -> None:
        self._fence, self._most, self.idle_seconds = fence, most, idle_seconds
        self._open: dict[str, Opened] = {}
        self._coming = 0
        self._lock = threading.Lock()

    def create(self, limits: Limits, seed: int | None) -> Opened:
        self._forget_ended()
        with self._lock:
            if len(self._open) + self._coming >= self._most:
                raise RefusedError(
                    f"all {self._most} sessions of this server are open: close one with session_close, "
                    f"or wait until one has been idle for {self.idle_seconds:g} s"
                )
            self._coming += 1
        try:
            opened = self._start(limits, seed)
            with self._lock:
                self._open[opened.session_id] = opened
        finally:
            with self._lock:
                self._coming -= 1
        return opened

    def _start(self, limits: Limits, seed: int | None) -> Opened:
        hold = self._fence.take()
        try:
            session = hold.sandbox.open_session(limits=limits, idle_seconds=self.idle_seconds, seed=seed)
        except SandboxError:
            self._fence.retire(hold)
            self._fence.give_back(hold)
            raise
        except BaseException:
            self._fence.give_back(hold)
            raise
        return Opened(session_id=secrets.token_hex(16), session=session, limits=limits, hold=hold)

    def find(self, session_id: str) -> Opened:
        with self._lock:
            opened = self._open.get(session_id)
        if opened is not None and not opened.session.alive:
            self.close(session_id)
            raise InputError("this session has ended, and its variables with it: open another with session_create")
        if opened is None:
            raise InputError(
                f"there is no session {session_id!r}: it was closed, ended after {self.idle_seconds:g} s without a "
                "cell, or the id is wrong; open one with session_create"
            )
        return opened

    def close(self, session_id: str) -> None:
        with self._lock:
            opened = self._open.pop(session_id, None)
        if opened is not None:
            opened.session.close()
            self._fence.give_back(opened.hold)

    def close_all(self) -> None:
        with self._lock:
            ids = list(self._open)
        for session_id in ids:
            self.close(session_id)

    def _forget_ended(self) -> None:
        with self._lock:
            ended = [session_id for session_id, opened in self._open.items() if not opened.session.alive]
        for session_id in ended:
            self.close(session_id)
