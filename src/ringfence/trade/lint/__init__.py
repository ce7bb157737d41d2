"""The lint: what can be seen in a program's text. It is advice, and never the fence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark on a text. `code` stays the same from version to version; line and column count from 1."""

    code: str
    line: int
    column: int
    severity: Severity
    message: str
    hint: str
