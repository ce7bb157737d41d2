"""A rule of the lint looks at a Program and points at nodes of its tree. They are in files by what they are about."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ringfence.trade.lint import Severity
from ringfence.trade.lint.program import Program

Spot = tuple[ast.AST, str]  # where, and what is the matter there


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    severity: Severity
    find: Callable[[Program], Iterator[Spot]]
    hint: str
