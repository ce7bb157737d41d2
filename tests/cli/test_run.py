"""`ringfence run` on a sandbox that does as it is told: what is asked for, what is shown, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence.sandbox.job import PRESETS
from ringfence.sandbox.outcome import Status

from tests.cli.command import Done, argv, environment, on_terminal, ringfence
from tests.cli.scripted import script

Scripted = Callable[..., Done]
ECHO = script(echo=True)


def request(done: Done) -> dict[str, object]:
    assert done.code == 0, done
    result: dict[str, object] = json.loads(done.out)["result"]
    return result


def test_every_option_reaches_the_job(scripted: Scripted, tmp_path: Path) -> None:
    (tmp_path / "bars.json").write_text("[1, 2.5]")
    (tmp_path / "note.txt").write_bytes(b"n\xff")
    words = [
        "--timeout",
        "2.5",
        "--cpu-seconds",
        "1",
        "--memory",
        "1.5g",
        "--cpus",
        "0.5",
        "--pids",
        "7",
        "--disk",
        "9m",
    ]
    words += ["--output-bytes", "4k", "--seed", "11", "--device", "cpu", "--network", "none", "--profile", "plain"]
    words += ["--input", 'name="AAPL"', "--input", "bars=@bars.json", "--file", "note.txt", "--artifacts", "out"]
    words += ["--mount", f"{tmp_path}:/data", "--mount", f"{tmp_path}:/more:rw", "--json", "--", "-x", "--", "y"]
    job = request(scripted(ECHO, *words, cwd=tmp_path))
    assert job == {
        "argv": ["-x", "--", "y"],
        "inputs": {"name": "AAPL", "bars": [1, 2.5]},
        "files": {"note.txt": "n\xff"},
        "mounts": [f"{tmp_path}:/data:ro", f"{tmp_path}:/more:rw"],
        "limits": {
            "wall_seconds": 2.5,
            "cpu_seconds": 1,
            "memory_mb": 1536,
            "cpus": 0.5,
            "processes": 7,
            "disk_mb": 9,
            "output_bytes": 4096,
        },
        "device": "cpu",
        "seed": 11,
        "name": "script.py",
        "artifacts_dir": "out",
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_where_limits_start(scripted: Scripted, preset: str) -> None:
    limits = request(scripted(ECHO, "--preset", preset, "--pids", "5", "--json"))["limits"]
    assert isinstance(limits, dict)
    assert limits["processes"] == 5
    assert limits["memory_mb"] == PRESETS[preset].memory_mb
    assert limits["wall_seconds"] == PRESETS[preset].wall_seconds


def test_program_from_a_file_and_from_standard_input(plugins: Path, tmp_path: Path) -> None:
    (tmp_path / "plan b.py").write_bytes(b"\xef\xbb\xbf" + ECHO.encode())
    env = environment(plugins)
    words = ["--backend", "scripted", "--json"]
    from_file = request(ringfence("run", "plan b.py", *words, "--", "a", env=env, cwd=tmp_path))
    assert (from_file["name"], from_file["argv"]) == ("plan b.py", ["a"])
    assert request(ringfence("run", "-", *words, stdin=ECHO, env=env))["name"] == "stdin.py"


def test_a_command(plugins: Path) -> None:
    done = ringfence("run", "--backend", "scripted", "--exec", "--json", "--", "ls", "-l", env=environment(plugins))
    assert (done.code, json.loads(done.out)["status"]) == (0, "ok")


@pytest.mark.parametrize(
    ("status", "parts", "code"),
    [
        ("ok", {}, 0),
        ("error", {"exit_code": 1, "error": "ValueError"}, 1),
        ("error", {"exit_code": 70, "error": "ResultError"}, 70),
        ("exit", {"exit_code": 3}, 3),
        ("exit", {"exit_code": 0}, 0),
        ("signal", {"signal": 9}, 137),
        ("signal", {"signal": 6}, 134),
        ("timeout", {}, 124),
        ("cpu_limit", {}, 124),
        ("memory_limit", {}, 137),
        ("output_limit", {}, 122),
        ("disk_limit", {"exit_code": 1}, 121),
        ("process_limit", {"exit_code": 1}, 120),
        ("cancelled", {}, 130),
    ],
)
def test_exit_code_and_what_is_said_off_a_terminal(
    scripted: Scripted, status: Status, parts: dict[str, object], code: int
) -> None:
    done = scripted(script(status, **parts))
    assert done.code == code
    assert done.out == ""
    told = status in ("ok", "exit") or parts.get("error") == "ValueError"
    assert done.err == ("" if told else f"ringfence: {status}: because of {status}\n")
    as_json = scripted(script(status, **parts), "--json")
    assert (as_json.code, as_json.err) == (code, "")
    assert json.loads(as_json.out)["status"] == status


def test_json_is_one_strict_line(scripted: Scripted) -> None:
    done = scripted(script(writes=[["stdout", "a\x1b\n"], ["stderr", "b"]], result={"é": "\ud800\u2028"}), "--json")
    assert done.out.count("\n") == 1
    assert done.out.isascii()
    outcome = json.loads(done.out, parse_constant=pytest.fail)
    assert (outcome["stdout"], outcome["stderr"]) == ("a\x1b\n", "b")
    assert outcome["result"] == {"é": "\ud800\u2028"}


@pytest.mark.parametrize("words", [[], ["--stream"]], ids=["at the end", "live"])
def test_off_a_terminal_both_streams_are_passed_on(scripted: Scripted, words: list[str]) -> None:
    done = scripted(script(writes=[["stdout", "a\x1b[31m\r"], ["stderr", "b"], ["stdout", "c\n"]], result=5), *words)
    assert (done.out, done.err) == ("a\x1b[31m\rc\n", "b")


def test_off_a_terminal_the_result_is_shown_when_nothing_was_printed(scripted: Scripted) -> None:
    assert scripted(script(result={"a": [1]})).out == '{\n  "a": [\n    1\n  ]\n}\n'
    assert scripted(script(result=0)).out == "0\n"
    assert scripted(script(result="\ud800é")).out == '"\\ud800é"\n'


def test_live_output_with_json_goes_to_standard_error(scripted: Scripted) -> None:
    done = scripted(script(writes=[["stdout", "out"], ["stderr", "err"]]), "--json", "--stream")
    assert done.err == "outerr"
    assert json.loads(done.out)["stdout"] == "out"


def test_what_was_lost_is_said(scripted: Scripted) -> None:
    lines = scripted(script(cut=True, rejected=["evil\nname"])).err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["ringfence"] * 3
    assert "--output-bytes" in lines[0]
    assert "'evil\\nname' was refused: a link" in lines[2]


def test_output_comes_while_the_program_runs(plugins: Path) -> None:
    program = script(writes=[["stdout", "now\n"]], seconds=30)
    words = argv("run", "-c", program, "--backend", "scripted", "--stream")
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(plugins)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_the_run_and_shows_what_it_did(plugins: Path, number: signal.Signals, code: int) -> None:
    program = script(writes=[["stderr", "started\n"], ["stdout", "partial\n"]], seconds=30)
    words = argv("run", "-c", program, "--backend", "scripted", "--json", "--stream")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(plugins)) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"started\n"
        process.send_signal(number)
        out, _ = process.communicate(timeout=10)
        assert process.returncode == code
    outcome = json.loads(out)
    assert (outcome["status"], outcome["stdout"]) == ("cancelled", "partial\n")


@pytest.mark.parametrize("words", [["--stream"], []], ids=["live", "at the end"])
def test_a_reader_that_goes_away_ends_the_run_quietly(plugins: Path, words: list[str]) -> None:
    program = script(writes=[["stdout", "x" * 10_000]] * 3, seconds=30 if words else 0.3)
    command = argv("run", "-c", program, "--backend", "scripted", *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(plugins)) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=25)  # sooner than the program would end
    assert (process.returncode, err) == (141, b"")


def test_where_the_files_are_is_said_off_a_terminal(scripted: Scripted) -> None:
    done = scripted(script(artifacts=["a.png", "sub/b.png"], rejected=["c"]))
    assert done.err == "ringfence: artifact 'c' was refused: a link\nringfence: 2 artifacts are in /out\n"


class TestOnATerminal:
    @pytest.fixture
    def show(self, plugins: Path) -> Scripted:
        def call(program: str, *words: str, pipe_stdout: bool = False, **env: str) -> Done:
            words = ("run", "-c", program, "--backend", "scripted", *words)
            return on_terminal(*words, env=environment(plugins, **env), pipe_stdout=pipe_stdout)

        return call

    def test_summary(self, show: Scripted) -> None:
        done = show(script(result=[1], artifacts=["a.png"], rejected=["b"], writes=[["stdout", "hi"]]), NO_COLOR="1")
        assert done.out.splitlines() == [
            "hi",
            "[",
            "  1",
            "]",
            "ok because of ok",
            "wall 0.12 s of 30 s · cpu 0.08 s · memory 43 MB of 512 MB · processes 2 of 64",
            "artifact a.png (2 kB, text/plain) -> /out/a.png",
            "note artifact 'b' was refused: a link",
        ]

    def test_colour_unless_it_is_not_wanted(self, show: Scripted) -> None:
        assert "\x1b[1;32mok" in show(script()).out
        assert "\x1b[1;31mtimeout" in show(script("timeout")).out
        assert "\x1b" not in show(script("timeout"), NO_COLOR="1").out.replace("\x1b[K", "")

    def test_guest_output_cannot_command_the_terminal(self, show: Scripted) -> None:
        evil = "\x1b]0;title\x07\x1b[2J\x9b31m\x08\x00\u202e".encode().decode("latin-1")
        done = show(
            script(writes=[["stdout", evil], ["stderr", evil]], result=evil, reason=evil, artifacts=[evil]),
            NO_COLOR="1",
        )
        assert not set("\x1b\x07\x9b\x08\x00\u202e") & set(done.out)
        assert "\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\x08\\x00\\u202e" in done.out

    def test_pieces_of_a_character_and_of_a_line_end(self, show: Scripted) -> None:
        done = show(script(writes=[["stdout", p] for p in ("a\r", "\nb\xc3", "\xa9\r", "c\xff")]), NO_COLOR="1")
        assert done.out.splitlines()[:3] == ["a", "b\u00e9", "c\ufffd"]

    def test_progress_line_comes_and_goes(self, show: Scripted) -> None:
        done = show(script(seconds=1, writes=[["stdout", "hi\n"]]), "--timeout", "9")
        assert "\r\x1b[Krunning 0." in done.out
        assert " s of 9 s" in done.out
        assert done.out.index("hi") < done.out.index("running") < done.out.rindex("\r\x1b[K") < done.out.index("wall")

    def test_no_progress_line_where_it_could_not_be_taken_back(self, show: Scripted) -> None:
        assert "running" not in show(script(seconds=1), TERM="dumb").out

    def test_no_progress_line_in_the_middle_of_a_guests_line(self, show: Scripted) -> None:
        assert "running" not in show(script(seconds=1, writes=[["stdout", "half"]])).out

    def test_a_pipe_gets_the_bytes_and_the_terminal_the_summary(self, show: Scripted) -> None:
        done = show(script(writes=[["stdout", "\x1b[1mx\n"]]), pipe_stdout=True, NO_COLOR="1")
        assert done.out == "\x1b[1mx\n"
        assert "ok because of ok" in done.err

    def test_json_on_a_terminal_is_still_all_there_is(self, show: Scripted) -> None:
        done = show(script(writes=[["stderr", "e"]], seconds=0.6), "--json", pipe_stdout=True)
        assert json.loads(done.out)["stderr"] == "e"
        assert done.err == ""

    def test_a_long_result_is_cut(self, show: Scripted) -> None:
        done = show(script(result=list(range(1000))), NO_COLOR="1")
        assert "... and 802 more lines; use --json for all of it" in done.out
        assert "500" not in done.out
