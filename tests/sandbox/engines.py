"""Container engines in trouble: a line to one that can be cut, private ones, and what is left on them."""

from __future__ import annotations

import io
import os
import select
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ringfence import Job, Limits
from ringfence.base.errors import SandboxError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.docker.image import PYTHON, SOURCE, read_source, source_hash
from ringfence.sandbox.job import Cancel

from tests import engine
from tests.conftest import require
from tests.sandbox.busy import children

if TYPE_CHECKING:
    from docker import DockerClient

_SECONDS = 120.0
# Private engines are started as by `nohup` in a script: they and their containers inherit it, and jobs must not.
IGNORING = ("sh", "-c", "trap '' INT QUIT HUP; exec \"$@\"", "sh")
SLEEP = Job(code="import time\nprint('on', flush=True)\ntime.sleep(600)", limits=Limits(wall_seconds=500))


@contextmanager
def connected(address: str | None = None) -> Iterator[DockerClient]:
    import docker

    client = docker.DockerClient(base_url=address) if address else docker.from_env()
    try:
        yield client
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class Left:
    """What there is of containers whose owner has its lock in one directory, and of what else we could leave."""

    containers: tuple[str, ...]
    volumes: int
    networks: int
    files: tuple[str, ...]

    @classmethod
    def now(cls, runtime: Path, address: str | None = None) -> Left:
        with connected(address) as client:
            rows = client.api.containers(all=True, filters={"label": "ringfence.owner"})
            ours = [row["Names"][0] for row in rows if row["Labels"]["ringfence.lock"].startswith(f"{runtime}/")]
            volumes, networks = client.api.volumes()["Volumes"] or (), client.api.networks()
        return cls(tuple(sorted(ours)), len(volumes), len(networks), tuple(sorted(os.listdir(runtime))))


def containers(runtime: Path, address: str | None = None) -> tuple[str, ...]:
    return Left.now(runtime, address).containers


def kill_all(runtime: Path) -> None:
    """Kill those containers from outside, and wait until they have ended."""
    from docker.errors import APIError

    with connected() as client:
        for name in containers(runtime):
            with suppress(APIError):  # it is being removed
                client.api.kill(name.lstrip("/"))
                client.api.wait(name.lstrip("/"))


class Running:
    """A job in a thread of its own, from the moment that it has printed something."""

    def __init__(self, sandbox: Sandbox, job: Job = SLEEP, cancel: Cancel | None = None) -> None:
        self._sandbox, self._job, self._cancel = sandbox, job, cancel
        self._on = threading.Event()
        self._ended: object = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._on.wait(_SECONDS), self._ended

    def _run(self) -> None:
        try:
            self._ended = self._sandbox.run(self._job, on_output=lambda *_: self._on.set(), cancel=self._cancel)
        except Exception as e:  # noqa: BLE001 - the test says which it must be
            self._ended = e
        self._on.set()

    def end(self) -> object:
        """The outcome, or the exception."""
        self._thread.join(_SECONDS)
        assert not self._thread.is_alive(), "it did not end"
        return self._ended

    def error(self) -> str:
        ended = self.end()
        assert isinstance(ended, SandboxError), ended
        return str(ended)


def own_runtime_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A runtime directory of a test file's own, which tells its containers from those of other tests. A fixture."""
    place = tmp_path_factory.mktemp("run")
    place.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGFENCE_RUNTIME_DIR", str(place))
        yield place


class Line:
    """A real relay on a socket of its own in front of an engine; cut, it refuses and drops everything."""

    def __init__(self, place: Path, target: str) -> None:
        self._path, self._target = place / "engine.sock", target.removeprefix("unix://")
        self._lock = threading.Lock()
        self._ends: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.address = f"unix://{self._path}"
        self.mend()

    def mend(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._path))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        if self._listener is not None:
            with suppress(OSError):  # nobody waits on it
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            self._path.unlink()
        with self._lock:
            ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):  # its other side has hung up
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                here, _ = listener.accept()
            except OSError:
                return  # cut
            there = socket.socket(socket.AF_UNIX)
            there.connect(self._target)
            with self._lock:
                self._ends += [here, there]
            for pair in ((here, there), (there, here)):
                threading.Thread(target=_relay, args=pair, daemon=True).start()


def _relay(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # cut
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def cuttable(address: str) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="rf-line-") as place:
        line = Line(Path(place), address)
        try:
            yield line
        finally:
            line.cut()


class Private:
    """An engine of the test's own, which it may kill."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.address = f"unix://{state}/docker.sock"

    def start(self) -> None:
        done = subprocess.run(
            [*IGNORING, engine.SCRIPT, "start", "--state", self._state],
            capture_output=True, text=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def kill(self) -> None:
        """As power failure would, but for its containers: the engine, and containerd, which dies with it."""
        pid = int((self._state / "dockerd.pid").read_text())
        fds = [os.pidfd_open(p) for p in (pid, *children(pid))]
        os.kill(pid, signal.SIGKILL)
        for fd in fds:
            select.select([fd], [], [], _SECONDS)
            os.close(fd)
        # While nobody has reaped it, the next engine would take its containerd for a living one.
        (self._state / "exec" / "containerd" / "containerd.pid").unlink()

    def fill(self) -> None:
        """Its disk, to the last byte."""
        with open(self._state / "filler", "wb", buffering=0) as f, suppress(OSError):
            while True:
                f.write(bytes(1 << 16))

    def stop(self) -> None:
        subprocess.run([engine.SCRIPT, "stop", "--state", self._state], check=True, timeout=_SECONDS)
        # What an engine does not clean up after it was killed once.
        for shim in _mentioning(f"{self._state}/exec"):
            os.kill(shim, signal.SIGKILL)
        _unmount_below(self._state)


def _mentioning(text: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended while we looked
            if text in place.read_text(errors="replace"):
                found.append(int(place.parent.name))
    return found


@contextmanager
def private(mount: str | None = None) -> Iterator[Private]:
    """`mount` are options of a small file system for all that the engine has."""
    require("linux")
    require("root")
    state = Path(tempfile.mkdtemp(prefix="rfe."))  # short: containerd's socket must fit
    if mount is not None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", mount, "tmpfs", state], check=True)
    own = Private(state)
    try:
        own.start()
        yield own
    finally:
        own.stop()
        if mount is not None:
            subprocess.run(["umount", "--lazy", state], check=True)
        shutil.rmtree(state)


@contextmanager
def podman() -> Iterator[str]:
    """The address of Podman's own service, which speaks as Docker does, with a storage of its own."""
    require("root")
    require("podman")
    place = Path(tempfile.mkdtemp(prefix="rfp."))
    address = f"unix://{place}/podman.sock"
    runtime = ["--runtime", "runc"] if shutil.which("runc") else []  # crun does not run everywhere
    service = subprocess.Popen(
        [*IGNORING, "podman", "--root", place / "root", "--runroot", place / "run", "--cgroup-manager", "cgroupfs",
         *runtime, "system", "service", "--time", "0", address],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + _SECONDS
        while not (place / "podman.sock").exists():
            assert service.poll() is None and time.monotonic() < deadline, "podman's service did not start"
            time.sleep(0.05)
        yield address
    finally:
        service.terminate()
        service.wait(_SECONDS)
        _unmount_below(place)
        shutil.rmtree(place)


def _unmount_below(place: Path) -> None:
    for mounted in reversed([row.split()[1] for row in Path("/proc/self/mounts").read_text().splitlines()]):
        if mounted.startswith(f"{place}/"):
            subprocess.run(["umount", mounted], check=True)


def import_empty(client: DockerClient, name: str, labels: Mapping[str, str]) -> None:
    """An image with nothing in it but what its labels say."""
    _import(client, name, labels, _tar({"empty": b""}))


def import_light(client: DockerClient, name: str) -> None:
    """A guest image without the quantitative libraries, in a second or two; what profile=plain needs is in it."""
    with tempfile.NamedTemporaryFile(dir=engine.ROOT / ".cache", suffix=".tar") as whole:
        shutil.copyfile(engine.rootfs(), whole.name)
        with tarfile.open(whole.name, "a") as tar:
            link = tarfile.TarInfo(PYTHON.lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin/python3"
            tar.addfile(link)
            files = {f"{SOURCE}/{name}": data for name, data in read_source().items()}
            for path, data in {**files, "/usr/lib/python3/dist-packages/ringfence.pth": SOURCE.encode()}.items():
                _add(tar, path, data)
            for place in ("job", "box"):
                folder = tarfile.TarInfo(place)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o777
                tar.addfile(folder)
        with open(whole.name, "rb") as f:
            _import(client, name, {"ringfence": "guest", "ringfence.source": source_hash()}, f)


def _import(client: DockerClient, name: str, labels: Mapping[str, str], tar: io.BufferedIOBase) -> None:
    changes = [f'LABEL {key}="{value}"' for key, value in labels.items()]
    said = client.api.import_image_from_data(tar, repository=name, changes=changes)
    assert '"error"' not in said, said


def _tar(files: Mapping[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, data in files.items():
            _add(tar, path, data)
    packed.seek(0)
    return packed


def _add(tar: tarfile.TarFile, path: str, data: bytes) -> None:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.size, entry.mode = len(data), 0o644
    tar.addfile(entry, io.BytesIO(data))
