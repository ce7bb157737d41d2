"""The tables of requests in tests/agents/requests: what was said, and how it is to be read.

`read` is the canonical English of the description. It stands for the description itself: that no two descriptions
share it, and that it reads as the one it came from, is what test_rules_echo.py shows.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "requests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    said: str
    read: str  # empty where it is to be refused
    unread: str = ""  # a part of what is then shown as not understood
    ask: str = ""  # a part of the question


def requests(name: str) -> list[Asked]:
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return [Asked(**{"read": "", **case}) for case in table["case"]]
