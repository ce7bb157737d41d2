"""Run a command as an ordinary user, although the checkout and the interpreter may be in root's own folders.

As a program: `python -m tests.nobody [--uid N] [--group FOLDER]… COMMAND…`. It joins the control groups named, makes
what the command needs reachable in a mount namespace of its own, where a tmpfs that anybody may enter stands in for
each folder that only root may, then becomes the user: nobody, unless another is named.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path

from ringfence.sandbox.native import syscalls as sc

NOBODY = 65534
ROOT = Path(__file__).resolve().parent.parent


def become_nobody(needed: list[Path], uid: int = NOBODY) -> None:
    sc.unshare(sc.CLONE_NEWNS)
    sc.mount("none", "/", None, sc.MS_REC | sc.MS_PRIVATE)
    trees = [(path, sc.open_tree(str(path))) for path in needed]
    for path, tree in trees:
        blocked = _first_blocked(path)
        if blocked is not None:
            sc.mount("none", str(blocked), "tmpfs", 0, "mode=755")
        path.mkdir(parents=True, exist_ok=True)
        sc.move_mount(tree, str(path))
    os.chdir(ROOT)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _first_blocked(path: Path) -> Path | None:
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.nobody")
    parser.add_argument("--uid", type=int, default=NOBODY)
    parser.add_argument("--group", type=Path, action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    for group in asked.group:
        (group / "cgroup.procs").write_text("0")
    become_nobody([Path(p).resolve() for p in dict.fromkeys((sys.base_prefix, str(ROOT)))], asked.uid)
    os.environ.update(HOME="/tmp", PYTHONDONTWRITEBYTECODE="1")
    os.execvp(asked.command[0], asked.command)


if __name__ == "__main__":
    main()
