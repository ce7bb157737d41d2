"""A PostgreSQL server of our own: made from nothing, reached only through a socket of its own directory, gone after."""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sqlalchemy import create_engine, make_url, text

from tests.conftest import require

_USERS = ("postgres", "nobody")
_START_SECONDS = 60
_PR_SET_PDEATHSIG = 1
_NUMBERS = itertools.count(1)


@contextmanager
def private_postgres() -> Iterator[str]:
    """The URL of a fresh server, as its superuser. The server refuses root, so root starts it as somebody else."""
    require("initdb")
    require("postgres")
    place = Path(tempfile.mkdtemp(prefix="ringfence-pg-", dir="/tmp"))  # a socket's path must be short
    user = _somebody()
    if user is not None:
        os.chown(place, user.pw_uid, user.pw_gid)
    try:
        _run_initdb(place, user)
        server = _start(place, user)
        try:
            url = f"postgresql+psycopg://ringfence@/postgres?host={place}"
            _wait(url, server, place)
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # fast shutdown: sessions are ended, data is written
            try:
                server.wait(_START_SECONDS)
            finally:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(place)


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """The URL of an empty database on the server, dropped after."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    _administer(server, f"CREATE DATABASE {name}")
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def _administer(server: str, statement: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()


def _somebody() -> pwd.struct_passwd | None:
    """Whom to become, if we are root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in _USERS if name in known)


def _run_initdb(place: Path, user: pwd.struct_passwd | None) -> None:
    words = ["initdb", "--pgdata", str(place / "data"), "--username", "ringfence", "--auth", "trust"]
    words += ["--encoding", "UTF8", "--locale", "C", "--no-sync"]
    with open(place / "initdb.log", "wb") as log:
        made = _popen(words, place, user, log)
        made.wait(120)
    assert made.returncode == 0, (place / "initdb.log").read_text()


def _start(place: Path, user: pwd.struct_passwd | None) -> subprocess.Popen[bytes]:
    # Without fsync: what is killed in these tests is a process, and the kernel keeps what a process has written.
    settings = ["listen_addresses=", "fsync=off", "max_connections=200"]
    words = ["postgres", "-D", str(place / "data"), "-k", str(place)]
    words += [word for setting in settings for word in ("-c", setting)]
    with open(place / "log", "wb") as log:
        return _popen(words, place, user, log)


def _popen(words: list[str], place: Path, user: pwd.struct_passwd | None, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdout=log,
        stderr=log,
        cwd=place,
        umask=0o077,
        preexec_fn=_die_with_us,
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
    )


def _die_with_us() -> None:
    """A test run that is killed leaves no server behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _wait(url: str, server: subprocess.Popen[bytes], place: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while subprocess.run(["pg_isready", "-h", str(place)], capture_output=True, check=False).returncode != 0:
        assert server.poll() is None, (place / "log").read_text()
        assert time.monotonic() < deadline, (place / "log").read_text()
        time.sleep(0.05)
