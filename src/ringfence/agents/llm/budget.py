"""What models may cost: per run, which is as long as the agent lives, and per day, for all processes of this user.

Each request is one line in `RINGFENCE_HOME/models/DAY.jsonl` (the day is UTC's), written under a lock. Before a request
the sums are compared with the limits. A request that is under way is finished, so a limit may be passed by the requests
that were under way when it was reached.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ringfence.base.errors import AgentError, BudgetError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    run_usd: float | None = None
    day_usd: float | None = None
    run_tokens: int | None = None
    day_tokens: int | None = None

    @property
    def money(self) -> bool:
        return self.run_usd is not None or self.day_usd is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums over requests. Those whose price nobody knows count in tokens only."""

    usd: float = 0.0
    tokens: int = 0
    requests: int = 0
    unpriced: int = 0

    def plus(self, *, usd: float | None, tokens: int) -> Spent:
        return Spent(
            usd=self.usd + (usd or 0.0),
            tokens=self.tokens + tokens,
            requests=self.requests + 1,
            unpriced=self.unpriced + (usd is None),
        )


class Budget:
    """May be used from many threads at once."""

    def __init__(
        self, limits: Limits, folder: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._limits, self._folder, self._now = limits, folder, now
        self._run = Spent()
        self._lock = threading.Lock()

    @property
    def run(self) -> Spent:
        return self._run

    def check(self) -> None:
        """BudgetError where something is spent to its limit."""
        limits = self._limits
        _compare("this run", self._run, limits.run_usd, limits.run_tokens, "RUN")
        if limits.day_usd is not None or limits.day_tokens is not None:
            _compare("today", self.today(), limits.day_usd, limits.day_tokens, "DAY")

    def spend(self, model: str, *, input_tokens: int, output_tokens: int, usd: float | None) -> None:
        tokens = input_tokens + output_tokens
        with self._lock:
            self._run = self._run.plus(usd=usd, tokens=tokens)
        now = self._now()
        line = {
            "at": now.isoformat(timespec="seconds"),
            "model": model,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "usd": usd,
        }
        with self._open(now, fcntl.LOCK_EX) as fd:
            size = os.fstat(fd).st_size
            # A process that was killed in the middle of a line must not spoil the next one.
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            os.write(fd, (b"\n" if torn else b"") + json.dumps(line).encode() + b"\n")

    def today(self) -> Spent:
        with self._open(self._now(), fcntl.LOCK_SH) as fd:
            raw = os.pread(fd, os.fstat(fd).st_size, 0)
        spent = Spent()
        for line in raw.decode("utf-8", "replace").splitlines():
            entry = _entry(line)
            if entry is not None:
                spent = spent.plus(usd=entry[1], tokens=entry[0])
        return spent

    @contextmanager
    def _open(self, now: datetime, lock: int) -> Iterator[int]:
        path = self._folder / f"{now.astimezone(UTC):%Y-%m-%d}.jsonl"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as e:
            raise AgentError(
                f"what models cost cannot be kept in {str(path)!r} ({e.strerror}): "
                "set RINGFENCE_HOME to a folder of yours"
            ) from e
        try:
            fcntl.flock(fd, lock)
            yield fd
        finally:
            os.close(fd)


def _entry(line: str) -> tuple[int, float | None] | None:
    """Tokens and price of one line; None for the torn line of a process that was killed."""
    try:
        raw = json.loads(line)
        usd = raw["usd"]
        return int(raw["input_tokens"]) + int(raw["output_tokens"]), None if usd is None else float(usd)
    except (ValueError, KeyError, TypeError):
        return None


def _compare(when: str, spent: Spent, usd: float | None, tokens: int | None, name: str) -> None:
    if usd is not None and spent.usd >= usd:
        raise BudgetError(
            f"{when} {spent.usd:.4f} of {usd:g} USD for models are spent: raise RINGFENCE_MODEL_{name}_USD, or wait"
        )
    if tokens is not None and spent.tokens >= tokens:
        raise BudgetError(
            f"{when} {spent.tokens:,} of {tokens:,} tokens are used: raise RINGFENCE_MODEL_{name}_TOKENS, or wait"
        )
