"""The sessions of a server: few, each with an id that cannot be guessed, ended when they have been idle."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from dataclasses import dataclass

from ringfence.base.errors import InputError, RefusedError
from ringfence.mcp.clients import Client
from ringfence.mcp.fence import Fence, Hold
from ringfence.sandbox import Session
from ringfence.sandbox.job import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    session_id: str
    client: Client
    session: Session
    limits: Limits
    hold: Hold


class Sessions:
    """Safe from many threads."""

    def __init__(self, fence: Fence, *, most: int, idle_seconds: float) -> None:
        self._fence, self._most, self.idle_seconds = fence, most, idle_seconds
        self._open: dict[str, Opened] = {}
        self._coming: Counter[Client] = Counter()
        self._lock = threading.Lock()

    def create(self, client: Client, limits: Limits, seed: int | None) -> Opened:
        self._forget_ended()
        with self._lock:
            has_one = client in self._coming or any(opened.client == client for opened in self._open.values())
            # Who has none may open one though others have taken all places.
            if len(self._open) + self._coming.total() >= (self._most if has_one else 2 * self._most):
                raise RefusedError(
                    f"all {self._most} sessions of this server are open: close one with session_close, "
                    f"or wait until one has been idle for {self.idle_seconds:g} s"
                )
            self._coming[client] += 1
        try:
            opened = self._start(client, limits, seed)
            with self._lock:
                self._open[opened.session_id] = opened
        finally:
            with self._lock:
                self._coming -= Counter([client])
        return opened

    def _start(self, client: Client, limits: Limits, seed: int | None) -> Opened:
        hold = self._fence.take()
        try:
            session = hold.sandbox.open_session(limits=limits, idle_seconds=self.idle_seconds, seed=seed)
        except BaseException as e:
            self._fence.failed(hold, e)
            self._fence.give_back(hold)
            raise
        return Opened(session_id=secrets.token_hex(16), client=client, session=session, limits=limits, hold=hold)

    def find(self, client: Client, session_id: str) -> Opened:
        """Another client's gets the answer of one that there is not."""
        with self._lock:
            opened = self._open.get(session_id)
        if opened is None or opened.client != client:
            raise InputError(
                f"there is no session {session_id!r}: it was closed, ended after {self.idle_seconds:g} s without a "
                "cell, or the id is wrong; open one with session_create"
            )
        if not opened.session.alive:
            self.close(session_id)
            raise InputError("this session has ended, and its variables with it: open another with session_create")
        return opened

    def forget(self, client: Client) -> None:
        """It is gone for good: nobody can use its sessions any more."""
        with self._lock:
            ids = [session_id for session_id, opened in self._open.items() if opened.client == client]
        for session_id in ids:
            self.close(session_id)

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
