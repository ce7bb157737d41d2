"""The fence: a Job goes in, an Outcome comes out. Each backend is one module with `create(options)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from ringfence.base.plugins import find_plugin
from ringfence.sandbox.job import Cancel, Job, Limits
from ringfence.sandbox.outcome import Outcome

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, bytes], None]


class Sandbox(Protocol):
    """A backend. `run` may be called from many threads at once."""

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome: ...

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> Session: ...

    def close(self) -> None: ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *exc: object) -> None: ...


class Session(Protocol):
    """A Sandbox that stays: cells share variables, each cell has its own limits, streams and Outcome."""

    @property
    def alive(self) -> bool: ...

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome: ...

    def close(self) -> None: ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *exc: object) -> None: ...


def open_sandbox(spec: str = "native") -> Sandbox:
    """Open a backend by name, with options after a colon: `native:profile=plain,park=4`."""
    name, _, rest = spec.partition(":")
    options = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    create: Callable[[dict[str, str]], Sandbox] = find_plugin("ringfence.sandbox", name)
    return create(options)


def open_session(
    spec: str = "native", *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
) -> Session:
    """Open a Session on a sandbox of its own, which closes with it."""
    sandbox = open_sandbox(spec)
    try:
        return _OwnSession(sandbox, sandbox.open_session(limits=limits, idle_seconds=idle_seconds, seed=seed))
    except BaseException:
        sandbox.close()
        raise


class _OwnSession:
    """A Session that closes the sandbox it was opened on."""

    def __init__(self, sandbox: Sandbox, session: Session) -> None:
        self._sandbox, self._session = sandbox, session

    @property
    def alive(self) -> bool:
        return self._session.alive

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        return self._session.run(code, limits=limits, on_output=on_output, cancel=cancel)

    def close(self) -> None:
        self._session.close()
        self._sandbox.close()

    def __enter__(self) -> _OwnSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
