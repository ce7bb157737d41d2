"""`ringfence simulate` through the front door: numbers for people and as JSON, a picture, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ringfence.base.errors import DataError, InputError, RingfenceError, SettingsError, StoreError
from ringfence.cli.dispatch import make_app

COMMANDS = [
    ("simulate", "ringfence.cli.simulate", "Simulate."),
    ("backtest", "ringfence.cli.backtest", "Backtest a strategy."),
]
CROSS = """from ringfence import Strategy, crossover, sma

class Cross(Strategy):
    def init(self):
        self.fast, self.slow = self.I(sma, self.data.close, 5), self.I(sma, self.data.close, 20)

    def next(self):
        if crossover(self.fast, self.slow):
            self.buy()
        elif crossover(self.slow, self.fast):
            self.position.close()
"""
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("RINGFENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = make_app(COMMANDS)(list(words), prog_name="ringfence", standalone_mode=False)
        return code, capsys.readouterr().out

    return run


def test_monte_carlo_for_people_and_as_json(call: Call, tmp_path: Path) -> None:
    words = ("simulate", "monte-carlo", "--data", "sample:GOOG", "--horizon", "30d", "--seed", "1", "--above", "900")
    code, out = call(*words, "--plot", "fan.png")
    assert code == 0
    assert "GOOG closed at 806.19" in out and "30 trading days" in out and "2,147 log returns" in out
    assert "sample:GOOG, 1d bars from 2004-08-19 to 2013-03-01" in out and "ends above 900" in out
    assert (tmp_path / "fan.png").read_bytes().startswith(b"\x89PNG")
    code, raw = call(*words, "--json")
    found = json.loads(raw)
    assert (code, found["status"], found["template"], found["observations"]) == (0, "ok", "monte_carlo", 2147)
    assert found["numbers"]["lower"] < found["numbers"]["median"] < found["numbers"]["upper"]
    assert len(found["series"]["fan"]) == 5 and len(found["series"]["fan"][0]) == 31
    assert found["limits"]["wall_seconds"] == 15 and found["outcome"]["status"] == "ok"
    assert f"{found['numbers']['upper']:,.2f}" in out


def test_a_price_may_be_asked_about_from_below_and_without_the_drift(call: Call) -> None:
    words = ("simulate", "monte-carlo", "--data", "sample:GOOG", "--seed", "1", "--below", "700", "--no-drift")
    _, out = call(*words)
    assert "ends below 700" in out and "the past drift is taken off" in out
    _, raw = call(*words, "--json")
    numbers = json.loads(raw)["numbers"]
    assert numbers["below"] == 700 and 0 < numbers["p_below"] < numbers["p_down"]
    assert abs(numbers["median"] / numbers["spot"] - 1) < 0.01


def test_the_program_is_shown_when_asked_for(call: Call) -> None:
    _, out = call("simulate", "correlation", "--data", "sample:AAPL,MSFT", "--code")
    assert 'AGAINST = "MSFT"' in out and "Limits: 15 s, 256 MB of memory" in out and "beta of AAPL on MSFT" in out
    _, out = call("simulate", "correlation", "--data", "sample:AAPL,IBM,MSFT", "--symbols", "MSFT,IBM")
    assert "AGAINST" not in out and "correlation of MSFT with IBM" in out


def test_a_portfolio_keeps_its_files(call: Call, tmp_path: Path) -> None:
    words = ("simulate", "portfolio", "--data", "sample:AAPL,MSFT", "--weights", "AAPL=0.6,MSFT=0.4", "--cash", "5000")
    code, raw = call(*words, "--horizon", "20", "--artifacts", "kept", "--json")
    found = json.loads(raw)
    assert code == 0 and found["series"]["weights"] == {"AAPL": 0.6, "MSFT": 0.4}
    assert [a["name"] for a in found["artifacts"]] == ["fan.png"]
    assert found["artifacts"][0]["path"] == str(Path("kept", found["outcome"]["run_id"], "fan.png"))
    assert (tmp_path / found["artifacts"][0]["path"]).is_file()
    assert found["numbers"]["drawdown_lower"] <= found["numbers"]["drawdown_median"] <= 0


def test_the_trades_of_a_stored_run_are_drawn_again(call: Call, tmp_path: Path) -> None:
    (tmp_path / "cross.py").write_text(CROSS)
    _, raw = call("backtest", "cross.py", "--data", "sample:GOOG", "--no-lookahead", "--json")
    run = json.loads(raw)
    closed = sum(1 for trade in run["trades"] if trade["exit_time"])
    assert closed >= 5
    code, raw = call("simulate", "strategy", run["run_id"], "--trades", "30", "--paths", "500", "--json")
    found = json.loads(raw)
    assert code == 0 and found["observations"] == closed
    assert found["numbers"]["trades"] == closed and found["horizon"] == "30 trades"
    assert found["numbers"]["cash"] == 100_000 and 0 <= found["numbers"]["p_ruin"] <= 1
    assert run["run_id"] in found["source"]["spec"] and "sample:GOOG" in found["source"]["spec"]
    code, out = call("simulate", "strategy", run["run_id"])
    assert code == 0 and f"Observations: {closed:,} closed trades" in out and "verified" in out
    with pytest.raises(StoreError, match="feedface"):
        call("simulate", "strategy", "feedface")


def test_an_option_from_given_numbers(call: Call) -> None:
    words = ("--spot", "100", "--strike", "100", "--volatility", "0.2", "--rate", "0.05", "--expiry", "1y")
    code, raw = call("simulate", "option", *words, "--json")
    found = json.loads(raw)
    assert code == 0 and found["numbers"]["price"] == pytest.approx(10.450584, abs=1e-6)
    assert found["source"]["spec"] == "the numbers that were given, no prices"
    code, raw = call("simulate", "option", "--kind", "put", *words, "--json")
    assert json.loads(raw)["numbers"]["price"] == pytest.approx(5.573526, abs=1e-6)


def test_sizing_and_cleansing(call: Call, tmp_path: Path) -> None:
    code, out = call("simulate", "sizing", "--risk", "0.01", "--entry", "100", "--stop", "95", "--equity", "50000")
    assert code == 0 and "100.00 units at 100.00" in out and "lose 500.00" in out
    code, out = call("simulate", "sizing", "--risk", "0.01", "--stop", "700", "--data", "sample:GOOG")
    assert code == 0 and "at 806.19" in out and "Data: sample:GOOG" in out
    assert "Observations: 1 price: the entry is the last 1d close of the data." in out
    code, out = call("simulate", "sizing", "--win-rate", "0.4", "--payoff", "1", "--data", "sample:GOOG")
    assert code == 0 and "GOOG" not in out and "Observations: 0 prices: the numbers were given" in out
    code, out = call("simulate", "cleanse", "--data", "sample:GOOG", "--artifacts", "kept")
    assert code == 0 and "2008-04-18" in out and "flagged" in out
    (log,) = tmp_path.glob("kept/*/changes.csv")
    assert log.read_text().count("\n") == 2


REFUSED: list[tuple[list[str], type[RingfenceError], str]] = [
    (["monte-carlo"], InputError, "no data was named"),
    (["monte-carlo", "--data", "sample:NOSUCH"], DataError, "NOSUCH"),
    (["monte-carlo", "--data", "sample:AAPL,MSFT"], DataError, "--symbols"),
    (["monte-carlo", "--data", "sample:GOOG", "--horizon", "soon"], SettingsError, "write 30"),
    (["monte-carlo", "--data", "sample:GOOG", "--confidence", "95"], SettingsError, "confidence=95"),
    (["monte-carlo", "--data", "sample:GOOG", "--plot", "no/such/dir.png"], InputError, "directory that exists"),
    (["monte-carlo", "--data", "sample:GOOG", "--seed", "-1"], SettingsError, "--seed"),
    (["portfolio", "--data", "sample:AAPL,MSFT", "--weights", "AAPL"], SettingsError, "SYMBOL=SHARE"),
    (["portfolio", "--data", "sample:AAPL,MSFT", "--weights", "=0.5"], SettingsError, "SYMBOL=SHARE"),
    (["option", "--strike", "100"], SettingsError, "spot and a volatility"),
    (["option", "--spot", "1", "--volatility", "0.1", "--expiry", "30"], SettingsError, "calendar"),
    (["sizing", "--risk", "0.01"], SettingsError, "no rule has all"),
    (["strategy", "abc123"], StoreError, "no runs yet"),
]


@pytest.mark.parametrize(("words", "error", "complaint"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_cannot_be_is_refused(words: list[str], error: type[RingfenceError], complaint: str, call: Call) -> None:
    with pytest.raises(error, match=complaint):
        call("simulate", *words)


def test_history_that_is_too_short_is_told_as_a_failure(call: Call) -> None:
    code, out = call("simulate", "monte-carlo", "--data", "sample:GOOG", "--start", "2013-02-20")
    assert code == 1
    assert "no numbers to give" in out and "returns are too few" in out
