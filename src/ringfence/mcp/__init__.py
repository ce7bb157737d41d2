"""The MCP face: `ringfence mcp` offers the fence to chat clients and coding agents as tools.

                stdio ── server ── tools/* ── calls ── a thread ── fence ── the sandbox
    http ── connections ── door ──┘  │                 │            └── sessions
                     guard, greetings┘               turns
                                     └── shelf: what programs left, for a while

A tool is a value (`tool.Tool`): a name, a model of its arguments, a model of its answer, and the function between
them. `calls` runs it in a thread, from its arguments to the finished answer, reports progress, and stops the sandbox
when the caller goes away; the event loop, which all clients share, only sends. `clients` says who a client is.
Only `server`, `stdio`, `http` and `tools`, with what they show, import the protocol's library, which costs over a
second: the sandbox opens meanwhile.
"""

from __future__ import annotations
