"""`ringfence image`: the image that the Docker backend runs programs in."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.cli.options import AsJson
from ringfence.cli.terminal import clean_line, emit

if TYPE_CHECKING:
    from ringfence.verbs.image import Built

_BUILD_HELP = "Build the guest image: an interpreter, the libraries that are installed here, and ringfence."
_NAME = "ringfence-guest"  # IMAGE of ringfence.sandbox.docker.image, which --help need not import

Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="IMAGE",
        help="An image with Python 3.11 or newer; pulled only if it is not here. (default python:3.12-slim)",
    ),
]
Rootfs = Annotated[
    Path | None,
    typer.Option("--rootfs", metavar="TAR", help="Build on this tarball of a root file system instead of an image."),
]
Tag = Annotated[str, typer.Option("--tag", metavar="NAME", help="What to call the image.")]
Wheels = Annotated[
    Path | None,
    typer.Option("--wheels", metavar="DIR", help="Take the libraries from the wheels in DIR; no index is asked."),
]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer(help=line)
    group.callback()(_group)
    group.command("build", help=_BUILD_HELP)(build)
    app.add_typer(group, name=name, help=line)


def _group() -> None:
    # With a callback of its own a group of one command stays a group.
    pass


def build(
    base: Base = None, rootfs: Rootfs = None, tag: Tag = _NAME, wheels: Wheels = None, as_json: AsJson = False
) -> int:
    from ringfence import __version__
    from ringfence.verbs.image import build_image

    built = build_image(
        base=base,
        rootfs=rootfs,
        tag=tag,
        wheels=wheels,
        version=__version__,
        environ=os.environ,
        on_progress=_progress,
    )
    if as_json:
        emit(sys.stdout, json.dumps(asdict(built), allow_nan=False) + "\n")
    else:
        _show(built)
    return 0


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        emit(sys.stderr, f"{clean_line(step)}\n")


def _show(built: Built) -> None:
    from ringfence.cli.console import print_table
    from ringfence.cli.sizes import show_bytes

    facts = [
        ("image", built.image),
        ("id", built.id),
        ("base", built.base),
        ("python", built.python),
        ("ringfence", f"{built.version}, source {built.source[:12]}"),
        ("libraries", f"{len(built.libraries)}, from {built.libraries_from}"),
        ("size", show_bytes(built.bytes)),
    ]
    print_table(("what", ""), [(name, clean_line(value)) for name, value in facts])
