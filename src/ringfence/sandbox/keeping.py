"""How a file of a run is kept: in memory, here, or in a directory of the host's, in `placing`.

To keep a file is to be given its name, its size and a function that copies its bytes to wherever they should go. The
name has been judged already (`names`).
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from pathlib import PurePosixPath

from ringfence.sandbox.outcome import Artifact

Write = Callable[[bytes], object]
Copy = Callable[[Write], str]  # gives every byte to `write` in order, and returns the SHA-256 of them all
Keep = Callable[[str, int, Copy], Artifact]

_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


class Unfit(Exception):
    """This file cannot be kept; the others can."""


def in_memory(name: str, size: int, copy: Copy) -> Artifact:
    data = bytearray()
    digest = copy(data.extend)
    return Artifact(name=name, bytes=size, sha256=digest, mime=mime(name), data=bytes(data))


def mime(name: str) -> str:
    # Only the suffix: the whole name would be read as a URL, and data: URLs name any type they like.
    guessed, packing = mimetypes.guess_type("x" + PurePosixPath(name).suffix)
    if packing is not None:
        return _PACKED.get(packing, "application/octet-stream")
    return guessed or "application/octet-stream"
