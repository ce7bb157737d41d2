"""Fixtures of the attacks. Every backend in BACKENDS has to contain every attack.

A container costs far more than a fork, so a test says what of it is worth a container:

    @pytest.mark.backends("native", why="a zygote is what only that one has")      not run elsewhere
    @pytest.mark.container_sample("sleep", "busy_loop", why="one clock stops them all")     of a table, only these
    REPEATS[backend]                                                               how often to try one's luck

An ordinary user's jails are forked as root's are, so most attacks end as they do there: OF_THE_USER, OF_NO_USER and
OF_THE_GROUPS say which are tried again. RINGFENCE_TEST_ALL=1 runs every attack on every backend.

What a backend should contain and does not stands in KNOWN_GAPS: it runs, and is expected to fail.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from ringfence import Outcome
from ringfence.sandbox import Sandbox
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.native.fence import NativeSandbox

from tests.attacks import containers
from tests.attacks.attack import NEIGHBOURS, QUICK, Attack, assert_serves, assert_starts, run_attack
from tests.attacks.backends import BACKENDS, OF_A_USER, USER_ID, open_on, ordinary_user
from tests.attacks.canary import Canary
from tests.attacks.remote import RemoteSandbox, supervisor_of
from tests.patience import PATIENCE_SECONDS

# By backend: the name of a test, with what it is parametrised by besides, and why it cannot hold there.
KNOWN_GAPS: Mapping[str, Mapping[str, str]] = {
    "native": {},
    "native_user": {
        "test_a_thread_bomb_that_fails_is_told_apart": "a thread that RLIMIT_NPROC refuses is counted nowhere, so the "
        "status stays `error`",
    },
    "native_delegated": {},
    "docker": {
        "test_shadow_modules_in_the_quant_profile": "a container has not imported matplotlib ahead, so the "
        "program's own import of it finds the program's own files; nothing of ours does",
    },
}
PR_SET_CHILD_SUBREAPER = 36
TIMEOUT_SECONDS = 4 * PATIENCE_SECONDS  # whatever is still running then hangs, and fails by name
# Which modules' attacks are tried again as an ordinary user: all of these tables,
OF_THE_USER = frozenset({"disk", "files", "kernel", "meetings", "memory", "mounts", "processes", "supervision"})
# none of these, which are about texts that the guest makes and the host reads, whoever runs them,
OF_NO_USER = frozenset({"crashes", "forgery", "harness", "lint_bypass", "output", "randomness", "results"})
# a sample of the others; and with control groups of its own, a sample of what these count.
OF_THE_GROUPS = frozenset({"files", "memory", "processes", "supervision", "supervisor_hangs", "time"})


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "backends(*names, why): an attack on what only these backends have")
    config.addinivalue_line("markers", "container_sample(*ids, why): of this table, all but root on native run these")


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
    backend, module = _backend(item), item.path.stem.removeprefix("test_")
    if backend in (None, "native") or os.environ.get("RINGFENCE_TEST_ALL") == "1":
        return True
    if backend in OF_A_USER:
        left_out = module in OF_NO_USER if backend == "native_user" else module not in OF_THE_GROUPS
        # The libraries take long to import, and `test_unprivileged` has them.
        if left_out or "quant" in getattr(item, "fixturenames", ()):
            return False
    marker = item.get_closest_marker("container_sample")
    if marker is None or (backend == "native_user" and module in OF_THE_USER):
        return True
    return _name(item).partition("[")[2].removesuffix("]") in marker.args


@pytest.fixture(scope="session", autouse=True)
def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that none gets out of the host's sight."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@pytest.fixture(scope="session")
def canary() -> Iterator[Canary]:
    canary = Canary(USER_ID)
    yield canary
    canary.close()


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "docker":
            request.getfixturevalue("docker_engine")
            stack.enter_context(containers.watched_engine())
        if request.param in OF_A_USER:
            stack.enter_context(ordinary_user(groups=request.param == "native_delegated"))
        yield str(request.param)


def _opened(backend: str, options: str) -> Iterator[Sandbox]:
    with open_on(backend, options) as sandbox, ExitStack() as stack:
        assert_starts(sandbox)
        if isinstance(sandbox, DockerSandbox):
            session = stack.enter_context(sandbox.open_session(limits=QUICK, idle_seconds=24 * 3600))
            NEIGHBOURS[sandbox] = session
            stack.callback(NEIGHBOURS.pop, sandbox)
            assert_serves(sandbox)
            assert sandbox.wait_parked(1, PATIENCE_SECONDS)
            stack.enter_context(containers.at_rest(2))
        yield sandbox


@pytest.fixture(scope="session")
def sandbox(backend: str, canary: Canary) -> Iterator[Sandbox]:
    """The plain profile: nothing imported beforehand, which is all that most attacks need."""
    yield from _opened(backend, "profile=plain,park=1")


@pytest.fixture
def supervisor(sandbox: Sandbox) -> int:
    """The process that serves `sandbox`, for a look at what it holds."""
    return supervisor_of(sandbox)


@pytest.fixture(scope="session")
def quant(backend: str, canary: Canary) -> Iterator[Sandbox]:
    """The profile with numpy, pandas and the other libraries of the field, all of it standing: what starts in the
    background while an attack runs would look as if the attack had left it."""
    for sandbox in _opened(backend, "profile=quant,park=1"):
        if isinstance(sandbox, (NativeSandbox, RemoteSandbox)):
            sandbox.warm_up()
        yield sandbox


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where the backend's user can reach it: what pytest makes lies in a folder of root's."""
    spec = getattr(request.node, "callspec", None)
    if spec is None or spec.params.get("backend") not in OF_A_USER:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="ringfence-attack-") as place:
        os.chown(place, USER_ID, USER_ID)
        yield Path(place)


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
