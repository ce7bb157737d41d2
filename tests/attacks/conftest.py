"""Fixtures of the attacks. Every backend in BACKENDS has to contain every attack.

A container costs far more than a fork, so a test says what of it is worth a container:

    @pytest.mark.backends("native", why="a zygote is what only that one has")      not run elsewhere
    @pytest.mark.container_sample("sleep", "busy_loop", why="one clock stops them all")     of a table, only these;
                                                                                   RINGFENCE_TEST_ALL=1 runs the rest
    REPEATS[backend]                                                               how often to try one's luck

What a backend should contain and does not stands in KNOWN_GAPS: it runs, and is expected to fail.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringfence import Outcome, open_sandbox
from ringfence.sandbox import Sandbox
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.native.fence import NativeSandbox

from tests.attacks import containers
from tests.attacks.attack import NEIGHBOURS, PARK_SECONDS, QUICK, Attack, assert_serves, assert_starts, run_attack
from tests.attacks.canary import Canary

BACKENDS = ("native", "docker")
# By backend: the name of a test, with what it is parametrised by besides, and why it cannot hold there.
KNOWN_GAPS: Mapping[str, Mapping[str, str]] = {
    "native": {},
    "docker": {
        "test_shadow_modules_in_the_quant_profile": "a container has not imported matplotlib ahead, so the "
        "program's own import of it finds the program's own files; nothing of ours does",
    },
}
PR_SET_CHILD_SUBREAPER = 36
TIMEOUT_SECONDS = 60  # an attack takes seconds: whatever is still running then hangs, and fails by name


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "backends(*names, why): an attack on what only these backends have")
    config.addinivalue_line("markers", "container_sample(*ids, why): of this table, docker runs these")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("backends")
        metafunc.parametrize("backend", marker.args if marker else BACKENDS, indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    for item in here:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
        if reason := KNOWN_GAPS.get(_backend(item) or "", {}).get(_name(item)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    _check_samples(here)
    left_out = [item for item in here if not _is_wanted(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _backend(item: pytest.Item) -> str | None:
    spec = getattr(item, "callspec", None)
    return spec.params.get("backend") if spec else None


def _name(item: pytest.Item) -> str:
    """The test's name without its backend: `test_x[sleep]`."""
    head, _, rest = item.name.partition("[")
    parts = [part for part in rest.removesuffix("]").split("-") if part != _backend(item)]
    return f"{head}[{'-'.join(parts)}]" if parts else head


def _check_samples(items: list[pytest.Item]) -> None:
    """A sample that names what is not in its table leaves an attack out; only a whole table can be judged."""
    tables: dict[tuple[Path, str], set[str]] = {}
    for item in items:
        head, _, rest = _name(item).partition("[")
        tables.setdefault((item.path, head), set()).add(rest.removesuffix("]"))
    for item in items:
        marker = item.get_closest_marker("container_sample")
        known = tables[item.path, _name(item).partition("[")[0]]
        if marker is not None and len(known) > len(marker.args) and not known.issuperset(marker.args):
            raise pytest.UsageError(
                f"{item.nodeid}: its container_sample has {set(marker.args) - known}, its table has not"
            )


def _is_wanted(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("container_sample")
    if marker is None or _backend(item) != "docker" or os.environ.get("RINGFENCE_TEST_ALL") == "1":
        return True
    return _name(item).partition("[")[2].removesuffix("]") in marker.args


@pytest.fixture(scope="session", autouse=True)
def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that none gets out of the host's sight."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@pytest.fixture(scope="session")
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "docker":
            request.getfixturevalue("docker_engine")
            stack.enter_context(containers.watched_engine())
        yield str(request.param)


def _opened(spec: str) -> Iterator[Sandbox]:
    with open_sandbox(spec) as sandbox, ExitStack() as stack:
        assert_starts(sandbox)
        if isinstance(sandbox, DockerSandbox):
            session = stack.enter_context(sandbox.open_session(limits=QUICK, idle_seconds=24 * 3600))
            NEIGHBOURS[sandbox] = session
            stack.callback(NEIGHBOURS.pop, sandbox)
            assert_serves(sandbox)
            assert sandbox.wait_parked(1, PARK_SECONDS)
            stack.enter_context(containers.at_rest(2))
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


@pytest.fixture(scope="module", autouse=True)
def newcomers_are_served(request: pytest.FixtureRequest) -> Iterator[None]:
    """After the attacks of a module a new container still serves; on each one only the neighbour is asked."""
    yield
    for sandbox in NEIGHBOURS:
        assert_starts(sandbox)
