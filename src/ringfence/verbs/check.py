"""Look at a program's text and say what is the matter with it, without running a line."""

from __future__ import annotations

from ringfence.sandbox import Sandbox, texts
from ringfence.trade.checked import Checked


def check(raw: str, name: str, class_name: str | None = None, *, sandbox: Sandbox) -> Checked:
    return texts.check(raw, name=name, class_name=class_name, sandbox=sandbox)
