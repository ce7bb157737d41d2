"""Fixtures of the attacks. Every backend in BACKENDS has to contain every attack."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringfence import Outcome, open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.sandbox.native.fence import NativeSandbox

from tests.attacks.attack import Attack, assert_serves, run_attack
from tests.attacks.canary import Canary

BACKENDS = ("native",)
PR_SET_CHILD_SUBREAPER = 36
TIMEOUT_SECONDS = 60  # an attack takes seconds: whatever is still running then hangs, and fails by name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


@pytest.fixture(scope="session", autouse=True)
def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that none gets out of the host's sight."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@pytest.fixture(scope="session")
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _opened(spec: str) -> Iterator[Sandbox]:
    with open_sandbox(spec) as sandbox:
        assert_serves(sandbox)
        yield sandbox


@pytest.fixture(scope="session")
def sandbox(backend: str, canary: Canary) -> Iterator[Sandbox]:
    """The plain profile: nothing imported beforehand, which is all that most attacks need."""
    yield from _opened(f"{backend}:profile=plain,park=1")


@pytest.fixture(scope="session")
def quant(backend: str, canary: Canary) -> Iterator[Sandbox]:
    """The profile with numpy, pandas and the other libraries of the field, all of it standing: what starts in the
    background while an attack runs would look as if the attack had left it."""
    for sandbox in _opened(f"{backend}:profile=quant,park=1"):
        if isinstance(sandbox, NativeSandbox):
            sandbox.warm_up()
        yield sandbox


@pytest.fixture
def contain(sandbox: Sandbox, canary: Canary) -> Callable[[Attack], Outcome]:
    """`contain(attack)`: run_attack on the plain profile."""
    return lambda attack: run_attack(sandbox, canary, attack)
