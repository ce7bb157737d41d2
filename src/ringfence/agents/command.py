"""A coding command-line tool as an author: it gets the brief, and what it prints is the reply.

    command:claude                       Claude Code, as `claude -p --output-format json`, with its own keys
    command:mytool --quiet {brief}       any command; {brief} is a file with the brief, which else is standard input

The command runs as you, outside of the fence and with the network, because that is what such tools need; only what it
wrote is tried behind the fence. It starts in an empty directory that is removed afterwards, and sees none of our
environment but the names in ALLOWED, those of its preset, and those the option `env` names. A wall clock of our own
ends it with everything it started, because such tools go on retrying when a service is down.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.agents.brief import Brief, Reply
from ringfence.agents.process import Finished, run_process
from ringfence.agents.prompt import brief_prompt, role_prompt
from ringfence.agents.reading import Answer, read_answer
from ringfence.agents.shapes import SHAPES, WRITING
from ringfence.agents.tool_output import Said, read_json_output, read_text_output
from ringfence.base.errors import AgentError, SettingsError

ALLOWED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ",
     "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)  # fmt: skip
SECONDS = 600.0
_OPTIONS = ("argv", "target", "seconds", "output", "env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`argv` with {brief} and {dir} for the brief's file and the working directory."""

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS
    json_output: bool = False

    @property
    def name(self) -> str:
        return Path(self.argv[0]).name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preset:
    argv: tuple[str, ...]
    environ: tuple[str, ...]


_PRESETS: Mapping[str, _Preset] = {
    "claude": _Preset(
        # Without tools: the answer is the reply, and nothing of ours is to be read or changed.
        argv=("claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config",
              "--no-session-persistence"),
        environ=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
                 "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
    ),
}  # fmt: skip


def create(options: Mapping[str, str]) -> CommandAgent:
    return CommandAgent(read_tool(options, os.environ))


def read_tool(options: Mapping[str, str], environ: Mapping[str, str]) -> Tool:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise SettingsError(f"command has no option {unknown[0]!r}: use one of {', '.join(_OPTIONS)}")
    line = options.get("argv") or options.get("target") or ""
    try:
        argv = tuple(shlex.split(line))
    except ValueError as e:
        raise SettingsError(f"the command {line!r} cannot be split into words ({e}): close its quotes") from e
    if not argv:
        raise SettingsError("command needs a command: write command:claude, or command:TOOL ARGUMENTS")
    preset = _PRESETS.get(argv[0]) if len(argv) == 1 else None
    argv = preset.argv if preset else argv
    allowed = {*ALLOWED, *options.get("env", "").replace("+", " ").split()}
    for known in _PRESETS.values():
        if Path(argv[0]).name == known.argv[0]:
            allowed |= set(known.environ)
    output = options.get("output") or ("json" if "json" in _after(argv, "--output-format") else "text")
    if output not in ("text", "json"):
        raise SettingsError(f"output={output} is unknown: use text or json")
    return Tool(
        argv=argv,
        environ={name: environ[name] for name in sorted(allowed) if name in environ},
        seconds=_seconds(options.get("seconds")),
        json_output=output == "json",
    )


class CommandAgent:
    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def act(self, brief: Brief) -> Reply:
        with tempfile.TemporaryDirectory(prefix="ringfence-command-", ignore_cleanup_errors=True) as made:
            place = Path(made)
            work = place / "work"
            work.mkdir()
            finished = run_process(
                self._argv(place, work),
                stdin=_write(place / "brief.md", _whole_prompt(brief)),
                cwd=work,
                environ={**self._tool.environ, "TMPDIR": str(work)},
                seconds=self._tool.seconds,
            )
            said = self._read(finished)
            answer, notices = _answer(brief, said, work)
        return Reply(
            text=said.text,
            code=answer.code,
            parsed=answer.parsed,
            stop_reason=answer.stop_reason,
            usage=said.usage,
            cost_usd=said.cost_usd,
            model=said.model or f"command:{self._tool.name}",
            notices=(*notices, *answer.notices),
        )

    def _argv(self, place: Path, work: Path) -> list[str]:
        program = shutil.which(self._tool.argv[0], path=self._tool.environ.get("PATH", os.defpath))
        if program is None:
            raise AgentError(
                f"the command {self._tool.argv[0]!r} is not on the PATH: install it, or give its full path"
            )
        words = [w.replace("{brief}", str(place / "brief.md")).replace("{dir}", str(work)) for w in self._tool.argv[1:]]
        return [program, *words]

    def _read(self, finished: Finished) -> Said:
        name = self._tool.name
        if finished.timed_out:
            raise AgentError(
                f"{name} did not answer within {self._tool.seconds:g} s and was ended: "
                "try again, or give it longer with seconds=N"
            )
        if finished.overflowed:
            raise AgentError(f"{name} printed more than we read and was ended: ask it for the program alone")
        return read_json_output(name, finished) if self._tool.json_output else read_text_output(name, finished)


def _whole_prompt(brief: Brief) -> str:
    shape = ""
    if brief.role in SHAPES:
        shape = f"\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(SHAPES[brief.role])}\n"
    return f"{role_prompt(brief.role)}{shape}\n{brief_prompt(brief)}\n"


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _answer(brief: Brief, said: Said, work: Path) -> tuple[Answer, tuple[str, ...]]:
    """What was printed, or else the one program that was written into the working directory."""
    if said.parsed is not None and brief.role in SHAPES:
        return read_answer(brief.role, json.dumps(said.parsed), said.stop_reason), ()
    answer = read_answer(brief.role, said.text, said.stop_reason)
    if brief.role not in WRITING or answer.stop_reason != "refused":
        return answer, ()
    files = sorted(p for p in work.rglob("*.py") if p.is_file() and not p.is_symlink())
    if len(files) != 1 or files[0].stat().st_size > 1 << 20:
        return answer, ()
    written = read_answer(brief.role, files[0].read_text(encoding="utf-8", errors="replace"))
    return written, (f"the program was not printed; it was taken from the file {files[0].name!r} that the tool wrote",)


def _after(argv: tuple[str, ...], flag: str) -> str:
    """The value of a flag, `--flag value` or `--flag=value`."""
    for n, word in enumerate(argv):
        if word == flag and n + 1 < len(argv):
            return argv[n + 1]
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return ""


def _seconds(text: str | None) -> float:
    if text is None:
        return SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise SettingsError(f"seconds={text} is no time to wait: give a number above 0")
    return seconds
