"""`ringfence check` says what it sees, and its exit code whether that is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import environment, on_terminal, ringfence
from tests.evaluators.texts import native, signals

GOOD = native(attributes="period = param(14, 5, 50)\nlow: float = 30.0", init="x = self.period, self.low")
DOUBTFUL = native(step="self.buy()")
TWO = native() + "class Other(Strategy):\n    def next(self): pass\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    texts = {"good": GOOD, "doubtful": DOUBTFUL, "two": TWO, "cut": GOOD + "    def on_end(self", "signals": signals()}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "reply.md").write_text(f"Here it is:\n\n```python\n{DOUBTFUL}```\nHave fun.\n")
    return tmp_path


def test_a_good_strategy_is_described(place: Path) -> None:
    done = ringfence("check", "good.py", cwd=place)
    assert (done.code, done.err) == (0, "")
    assert done.out == "native strategy, class Dip, parameters period=14, low=30.0\n0 errors, 0 warnings, 0 remarks\n"


def test_findings_are_shown_with_their_place_and_a_hint(place: Path) -> None:
    done = ringfence("check", "doubtful.py", cwd=place)
    assert done.code == 0
    line = DOUBTFUL.split("\n").index("        self.buy()") + 1
    assert (
        f"doubtful.py:{line}:9: warning RF401 positions are opened and nothing ever closes them\n    close on"
        in done.out
    )
    assert done.out.endswith("0 errors, 1 warning, 2 remarks\n")


def test_json_has_everything(place: Path) -> None:
    done = ringfence("check", "good.py", "--json", cwd=place)
    told = json.loads(done.out)
    assert list(told) == ["file", "ok", "dialect", "class", "parameters", "sha256", "findings", "notes"]
    assert (told["file"], told["ok"], told["dialect"], told["class"]) == ("good.py", True, "native", "Dip")
    line = GOOD.split("\n").index("    period = param(14, 5, 50)") + 1
    period = {"name": "period", "default": 14, "low": 5, "high": 50, "step": None, "choices": None, "line": line}
    assert told["parameters"][0] == period
    assert len(told["sha256"]) == 64


def test_lines_of_a_reply_are_those_of_the_file(place: Path) -> None:
    told = json.loads(ringfence("check", "reply.md", "--json", cwd=place).out)
    finding = next(finding for finding in told["findings"] if finding["code"] == "RF401")
    assert list(finding) == ["code", "line", "column", "severity", "message", "hint"]
    assert (place / "reply.md").read_text().split("\n")[finding["line"] - 1].strip() == "self.buy()"
    assert any("fence" in note for note in told["notes"])


@pytest.mark.parametrize(("file", "code"), [("cut.py", "RF002"), ("two.py", "RF004")])
def test_an_error_is_exit_code_1(place: Path, file: str, code: str) -> None:
    assert code in ringfence("check", file, cwd=place).out
    done = ringfence("check", file, "--json", cwd=place)
    told = json.loads(done.out)
    assert (done.code, told["ok"], told["dialect"], told["sha256"]) == (1, False, None, None)
    assert [finding["code"] for finding in told["findings"]] == [code]


def test_a_class_can_be_chosen(place: Path) -> None:
    assert json.loads(ringfence("check", "two.py", "--class", "Other", "--json", cwd=place).out)["class"] == "Other"


def test_standard_input_is_read() -> None:
    assert json.loads(ringfence("check", "-", "--json", stdin=GOOD).out)["file"] == "-"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["check", "gone.py"], 66, "gone.py"),
        (["check"], 2, "FILE"),
        (["check", "x.py", "--jso"], 2, "did you mean --json?"),
    ],
)
def test_a_wrong_request_is_one_sentence(words: list[str], code: int, hint: str, tmp_path: Path) -> None:
    done = ringfence(*words, cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("ringfence: ") and hint in done.err and done.err.count("\n") == 1


def test_a_terminal_is_not_steered_by_the_text(place: Path) -> None:
    (place / "odd.py").write_text("import x\nclass A(Strategy):\n    def next(self): '\x1b[31m' = 1\n")
    done = on_terminal("check", str(place / "odd.py"), env=environment(NO_COLOR="1"))
    assert "RF001" in done.out
    assert "\x1b[31m" not in done.out
