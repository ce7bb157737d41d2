"""Imports point down only, and importing the package does nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "src" / "ringfence"

# From the bottom up. Folders of one layer do not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("trade", "guest"),
    ("sandbox", "store"),
    ("markets", "agents", "evaluators"),
    ("verbs", "plans", "instances"),
    ("ringfence",),  # the package itself: names fetched from the layers below when first used
    ("cli", "api", "mcp", "__main__"),
    ("testing",),  # shipped suites: they may look at everything, and nothing of ours may need them
)
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
SIDEWAYS = {
    ("guest", "trade"): "strategies run inside the fence",
    ("plans", "instances"): "a plan's tasks run in instances",
    ("__main__", "cli"): "`python -m ringfence` is the command line",
    ("cli", "mcp"): "`ringfence mcp` starts that face",
}
# What lies below a folder and is still not for it.
CLOSED = {
    ("guest", "base"): "the guest is untrusted ground and takes nothing of ours but trade",
}

HEAVY = [
    "numpy",
    "pandas",
    "scipy",
    "talib",
    "numba",
    "llvmlite",
    "pyarrow",
    "matplotlib",
    "sklearn",
    "backtesting",
    "bokeh",
    "docker",
    "fastapi",
    "starlette",
    "uvicorn",
    "jinja2",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "mcp",
    "pydantic",
    "pydantic_ai",
    "openai",
    "anthropic",
    "ray",
    "alpaca",
    "yfinance",
    "exchange_calendars",
    "optuna",
    "opentelemetry",
    "prometheus_client",
]


def folder_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def may_import(importer: str, imported: str) -> bool:
    """Whether a module in folder `importer` may import from folder `imported`."""
    if importer == imported or (importer, imported) in SIDEWAYS:
        return True
    return LEVEL[imported] < LEVEL[importer] and (importer, imported) not in CLOSED


def imports(tree: ast.AST, submodules: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Every module of ours that the source names in an import, wherever it stands; type-only imports count too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, n.name) for n in names if n.name.split(".")[0] == "ringfence")
            case ast.ImportFrom(level=level) if level:
                yield node.lineno, "a relative import"
            case ast.ImportFrom(module="ringfence", names=names):
                # `from ringfence import sandbox` is the folder; `from ringfence import Job` goes through the package.
                yield from (
                    (node.lineno, f"ringfence.{n.name}" if n.name in submodules else "ringfence") for n in names
                )
            case ast.ImportFrom(module=str(module)) if module.startswith("ringfence."):
                yield node.lineno, module
            case ast.Call(
                func=ast.Name(id="import_module" | "find_plugin") | ast.Attribute(attr="import_module" | "find_plugin"),
                args=[ast.Constant(value=str(module)), *_],
            ) if module.split(".")[0] == "ringfence":
                yield node.lineno, module


def wrong_imports(source: str, importer: str) -> list[str]:
    wrong = []
    for line, module in imports(ast.parse(source), frozenset(LEVEL)):
        folder = folder_of(module)
        if folder not in LEVEL or not may_import(importer, folder):
            wrong.append(f"line {line}: {importer} may not import {module}")
    return wrong


def our_modules() -> list[tuple[Path, str]]:
    """Each source file with the folder it counts as."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        found.append((path, "ringfence" if first == "__init__" else first))
    return found


def test_every_folder_has_a_layer() -> None:
    strangers = {folder for _, folder in our_modules()} - set(LEVEL)
    assert not strangers, f"give these a place in LAYERS, or put the files elsewhere: {sorted(strangers)}"


def test_imports_point_down() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} {finding}"
        for path, folder in our_modules()
        if folder in LEVEL
        for finding in wrong_imports(path.read_text(), folder)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("base", "import ringfence.trade.bars"),
        ("trade", "from ringfence.guest import wire"),
        ("guest", "from ringfence.base.errors import RingfenceError"),
        ("guest", "from ringfence.sandbox.job import Job"),
        ("sandbox", "from ringfence.store import records"),
        ("sandbox", "from ringfence import verbs"),
        ("verbs", "from ringfence import Job"),
        ("verbs", "def late():\n    from ringfence.instances.slots import ports"),
        ("instances", "import ringfence.plans"),
        ("plans", "if TYPE_CHECKING:\n    from ringfence.verbs.run import run"),
        ("api", "from ringfence.cli import main"),
        ("verbs", "from ringfence.testing.sandbox import SandboxSuite"),
        ("store", "import_module('ringfence.verbs.run')"),
        ("base", "from .errors import RingfenceError"),
        ("base", "import ringfence.nowhere"),
    ],
)
def test_an_import_that_points_up_is_found(importer: str, source: str) -> None:
    assert wrong_imports(source, importer)


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("guest", "from ringfence.trade.bars import Bars\nfrom ringfence.guest.wire import send\nimport numpy"),
        ("plans", "from ringfence.instances import slots"),
        ("verbs", "from ringfence.sandbox import open_sandbox\nfrom ringfence.verbs.run import run"),
        ("cli", "from ringfence import __version__\nfrom ringfence import sandbox"),
        ("testing", "from ringfence import Job"),
        ("sandbox", "find_plugin('ringfence.sandbox', name)"),
        ("base", "import ringfenced"),
    ],
)
def test_an_import_that_points_down_is_fine(importer: str, source: str) -> None:
    assert wrong_imports(source, importer) == []


WATCH = """
    import json, os, sys
    reads = []
    getitem = os._Environ.__getitem__
    def watched(self, key):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in ("os", "collections.abc", "_collections_abc"):
            frame = frame.f_back
        reads.append([frame.f_globals["__name__"], str(key)])
        return getitem(self, key)
    before = set(sys.modules)
    os._Environ.__getitem__ = watched
    import MODULE
    logging = sys.modules.get("logging")
    print(json.dumps({
        "loaded": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
        "reads": reads,
        "handlers": len(logging.root.handlers) if logging else 0,
        "threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1,
    }))
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a fresh interpreter showed after an import."""

    loaded: list[str]  # top-level names
    reads: list[list[str]]  # of the environment: the module that read, and the variable
    handlers: int  # of the root logger
    threads: int


def watch(statement: str, path: str = "") -> Seen:
    script = f"import sys; sys.path.insert(0, {path!r})\n" + textwrap.dedent(WATCH).replace("MODULE", statement)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return Seen(**json.loads(done.stdout))


@pytest.mark.parametrize("module", ["ringfence", "ringfence.cli"])
def test_importing_does_nothing(module: str) -> None:
    seen = watch(module)
    assert set(seen.loaded) - sys.stdlib_module_names == {"ringfence"}
    assert seen.reads == []
    assert seen.handlers == 0
    assert seen.threads == 1


def test_building_the_whole_command_line_loads_nothing_heavy() -> None:
    seen = watch("ringfence.cli; ringfence.cli.build_app()")
    assert "typer" in seen.loaded
    assert not set(HEAVY) & set(seen.loaded)
    assert not [read for read in seen.reads if read[0].startswith("ringfence")]


def test_the_watch_sees_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "import os, logging, decimal\nos.environ.get('HOME')\nos.getenv('X')\nlogging.basicConfig()\n"
    )
    seen = watch("noisy", str(tmp_path))
    assert ["noisy", "HOME"] in seen.reads
    assert ["noisy", "X"] in seen.reads
    assert seen.handlers == 1
    assert "decimal" in seen.loaded
