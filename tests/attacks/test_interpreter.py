"""Interpreter: writing outside the scratch space, and poisoning the runtime that the next run starts from."""

from __future__ import annotations

import hashlib
import secrets
import site
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, Attack, limits, nothing_won, run_promptly

EVIL = "ringfence_evil"  # in the name of every file that an attack tries to leave with the interpreter

# Run afterwards: is anything of the attack to be seen in a fresh run?
PROBE = f"""
import json, os
try:
    import {EVIL}
    result = "poisoned"
except ImportError:
    result = hasattr(os, {EVIL!r})
"""


def test_nothing_is_writable_but_the_scratch_space(contain: Callable[[Attack], Outcome]) -> None:
    mark = f"{EVIL}_{secrets.token_hex(4)}"
    code = f"""
import os
written, own = [], {{os.stat(place).st_dev for place in ("/job", "/tmp", "/dev/shm", "/box")}}
for top, folders, files in os.walk("/"):
    if os.stat(top).st_dev in own or top == "/proc":
        folders[:] = [name for name in folders if top != "/proc"]
        continue
    try:
        open(os.path.join(top, {mark!r}), "w").close()
        written.append(top)
    except OSError:
        pass
result = written
"""
    outcome = contain(Attack(name="writes_everywhere", code=code, limits=limits(wall_seconds=180)))
    assert outcome.result == []
    for top in ("/", "/etc", "/usr/lib", "/usr/bin", "/tmp", "/var/tmp", "/dev", "/dev/shm", str(Path.home())):
        assert not Path(top, mark).exists()
    assert not list(Path(sys.prefix).rglob(mark))


def _interpreter_files() -> dict[str, str]:
    """What an attacker would overwrite to own the next run, by content."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    targets = [Path(sys.executable).resolve(), *stdlib.glob("json/__init__.py"), *stdlib.glob("json/__pycache__/*.pyc")]
    targets += [stdlib / "os.py", stdlib / "site.py", Path(sys.prefix, "pyvenv.cfg")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in targets if path.exists()}


# The host's folders may lie where the jail has its scratch space (a clone in /tmp), and writing there harms nobody.
# Those of the guest's own interpreter are tried besides.
NOT_ITS_OWN = """
import site, sysconfig
def nearest(path):
    while not os.path.lexists(path): path = os.path.dirname(path)
    return os.stat(path).st_dev
scratch = {os.stat(place).st_dev for place in ("/job", "/tmp", "/dev/shm", "/box")}
folders += [*site.getsitepackages(), sysconfig.get_path("stdlib"), sysconfig.get_path("platlib")]
folders = [folder for folder in folders if nearest(folder) not in scratch]
assert len(folders) > 3, folders
"""

POISONS = {
    "pth_and_sitecustomize": """
for folder in folders:
    for name in ("EVIL.pth", "EVIL.py", "sitecustomize.py", "usercustomize.py", "EVIL/__init__.py"):
        attempt((folder, name), lambda: (os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True),
                                         open(os.path.join(folder, name), "w").write("import os; os.EVIL = 1")))
""",
    "modules_and_bytecode": """
import json, importlib.util
for path in (json.__file__, os.__file__, importlib.util.cache_from_source(json.__file__), sys.executable,
             os.path.realpath(sys.executable), os.path.join(sys.prefix, "pyvenv.cfg")):
    attempt(("write", path), lambda: open(path, "r+b").write(b"EVIL"))
    attempt(("replace", path), lambda: os.replace("/job/EVIL", path))
    attempt(("unlink", path), lambda: os.unlink(path))
    attempt(("chmod", path), lambda: os.chmod(path, 0o777))
for folder in folders:
    attempt(("bytecode", folder), lambda: open(folder + "/__pycache__/EVIL.cpython-311.pyc", "wb").write(b"EVIL"))
    attempt(("rename", folder), lambda: os.rename(folder, folder + ".EVIL"))
""",
    "the_running_executable": """
for link in ("/proc/self/exe", f"/proc/{os.getppid()}/exe", "/proc/1/exe"):
    attempt(link, lambda: open(link, "r+b").write(b"EVIL"))
    attempt(("fd", link), lambda: open(f"/proc/self/fd/{os.open(link, os.O_PATH)}", "r+b").write(b"EVIL"))
attempt("box", lambda: os.rename("/box", "/EVIL"))
""",
}


@pytest.mark.parametrize("how", POISONS)
def test_the_interpreter_cannot_be_poisoned(contain: Callable[[Attack], Outcome], sandbox: Sandbox, how: str) -> None:
    folders = [*site.getsitepackages(), sysconfig.get_path("stdlib"), sysconfig.get_path("platlib"), "/usr/lib"]
    head = f"import os, sys\nopen('/job/EVIL', 'w').write('EVIL')\nfolders = {folders!r}\n{NOT_ITS_OWN}\n"
    code = ATTEMPT + (head + POISONS[how] + "\nresult = won\n").replace("EVIL", EVIL)
    before = _interpreter_files()
    contain(Attack(name=how, code=code, check=nothing_won))
    assert _interpreter_files() == before
    for folder in folders:
        assert not list(Path(folder).glob(f"*{EVIL}*")), f"{folder} was poisoned on the host"
    assert run_promptly(sandbox, Job(code=PROBE)).result is False


def test_a_home_of_its_own_poisons_no_later_run(contain: Callable[[Attack], Outcome], sandbox: Sandbox) -> None:
    code = """
import os, site, sys
for folder in (site.getusersitepackages(), "/job", "/tmp", "/job/.config/matplotlib", "/job/.cache"):
    os.makedirs(folder, exist_ok=True)
    for name in ("EVIL.pth", "usercustomize.py", "sitecustomize.py", "json.py", "EVIL.py"):
        open(os.path.join(folder, name), "w").write("import os; os.EVIL = 1; result = 'EVIL'")
""".replace("EVIL", EVIL)
    contain(Attack(name="user_site", code=code))
    for _ in range(3):
        assert run_promptly(sandbox, Job(code=PROBE)).result is False


def test_interpreter_state_is_not_shared(contain: Callable[[Attack], Outcome]) -> None:
    """The small integer 42 becomes 41 in the attacker's own memory; the neighbour's 40 + 2 has to stay 42."""
    code = """
import ctypes, builtins, json, sys
ctypes.c_int32.from_address(id(42) + 24).value = 41
builtins.print = json.dumps = None
sys.modules.clear()
"""
    contain(Attack(name="small_integers", code=code, expect=("ok", "error", "signal", "exit")))
