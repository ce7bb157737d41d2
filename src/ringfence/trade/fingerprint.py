"""What a program is with its names, comments and layout taken out."""

from __future__ import annotations

import ast
import hashlib


def fingerprint(text: str) -> str:
    """Equal for programs that differ only in names of their own, comments, docstrings and layout; "" for no program."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    try:
        names = _Own().collect(tree)
        plain = ast.dump(_Renamed(names).visit(tree))
    except RecursionError:
        return ""
    return hashlib.sha256(plain.encode()).hexdigest()


class _Own(ast.NodeVisitor):
    """The names that a program gives, in the order in which they appear; an attribute is spelled with a dot before."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def collect(self, tree: ast.AST) -> dict[str, str]:
        self.visit(tree)
        return self.names

    def _add(self, name: str) -> None:
        # What the engine calls by name keeps its name.
        if name not in ("self", "init", "next", "signals"):
            self.names.setdefault(name, f"n{len(self.names)}")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._add(node.name)
        for target in _class_names(node):
            self._add(f".{target.id}")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._add(node.name)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self._add(node.arg)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store) and f".{node.id}" not in self.names:
            self._add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self._add(f".{node.attr}")
        self.generic_visit(node)


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id=self._names.get(node.id, node.id), ctx=node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=self._names.get(node.arg, node.arg))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        self.generic_visit(node)
        name = self._names.get(f".{node.attr}", node.attr) if own else node.attr
        return ast.Attribute(value=node.value, attr=name, ctx=node.ctx)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        for target in _class_names(node):
            target.id = self._names.get(f".{target.id}", target.id)
        return self._body(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        node.returns = None
        return self._body(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._body(node)

    def _body(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = [item for item in node.body if not _is_text(item)] or [ast.Pass()]
        return node


def _class_names(node: ast.ClassDef) -> list[ast.Name]:
    """What is assigned in the body of a class is read as an attribute."""
    found: list[ast.expr] = []
    for item in node.body:
        found += (
            item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []
        )
    return [target for target in found if isinstance(target, ast.Name)]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
