"""optimize() in a jail: the library wants a pool with a process for each CPU of the machine and its prices in shared
memory. Here each batch gets one forked child, one after another unless the host allows more.

A fork, and not a loop in this process, because a strategy may keep things in its class or in globals: they must not
leak from one set of parameters into the run whose statistics are shown. A child that is killed is an error at once;
the standard pool would wait for it for ever.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ringfence.guest import program

_NO_ANSWER = "a worker process of optimize() ended without an answer: it may have run out of memory"


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    pipe: int


@dataclass(frozen=True, slots=True)
class _Done:
    value: object


class Workers:
    """What the library uses of multiprocessing.Pool. `take_out` is called in a child when its batch is done, and
    what it returns is given to `bring_in` in the parent."""

    def __init__(self, count: int, take_out: Callable[[], object], bring_in: Callable[[Any], None]) -> None:
        self._count, self._take_out, self._bring_in = count, take_out, bring_in

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def imap(self, function: Callable[[Any], object], batches: Iterable[object]) -> Iterator[object]:
        waiting: deque[_Child | _Done] = deque()
        try:
            for batch in batches:
                waiting.append(self._start(function, batch))
                if len(waiting) >= self._count:
                    yield self._finish(waiting.popleft())
            while waiting:
                yield self._finish(waiting.popleft())
        finally:
            for child in waiting:
                if isinstance(child, _Child):
                    os.close(child.pipe)  # it dies of its broken pipe, or goes with the jail

    def _start(self, function: Callable[[Any], object], batch: object) -> _Child | _Done:
        program.flush_streams()
        ours, theirs = os.pipe()
        try:
            pid = os.fork()
        except OSError:  # no more processes are allowed: slower to isolate, but the same arithmetic
            os.close(ours)
            os.close(theirs)
            return _Done(function(batch))
        if pid:
            os.close(theirs)
            return _Child(pid, ours)
        answer: bytes = b""
        try:
            os.close(ours)
            answer = pickle.dumps((True, function(batch), self._take_out()))
        finally:  # whatever was raised is told to the parent: this process ends here
            error = sys.exc_info()[1]
            if error is not None:
                answer = _failure(error, self._take_out())
            with os.fdopen(theirs, "wb") as pipe:
                pipe.write(answer)
            program.flush_streams()
            os._exit(0)

    def _finish(self, child: _Child | _Done) -> object:
        if isinstance(child, _Done):
            return child.value
        with os.fdopen(child.pipe, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child.pid, 0)
        if not answer:
            raise RuntimeError(_NO_ANSWER)
        good, value, brought = pickle.loads(answer)
        self._bring_in(brought)
        if good:
            return value
        error, cause, text = value
        error.add_note(text)
        raise error from cause


def _failure(error: BaseException, taken_out: object) -> bytes:
    """An exception that cannot be pickled is told in words."""
    text = "".join(traceback.format_exception(error))[-20_000:]
    try:
        answer = pickle.dumps((False, (error, error.__cause__, text), taken_out))
        pickle.loads(answer)
    except (pickle.PickleError, TypeError, AttributeError, ValueError):
        words = RuntimeError(f"{type(error).__name__}: {error}"[:2_000])
        answer = pickle.dumps((False, (words, None, text), taken_out))
    return answer


class PrivateMemory:
    """In the place of shared memory: a fork has the parent's memory anyway, and this does not fill /dev/shm."""

    _blocks: dict[str, bytearray] = {}  # noqa: RUF012  # shared by all, as the system's names are
    _made = 0

    def __init__(self, name: str | None = None, create: bool = False, size: int = 0, track: bool = True) -> None:
        if name is None:
            PrivateMemory._made += 1
            name = f"block-{PrivateMemory._made}"
            self._blocks[name] = bytearray(size)
        self.name = name
        self.buf = memoryview(self._blocks[name])

    def close(self) -> None:
        """Arrays may still be views of it; it goes with the last of them."""

    def unlink(self) -> None:
        self._blocks.pop(self.name, None)


def hook(library: Any, count: int, take_out: Callable[[], object], bring_in: Callable[[Any], None]) -> None:
    library._util.SharedMemory = PrivateMemory
    library.Pool = lambda *_, **__: Workers(count, take_out, bring_in)
