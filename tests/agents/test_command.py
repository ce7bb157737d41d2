"""The command agent: real commands, what they print, what they may see, and how they are ended."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from ringfence.agents import Agent, open_agent
from ringfence.base.errors import AgentError, SettingsError
from ringfence.testing import AgentCase, AgentSuite
from ringfence.testing.agent import PROGRAM

from tests.agents.models import CASE, FENCED, SHAPED, VERDICT
from tests.agents.server import Say, serve


def tool(path: Path, body: str) -> str:
    """A command that runs `body`, with the brief in `brief` and the prompts of the roles known to it."""
    head = "import json, os, subprocess, sys, time\nfrom pathlib import Path\n"
    path.write_text(head + textwrap.dedent(body))
    return shlex.join([sys.executable, "-E", "-s", str(path)])


def command(path: Path, body: str, **options: str) -> Agent:
    extra = "".join(f",{name}={value}" for name, value in options.items())
    return open_agent(f"command:argv={tool(path / 'tool.py', body)}{extra}")


def result(**fields: object) -> str:
    """What Claude Code prints at the end of a run."""
    usual = {"type": "result", "subtype": "success", "is_error": False, "result": FENCED, "num_turns": 2,
             "total_cost_usd": 0.0321, "stop_reason": "end_turn", "modelUsage": {"some-model": {}},
             "usage": {"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 7}}  # fmt: skip
    return json.dumps({name: value for name, value in {**usual, **fields}.items() if value is not None})


def says(path: Path, text: str, code: int = 0, **options: str) -> Agent:
    (path / "said.txt").write_text(text)
    body = f"sys.stdin.read(); sys.stdout.write(Path({str(path / 'said.txt')!r}).read_text()); sys.exit({code})"
    return command(path, body, **options)


class TestCommand(AgentSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> AgentCase:
        (tmp_path / "shaped.json").write_text(json.dumps(SHAPED))
        (tmp_path / "fenced.md").write_text(FENCED)
        (tmp_path / "cut.md").write_text(FENCED[:180])
        good = tool(
            tmp_path / "good.py",
            f"""
            brief, place = sys.stdin.read(), Path({str(tmp_path)!r})
            shaped = json.loads((place / "shaped.json").read_text())
            starts = {{"research": "You turn what", "analyst": "You judge how", "judge": "You check one"}}
            role = next((role for role, start in starts.items() if brief.startswith(start)), None)
            print(json.dumps(shaped[role]) if role else (place / "fenced.md").read_text())
            """,
        )
        return AgentCase(
            agent=open_agent(f"command:{good}"),
            deterministic=True,
            cut=open_agent(f"command:cat {shlex.quote(str(tmp_path / 'cut.md'))}"),
            unreachable=open_agent("command:no-such-tool-anywhere --quiet"),
        )


def test_the_brief_comes_on_standard_input_or_as_a_file(tmp_path: Path) -> None:
    # It answers with a program whose comment quotes the brief.
    body = """
    brief = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else sys.stdin.read()
    line = next(line for line in brief.splitlines() if "drops below 35" in line)
    print("# " + line, "class A(Strategy):", "    def next(self):", "        self.buy()", sep="\\n")
    """
    words = tool(tmp_path / "tool.py", body)
    for spec in (f"command:{words}", f"command:{words} {{brief}}"):
        code = open_agent(spec).act(CASE.brief()).code
        assert code is not None and code.startswith("# Buy GOOG when RSI(14) drops below 35")


def test_it_sees_none_of_our_environment_but_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "RINGFENCE_MODEL_KEY", "APCA_API_SECRET_KEY", "MY_TOOL_TOKEN", "LD_PRELOAD_X"):
        monkeypatch.setenv(name, f"secret-{name}")
    body = "print('class A(Strategy):', '    seen =', json.dumps(dict(os.environ)), '    where =', repr(os.getcwd()))"
    text = command(tmp_path, body, env="MY_TOOL_TOKEN+OTHER").act(CASE.brief()).text
    assert "secret-MY_TOOL_TOKEN" in text and "PATH" in text
    assert text.count("secret-") == 1
    where = text.rpartition("where = ")[2].strip().strip("'")
    assert "ringfence-command-" in where and not Path(where).exists(), "it had a directory of its own, gone by now"


def test_a_preset_gets_its_own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in by the name of the real one, which proves what the preset starts and with what."""
    fake = tmp_path / "bin" / "claude"
    fake.parent.mkdir()
    fake.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "said = {'argv': sys.argv[1:], 'key': os.environ.get('ANTHROPIC_API_KEY')}\n"
        "said['mine'] = 'OPENAI_API_KEY' in os.environ\n"
        "print(json.dumps({'type': 'result', 'is_error': False, 'result': json.dumps(said)}))\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "not for it")
    reply = open_agent("command:claude").act(CASE.brief())
    said = json.loads(reply.text)
    assert said["argv"][:3] == ["-p", "--output-format", "json"]
    assert (said["key"], said["mine"]) == ("k", False)
    assert (reply.code, reply.stop_reason, reply.model) == (None, "refused", "command:claude")


def test_json_output_tells_usage_cost_and_model(tmp_path: Path) -> None:
    for printed in (result(), f'{{"type": "system"}}\n{result()}\n', f'[{{"type": "system"}}, {result()}]'):
        reply = says(tmp_path, printed, output="json").act(CASE.brief())
        assert (reply.code, reply.model, reply.cost_usd) == (PROGRAM, "some-model", 0.0321)
        assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.requests) == (25, 7, 2)


def test_structured_output_is_taken_where_there_is_one(tmp_path: Path) -> None:
    reply = says(tmp_path, result(result="see there", structured_output=VERDICT), output="json").act(
        CASE.brief("judge")
    )
    assert reply.parsed == VERDICT


@pytest.mark.parametrize(
    ("printed", "code", "words"),
    [
        (result(is_error=True, result="API Error: 400 no credit"), 0, "no credit"),  # its subtype still says success
        (result(subtype="error_max_turns", is_error=True, result=None), 1, "error_max_turns"),
        (result(subtype="error_max_budget_usd", result=None), 1, "error_max_budget_usd"),
        (result(), 3, "exit code 3"),
        ("no conversation found", 1, "no conversation found"),
        ("", 0, "no JSON result"),
        ("[1, 2]", 0, "no JSON result"),
    ],
)
def test_an_error_is_told_by_is_error_and_not_by_its_subtype(
    tmp_path: Path, printed: str, code: int, words: str
) -> None:
    with pytest.raises(AgentError, match=words):
        says(tmp_path, printed, code=code, output="json").act(CASE.brief())


@pytest.mark.parametrize(("stop", "reason"), [("max_tokens", "length"), ("refusal", "refused")])
def test_a_reply_that_did_not_end_well_is_no_program(tmp_path: Path, stop: str, reason: str) -> None:
    reply = says(tmp_path, result(stop_reason=stop), output="json").act(CASE.brief())
    assert (reply.code, reply.stop_reason) == (None, reason)


def test_a_failure_says_what_the_command_said(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"exit code 7 \(log in first\)"):
        command(tmp_path, "sys.stderr.write('trying\\nlog in first\\n'); sys.exit(7)").act(CASE.brief())
    with pytest.raises(AgentError, match="printed nothing"):
        command(tmp_path, "pass").act(CASE.brief())


def test_a_program_that_was_written_to_a_file_is_found(tmp_path: Path) -> None:
    body = f"Path('strategy.py').write_text({PROGRAM!r}); print('I wrote strategy.py for you.')"
    reply = command(tmp_path, body).act(CASE.brief())
    assert reply.code == PROGRAM
    assert "'strategy.py'" in reply.notices[0]
    two = f"Path('a.py').write_text({PROGRAM!r}); Path('b.py').write_text({PROGRAM!r}); print('I wrote two.')"
    assert command(tmp_path, two).act(CASE.brief()).stop_reason == "refused"


def test_our_clock_ends_it_with_everything_it_started(tmp_path: Path) -> None:
    """The grandchild ignores the polite signal, holds the standard streams, and must be gone."""
    pid_file = tmp_path / "pid"
    body = f"""
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", stubborn])
    Path({str(pid_file)!r}).write_text(str(child.pid))
    time.sleep(600)
    """
    with pytest.raises(AgentError, match=r"within 1\.5 s and was ended"):
        command(tmp_path, body, seconds="1.5").act(CASE.brief())
    assert gone(int(pid_file.read_text()))


def test_what_it_leaves_running_is_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    body = f"""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path({str(pid_file)!r}).write_text(str(child.pid))
    print({PROGRAM!r})
    """
    assert command(tmp_path, body).act(CASE.brief()).code
    assert gone(int(pid_file.read_text()))


def gone(pid: int) -> bool:
    """Dead, or a zombie that waits for whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_flood_is_ended(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="printed more"):
        command(tmp_path, "while True: sys.stdout.write('x' * 1_000_000)").act(CASE.brief())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("command", "needs a command"),
        ("command:'unclosed", "close its quotes"),
        ("command:argv=cat,seconds=0", "seconds=0"),
        ("command:argv=cat,output=xml", "output=xml"),
        ("command:argv=cat,colour=red", "colour"),
    ],
)
def test_an_option_that_cannot_be_is_named(spec: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        open_agent(spec)


def test_a_file_that_is_no_program_is_said(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b"\x7fELF nonsense")
    bad.chmod(0o755)
    with pytest.raises(AgentError, match="cannot be started"):
        open_agent(f"command:{bad}").act(CASE.brief())


if shutil.which("claude") is not None:  # beside the scripted ones, where somebody has it; it is no part of the suite

    def test_the_real_claude_code_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
        with serve(lambda asked: Say(text=FENCED)) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            reply = open_agent("command:claude").act(CASE.brief())
        assert reply.code == PROGRAM
        assert reply.usage.output_tokens > 0 and not server.asked[-1].body.get("tools")
        with serve(lambda asked: Say(status=400, message="no credit")) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            with pytest.raises(AgentError, match="no credit"):
                open_agent("command:claude").act(CASE.brief())
