"""`ringfence indicator` through the front door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ringfence.base.errors import DataError, InputError, SettingsError
from ringfence.cli.dispatch import make_app
from ringfence.markets import load_bars
from ringfence.trade import indicators
from ringfence.trade.indicators import bollinger, ichimoku
from ringfence.verbs.simulate import IndicatorQuestion, ask_indicator
from ringfence.verbs.simulate.indicator import all_parameters, bars_needed, names

from tests.verbs.asking import desk, samples

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        app = make_app([("indicator", "ringfence.cli.indicator", "Compute an indicator.")])
        code = app(["indicator", *words], prog_name="ringfence", standalone_mode=False)
        return code, capsys.readouterr().out

    return run


def test_an_ichimoku_cloud_from_one_number(call: Call, tmp_path: Path) -> None:
    code, out = call("ichimoku", "--data", "sample:GOOG", "--period", "14", "--plot", "cloud.png")
    assert code == 0
    assert "conversion 14, base 40, span 80, ahead 40" in out and "span B 80, drawn 40 bars ahead" in out
    assert (tmp_path / "cloud.png").read_bytes().startswith(b"\x89PNG")
    _, raw = call("ichimoku", "--data", "sample:GOOG", "--period", "14", "--json", "--rows", "5")
    found = json.loads(raw)
    candles = load_bars(["sample:GOOG"]).candles["GOOG"]
    for name, line in zip(
        ("conversion", "base", "span_a", "span_b"), ichimoku(candles.high, candles.low, 14, 40, 80, 40)
    ):
        assert found["series"][name] == pytest.approx(line[-5:].tolist())
        assert found["numbers"][name] == pytest.approx(float(line[-1]))


def test_parameters_are_used_as_they_are_given(call: Call) -> None:
    code, raw = call("bollinger", "--data", "sample:GOOG", "--period", "10", "--param", "deviations=1.5", "--json")
    found = json.loads(raw)
    upper, _, _ = bollinger(load_bars(["sample:GOOG"]).candles["GOOG"].close, 10, 1.5)
    assert code == 0 and found["numbers"]["upper"] == pytest.approx(float(upper[-1]))
    assert found["numbers"]["period_parameter"] == 10 and found["numbers"]["deviations_parameter"] == 1.5
    assert len(found["series"]["time"]) == 10 and found["horizon"].startswith("none")


def test_every_indicator_that_is_offered_can_be_had(call: Call) -> None:
    from ringfence import open_sandbox

    from tests.verbs.judged import STRATEGY_SANDBOX

    assert {"rsi", "vwap", "supertrend"} <= set(names()) and "crossover" not in names()
    with open_sandbox(STRATEGY_SANDBOX) as sandbox:
        at = desk(sandbox, Path.cwd())
        failed = {}
        for name in names():
            found = ask_indicator(IndicatorQuestion(name=name, data=samples("GOOG"), rows=2), at)
            if found.status != "ok":
                failed[name] = found.text
    assert not failed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["rsj", "--data", "sample:GOOG"], "did you mean rsi"),
        (["macd", "--data", "sample:GOOG", "--period", "9"], "no single period"),
        (["rsi", "--data", "sample:GOOG", "--param", "period"], "NAME=VALUE"),
        (["rsi", "--data", "sample:GOOG", "--period", "0"], "period=0"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], complaint: str, call: Call) -> None:
    with pytest.raises(SettingsError, match=complaint):
        call(*words)
    with pytest.raises(InputError, match="--data sample:GOOG"):
        call("rsi")


def test_a_period_that_the_history_is_too_short_for_is_told(call: Call) -> None:
    with pytest.raises(DataError, match="needs 174 bars, and sample:GOOG has too few"):
        call("ichimoku", "--data", "sample:GOOG", "--start", "2013-01-01", "--period", "20")
    with pytest.raises(DataError, match=r"rsi of GOOG .* needs 100,001 bars, and sample:GOOG has too few, 2,148"):
        call("rsi", "--data", "sample:GOOG", "--period", "100000")


@pytest.mark.parametrize("name", names())
def test_the_bars_that_an_indicator_needs_are_those_until_its_first_value(name: str) -> None:
    candles = load_bars(["sample:GOOG"]).candles["GOOG"]
    given = all_parameters(IndicatorQuestion(name=name, data=samples("GOOG")))
    made = getattr(indicators, name)(candles, **given)
    lines = made if isinstance(made, tuple) else (made,)
    assert bars_needed(name, given) == 1 + max(int(np.argmax(np.isfinite(line))) for line in lines)
