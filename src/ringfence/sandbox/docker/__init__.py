"""The docker backend: a pool of containers, each with the guest imported and a job's process parked, each used once.

    host (this process) ── engine ── container: keeper (pid 1) ─ job
           └──────── attached: frames in, frames out ────┘

Read `engine` for how a container is made, `keeper` for what watches the job inside it, `ward` for the job's own jail,
`frames` for what the two sides say, `watch` for how the host finds the evidence, and `owner` for what happens after a
crash. No call of the engine's is needed while a job runs, which is why a parked container answers in milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ringfence.base.config import Settings
from ringfence.base.errors import SettingsError
from ringfence.sandbox.docker.fence import DockerSandbox

_OPTIONS = ("profile", "park", "preload", "image", "runtime", "allow_weaker")


def create(options: Mapping[str, str]) -> DockerSandbox:
    """Open a docker sandbox. Options: profile=quant|plain, park=N, preload=yes|no, image=NAME, runtime=NAME.

    `allow_weaker` is taken and means nothing here: the engine enforces every limit or makes no container.
    """
    from ringfence.sandbox.docker.launch import open_docker

    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise SettingsError(f"option {min(unknown)!r} of the docker backend is unknown: use {', '.join(_OPTIONS)}")
    settings = Settings.from_env(os.environ)
    park = options.get("park", str(settings.park))
    if not park.isdecimal() or int(park) > 64:
        raise SettingsError(f"park={park!r} is not a number from 0 to 64")
    image = options.get("image", settings.image)
    if not image:
        raise SettingsError("the docker backend has no image to run: name one after image=, or leave that out")
    return open_docker(
        settings,
        profile=options.get("profile", "quant"),
        park=int(park),
        preload=options.get("preload", "yes") != "no",
        image=image,
        runtime=options.get("runtime", settings.runtime),
        xdg_runtime_dir=os.environ.get("XDG_RUNTIME_DIR"),
    )
