"""`ringfence mcp install`: the entry is written, and nothing else that is in the file is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.conftest import require
from tests.mcp.serving import SECONDS, Json, argv, connected, environment

COMMENTED = """# my settings
model = "large"   # keep me

[mcp_servers.other]
command = "other"

[mcp_servers.ringfence]   # mine
args = [
  "old",  # why
]
command = "old"
startup_timeout_sec = 20   # slow disk

[mcp_servers.ringfence.env]
A = "1"

# the end
[tui]
theme = "dark"
"""


LAID_OUT = """{
\t"z": 1.50,
\t"big": 1e400,
\t"ü": "grüße",
\t"mcpServers": {
\t\t"other": {"command": "x", "args": []},
\t\t"ringfence": {"command": "old", "args": ["old"], "env": {"A": "1"}, "disabled": true}
\t},
\t"a": null
}
"""


def install(
    home: Path, *words: str, code: int = 0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv("install", *words),
        env={**environment(home, HOME=str(home)), **(env or {})},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def files(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("client", "place", "table"),
    [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("codex", ".codex/config.toml", "mcp_servers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
    ],
)
def test_each_client_finds_its_entry(tmp_path: Path, client: str, place: str, table: str) -> None:
    require("linux")  # the place of one of them differs elsewhere
    shown = install(tmp_path, "--client", client).stdout
    text = (tmp_path / place).read_text()
    entry = (tomllib.loads(text) if place.endswith(".toml") else json.loads(text))[table]["ringfence"]
    assert entry["args"][-1] == "mcp"
    assert Path(entry["command"]).is_absolute()
    assert f"+{text.splitlines()[-1]}" in shown
    install(tmp_path, "--client", client)
    assert files(tmp_path) == {place: text}  # a second time changes nothing, and leaves no copy


def test_the_entry_starts_a_server(tmp_path: Path) -> None:
    install(tmp_path, "--client", "claude-code")
    entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["ringfence"]
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=environment(tmp_path))
    with connected(parameters, "native") as peer:
        assert isinstance(peer.client, Client)
        assert peer.run("result = 1")["result"] == 1


def test_the_backend_is_part_of_the_entry(tmp_path: Path) -> None:
    install(tmp_path, "--path", "x.json", "--backend", "docker", "--name", "fence")
    assert json.loads((tmp_path / "x.json").read_text())["mcpServers"]["fence"]["args"][-2:] == ["--backend", "docker"]


def read(path: Path) -> Json:
    text = path.read_text()
    return tomllib.loads(text)["mcp_servers"] if path.suffix == ".toml" else json.loads(text)["mcpServers"]


@pytest.mark.parametrize("name", ["c.json", "c.toml"])
def test_a_client_without_a_shell_is_given_the_variables(tmp_path: Path, name: str) -> None:
    before = {"c.json": LAID_OUT, "c.toml": COMMENTED}[name]
    (tmp_path / name).write_text(before)
    words = ("--path", name, "--backend", "docker", "--allow-weaker", "--env", "RINGFENCE_PARK", "--env", "A=b=c")
    known = {"RINGFENCE_PARK": "3", "DOCKER_HOST": "unix:///run/mine.sock"}
    install(tmp_path, *words, env=known)
    entry = read(tmp_path / name)["ringfence"]
    assert entry["args"][-3:] == ["--backend", "docker", "--allow-weaker"]
    assert entry["env"] == {**known, "A": "b=c"}
    install(tmp_path, "--path", name, "--backend", "docker", "--env", "DOCKER_HOST=tcp://here", env=known)
    assert read(tmp_path / name)["ringfence"]["env"] == {**known, "A": "b=c", "DOCKER_HOST": "tcp://here"}
    assert read(tmp_path / name)["other"]["command"] in ("x", "other")


@pytest.mark.parametrize("own", ['env = { B = "2" }  # mine\n', 'env.B = "2"\n', ""])
def test_variables_join_those_that_are_in_line(tmp_path: Path, own: str) -> None:
    (tmp_path / "c.toml").write_text(f'[mcp_servers.ringfence]\ncommand = "x"\n{own}# the end\n')
    install(tmp_path, "--path", "c.toml", "--env", "A=1")
    assert read(tmp_path / "c.toml")["ringfence"]["env"] == {"A": "1", **({"B": "2"} if own else {})}
    assert "# the end" in (tmp_path / "c.toml").read_text()


def test_the_engine_is_named_only_where_it_is_used(tmp_path: Path) -> None:
    install(tmp_path, "--path", "c.json", env={"DOCKER_HOST": "unix:///run/mine.sock"})
    assert "env" not in read(tmp_path / "c.json")["ringfence"]


def test_json_keeps_all_that_is_there(tmp_path: Path) -> None:
    before = LAID_OUT
    (tmp_path / "c.json").write_text(before)
    (tmp_path / "c.json").chmod(0o640)
    said = install(tmp_path, "--path", "c.json").stderr
    after = (tmp_path / "c.json").read_text()
    found = json.loads(after)
    assert list(found) == ["z", "big", "ü", "mcpServers", "a"]
    assert found["mcpServers"]["other"] == {"command": "x", "args": []}
    own = found["mcpServers"]["ringfence"]
    assert (own["env"], own["disabled"], own["args"][-1]) == ({"A": "1"}, True, "mcp")
    assert "1.50" in after and "1e400" in after and "grüße" in after and '\n\t"z"' in after
    assert (tmp_path / "c.json.bak").read_text() == before
    assert "c.json.bak" in said
    assert (tmp_path / "c.json").stat().st_mode & 0o777 == 0o640


def test_toml_keeps_comments_and_what_a_user_added(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(COMMENTED)
    install(tmp_path, "--path", "c.toml")
    after = (tmp_path / "c.toml").read_text()
    lost = {line for line in COMMENTED.splitlines() if line not in after.splitlines()}
    assert lost == {'  "old",  # why', 'command = "old"', "args = [", "]"}
    own = tomllib.loads(after)["mcp_servers"]["ringfence"]
    assert (own["startup_timeout_sec"], own["env"], own["args"][-1]) == (20, {"A": "1"}, "mcp")
    install(tmp_path, "--path", "c.toml", "--remove")
    left = tomllib.loads((tmp_path / "c.toml").read_text())
    assert left == {"model": "large", "mcp_servers": {"other": {"command": "other"}}, "tui": {"theme": "dark"}}
    assert "# the end" in (tmp_path / "c.toml").read_text()
    assert (tmp_path / "c.toml.bak").read_text() == COMMENTED
    assert (tmp_path / "c.toml.bak1").read_text() == after


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.json", '{\n  // a comment\n  "mcpServers": {}\n}', "comments are not JSON"),
        ("c.json", "[1]", "no JSON object"),
        ("c.json", '{"mcpServers": []}', "no object"),
        ("c.json", '{"a": 1, "a": 2}', "twice"),
        ("c.json", '{"a": 1', "not JSON"),
        ("c.toml", "a = [", "not TOML"),
        ("c.toml", 'mcp_servers = { ringfence = { command = "x" } }\n', "header of its own"),
        ("c.toml", 'a = """\n[mcp_servers.ringfence]\n"""\n', "header of its own"),
    ],
)
def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content)
    said = install(tmp_path, "--path", name, code=66).stderr
    assert "was left as it is" in said and told in said
    assert files(tmp_path) == {name: content}


def test_it_can_be_taken_out_again(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"mcpServers": {"other": {"command": "x"}}}')
    install(tmp_path, "--path", "c.json")
    install(tmp_path, "--path", "c.json", "--remove")
    assert json.loads((tmp_path / "c.json").read_text()) == {"mcpServers": {"other": {"command": "x"}}}
    assert "not there" in install(tmp_path, "--path", "c.json", "--remove").stderr


def test_a_dry_run_shows_it_and_changes_nothing(tmp_path: Path) -> None:
    assert '+    "ringfence": {' in install(tmp_path, "--client", "cursor", "--dry-run").stdout
    assert files(tmp_path) == {}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "real.json").write_text("{}")
    (tmp_path / "c.json").symlink_to("kept/real.json")
    install(tmp_path, "--path", "c.json")
    assert (tmp_path / "c.json").is_symlink()
    assert "ringfence" in (tmp_path / "kept" / "real.json").read_text()


def test_http_is_an_address_with_its_token(tmp_path: Path) -> None:
    def entry(*words: str) -> Json:
        install(tmp_path, "--path", "c.json", "--http", *words)
        return json.loads((tmp_path / "c.json").read_text())["mcpServers"]["ringfence"]

    assert entry() == {"type": "http", "url": "http://127.0.0.1:8765/mcp"}
    assert (tmp_path / "c.json").stat().st_mode & 0o077 == 0  # it may hold a token
    known = entry("--host", "::1", "--port", "9", "--token", "secret")
    assert (known["url"], known["headers"]) == ("http://[::1]:9/mcp", {"Authorization": "Bearer secret"})
    assert "leave out --http" in install(tmp_path, "--client", "claude-desktop", "--http", code=66).stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "--client NAME"),
        ([], 2, "see `ringfence mcp install --help`"),
        (["--client", "cursor", "--http", "--port", "0"], 2, "--port"),
        (["--client", "cursor", "--http", "--port", "65536"], 2, "--port"),
        (["--client", "cursor", "--backend", "dokker"], 78, "'dokker' is unknown: use one of docker, native"),
        (["--client", "cursor", "--env", "NOSUCHVARIABLE"], 2, "--env NOSUCHVARIABLE=VALUE"),
        (["--client", "cursor", "--env", "=x"], 2, "--env NAME=VALUE"),
        (["--client", "cursor", "--env", "A=1", "--http"], 2, "leave out --http"),
        (["--client", "nosuch"], 66, "use one of claude-code"),
        (["--client", "codex", "--path", "x.json"], 66, ".toml"),
        (["--path", "/proc/nowhere/x.json"], 66, "--path"),
    ],
)
def test_a_wrong_request_is_told(tmp_path: Path, words: list[str], code: int, told: str) -> None:
    assert told in install(tmp_path, *words, code=code).stderr
    assert files(tmp_path) == {}


def test_installing_does_not_import_the_protocol() -> None:
    script = (
        "import sys; from ringfence.mcp import install; print([m for m in ('mcp', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "[]\n"
