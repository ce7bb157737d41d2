"""The rules of the lint, by what they are about. A rule looks at a Program and points at nodes of its tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ringfence.evaluators import Severity
from ringfence.evaluators.rules.program import Program

Spot = tuple[ast.AST, str]  # where, and what is the matter there


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    severity: Severity
    find: Callable[[Program], Iterator[Spot]]
    hint: str
