"""Rules on what the program is made of: its methods, its imports, its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ringfence.trade import syntax
from ringfence.trade.classes import origin_of
from ringfence.trade.lint.libraries import instead_of, is_available, is_pointless
from ringfence.trade.lint.program import Program
from ringfence.trade.lint.rule import Rule, Spot

_DECIDES = {
    "native": frozenset({"next", "arrays", "on_start", "on_fill"}),
    "signals": frozenset({"generate_signals", "on_bar"}),
    "backtesting.py": frozenset({"next"}),
}
_MUTATORS = frozenset(
    {"append", "extend", "insert", "add", "update", "pop", "remove", "clear", "setdefault", "appendleft"}
)
_CONTAINERS = frozenset({"list", "dict", "set", "deque", "defaultdict", "Counter", "OrderedDict"})
_STARTS = frozenset({"system", "popen", "fork", "kill", "execv", "execve", "execvp", "spawnl", "spawnv", "posix_spawn"})


def deciding_method(program: Program) -> Iterator[Spot]:
    wanted = _DECIDES[program.draft.dialect]
    for node in program.leaves:
        if not _has_one_of(program, node, wanted) and not _from_library(program, node):
            words = " or ".join(sorted(wanted - {"on_start", "on_fill", "arrays"}))
            yield node, f"class {node.name} has no method {words}, so it never decides anything"


def library_init(program: Program) -> Iterator[Spot]:
    if program.draft.dialect != "backtesting.py":
        return
    for node in program.leaves:
        if not _has_one_of(program, node, frozenset({"init"})) and not _from_library(program, node):
            yield node, f"class {node.name} has no method init, which backtesting.py insists on"


def _has_one_of(program: Program, node: ast.ClassDef, names: frozenset[str]) -> bool:
    """Whether it or a base of it in the file has one of these methods, or assigns something to the name."""
    for item in (item for one in program.lineages[id(node)] for item in one.body):
        if isinstance(item, syntax.Function) and item.name in names:
            return True
        if isinstance(item, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in item.targets):
            return True
    return False


def _from_library(program: Program, node: ast.ClassDef) -> bool:
    """Bases such as SignalStrategy and TrailingStrategy bring their own methods."""
    bases = (base for one in program.lineages[id(node)] for base in one.bases)
    return any(origin_of(syntax.dotted(base), program.imports).startswith("backtesting.lib") for base in bases)


def missing_module(program: Program) -> Iterator[Spot]:
    guarded: bytearray | None = None
    for node, module in _imports(program):
        if not is_available(module):
            guarded = guarded or _guarded(program)
            if not guarded[program.tree.place(node)]:
                missing = module or "a module beside the program"
                yield node, f"{missing} is not there behind the fence; {instead_of(module)}"


def pointless_module(program: Program) -> Iterator[Spot]:
    for node, module in _imports(program):
        if is_pointless(module):
            yield node, f"{module} can be imported, but what it does is refused by the fence"
    for call in program.calls(program.module):
        name = program.name_of(call.func)
        if name.startswith("os.") and name[3:] in _STARTS:
            yield call, f"{name} is refused by the fence, or finds nothing to start"


def _imports(program: Program) -> Iterator[tuple[ast.AST, str]]:
    for node in program.walk(program.module):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node, ""
            elif node.module == "urllib":
                yield from ((node, f"urllib.{alias.name}") for alias in node.names)
            else:
                yield node, node.module or ""


def _guarded(program: Program) -> bytearray:
    """Inside a `try`, the program knows what to do without; for the type checker, it does not need it at all."""
    tried = {id(item) for node in program.walk(program.module) if isinstance(node, ast.Try) for item in node.body}

    def guards(parent: ast.AST, child: ast.AST) -> bool:
        for_types = isinstance(parent, ast.If) and syntax.last_name(parent.test) == "TYPE_CHECKING"
        return for_types or id(child) in tried

    return program.tree.handed_down(guards)


def unused_parameter(program: Program) -> Iterator[Spot]:
    read: set[str] = set()
    for node in program.walk(program.module):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            read.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            read.add(node.value)
    if any(_from_library(program, node) for node in program.leaves):
        return
    for parameter in program.draft.parameters:
        if parameter.name not in read:
            yield _at(parameter.line), f"parameter {parameter.name} is never used"


def bad_range(program: Program) -> Iterator[Spot]:
    for parameter in program.draft.parameters:
        low, high = parameter.low, parameter.high
        if low is not None and high is not None and low > high:
            yield _at(parameter.line), f"the range of {parameter.name} runs from {low:g} down to {high:g}"
        elif objection := parameter.objection(parameter.default):
            yield _at(parameter.line), f"the default {objection}"


def _at(line: int) -> ast.AST:
    return ast.Pass(lineno=line, col_offset=0)


def shared_container(program: Program) -> Iterator[Spot]:
    """A list or dict of the class is one for all its instances: only a matter when it is changed."""
    changed = set(_changed(program))
    bound = {
        target.attr
        for function in program.methods.values()
        for node in program.walk(function)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and syntax.dotted(target.value) == "self"
    }
    for owner in program.lineage:
        for item in owner.body:
            if isinstance(item, (ast.Assign, ast.AnnAssign)) and item.value is not None and _is_container(item.value):
                for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                    name = syntax.last_name(target)
                    if name in changed and name not in bound:
                        yield (
                            item,
                            f"{name} belongs to the class and is changed, so it is kept from one run to the next",
                        )


def _changed(program: Program) -> Iterator[str]:
    for node in program.walk(*program.methods.values()):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            yield syntax.dotted(node.func.value).removeprefix("self.")
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield syntax.dotted(node.value).removeprefix("self.")


def _is_container(node: ast.expr) -> bool:
    made = isinstance(node, ast.Call) and syntax.last_name(node.func) in _CONTAINERS
    return made or isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))


RULES = (
    Rule(
        "RF005",
        "error",
        deciding_method,
        "write `def next(self):` (signals: `def generate_signals(self, current_data):`)",
    ),
    Rule("RF006", "error", library_init, "write `def init(self):`, with `pass` if there is nothing to prepare"),
    Rule("RF007", "error", missing_module, "docs/check.md lists what a program finds"),
    Rule("RF008", "info", pointless_module, "leave it out: there is no network and no other program behind the fence"),
    Rule("RF101", "warning", unused_parameter, "use it, or delete it: a search would vary it for nothing"),
    Rule("RF102", "warning", shared_container, "set it in `init`: `self.name = []`"),
    Rule("RF103", "warning", bad_range, "correct the default or the range in `param(default, low, high)`"),
)
