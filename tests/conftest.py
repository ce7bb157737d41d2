"""Shared by all tests: what a missing component means, and who may have the machine to itself."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import engine

ROOT = Path(__file__).resolve().parent.parent

# Set where nothing may be left untried, as on the build machine: a skip is then a failure.
REQUIRE_ALL = os.environ.get("RINGFENCE_REQUIRE_ALL") == "1"


def _docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "version"], capture_output=True, timeout=30, check=False).returncode == 0


PROBES: Mapping[str, Callable[[], bool]] = {
    "linux": lambda: sys.platform == "linux",
    "root": lambda: os.geteuid() == 0,
    "docker": _docker_answers,
}


def require(component: str, present: bool | None = None) -> None:
    """Skip the calling test when `component` is not here, or fail it under RINGFENCE_REQUIRE_ALL=1.

    A component is a name in PROBES, a command on PATH or a Python module; `present` overrides the look.
    """
    if present is None:
        probe = PROBES.get(component)
        present = probe() if probe else _is_command_or_module(component)
    if present:
        return
    if REQUIRE_ALL:
        pytest.fail(f"{component} is missing, and RINGFENCE_REQUIRE_ALL=1 says that nothing may be", pytrace=False)
    pytest.skip(f"{component} is missing")


def _is_command_or_module(name: str) -> bool:
    return shutil.which(name) is not None or importlib.util.find_spec(name) is not None


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[str]:
    """The address of an engine that has the guest image, built from the code under test; DOCKER_HOST names it."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(engine.running_engine())
        except engine.EngineMissing as e:
            require(f"docker ({e})", present=False)
            raise  # for the type checker: `require` has raised
        yield address


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.sharing import Shares  # needs xdist, which a single test does without

    return Shares(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # The workers of xdist end first, and leave this to the process that they work for.
    if not hasattr(session.config, "workerinput"):
        engine.stop_ours()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is a declared gap and stays one; it carries `wasxfail`.
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and RINGFENCE_REQUIRE_ALL=1 says that nothing may be: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if REQUIRE_ALL and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"not collected, and RINGFENCE_REQUIRE_ALL=1 says that all must be: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with _machine(alone=item.get_closest_marker("alone") is not None):
        return (yield)


@contextmanager
def _machine(*, alone: bool) -> Iterator[None]:
    """Share the machine with the tests of other workers, or have it without them.

    Whoever wants it alone keeps the gate shut while it waits, so a stream of other tests cannot starve it.
    """
    place = Path(tempfile.gettempdir(), f"ringfence-tests-{os.geteuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    with open(place / "gate", "w") as gate, open(place / "machine", "w") as machine:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
