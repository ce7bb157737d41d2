"""The gates hold on the tree as it is, and each of them has been seen to close."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import gates
from tests.conftest import ROOT, require

# Room for the places where the rule is wrong, not for habit: lower them when one goes away.
SWALLOWING_BUDGET = 6
LONG_FUNCTION_BUDGET = 1

PRINTING: Mapping[str, str] = {
    "cli/": "the face prints",
    "guest/session.py": "a session shows the value of a cell's last expression, on the guest's own output",
}


def tracked() -> list[str]:
    """What is in git, or will be with the next commit."""
    require("git")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    require("a git checkout", present=listed.returncode == 0)
    return sorted(path for path in set(listed.stdout.split("\0")) if path and (ROOT / path).is_file())


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def closed(gate: Callable[[str], list[str]], files: list[Path]) -> list[str]:
    return [f"{f.relative_to(ROOT)} {finding}" for f in files for finding in gate(f.read_text(encoding="utf-8"))]


def test_no_loose_dict_in_a_public_signature() -> None:
    found = closed(gates.loose_dicts, sources("src"))
    assert not found, "say what is in them with a dataclass:\n" + "\n".join(found)


def test_broad_excepts_that_swallow_are_few() -> None:
    found = closed(gates.swallowing_excepts, sources("src"))
    assert len(found) <= SWALLOWING_BUDGET, "catch what you can name:\n" + "\n".join(found)


def test_broad_excepts_that_swallow_say_why() -> None:
    found = closed(gates.unexplained_excepts, sources("src"))
    assert not found, "write the reason on the line of the except:\n" + "\n".join(found)


def test_long_functions_are_few() -> None:
    found = closed(gates.long_functions, sources("src"))
    assert len(found) <= LONG_FUNCTION_BUDGET, "\n".join(found)


def test_only_what_should_print_prints() -> None:
    quiet = [
        f for f in sources("src") if not str(f.relative_to(ROOT / "src" / "ringfence")).startswith(tuple(PRINTING))
    ]
    found = closed(gates.prints, quiet)
    assert not found, "\n".join(found)


def test_modules_can_be_read_in_one_go() -> None:
    found = closed(gates.long_module, sources("src", "tests", "bench", "examples"))
    assert not found, "\n".join(found)


def test_names_say_what_a_file_holds() -> None:
    found = gates.forbidden_names(tracked())
    assert not found, "\n".join(found)


def test_there_is_one_lock_file() -> None:
    found = gates.other_locks(tracked())
    assert not found, "\n".join(found)


def test_no_file_names_a_package_registry() -> None:
    files = [ROOT / path for path in tracked()]
    found = [
        f"{f.relative_to(ROOT)} {finding}"
        for f in files
        if b"\0" not in (raw := f.read_bytes())
        for finding in gates.registry_names(raw.decode("utf-8", "replace"))
    ]
    assert not found, "\n".join(found)


def test_the_lock_holds_names_versions_and_hashes_only() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    odd = [line for line in lines if not line.startswith("    --hash=sha256:") and "==" not in line]
    assert lines
    assert not odd
    assert "://" not in "".join(lines)


# Each gate on what it must find, and on what it must let through.
BAD: Mapping[Callable[[str], list[str]], list[str]] = {
    gates.loose_dicts: [
        "def f(x: dict[str, Any]) -> None: ...",
        "def f() -> Dict[str, Any]: ...",
        "def f(*, x: list[typing.Mapping[str, typing.Any]] | None = None) -> None: ...",
        "async def f(**x: 'dict[str, Any]') -> None: ...",
        "class A:\n    def __init__(self, x: dict[str, Any]) -> None: ...",
        "class A:\n    class B:\n        x: dict[str, Any]",
    ],
    gates.swallowing_excepts: [
        "try: f()\nexcept: pass",
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept (OSError, BaseException) as e:\n    log(e)",
        "try: f()\nexcept builtins.Exception:\n    def g():\n        raise ValueError",
    ],
    gates.unexplained_excepts: [
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept Exception:  # noqa: BLE001\n    pass",
    ],
    gates.long_functions: [
        "def f():\n" + "    x = 1\n" * 60,
        "class A:\n    async def f(self):\n" + "        x = 1\n" * 60,
    ],
    gates.prints: ["print('here')", "def f():\n    pprint.pprint(1)", "builtins.print(1)"],
    gates.long_module: ["x = 1\n" * 401],
    gates.registry_names: [
        "see https://" + "py" + "pi.org/project/x",
        "url = https://mirror.example/api/" + "simple" + "/numpy/",
        '"resolved"' + ': "https://mirror.example/x.tgz"',
        "image: " + "docker" + ".io/library/python",
        "--index-url" + " http://10.0.0.1:3141",
    ],
}
GOOD: Mapping[Callable[[str], list[str]], list[str]] = {
    gates.loose_dicts: [
        "def f(x: dict[str, int], y: dict[int, Any]) -> Any: ...",
        "def _f(x: dict[str, Any]) -> None: ...",
        "def f() -> None:\n    x: dict[str, Any] = {}",
        "def f(x: Literal['a b', 'dict']) -> None: ...",
    ],
    gates.swallowing_excepts: [
        "try: f()\nexcept ValueError: pass",
        "try: f()\nexcept Exception as e:\n    if e.args:\n        raise\n    raise Other from e",
    ],
    gates.unexplained_excepts: [
        "try: f()\nexcept Exception:  # noqa: BLE001  the guest may raise anything\n    pass",
        "try: f()\nexcept BaseException:  # whatever it is, the child must end here\n    pass",
    ],
    gates.long_functions: ["def f():\n" + "    x = 1\n" * 59],
    gates.prints: ["self.printer(1)", "'print(1)'"],
    gates.long_module: ["x = 1\n" * 400],
    gates.registry_names: ["apt-get install docker.io", "https://example.org/simple", "conda and npm"],
}


def cases(table: Mapping[Callable[[str], list[str]], list[str]]) -> list[object]:
    return [pytest.param(g, s, id=f"{g.__name__}-{n}") for g, snippets in table.items() for n, s in enumerate(snippets)]


@pytest.mark.parametrize(("gate", "snippet"), cases(BAD))
def test_a_gate_closes(gate: Callable[[str], list[str]], snippet: str) -> None:
    assert gate(snippet)


@pytest.mark.parametrize(("gate", "snippet"), cases(GOOD))
def test_a_gate_lets_through(gate: Callable[[str], list[str]], snippet: str) -> None:
    assert gate(snippet) == []


@pytest.mark.parametrize(
    "path",
    ["src/ringfence/utils.py", "src/ringfence/core/x.py", "a/_helpers.py", "api/v2/x.py", "x_v3.py", "run_old.py"],
)
def test_a_forbidden_name_is_found(path: str) -> None:
    assert gates.forbidden_names([path])


@pytest.mark.parametrize("path", ["src/ringfence/sandbox/job.py", "tests/test_new_session.py", "bench/score.py"])
def test_a_telling_name_is_fine(path: str) -> None:
    assert gates.forbidden_names([path]) == []


@pytest.mark.parametrize("path", ["uv.lock", "web/package-lock.json"])
def test_another_lock_file_is_found(path: str) -> None:
    assert gates.other_locks([path])
    assert gates.other_locks(["requirements.lock"]) == []
