"""`ringfence mcp`: the fence as tools for chat clients and coding agents, and the entry that tells them of it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringfence.base.errors import SandboxError
from ringfence.cli import options
from ringfence.cli.dispatch import UsageProblem
from ringfence.cli.terminal import emit, say

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.mcp.fence import Fence

PORT = 8765

Http = Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp, not standard input and output.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="With --http: the address to listen on.")]
Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="With --http: the port; 0 takes a free one.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="With --http: what callers must send. RINGFENCE_MCP_TOKEN is safer."),
]
ClientName = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="NAME",
        help="claude-code, claude-desktop, cursor, vscode, codex, gemini or windsurf.",
    ),
]
ConfigPath = Annotated[
    Path | None, typer.Option("--path", metavar="FILE", help="This file, and not the one where the client looks.")
]
EntryName = Annotated[str, typer.Option("--name", metavar="NAME", help="What the client calls the server.")]
EntryHttp = Annotated[bool, typer.Option("--http", help="Point at a server that runs, not at a command to start.")]
EntryHost = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="With --http: where that server is.")]
EntryPort = Annotated[
    int, typer.Option("--port", metavar="N", min=1, max=65535, help="With --http: the port of that server.")
]
EntryToken = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="With --http: what that server wants. It is written into the file."),
]
EntryEnv = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="A variable that the client starts it with; without a value, as it is set here. May be given again.",
    ),
]
Remove = Annotated[bool, typer.Option("--remove", help="Take the entry out.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(serve)
    group.command("install", help="Write the server's entry into a client's configuration.")(install)
    app.add_typer(group, name=name, help=line)


def serve(
    ctx: typer.Context,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    token: Token = None,
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
) -> int:
    if ctx.invoked_subcommand is not None:
        return 0
    from ringfence.base.config import Settings
    from ringfence.mcp.fence import Fence
    from ringfence.sandbox import open_sandbox

    if not http and (token is not None or host != "127.0.0.1" or port != PORT):
        raise UsageProblem("--host, --port and --token are for --http: add it")
    settings = Settings.from_env(os.environ)
    name = known_backend(backend)
    fence = Fence(name, partial(open_sandbox, server_spec(backend, allow_weaker)))
    fence.warm()  # while the protocol's library, which takes as long, is imported
    try:
        return _serve(settings, fence, http, host, port, token)
    finally:
        fence.close()


def known_backend(spec: str) -> str:
    """The backend's name; SettingsError for one that there is not, which no later call could mend."""
    from ringfence.base.plugins import find_plugin

    name = spec.partition(":")[0]
    find_plugin("ringfence.sandbox", name)
    return name


def server_spec(backend: str, allow_weaker: bool) -> str:
    """What to open for many jobs: unlike for one, children are parked and the libraries of the field are imported."""
    if ":" in backend:
        return backend
    return f"{backend}:profile=quant" + (",allow_weaker=yes" if allow_weaker else "")


def _serve(settings: Settings, fence: Fence, http: bool, host: str, port: int, token: str | None) -> int:
    from ringfence import __version__
    from ringfence.cli.trading import read_secret

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="ringfence: %(message)s")
    try:
        from ringfence.mcp.desk import make_desk
        from ringfence.mcp.server import make_server
    except ModuleNotFoundError as e:
        raise SandboxError(f"the MCP server needs {e.name}: run `pip install 'ringfence[mcp,trade]'`") from e
    desk = make_desk(settings, os.environ, fence, partial(read_secret, settings))
    server = make_server(desk, __version__)
    if not http:
        from ringfence.mcp.stdio import serve_stdio

        if sys.stdin.isatty():
            say("this waits for a client's messages; `ringfence mcp install --help` says how to tell a client of it")
        return serve_stdio(desk, server)
    from ringfence.mcp.guard import make_rules
    from ringfence.mcp.http import serve_http

    rules = make_rules(host, settings.mcp_hosts, _token(token or settings.mcp_token, host))
    return serve_http(desk, server, host=host, port=port, rules=rules, say=say)


def _token(given: str | None, host: str) -> str | None:
    """On loopback none is needed. Elsewhere anybody could call: without one, one is made and told."""
    from ringfence.mcp.guard import is_loopback

    if given or is_loopback(host):
        return given
    import secrets

    made = secrets.token_urlsafe(24)
    say(f"callers must send the header 'Authorization: Bearer {made}'")
    return made


def install(
    client: ClientName = None,
    path: ConfigPath = None,
    name: EntryName = "ringfence",
    http: EntryHttp = False,
    host: EntryHost = "127.0.0.1",
    port: EntryPort = PORT,
    token: EntryToken = None,
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    env: EntryEnv = None,
    remove: Remove = False,
    dry_run: DryRun = False,
) -> int:
    from ringfence.base.config import Settings
    from ringfence.mcp.guard import listed
    from ringfence.mcp.install import apply, plan
    from ringfence.mcp.install.clients import Server, find_client

    if client is None and path is None:
        say(
            "say which client it is for with --client NAME, or which file with --path FILE; "
            "see `ringfence mcp install --help`"
        )
        return UsageProblem.exit_code
    if http and env:
        raise UsageProblem("--env is for a server that the client starts: leave out --http")
    known = find_client(client, path)
    settings = Settings.from_env(os.environ)
    shown = f"[{host}]" if ":" in host else host
    server = Server(
        command=(*_own_command(), "mcp", *_serve_words(backend, allow_weaker)),
        url=f"http://{shown}:{port}/mcp" if http else None,
        token=token or next(iter(listed(settings.mcp_token or "")), None),  # a client has one
        env=_variables(env or (), known_backend(backend), os.environ),
    )
    entry = None if remove else known.entry(server)
    change = plan(known, path or known.find(Path.home(), Path.cwd()), name, entry)
    if not change.changes:
        say(
            f"{change.path} needs no change: the entry {name!r} is {'not there' if remove else 'there as it should be'}"
        )
        return 0
    if not dry_run:
        change = apply(change)
        say(f"{change.path} was {'made' if change.before is None else 'changed'}")
        if change.copy is not None:
            say(f"what was there is in {change.copy}")
    emit(sys.stdout, _difference(change.before or "", change.after, str(change.path)))
    return 0


def _serve_words(backend: str, allow_weaker: bool) -> tuple[str, ...]:
    return (
        *(() if backend == "native" else ("--backend", backend)),
        *(("--allow-weaker",) if allow_weaker else ()),
    )


def _variables(asked: Sequence[str], backend: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What the server needs of this environment: a client with windows and no shell hands on none of it."""
    found = {"DOCKER_HOST": environ["DOCKER_HOST"]} if backend == "docker" and environ.get("DOCKER_HOST") else {}
    for word in asked:
        name, given, value = word.partition("=")
        if not name:
            raise UsageProblem(f"--env {word} names no variable: write --env NAME or --env NAME=VALUE")
        if not given and name not in environ:
            raise UsageProblem(f"{name} is not set here: write --env {name}=VALUE")
        found[name] = value if given else environ[name]
    return found


def _own_command() -> tuple[str, ...]:
    """How a client that knows neither our PATH nor our directory starts us."""
    beside = Path(sys.executable).with_name("ringfence")
    return (str(beside),) if beside.is_file() else (sys.executable, "-m", "ringfence")


def _difference(before: str, after: str, name: str) -> str:
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "".join(f"{line}\n" for line in lines)
