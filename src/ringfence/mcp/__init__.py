"""The MCP face: `ringfence mcp` offers the fence to chat clients and coding agents as tools.

    stdio | http ── server ── tools/* ── calls ── a thread ── fence ── the sandbox
                       │                             └── sessions
                       └── shelf: what programs left, for a while

A tool is a value (`tool.Tool`): a name, a model of its arguments, a model of its answer, and the function between
them. `calls` runs it in a thread, reports progress, and stops the sandbox when the caller goes away. Only `server`,
`stdio`, `http` and `tools` import the protocol's library, which costs over a second: the sandbox opens meanwhile.
"""

from __future__ import annotations
