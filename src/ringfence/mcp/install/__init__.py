"""Put the server's entry into a client's configuration, or take it out, and lose nothing else that is there.

The file is read, changed as text (TOML) or as values (JSON), read again to see that only our entry differs, and then
replaced in one step, with a copy of what was there beside it. A file that cannot be read is left as it is.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import InputError
from ringfence.mcp.install import json_file, toml_file
from ringfence.mcp.install.clients import Client, Entry

Edit = Callable[[str, tuple[str, ...], Entry | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    path: Path
    before: str | None  # None: there was no file
    after: str
    copy: Path | None = None  # of what was there

    @property
    def changes(self) -> bool:
        return self.after != (self.before or "")


def plan(client: Client, path: Path, name: str, entry: Entry | None) -> Change:
    """What the file would become with `entry` under `name`, or with nothing there."""
    path = path.resolve()  # a link to a file that is kept elsewhere stays a link
    before = _read(path)
    edit: Edit = toml_file.edit if path.suffix == ".toml" else json_file.edit
    try:
        after = edit(before or "", (*client.table, name), entry)
    except ValueError as e:
        raise InputError(f"{path} was left as it is, {e}: correct it, or name another file with --path") from e
    return Change(path=path, before=before, after=after)


def apply(change: Change) -> Change:
    """Write it. Whoever reads the file sees all of the old text or all of the new one."""
    part = change.path.with_name(f".{change.path.name}.{secrets.token_hex(4)}.part")
    try:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        copy = None if change.before is None else _copy(change.path)
        try:
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
                file.write(change.after)
                file.flush()
                os.fsync(fd)
            if change.before is not None:
                shutil.copymode(change.path, part)
            os.replace(part, change.path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as e:
        raise InputError(f"{change.path} cannot be written ({e.strerror}): name another file with --path") from e
    return Change(path=change.path, before=change.before, after=change.after, copy=copy)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise InputError(f"{path} cannot be read ({e.strerror}): name another file with --path") from e
    except UnicodeDecodeError as e:
        raise InputError(f"{path} is not UTF-8 and was left as it is: name another file with --path") from e


def _copy(path: Path) -> Path:
    """Beside it, under the first name that is free."""
    number = 0
    while True:
        place = path.with_name(f"{path.name}.bak{number or ''}")
        try:
            fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(path.read_bytes())
        shutil.copymode(path, place)
        return place
