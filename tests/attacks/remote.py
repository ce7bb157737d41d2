"""A sandbox that an ordinary user has opened, in a process of its own, while whoever judges it stays root and outside.

`RemoteSandbox` is a Sandbox whose every call is made over there: a connection for each run and each session, on which
a call goes one way and what it printed, answered or raised comes back. Both ends are ours, so they speak pickle, and
each connection begins with a proof that it knows the key.
"""

from __future__ import annotations

import copyreg
import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ringfence import Job, Limits, Outcome, open_sandbox
from ringfence.sandbox import OnOutput, Sandbox, Session
from ringfence.sandbox.job import Cancel, Mount


def _frozen(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


copyreg.pickle(MappingProxyType, lambda values: (_frozen, (dict(values),)))


class RemoteSandbox:
    """`spec`, opened by the process that `prefix` makes of the interpreter: see tests/nobody.py."""

    def __init__(self, spec: str, prefix: Sequence[str], uid: int) -> None:
        self._uid, self._key = uid, secrets.token_hex(16)
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent.parent.parent,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([spec, self._key]).encode() + b"\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        assert said, f"{spec} was not opened as user {uid}: its process says why, above"
        self._address = said.decode().strip()

    @property
    def pid(self) -> int:
        """The supervisor's."""
        return self._process.pid

    def _connect(self) -> Connection:
        return Client("\0" + self._address, "AF_UNIX", authkey=self._key.encode())

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        for mount in job.mounts:
            assert isinstance(mount, Mount)
            give(mount.host, self._uid)
        if job.artifacts_dir is not None:
            give(job.artifacts_dir, self._uid)
        with self._connect() as line:
            outcome: Outcome = _ask(line, "run", {"job": job}, on_output, cancel)
        return outcome

    def open_session(
        self, *, limits: Limits | None = None, idle_seconds: float = 1800, seed: int | None = None
    ) -> RemoteSession:
        line = self._connect()
        try:
            _ask(line, "open_session", {"limits": limits, "idle_seconds": idle_seconds, "seed": seed})
        except BaseException:
            line.close()
            raise
        return RemoteSession(line)

    def warm_up(self) -> None:
        with self._connect() as line:
            _ask(line, "warm_up", {})

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait() == 0, "the supervisor did not end as it should"
        self._process.stdout.close()

    def __enter__(self) -> RemoteSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class RemoteSession:
    def __init__(self, line: Connection) -> None:
        self._line = line

    @property
    def alive(self) -> bool:
        return bool(_ask(self._line, "alive", {}))

    def run(
        self,
        code: str,
        *,
        limits: Limits | None = None,
        on_output: OnOutput | None = None,
        cancel: Cancel | None = None,
    ) -> Outcome:
        outcome: Outcome = _ask(self._line, "run", {"code": code, "limits": limits}, on_output, cancel)
        return outcome

    def close(self) -> None:
        if not self._line.closed:
            _ask(self._line, "close", {})
            self._line.close()

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def supervisor_of(sandbox: Sandbox) -> int:
    return sandbox.pid if isinstance(sandbox, RemoteSandbox) else os.getpid()


def give(path: Path, uid: int) -> None:
    """What a test has made in its own folder becomes the user's, as it would be if the user had made it."""
    if path.is_relative_to(tempfile.gettempdir()) and path.exists():
        for one in (path, *path.rglob("*")):
            if one.lstat().st_uid != uid:
                os.lchown(one, uid, uid)


def _ask(
    line: Connection,
    method: str,
    options: dict[str, Any],
    on_output: OnOutput | None = None,
    cancel: Cancel | None = None,
) -> Any:
    with _deep():
        line.send((method, options))
    waiting_for: list[Any] = [line] if cancel is None else [line, cancel]
    while True:
        if line not in wait(waiting_for):
            line.send(("cancel", {}))
            waiting_for.remove(cancel)
            continue
        kind, value = line.recv()
        if kind == "answer":
            return value
        if kind == "raised":
            raise value
        if on_output is not None:
            on_output(*value)


@contextmanager
def _deep() -> Iterator[None]:
    """Inputs may be nested as deep as JSON takes them, which is deeper than pickle goes."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


class _Hearing(Cancel):
    """Set as soon as the other end says another word, or hangs up."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def fileno(self) -> int:
        return self._line.fileno()

    def is_set(self, within_seconds: float = 0) -> bool:
        poll = select.poll()
        poll.register(self._line, select.POLLIN)
        return bool(poll.poll(within_seconds * 1000))


def _serve(line: Connection, sandbox: Sandbox) -> None:
    target: Any = sandbox
    try:
        while True:
            method, options = line.recv()
            if method == "cancel":
                continue  # what it was to stop has ended
            if method == "run":
                options |= {"cancel": _Hearing(line), "on_output": lambda *what: line.send(("output", what))}
            try:
                value = getattr(target, method)
                value = value(**options) if callable(value) else value
            except Exception as e:  # noqa: BLE001  whatever it is, it is raised at the other end
                line.send(("raised", e))
                continue
            if method == "open_session":
                target, value = value, None
            line.send(("answer", value))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the other end has hung up
    finally:
        line.close()
        if target is not sandbox:
            session: Session = target
            session.close()


def main() -> None:
    spec, key = json.loads(sys.stdin.readline())
    address = f"ringfence-remote-{os.getpid()}-{secrets.token_hex(6)}"
    with open_sandbox(spec) as sandbox, Listener("\0" + address, "AF_UNIX", backlog=64, authkey=key.encode()) as door:

        def accept() -> None:
            while True:
                threading.Thread(target=_serve, args=(door.accept(), sandbox), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.stdout.write(address + "\n")
        sys.stdout.flush()
        sys.stdin.read()  # until whoever judges has done with us, or has died
    os._exit(0)  # the threads wait for calls that nobody will make
