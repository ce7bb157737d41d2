"""What is done inside the image while it is built, by the base's own interpreter; it may import nothing of ours.

    python3 -c TEXT look      say, as JSON, what interpreter this is
    python3 prepare.py make   turn /opt/ringfence, where the libraries lie, into a virtual environment
    python prepare.py try X…  import what these distributions hold; run by the virtual environment's interpreter

A virtual environment keeps what else the base has installed out of the guest's sight, and gives the interpreter
the same path in every image. `-I` does not hide it, as it hides PYTHONPATH and a user's own packages.
"""

from __future__ import annotations

import compileall
import importlib
import json
import os
import platform
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

PREFIX = Path("/opt/ringfence")
GUEST = "guest:x:65532:65532::/job:/bin/sh\n"
_CACHES = ("/root/.cache", "/var/cache/apt", "/var/lib/apt/lists", "/var/cache/apk")
_KERNEL = ("/proc", "/sys", "/dev")
# Parts of the standard library that no program runs, and packages of the base that the guest does not see.
_NEVER_IMPORTED = re.compile(r"/(site-packages|dist-packages|test|tests|idlelib|turtledemo)/")


def look() -> None:
    libc, release = platform.libc_ver()
    found = {
        "version": ".".join(map(str, sys.version_info[:3])),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "machine": platform.machine(),
        "libc": f"{libc} {release}".strip(),
    }
    sys.stdout.write(json.dumps(found) + "\n")


def make() -> None:
    import venv

    venv.EnvBuilder(symlinks=True).create(PREFIX)
    [site] = PREFIX.glob("lib/python3*/site-packages")
    (site / "ringfence.pth").write_text(f"{PREFIX}/source\n", encoding="utf-8")
    for place, mode in (("/job", 0o755), ("/box", 0o755), ("/tmp", 0o1777)):
        os.makedirs(place, exist_ok=True)
        os.chmod(place, mode)
    for table, line in (("/etc/passwd", GUEST), ("/etc/group", "guest:x:65532:\n")):
        add_line(Path(table), line)
    # Some libraries carry templates that are no Python; what the guest imports is tried below.
    compile_all(PREFIX / "lib", None)
    compile_all(Path(sysconfig.get_path("stdlib")), _NEVER_IMPORTED)
    try_in_guest((PREFIX / "build" / "requirements.txt").read_text(encoding="utf-8").split())
    for cache in (*_CACHES, PREFIX / "build"):
        shutil.rmtree(cache, ignore_errors=True)
    clear_set_id()


def compile_all(place: Path, skipped: re.Pattern[str] | None) -> None:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(place, maxlevels=50, rx=skipped, quiet=2, workers=0, invalidation_mode=mode)


def add_line(table: Path, line: str) -> None:
    text = table.read_text(encoding="utf-8") if table.exists() else ""
    if line not in text:
        table.parent.mkdir(exist_ok=True)
        table.write_text(text + line, encoding="utf-8")


def try_in_guest(names: list[str]) -> None:
    """A library whose own needs the base does not meet, such as libstdc++, must fail here and not in every run."""
    environ = {**os.environ, "MPLCONFIGDIR": str(PREFIX / "build"), "OPENBLAS_NUM_THREADS": "1"}
    command = [str(PREFIX / "bin" / "python"), "-I", __file__, "try", *names]
    if subprocess.run(command, env=environ, check=False).returncode:
        sys.exit("the libraries cannot be imported in this base")


def try_imports() -> None:
    wanted = set(sys.argv[2:])
    for module, names in metadata.packages_distributions().items():
        if module.isidentifier() and wanted & {re.sub("[-_.]+", "-", name).lower() for name in names}:
            importlib.import_module(module)


def clear_set_id() -> None:
    """Take from every program the right to run as its owner; `no-new-privileges` then has nothing left to stop."""
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in _KERNEL]
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                os.chmod(path, stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


if __name__ == "__main__":
    {"look": look, "make": make, "try": try_imports}[sys.argv[1]]()
