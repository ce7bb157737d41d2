"""`ringfence image`, driven through the command, and the image that it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ringfence import __version__
from ringfence.sandbox.docker.image import PYTHON, find_image

from tests import engine
from tests.cli.command import Done, environment, on_terminal, ringfence
from tests.conftest import ROOT, require

if TYPE_CHECKING:
    from docker import DockerClient

AUDIT = """
import json, os, re, stat, sys
import numpy, pandas, scipy, talib, numba, pyarrow, matplotlib, sklearn, backtesting, pandas_ta_classic
import ringfence, ringfence.guest.serve
from importlib import metadata, util

set_id, uncompiled = [], []
for folder, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(folder, f) not in ("/proc", "/sys", "/dev")]
    for name in files:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            set_id.append(path)
for loaded in list(sys.modules.values()):
    path = getattr(loaded, "__file__", None) or ""
    if path.endswith(".py") and not os.path.exists(util.cache_from_source(path)):
        uncompiled.append(path)
print(json.dumps({
    "ids": [os.getuid(), os.getgid()],
    "folders": [d for d in ("/job", "/box", "/tmp") if os.path.isdir(d)],
    "set_id": set_id,
    "uncompiled": uncompiled,
    "package": ringfence.__file__,
    "caches": [d for d in ("/var/lib/apt/lists", "/root/.cache", "/opt/ringfence/build") if os.path.exists(d)],
    "versions": {re.sub("[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in metadata.distributions()},
    "interfaces": os.listdir("/sys/class/net"),
    "python": ".".join(map(str, sys.version_info[:3])),
}))
"""


@pytest.fixture
def client(docker_engine: str) -> Iterator[DockerClient]:
    import docker

    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def tag(client: DockerClient) -> Iterator[str]:
    """A name for one test's images, free again at the end."""
    from docker.errors import ImageNotFound

    name = f"ringfence-test:{uuid.uuid4().hex}"
    yield name
    try:
        client.images.remove(name)
    except ImageNotFound:
        pass  # the test expected a failure


@pytest.fixture
def base(docker_engine: str) -> list[str]:
    """The options for the base that the session's own image stands on."""
    return ["--rootfs", str(engine.rootfs())] if os.geteuid() == 0 else []


def build(*words: str, env: Mapping[str, str] | None = None) -> Done:
    return ringfence("image", "build", *words, env=env)


def test_the_image_holds_what_it_should_and_nothing_dangerous(client: DockerClient, base: list[str], tag: str) -> None:
    done = build(*base, "--tag", tag, "--json")
    assert done.code == 0, done.err
    assert done.err == ""
    told = json.loads(done.out)
    image = client.images.get(tag)
    assert told["image"] == tag
    assert told["id"] == image.id == find_image(client, tag)
    assert told["libraries"]["numpy"] == metadata.version("numpy")

    config = image.attrs["Config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == [PYTHON, "-I", "-m", "ringfence.sandbox.docker.keeper"]
    assert not config["Cmd"]
    assert image.labels["ringfence"] == "guest"
    assert image.labels["ringfence.version"] == told["version"] == __version__
    assert image.labels["ringfence.source"] == told["source"]
    assert image.labels["ringfence.python"] == told["python"]

    seen = audit(client, tag)
    assert seen["ids"] == [65532, 65532]
    assert seen["folders"] == ["/job", "/box", "/tmp"]
    assert seen["set_id"] == []
    assert seen["uncompiled"] == []
    assert seen["caches"] == []
    assert seen["interfaces"] == ["lo"]
    assert seen["python"] == told["python"]
    assert seen["package"] == "/opt/ringfence/source/ringfence/__init__.py"
    assert seen["versions"] == told["libraries"]
    for name in ("numpy", "pandas", "scipy", "ta-lib", "numba", "scikit-learn", "backtesting"):
        assert told["libraries"][name] == metadata.version(name)


def audit(client: DockerClient, image: str) -> dict[str, object]:
    said = client.containers.run(
        image,
        [AUDIT],
        entrypoint=[PYTHON, "-I", "-c"],
        environment={"MPLCONFIGDIR": "/tmp"},
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": ""},
        remove=True,
        cap_drop=["ALL"],
    )
    found: dict[str, object] = json.loads(said)
    return found


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A copy of the package that a test may change."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src"


def test_after_a_change_only_the_source_is_built_and_the_image_replaced_is_gone(
    client: DockerClient, base: list[str], tag: str, edited: Path
) -> None:
    from docker.errors import ImageNotFound

    env = {**environment(), "PYTHONPATH": str(edited)}
    wire = edited / "ringfence" / "guest" / "wire.py"
    ids = []
    for change in (b"# once\n", b"# twice\n"):
        wire.write_bytes(wire.read_bytes() + change)
        done = build(*base, "--tag", tag, "--json", env=env)
        assert done.code == 0, done.err
        assert json.loads(done.out)["libraries_from"] == "an earlier build"
        ids.append(json.loads(done.out)["id"])
    assert client.images.get(tag).id == ids[1] != ids[0]
    with pytest.raises(ImageNotFound):
        client.images.get(ids[0])
    said = client.containers.run(tag, ["/opt/ringfence/source/ringfence/guest/wire.py"], entrypoint="tail", remove=True)
    assert said.endswith(b"# once\n# twice\n")


def test_an_image_that_is_used_or_has_another_name_stays(
    client: DockerClient, base: list[str], tag: str, edited: Path
) -> None:
    done = build(*base, "--tag", tag, "--json")
    assert done.code == 0, done.err
    first = json.loads(done.out)["id"]
    client.images.get(first).tag("ringfence-test", "kept-" + tag[-12:])
    changed = edited / "ringfence" / "guest" / "wire.py"
    env = {**environment(), "PYTHONPATH": str(edited)}
    try:
        changed.write_bytes(changed.read_bytes() + b"# changed\n")
        done = build(*base, "--tag", tag, "--json", env=env)
        assert done.code == 0, done.err
        second = json.loads(done.out)["id"]
        assert client.images.get(first).id == first
        user = client.containers.create(second)
        try:
            changed.write_bytes(changed.read_bytes() + b"# again\n")
            done = build(*base, "--tag", tag, env=env)
            assert done.code == 0, done.err
            assert client.images.get(second).id == second
        finally:
            user.remove()
            client.images.remove(second)
    finally:
        client.images.remove("ringfence-test:kept-" + tag[-12:])


def test_a_local_image_is_a_base_and_the_table_and_the_steps_are_shown(
    client: DockerClient, base: list[str], tag: str
) -> None:
    told = json.loads(build(*base, "--tag", tag, "--json").out)
    done = on_terminal("image", "build", "--base", told["base"], "--tag", tag, env=environment(NO_COLOR="1"))
    assert done.code == 0, done.out
    assert "COPY source/ /opt/ringfence/source/" in done.out
    assert f"python     {told['python']}" in done.out
    assert "from an earlier build" in done.out


def test_an_engine_that_is_down_is_named() -> None:
    require("docker (the library)", present=engine.has_library())
    done = build(env={**environment(), "DOCKER_HOST": "unix:///nowhere/docker.sock"})
    assert done.code == 125
    assert done.err == (
        "ringfence: the Docker engine does not answer at unix:///nowhere/docker.sock: start it, or set DOCKER_HOST\n"
    )
    assert done.out == ""


def test_a_base_that_is_not_here_and_cannot_be_pulled_is_named(docker_engine: str) -> None:
    done = build("--base", "localhost:1/no-such-image:3")
    assert done.code == 125
    assert "image 'localhost:1/no-such-image:3' is not on this machine and cannot be pulled" in done.err
    assert "--rootfs" in done.err


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (None, 66, "cannot be read"),
        (b"this is text", 66, "is no tarball"),
        ("tar", 125, "has no python3 that runs"),
    ],
    ids=["missing", "not a tar", "no interpreter"],
)
def test_a_rootfs_that_will_not_do_is_refused(
    content: bytes | str | None, code: int, told: str, docker_engine: str, client: DockerClient, tmp_path: Path
) -> None:
    tarball = tmp_path / "root.tar"
    if isinstance(content, bytes):
        tarball.write_bytes(content)
    elif content:
        (tmp_path / "file").write_text(uuid.uuid4().hex)
        subprocess.run(["tar", "-cf", tarball, "-C", tmp_path, "file"], check=True)
    before = bases(client)
    done = build("--rootfs", str(tarball))
    assert done.code == code
    assert f"--rootfs {tarball} {told}" in done.err
    assert bases(client) == before


def bases(client: DockerClient) -> set[str]:
    return {row["Id"] for row in client.api.images("ringfence-base")}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            'echo \'{"version": "3.9.2", "soabi": "", "machine": "x", "libc": ""}\'',
            "has Python 3.9.2, which is too old",
        ),
        ("echo broken >&2; exit 3", "does not run (exit code 3: broken)"),
    ],
    ids=["too old", "broken"],
)
def test_a_base_with_an_interpreter_that_will_not_do_is_refused(
    script: str, told: str, client: DockerClient, tag: str, tmp_path: Path
) -> None:
    (tmp_path / "python3").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "Dockerfile").write_text("FROM ringfence-guest\nCOPY python3 /usr/local/bin/python3\nENTRYPOINT []\n")
    client.images.build(path=str(tmp_path), tag=tag, rm=True)
    done = build("--base", tag)
    assert done.code == 125
    assert f"{tag} {told}" in done.err or f"python3 of {tag} {told}" in done.err
    assert "choose a base with Python 3.11 or newer" in done.err


def test_wheels_that_are_missing_are_asked_for_where_they_were_looked_for(base: list[str], tmp_path: Path) -> None:
    done = build(*base, "--wheels", str(tmp_path), "--tag", "ringfence-test:never")
    assert done.code == 125
    assert f"put their wheels into {tmp_path}" in done.err
    done = build(*base, "--wheels", str(tmp_path / "nowhere"))
    assert done.code == 66
    assert "is no directory" in done.err


def test_a_full_disk_here_is_told_as_one(base: list[str], tag: str, tmp_path: Path) -> None:
    require("root")
    require("linux")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=True)
    try:
        done = build(*base, "--tag", tag, env={**environment(), "TMPDIR": str(small)})
    finally:
        subprocess.run(["umount", small], check=True)
    assert done.code == 125
    assert f"the disk of {small} is full" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--base", "a", "--rootfs", "b"], "--base and --rootfs exclude each other"),
        (["--tag", "Not A Name"], "is no name for an image"),
        (["--tag", "-x"], "is no name for an image"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_done(words: list[str], told: str) -> None:
    done = build(*words, env={**environment(), "DOCKER_HOST": "unix:///nowhere/docker.sock"})
    assert done.code == 78
    assert told in done.err
