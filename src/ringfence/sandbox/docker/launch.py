"""Find the engine and the image, remove what dead owners left, and open a sandbox on them."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from posixpath import dirname

from ringfence.base.config import Settings
from ringfence.base.errors import MountError, SandboxError, SettingsError
from ringfence.sandbox.docker.box import FIRST_GUESS_BYTES, Box, Shape
from ringfence.sandbox.docker.engine import Engine, Spec, connect
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.docker.image import PREFIX, PYTHON
from ringfence.sandbox.docker.isolation import Means
from ringfence.sandbox.docker.owner import Owner
from ringfence.sandbox.docker.pool import Pool
from ringfence.sandbox.environ import guest_environ
from ringfence.sandbox.job import Device, Limits, Mount
from ringfence.sandbox.maximum import configured_maximum
from ringfence.sandbox.native import blocks, profiles

# Not -I: the environment that we give counts, the seed of its hashes above all.
_KEEPER = (PYTHON, "-P", "-s", "-B", "-m", "ringfence.sandbox.docker.keeper")


def open_docker(
    settings: Settings,
    *,
    profile: str,
    park: int,
    preload: bool,
    image: str,
    runtime: str | None,
    xdg_runtime_dir: str | None,
) -> DockerSandbox:
    if profile not in profiles.PROFILES:
        raise SettingsError(f"profile {profile!r} is unknown: use one of {', '.join(profiles.PROFILES)}")
    owner = Owner(blocks.runtime_dir(settings.runtime_dir, os.getuid(), xdg_runtime_dir), settings.uid_base)
    try:
        engine = connect(owner)
    except BaseException:
        owner.release()
        raise

    def close() -> None:
        # Once more: an engine that was asked by a caller who was then killed may have made a container only now.
        is_clean = False
        with suppress(SandboxError):
            engine.reap(mine=True)
            is_clean = True
        engine.close()
        owner.release(is_clean=is_clean)

    try:
        if runtime is not None and runtime not in engine.runtimes:
            raise SettingsError(
                f"runtime {runtime!r} is unknown to the engine: use one of {', '.join(engine.runtimes)}"
            )
        engine.reap()
        owner.sweep()
        imports = profiles.PROFILES[profile].lean if preload else ()
        maker = _Maker(engine, owner, imports, _images(engine, settings, image), runtime)
        maximum = configured_maximum(settings)
        return DockerSandbox(
            Pool(maker.make, park=park, limits=Limits()),
            Means(engine.version, runtime or "of the engine", engine.maps_users, engine.has_seccomp),
            maximum=maximum,
            max_running=settings.max_running,
            accelerated=_accelerated(engine, settings),
            close=close,
        )
    except BaseException:
        close()
        raise


def _images(engine: Engine, settings: Settings, image: str) -> Mapping[str, str]:
    """The image of each kind of container, by its id: a tag that moves must not change a sandbox that is open."""
    images = {"cpu": engine.find_image(image)}
    images["gpu"] = images["cpu"]
    if settings.npu_image is not None:
        images["npu"] = engine.find_image(settings.npu_image)
    return images


def _accelerated(engine: Engine, settings: Settings) -> Mapping[Device, str | None]:
    """For each accelerator None where there are containers for it, else why there are none."""
    return {
        "gpu": None if "nvidia" in engine.runtimes else "the engine has no runtime for GPUs",
        "npu": None if settings.npu_image is not None else "no image for it is configured (RINGFENCE_NPU_IMAGE)",
    }


class _Maker:
    """Makes containers of one sandbox; remembers what the guest was found to take."""

    def __init__(
        self, engine: Engine, owner: Owner, preload: tuple[str, ...], images: Mapping[str, str], runtime: str | None
    ) -> None:
        self._engine, self._owner, self._preload = engine, owner, preload
        self._images, self._runtime = images, runtime

    def make(self, shape: Shape, limits: Limits) -> Box:
        setup = {
            "preload": list(self._preload),
            # What is mounted may hold a socket of the host's.
            "connect": not shape.mounts,
            "writable": [mount.guest for mount in shape.mounts if mount.mode == "rw"],
        }
        image = self._images[shape.device]
        spec = Spec(
            image=image,
            entrypoint=_KEEPER,
            command=[json.dumps(setup)],
            environ=guest_environ(dirname(PYTHON)),
            uid=self._owner.new_uid(mapped=self._engine.maps_users),
            disk_mb=shape.disk_mb,
            limits=limits,
            base_bytes=self._engine.base_bytes.get(image, FIRST_GUESS_BYTES),
            mounts=[_placed(mount, self._engine.libraries_of(image)) for mount in shape.mounts],
            runtime=self._runtime,
            gpus=shape.device == "gpu",
        )
        return Box(self._engine, spec, shape)


def _placed(mount: Mount, libraries: str) -> Mount:
    """A place among this interpreter's own libraries means the same place among the image's: whoever covers a file of
    a library does not know where the guest finds it."""
    if f"{PREFIX}/".startswith(f"{mount.guest}/"):
        raise MountError(f"mount target {mount.guest!r} would hide the image's Python: choose a place such as /data")
    own = sysconfig.get_path("purelib")
    return replace(mount, guest=libraries + mount.guest[len(own) :]) if mount.guest.startswith(f"{own}/") else mount
