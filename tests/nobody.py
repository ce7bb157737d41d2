"""Run a command as an ordinary user, although the checkout and the interpreter may be in root's own folders.

As a program: `python -m tests.nobody COMMAND…`. It makes what the command needs reachable in a mount namespace of
its own, where a tmpfs that anybody may enter stands in for each folder that only root may, then becomes the user.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from ringfence.sandbox.native import syscalls as sc

NOBODY = 65534
ROOT = Path(__file__).resolve().parent.parent


def become_nobody(needed: list[Path]) -> None:
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
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _first_blocked(path: Path) -> Path | None:
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


if __name__ == "__main__":
    become_nobody([Path(p).resolve() for p in dict.fromkeys((sys.base_prefix, str(ROOT)))])
    os.environ.update(HOME="/tmp", PYTHONDONTWRITEBYTECODE="1")
    os.execvp(sys.argv[1], sys.argv[1:])
