"""The gates: each takes source text, or paths, and returns what is wrong with it, one sentence per finding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 400
FORBIDDEN_NAMES = frozenset({"core", "common", "utils", "helpers", "managers", "services", "v2"})
OTHER_LOCKS = frozenset(
    [
        "uv.lock",
        "poetry.lock",
        "Pipfile.lock",
        "pdm.lock",
        "pixi.lock",
        "conda-lock.yml",
        "Cargo.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lockb",
    ]
)

# Written so that it does not match its own text.
REGISTRY = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|anaconda|rubygems)\.(?:org|com)\b"
    r"|\b(?:crates|ghcr|quay|gcr)\.io/|\bdocker\.io/"
    r"|https?://[^\s\"'<>]+/(?:simple|packages)/"
    r"|\"resolved\":\s*\"https?:|registry\s*=\s*\"https?:|--(?:extra-)?index-url[ =]\S*://",
    re.IGNORECASE,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def loose_dicts(source: str) -> list[str]:
    """`dict[str, Any]` and its like in what other modules see: public functions, methods and class fields."""
    return [f"line {a.lineno}: {ast.unparse(a)}" for a in _public_annotations(ast.parse(source)) if _has_loose_dict(a)]


def _public_annotations(node: ast.Module | ast.ClassDef) -> Iterator[ast.expr]:
    for child in node.body:
        name = getattr(child, "name", "")
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        if isinstance(child, Function):
            yield from _signature(child)
        elif isinstance(child, ast.ClassDef):
            yield from _public_annotations(child)
        elif isinstance(child, ast.AnnAssign) and not ast.unparse(child.target).startswith("_"):
            yield child.annotation


def _signature(function: Function) -> Iterator[ast.expr]:
    a = function.args
    for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
        if arg is not None and arg.annotation is not None:
            yield arg.annotation
    if function.returns is not None:
        yield function.returns


def _has_loose_dict(annotation: ast.expr) -> bool:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A quoted annotation; `Literal["..."]` may hold anything, and is then no type to look into.
            try:
                quoted = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                continue
            if not isinstance(quoted, ast.Constant) and _has_loose_dict(quoted):
                return True
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            words = [_last_name(part) for part in (node.value, *node.slice.elts)]
            if words[0] in {"dict", "Dict", "Mapping", "MutableMapping"} and words[1:] == ["str", "Any"]:
                return True
    return False


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def swallowing_excepts(source: str) -> list[str]:
    """Handlers that catch everything and let nothing out."""
    return [
        f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _raises(node.body)
    ]


def unexplained_excepts(source: str) -> list[str]:
    """Those of them whose line does not say why."""
    lines = source.splitlines()
    return [
        finding
        for finding in swallowing_excepts(source)
        if not re.search(r"#\s*(noqa:\s*[A-Z0-9, ]+)?\W*\w+ \w+", lines[int(re.findall(r"\d+", finding)[0]) - 1])
    ]


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_last_name(t) in {"Exception", "BaseException"} for t in types)


def _raises(nodes: Iterable[ast.AST]) -> bool:
    """Whether these raise; a `raise` in a function or class defined there is not theirs."""
    own = [node for node in nodes if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return any(isinstance(node, ast.Raise) or _raises(ast.iter_child_nodes(node)) for node in own)


def long_functions(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                found.append(f"line {node.lineno}: {node.name} has {lines} lines")
    return found


def prints(source: str) -> list[str]:
    return [
        f"line {node.lineno}: {ast.unparse(node)[:60]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _last_name(node.func) in {"print", "pprint"}
    ]


def long_module(source: str) -> list[str]:
    lines = len(source.splitlines())
    return [f"{lines} lines, over {MAX_MODULE_LINES}: split it by what it holds"] if lines > MAX_MODULE_LINES else []


def forbidden_names(paths: Iterable[str]) -> list[str]:
    """Names that say nothing about what a file holds, and versions kept beside each other."""
    found = []
    for path in paths:
        for part in PurePosixPath(path).parts:
            stem = part.partition(".")[0].strip("_").lower()
            if stem in FORBIDDEN_NAMES or re.search(r"_(v\d+|old|new|copy|backup)$", stem):
                found.append(f"{path}: the name {part!r} is not allowed")
    return found


def other_locks(paths: Iterable[str]) -> list[str]:
    return [
        f"{path}: requirements.lock is the one lock file" for path in paths if PurePosixPath(path).name in OTHER_LOCKS
    ]


def registry_names(text: str) -> list[str]:
    """Places to download packages from. Where they come from is the machine's business."""
    return [f"line {n}: {m[0]}" for n, line in enumerate(text.splitlines(), 1) if (m := REGISTRY.search(line))]
