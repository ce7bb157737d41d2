"""The container engine, reached through its API: Docker's, or Podman's that speaks the same (`DOCKER_HOST`).

Whatever the engine says, or fails to say, leaves here as a SandboxError that tells what to do.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socket import SocketIO
from typing import TYPE_CHECKING, Any

from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox.docker import forks
from ringfence.sandbox.docker.image import PREFIX, PYTHON_LABEL, find_image
from ringfence.sandbox.docker.masks import masked_paths
from ringfence.sandbox.docker.owner import LABEL, Found, Owner
from ringfence.sandbox.job import Limits, Mount

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.errors import APIError

_API_SECONDS = 60
_LONGEST_SAYING = 400
_MB = 1 << 20
_CPU_PERIOD_US = 100_000
_KEEPER_PROCESSES = 1
_GVISOR_PROCESSES = 512
_INODES_PER_MB = 256
_RUNNING = ("running", "paused", "restarting")
_ULIMITS = {"nofile": 4096, "nproc": 32_768}


class EngineDown(SandboxError):
    """The engine does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One container to be made."""

    image: str
    entrypoint: Sequence[str]
    command: Sequence[str]
    environ: Mapping[str, str]
    uid: int
    disk_mb: int
    limits: Limits
    base_bytes: int  # what the guest takes before its job begins; the job's own limit comes on top
    mounts: Sequence[Mount] = field(default_factory=tuple)
    runtime: str | None = None
    gpus: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """What the engine says of a container that is no longer running."""

    exit_code: int
    out_of_memory: bool


class Attachment:
    """A connection to a container's streams. The library gives a file around the socket of a request that never ends;
    all three must be closed."""

    def __init__(self, file: SocketIO) -> None:
        self._file = file
        self.socket: socket.socket = getattr(file, "_sock")  # noqa: B009  # the library hands out no other way to it
        self.socket.settimeout(None)
        forks.mind(self)

    def hang_up(self) -> None:
        """End the connection; whoever waits on it is woken, which a close alone does not do."""
        with suppress(OSError):  # the other side may be gone already
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.hang_up()
        self.disown()

    def disown(self) -> None:
        # The response first: it flushes the file below it, which must still be open then.
        response = getattr(self._file, "_response", None)
        if response is not None:
            response.close()
        self._file.close()
        self.socket.close()


class Engine:
    """Safe from many threads: each call is a request of its own."""

    def __init__(self, client: DockerClient, owner: Owner) -> None:
        self._whole, self._client, self._owner = client, client.api, owner
        with _told("did not answer"):
            about = self._client.version()
            info = self._client.info()
        self.version = f"{about.get('Platform', {}).get('Name') or 'engine'} {about.get('Version', '')}".strip()
        self._is_podman = any("podman" in str(part.get("Name")).lower() for part in about.get("Components") or ())
        self.runtimes = tuple(info.get("Runtimes") or {})
        self.security = tuple(info.get("SecurityOptions") or ())
        self.can_update = True  # until it turns out that it, or a runtime of its own, cannot
        self.base_bytes: dict[str, int] = {}  # by image: what a guest was found to take
        self._left: deque[str] = deque()  # containers that should be gone, and may not be

    @property
    def has_seccomp(self) -> bool:
        return any("seccomp" in option for option in self.security)

    @property
    def maps_users(self) -> bool:
        """Whether user ids inside are not those outside, and only few of them exist."""
        return any("name=userns" in option or "name=rootless" in option for option in self.security)

    def find_image(self, name: str) -> str:
        with _told("did not say which images it has"):
            return find_image(self._whole, name)

    def libraries_of(self, image: str) -> str:
        """Where the libraries of a guest image lie."""
        with _told("did not say what an image is"):
            version = self._whole.images.get(image).labels.get(PYTHON_LABEL, "")
        return f"{PREFIX}/lib/python{'.'.join(version.split('.')[:2])}/site-packages"

    def create(self, spec: Spec) -> str:
        """Make a container, not yet running, and return its id."""
        from docker.errors import APIError

        for attempt in range(5):
            name = self._owner.new_name()
            try:
                with _told("could not make a container", mounts=bool(spec.mounts)):
                    made = self._client.create_container_from_config(self._config(spec), name)
                self._remove_left()
                return str(made["Id"])
            except EngineDown:
                self._left.append(name)  # it may have been made, and only the answer was lost
                raise
            except SandboxError as e:
                clash = isinstance(e.__cause__, APIError) and e.__cause__.status_code == 409
                if not clash or attempt == 4:
                    raise
        raise AssertionError("unreachable")

    def _config(self, spec: Spec) -> dict[str, object]:
        host = self._client.create_host_config(
            network_mode="none",
            read_only=True,
            tmpfs=_tmpfs(spec, plain=self._is_podman),
            shm_size=spec.disk_mb * _MB,
            ipc_mode="private",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            log_config={"Type": "none", "Config": {}},
            mounts=[_bind(mount) for mount in spec.mounts],
            restart_policy={"Name": "no"},
            # Podman's own are higher than what a host may allow; the job's are lower than these.
            ulimits=[{"Name": name, "Soft": most, "Hard": most} for name, most in _ULIMITS.items()],
            runtime=spec.runtime,
            device_requests=[{"Driver": "nvidia", "Count": -1, "Capabilities": [["gpu"]]}] if spec.gpus else None,
            **_resources(spec.limits, spec.base_bytes, own=_own_processes(spec.runtime)),
        )
        config = self._client.create_container_config(
            image=spec.image,
            entrypoint=list(spec.entrypoint),
            command=list(spec.command),
            environment=dict(spec.environ),
            user=f"{spec.uid}:{spec.uid}",
            working_dir="/job",
            hostname="ringfence",
            stdin_open=True,
            stop_signal="SIGKILL",  # the keeper heeds no other: an engine that shuts down would wait for it in vain
            labels=self._owner.labels,
            host_config={**host, "MaskedPaths": masked_paths(gpus=spec.gpus)},
        )
        # The input ends with the one who wrote to it: a container whose host process died ends by itself.
        return {**config, "StdinOnce": True, "AttachStdin": True, "AttachStdout": True, "AttachStderr": True}

    def attach(self, container: str) -> Attachment:
        """A connection to the container's streams; to be called before it is started, or its first words are lost."""
        with _told("could not attach to a container"):
            made = self._client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        return Attachment(made)

    def start(self, container: str) -> None:
        with _told("could not start a container"):
            self._client.start(container)

    def update(self, container: str, limits: Limits, base_bytes: int, runtime: str | None) -> bool:
        """Set other limits; False where the engine cannot."""
        from docker.errors import APIError

        wanted = _resources(limits, base_bytes, own=_own_processes(runtime))
        body = {
            "Memory": wanted["mem_limit"],
            "MemorySwap": wanted["memswap_limit"],
            "CpuPeriod": wanted["cpu_period"],
            "CpuQuota": wanted["cpu_quota"],
            "PidsLimit": wanted["pids_limit"],
        }
        try:
            with _told("could not change a container's limits"):
                address = self._client._url("/containers/{0}/update", container)
                self._client._raise_for_status(self._client._post_json(address, data=body))
        except SandboxError as e:
            if isinstance(e.__cause__, APIError) and _is_unable(e.__cause__):
                self.can_update = False
                return False
            raise
        return True

    def memory_of(self, container: str) -> int:
        """What a container uses now, without the page cache of files on disk."""
        with _told("did not say what a container uses"):
            found = self._client.stats(container, stream=False, one_shot=True).get("memory_stats") or {}
        stat = found.get("stats") or {}
        return max(0, int(found.get("usage", 0)) - int(stat.get("total_inactive_file", stat.get("inactive_file", 0))))

    def kill(self, container: str) -> None:
        from docker.errors import APIError

        try:
            with _told("could not kill a container"):
                self._client.kill(container)
        except SandboxError as e:
            if not (isinstance(e.__cause__, APIError) and e.__cause__.status_code in (404, 409)):
                raise  # else: it is gone, or not running

    def ended(self, container: str) -> Ended:
        with _told("did not say how a container ended"):
            self._client.wait(container, timeout=_API_SECONDS)
            state = self._client.inspect_container(container)["State"]
        return Ended(int(state.get("ExitCode", 0)), bool(state.get("OOMKilled")))

    def remove(self, container: str) -> None:
        """Kill it if it runs, and remove it; one that is gone already is fine."""
        from docker.errors import APIError

        try:
            with _told("could not remove a container"):
                self._client.remove_container(container, force=True, v=True)
        except SandboxError as e:
            if not (isinstance(e.__cause__, APIError) and e.__cause__.status_code in (404, 409)):
                raise  # else: it is gone, or on its way

    def remove_later(self, container: str) -> None:
        """Remove it now, or when the engine is well again."""
        try:
            self.remove(container)
        except SandboxError:
            self._left.append(container)

    def _remove_left(self) -> None:
        for _ in range(len(self._left)):
            with suppress(IndexError):  # another thread is at it too
                self.remove_later(self._left.popleft())

    def reap(self, *, mine: bool = False) -> int:
        """Remove the containers of owners who are dead for certain, and mine; returns how many."""
        with _told("could not list containers"):
            rows = self._client.containers(all=True, filters={"label": LABEL})
        found = {str(row["Id"]): _found(row) for row in rows}
        unwanted = [
            container
            for container, about in found.items()
            if self._owner.is_orphan(about) or (mine and self._owner.is_mine(about.labels))
        ]
        for container in unwanted:
            self.remove(container)
        return len(unwanted)

    def close(self) -> None:
        self._client.close()


def _found(row: Mapping[str, Any]) -> Found:
    made_at = row.get("Created")
    return Found(
        labels=row.get("Labels") or {},
        is_running=row.get("State") in _RUNNING,
        made_at=float(made_at) if isinstance(made_at, int) else float("inf"),
    )


def _tmpfs(spec: Spec, *, plain: bool) -> dict[str, str]:
    """`plain` has none of the options that Podman refuses; nobody else is there to write, and inodes cost memory."""
    usual = f"rw,exec,nosuid,nodev,uid={spec.uid},gid={spec.uid},mode=0700"
    if plain:
        usual, none = "rw,exec,nosuid,nodev,mode=0777,notmpcopyup", "ro,noexec,nosuid,nodev,size=64k,notmpcopyup"
        sizes = {"/job": f"{spec.disk_mb}m", "/tmp": f"{spec.disk_mb}m", "/box": "8m"}
        # Of its own accord it would add the other two, to be written without bounds.
        return {place: f"{usual},size={size}" for place, size in sizes.items()} | {"/run": none, "/var/tmp": none}
    inodes = min(spec.disk_mb * _INODES_PER_MB, 1 << 20)
    sized = f"{usual},size={spec.disk_mb}m,nr_inodes={inodes}"
    return {"/job": sized, "/tmp": sized, "/box": f"{usual},size=8m,nr_inodes=1024"}


def _bind(mount: Mount) -> dict[str, object]:
    return {
        "Type": "bind",
        "Source": str(mount.host.resolve()),
        "Target": mount.guest,
        "ReadOnly": mount.mode == "ro",
        "BindOptions": {"Propagation": "rprivate"},
    }


def _own_processes(runtime: str | None) -> int:
    """How many processes of a container's group are not the job's. gVisor's kernel is a program with many threads, and
    each thread of a job has another there; the job's own are counted by the keeper."""
    return _GVISOR_PROCESSES if runtime is not None and "runsc" in runtime else _KEEPER_PROCESSES


def _resources(limits: Limits, base_bytes: int, *, own: int) -> dict[str, int]:
    memory = limits.memory_mb * _MB + base_bytes
    return {
        "mem_limit": memory,
        "memswap_limit": memory,  # memory and swap together: so none of it is swap
        "cpu_period": _CPU_PERIOD_US,
        "cpu_quota": max(1000, int(limits.cpus * _CPU_PERIOD_US)),
        "pids_limit": limits.processes + own,
    }


@contextmanager
def _told(what: str, *, mounts: bool = False) -> Iterator[None]:
    """Turn the library's exceptions into ours."""
    import requests
    from docker.errors import APIError, DockerException

    try:
        yield
    except APIError as e:
        said = " ".join((e.explanation or str(e)).split()).rstrip(".")[:_LONGEST_SAYING]
        kind = MountError if mounts and "mount" in said.lower() else SandboxError
        advice = "make room on its disk" if "no space left" in said.lower() else "check it with `docker info`"
        raise kind(f"the container engine {what} ({said}): {advice}") from e
    except (requests.exceptions.RequestException, DockerException, OSError) as e:
        raise EngineDown(
            f"the container engine {what} ({_short(e)}): start it, or point DOCKER_HOST at one that runs"
        ) from e


def _is_unable(e: APIError) -> bool:
    """Podman has had no such call for long, and gVisor no such command; a container that is gone is another matter."""
    said = (e.explanation or "").lower()
    return (e.status_code in (404, 405, 501) and "no such container" not in said) or "usage: runsc" in said


def _short(e: Exception) -> str:
    while e.__context__ is not None and isinstance(e.__context__, Exception):
        e = e.__context__
    return str(e)[:200] or type(e).__name__


def connect(owner: Owner) -> Engine:
    """The engine that DOCKER_HOST and its companions name, or the usual one."""
    try:
        import docker
    except ModuleNotFoundError as e:
        raise SandboxError("the docker backend needs a library: pip install 'ringfence[docker]'") from e
    if os.environ.get("DOCKER_HOST", "").startswith("ssh://"):
        raise SandboxError("an engine is not spoken to over ssh: forward its socket with `ssh -L`, and name that one")
    with _told("did not answer"):
        client = docker.from_env(version="auto", timeout=_API_SECONDS, max_pool_size=32)
    # It would look for proxies and a .netrc before each call, and fail there when another thread changes os.environ.
    client.api.trust_env = False
    try:
        return Engine(client, owner)
    except BaseException:
        client.close()
        raise
