"""Talking to the engine that DOCKER_HOST names, with errors that say what to do."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from ringfence.base.errors import SandboxError, SettingsError

if TYPE_CHECKING:
    from docker import DockerClient

_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_SECONDS = 600.0  # between two signs of life: compiling a thousand files is silent
_LAST_LINES = 12
_STEP = re.compile(r"^(?:Step|STEP) \d+/\d+ ?: (.+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BUILT = re.compile(r"^(?:Successfully built |sha256:)([0-9a-f]{12,64})$")


@contextmanager
def open_engine(environ: Mapping[str, str]) -> Iterator[DockerClient]:
    """The engine, closed at the end; whatever goes wrong with it meanwhile is a SandboxError in our words."""
    try:
        import docker
        from docker.errors import APIError, DockerException, TLSParameterError
        from requests.exceptions import RequestException
    except ModuleNotFoundError as e:
        raise SettingsError(f"`ringfence image` needs {e.name}: pip install 'ringfence[docker]'") from e
    address = environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS
    client = None
    try:
        client = docker.from_env(environment=environ, timeout=_SECONDS)
        yield client
    except APIError as e:
        raise refusal(str(e.explanation or e)) from e
    except TLSParameterError as e:
        raise SettingsError(f"DOCKER_CERT_PATH and DOCKER_TLS_VERIFY cannot be used ({e}): mend or unset them") from e
    except (DockerException, RequestException) as e:
        raise SandboxError(f"the Docker engine does not answer at {address}: start it, or set DOCKER_HOST") from e
    finally:
        if client is not None:
            client.close()


def refusal(told: str) -> SandboxError:
    """What the engine told us, and what to do about it where we know."""
    told = told.strip().rstrip(".")
    if "no space left on device" in told.lower():
        return SandboxError(f"the engine's disk is full ({told}): make room, for instance with `docker system prune`")
    return SandboxError(f"the Docker engine refused: {told}: see its log, or try the same with the docker command")


def build(
    client: DockerClient,
    context: IO[bytes],
    *,
    tag: str | None = None,
    arguments: Mapping[str, str],
    on_progress: Callable[[str], None],
) -> str:
    """Build the context's Dockerfile without a network, and return the image's id."""
    stream = client.api.build(
        fileobj=context,
        custom_context=True,
        tag=tag,
        buildargs=dict(arguments),
        network_mode="none",
        rm=True,
        forcerm=True,
        decode=True,
    )
    found = None
    log: deque[str] = deque(maxlen=_LAST_LINES)
    for event in stream:
        if "error" in event:
            raise _failed_step(str(event["error"]), log)
        if isinstance(event.get("aux"), dict) and "ID" in event["aux"]:
            found = str(event["aux"]["ID"])
        for line in _COLOUR.sub("", str(event.get("stream", ""))).splitlines():
            if step := _STEP.match(line):
                on_progress(step[1][:100])
            if built := _BUILT.match(line.strip()):
                found = found or built[1]
            if line.strip() and not line.startswith((" --->", "Removing intermediate")):
                log.append(line.rstrip())
    if found is None:
        raise _failed_step("it ended without an image", log)
    return found


def find_labelled(client: DockerClient, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
    """The id and all labels of every image, named or not, that has these labels."""
    wanted = [f"{name}={value}" for name, value in labels.items()]
    # Not client.images.list, which asks for each one again: meanwhile another build may have removed it.
    rows = client.api.images(all=True, filters={"label": wanted})
    return [(str(row["Id"]), row.get("Labels") or {}) for row in rows]


def pull(client: DockerClient, name: str, on_progress: Callable[[str], None]) -> None:
    """Fetch `name`; the engine's words when it cannot are a SandboxError."""
    from docker.errors import APIError

    repository, _, tag = name.rpartition(":")
    if not repository or "/" in tag:  # a colon may also stand before a registry's port
        repository, tag = name, "latest"
    on_progress(f"pulling {name}")
    problem = ""
    try:
        for event in client.api.pull(repository, tag=tag, stream=True, decode=True):
            problem = str(event.get("error", problem))
    except APIError as e:
        problem = str(e.explanation or e)
    if problem:
        raise SandboxError(
            f"image {name!r} is not on this machine and cannot be pulled ({problem.strip().rstrip('.')}): "
            "name one that is here with --base, or give a root file system with --rootfs"
        )


def import_tar(client: DockerClient, path: str, repository: str, tag: str) -> str:
    """Make an image of the root file system in the tarball `path`, and return its id."""
    answer = client.api.import_image(src=path, repository=repository, tag=tag)
    events = [json.loads(line) for line in answer.splitlines() if line.strip()]
    problems = [str(event["error"]) for event in events if "error" in event]
    if problems or not events:
        raise refusal(problems[0] if problems else f"{path} was not imported")
    return str(events[-1]["status"])


def _failed_step(problem: str, log: deque[str]) -> SandboxError:
    told = " | ".join(log)
    if "no space left on device" in (problem + told).lower():
        return refusal(problem if "no space" in problem.lower() else "no space left on device")
    return SandboxError(f"the image was not built: {problem.strip().rstrip('.')}: its last lines say why: {told}")
