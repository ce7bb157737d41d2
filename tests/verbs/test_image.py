"""The guest image: which libraries go in and how, what the build is told, and what is said when it fails."""

from __future__ import annotations

import io
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox.docker.image import PYTHON as GUEST_PYTHON, find_image, read_source, source_hash
from ringfence.verbs.image.base import HERE, Interpreter, default_base
from ringfence.verbs.image.context import Context
from ringfence.verbs.image.engine import build, open_engine, refusal
from ringfence.verbs.image.libraries import Library, find_libraries, installed_files, unpack_wheels, why_not_copied

from tests.conftest import ROOT

if TYPE_CHECKING:
    from docker import DockerClient

PYTHON = Interpreter(
    version=platform.python_version(),
    soabi=str(sysconfig.get_config_var("SOABI")),
    machine=platform.machine(),
    libc="glibc 2.36",
)
DEMO = Library(name="demo", requirement="demo==1.0", version="1.0", asked_for=True)


# Which libraries


def test_the_guests_libraries_come_with_all_that_they_need_in_the_versions_here() -> None:
    found = {library.name: library for library in find_libraries(PYTHON)}
    asked_for = {name for name, library in found.items() if library.asked_for}
    assert {"numpy", "pandas", "ta-lib", "scikit-learn", "matplotlib", "backtesting"} <= asked_for
    assert {"python-dateutil", "joblib", "llvmlite"} <= found.keys() - asked_for
    assert not {"ringfence", "typer", "rich", "sqlalchemy", "docker", "pytest"} & found.keys()
    for name, library in found.items():
        assert library.requirement == f"{name}=={metadata.version(name)}"


def test_a_library_that_is_not_here_is_asked_for_by_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ['no-such-library[fast]<3,>=2; extra == "guest"', 'left-out>=1; extra == "service"', "typer>=0.20"]
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    [found] = find_libraries(PYTHON)
    assert found.requirement == "no-such-library[fast]<3,>=2"
    assert found.version is None
    assert why_not_copied([found], PYTHON) == "no-such-library is not installed here"


def test_what_is_installed_from_portable_wheels_is_copied_to_the_same_interpreter() -> None:
    assert why_not_copied(find_libraries(PYTHON), PYTHON) is None


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        (replace(PYTHON, soabi="cpython-399-x86_64-linux-gnu"), "cpython-399"),
        (replace(PYTHON, libc="glibc 2.12"), "newer glibc"),
        (replace(PYTHON, libc=""), "newer glibc"),
    ],
    ids=["another interpreter", "an older libc", "an unknown libc"],
)
def test_nothing_is_copied_to_where_it_would_not_run(base: Interpreter, reason: str) -> None:
    assert reason in (why_not_copied(find_libraries(PYTHON), base) or "")


def test_copied_files_hold_no_bytecode_no_tests_and_nothing_outside() -> None:
    names = [name for name, _ in installed_files(find_libraries(PYTHON))]
    assert "numpy/__init__.py" in names
    assert any(name.startswith("numpy-") and name.endswith("/METADATA") for name in names)
    assert not [n for n in names if n.startswith(("..", "/")) or "__pycache__" in n or "/tests/" in n]


# Wheels


def make_wheel(place: Path, tag: str) -> None:
    with zipfile.ZipFile(place / f"demo-1.0-{tag}.whl", "w") as wheel:
        wheel.writestr("demo/__init__.py", "where = 'wheel'\n")
        wheel.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        wheel.writestr("demo-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr("demo-1.0.dist-info/RECORD", "demo/__init__.py,,\n")


@pytest.mark.parametrize(
    ("tag", "base"),
    [
        ("py3-none-any", PYTHON),
        ("cp312-cp312-manylinux_2_36_riscv64", replace(PYTHON, version="3.12.4", machine="riscv64")),
        ("cp312-cp312-manylinux2014_aarch64", replace(PYTHON, version="3.12.4", machine="aarch64")),
        (
            "cp312-cp312-musllinux_1_2_ppc64le",
            replace(PYTHON, version="3.12.4", machine="ppc64le", soabi="cpython-312-ppc64le-linux-musl", libc=""),
        ),
    ],
    ids=["pure", "glibc", "old name", "musl"],
)
def test_wheels_are_unpacked_for_the_base_and_not_for_this_machine(tag: str, base: Interpreter, tmp_path: Path) -> None:
    wheels, place = tmp_path / "wheels", tmp_path / "site"
    wheels.mkdir()
    make_wheel(wheels, tag)
    unpack_wheels([DEMO], base, wheels, place)
    assert (place / "demo" / "__init__.py").read_text() == "where = 'wheel'\n"


def test_a_wheel_for_a_newer_libc_is_not_taken_and_the_directory_is_named(tmp_path: Path) -> None:
    make_wheel(tmp_path, f"cp312-cp312-manylinux_2_40_{PYTHON.machine}")
    with pytest.raises(SandboxError, match=r"No matching distribution.*put their wheels into " + str(tmp_path)):
        unpack_wheels([DEMO], replace(PYTHON, version="3.12.4"), tmp_path, tmp_path / "site")


# The context


def test_a_context_says_nothing_of_where_its_files_come_from(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("text")
    (tmp_path / "store").chmod(0o600)
    (tmp_path / "link").symlink_to("store")
    os.chown(tmp_path / "store", os.getuid(), os.getgid())
    raw = io.BytesIO()
    with Context(raw) as context:
        context.add_file("a/link", tmp_path / "link")
        context.add_bytes("b", b"bytes")
    raw.seek(0)
    with tarfile.open(fileobj=raw) as tar:
        entries = tar.getmembers()
        assert [entry.name for entry in entries] == ["a/link", "b"]
        for entry in entries:
            assert entry.isreg()
            assert (entry.uid, entry.gid, entry.uname, entry.gname, entry.mode) == (0, 0, "", "", 0o644)
        link = tar.extractfile("a/link")
        assert link is not None
        assert link.read() == b"text"


def test_the_dockerfiles_are_the_ones_in_deploy() -> None:
    for name in ("guest.Dockerfile", "libraries.Dockerfile"):
        assert (ROOT / "deploy" / name).resolve() == HERE / name
    assert default_base() == "python:3.12-slim"


# The source, as it is here and in an installed wheel


def ask(path: Path, expression: str) -> str:
    """What `expression` of the package below `path` comes to, in an interpreter that sees no other copy of it."""
    text = (
        f"import sys; sys.path.insert(0, {str(path)!r})\n"
        "from ringfence.sandbox.docker.image import source_hash\n"
        "from ringfence.verbs.image.base import HERE, default_base\n"
        f"print({expression})"
    )
    done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_installed_wheel_has_the_dockerfiles_and_the_same_fingerprint(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"  # of its own: the one under test may be edited meanwhile
    checkout.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")

    assert ask(tmp_path / "installed", "HERE").startswith(str(tmp_path / "installed"))
    assert ask(tmp_path / "installed", "default_base()") == default_base()
    fingerprint = ask(tmp_path / "installed", "source_hash()")
    assert fingerprint == ask(checkout / "src", "source_hash()")

    changed = tmp_path / "installed" / "ringfence" / "guest" / "wire.py"
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert ask(tmp_path / "installed", "source_hash()") != fingerprint


def test_the_source_is_what_a_guest_needs_and_no_bytecode() -> None:
    names = set(read_source())
    assert {"ringfence/__init__.py", "ringfence/guest/serve.py", "ringfence/sandbox/docker/keeper.py"} <= names
    assert not [name for name in names if name.startswith(("ringfence/verbs/", "ringfence/cli/", "ringfence/mcp/"))]
    assert not [name for name in names if name.endswith(".pyc")]
    assert source_hash({"a": b"bc"}) != source_hash({"ab": b"c"})


# The engine's answers


@contextmanager
def temporary(client: DockerClient, labels: Mapping[str, str]) -> Iterator[str]:
    """The guest image with other labels, under a name of its own."""
    name = f"ringfence-test:{uuid.uuid4().hex}"
    lines = [f"LABEL {label}={value}" for label, value in labels.items()]
    build(client, dockerfile(*lines), tag=name, arguments={}, on_progress=lambda step: None)
    try:
        yield name
    finally:
        client.images.remove(name)


@pytest.fixture
def client(docker_engine: str) -> Iterator[DockerClient]:
    with open_engine(os.environ) as client:
        yield client


def dockerfile(*lines: str) -> io.BytesIO:
    raw = io.BytesIO()
    with Context(raw) as context:
        context.add_bytes("Dockerfile", "\n".join(["FROM ringfence-guest", "USER 0", *lines]).encode())
    raw.seek(0)
    return raw


def test_a_failing_step_shows_its_last_lines(client: DockerClient) -> None:
    text = "import sys; sys.exit('working on it' + chr(10) + 'no such luck')"
    steps: list[str] = []
    raw = dockerfile(f'RUN ["/opt/ringfence/bin/python", "-c", "{text}"]')
    with pytest.raises(SandboxError, match=r"non-zero code: 1.*working on it \| no such luck"):
        build(client, raw, arguments={}, on_progress=steps.append)
    assert steps[0] == "FROM ringfence-guest"


def test_a_program_of_the_base_that_runs_as_its_owner_no_longer_does(client: DockerClient) -> None:
    script = (
        "import os, stat, sys\n"
        "ours = {'__name__': 'prepare'}\n"
        "exec(sys.argv[1], ours)\n"
        "for name, mode in (('/usr/su', 0o4755), ('/usr/wall', 0o2755), ('/usr/plain', 0o640)):\n"
        "    open(name, 'w').close()\n"
        "    os.chmod(name, mode)\n"
        "ours['clear_set_id']()\n"
        "print(*(oct(stat.S_IMODE(os.stat('/usr/' + name).st_mode)) for name in ('su', 'wall', 'plain')))\n"
    )
    said = client.containers.run(
        "ringfence-guest",
        [script, (HERE / "prepare.py").read_text()],
        entrypoint=[GUEST_PYTHON, "-c"],
        user="0",
        network_mode="none",
        remove=True,
    )
    assert said.decode().split() == ["0o755", "0o755", "0o640"]


def test_a_step_has_no_network(client: DockerClient) -> None:
    text = "import os; raise SystemExit(' '.join(sorted(os.listdir('/sys/class/net'))))"
    with pytest.raises(SandboxError, match=r"\| lo$"):
        build(
            client,
            dockerfile(f'RUN ["/opt/ringfence/bin/python", "-c", "{text}"]'),
            arguments={},
            on_progress=lambda step: None,
        )


def test_a_full_disk_of_the_engine_is_told_as_one(client: DockerClient) -> None:
    text = "raise SystemExit('write /x: No space left on device')"
    with pytest.raises(SandboxError, match=r"the engine's disk is full.*docker system prune"):
        build(
            client,
            dockerfile(f'RUN ["/opt/ringfence/bin/python", "-c", "{text}"]'),
            arguments={},
            on_progress=lambda step: None,
        )
    assert "disk is full" in str(refusal("write /var/lib/docker/tmp/x: no space left on device"))


def test_the_guest_image_is_found_only_when_it_is_one_and_of_this_code(client: DockerClient) -> None:
    assert find_image(client) == client.images.get("ringfence-guest").id
    with pytest.raises(SandboxError, match="'ringfence-none' is not on this machine: run `ringfence image build`"):
        find_image(client, "ringfence-none")
    labels = {"ringfence.source": "0" * 64, "ringfence.version": "0.0.1"}
    with temporary(client, labels) as name, pytest.raises(SandboxError, match=r"other code \(0.0.1\).*build` again"):
        find_image(client, name)
    with temporary(client, {"ringfence": "other"}) as name, pytest.raises(SandboxError, match="no guest image"):
        find_image(client, name)
