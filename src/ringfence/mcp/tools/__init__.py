"""The tools, one file per noun. A file's TOOLS are offered in the order of the list here."""

from __future__ import annotations

from ringfence.mcp.tool import Tool
from ringfence.mcp.tools import artifacts, backtest, check, python, research, runs, sessions, simulate

TOOLS: tuple[Tool, ...] = (
    *python.TOOLS,
    *sessions.TOOLS,
    *backtest.TOOLS,
    *research.TOOLS,
    *simulate.TOOLS,
    *check.TOOLS,
    *artifacts.TOOLS,
    *runs.TOOLS,
)
