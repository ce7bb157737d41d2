"""Every template on real prices behind the real fence: its numbers agree with what is computed here, and its summary
always says what they rest on."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringfence import open_sandbox
from ringfence.base.errors import DataError, SettingsError
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import PRESETS, Job, Limits
from ringfence.sandbox.outcome import Outcome
from ringfence.trade.models import estimate, price_option
from ringfence.verbs.chat.quoting import strange_numbers
from ringfence.verbs.simulate import (
    CleanseQuestion,
    CorrelationQuestion,
    DataRequest,
    Desk,
    Finding,
    Horizon,
    IndicatorQuestion,
    OptionQuestion,
    PortfolioQuestion,
    PriceQuestion,
    SizingQuestion,
    ask_cleanse,
    ask_correlation,
    ask_indicator,
    ask_option,
    ask_portfolio,
    ask_price,
    ask_sizing,
)
from ringfence.verbs.simulate.filling import fill

from tests.verbs.asking import desk, samples
from tests.verbs.judged import STRATEGY_SANDBOX, sample

DAYS = Horizon.parse("30d")
Ask = Callable[[Desk], Finding]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(STRATEGY_SANDBOX) as opened:
        yield opened


TEMPLATES: dict[str, Ask] = {
    "price": lambda d: ask_price(PriceQuestion(data=samples("GOOG"), horizon=DAYS), d),
    "bootstrap": lambda d: ask_price(PriceQuestion(data=samples("GOOG"), horizon=DAYS, method="bootstrap"), d),
    "portfolio": lambda d: ask_portfolio(PortfolioQuestion(data=samples("AAPL", "MSFT"), horizon=DAYS), d),
    "option": lambda d: ask_option(OptionQuestion(kind="call", expiry=DAYS, data=samples("GOOG"), strike=800.0), d),
    "bare option": lambda d: ask_option(
        OptionQuestion(kind="put", expiry=DAYS, spot=100.0, strike=105.0, volatility=0.2, rate=0.05), d
    ),
    "sizing": lambda d: ask_sizing(
        SizingQuestion(
            equity=50_000.0,
            risk=0.01,
            entry=100.0,
            stop=95.0,
            win_rate=0.55,
            payoff=1.5,
            target=0.15,
            data=samples("GOOG"),
        ),
        d,
    ),
    "correlation": lambda d: ask_correlation(CorrelationQuestion(data=samples("AAPL", "MSFT")), d),
    "ichimoku": lambda d: ask_indicator(IndicatorQuestion(name="ichimoku", data=samples("GOOG"), period=14), d),
    "indicator": lambda d: ask_indicator(IndicatorQuestion(name="bollinger", data=samples("GOOG"), period=10), d),
    "cleanse": lambda d: ask_cleanse(CleanseQuestion(data=samples("GOOG")), d),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_summary_says_what_it_rests_on_and_only_what_came_back(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    found = TEMPLATES[name](desk(sandbox, tmp_path))
    assert found.status == "ok", found.text
    assert found.told is not None
    lines = found.text.splitlines()
    for head in ("Horizon: ", "Assumptions: ", "Observations: ", "Data: "):
        assert [line for line in lines if line.startswith(head) and len(line) > len(head) + 3], head
    assert "computed on 2023-11-14" in found.text
    if found.source.first is not None:
        assert found.source.first in found.text and (found.source.last or "") in found.text
        assert f"{found.told.observations:,}" in found.text
    assert found.outcome.limits == PRESETS["chat"]
    came_back = [v for v in found.told.numbers.values() if v is not None]
    said = f"{found.told.horizon} {found.code} {found.told.series.get('changes')} 10,000 2,000 100,000 5"
    assert strange_numbers(re.sub(r"\d{4}-\d\d-\d\d", "", found.told.lead), came_back, said) == []
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["numbers"] and document["code"] == found.code and document["limits"]["memory_mb"] == 256


def test_an_interval_agrees_with_the_formula_computed_here(sandbox: Sandbox, tmp_path: Path) -> None:
    found = TEMPLATES["price"](desk(sandbox, tmp_path, seed=5))
    assert found.told is not None
    n = found.told.numbers
    close = sample("GOOG").candles["GOOG"].close
    measured = estimate(close)
    reach = 1.959964 * measured.volatility * math.sqrt(30)
    for name, exact in (("lower", -reach), ("upper", reach)):
        at = float(close[-1]) * math.exp(30 * measured.drift + exact)
        assert n[f"closed_{name}"] == pytest.approx(at, rel=1e-6)
        assert n[name] == pytest.approx(at, rel=0.01)
    assert n["observations"] == 2147 and n["horizon_bars"] == 30


def test_the_same_seed_gives_the_same_answer_and_another_one_does_not(sandbox: Sandbox, tmp_path: Path) -> None:
    texts = [TEMPLATES["bootstrap"](desk(sandbox, tmp_path, seed=seed)).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_the_program_that_is_shown_is_the_one_that_gives_the_numbers(sandbox: Sandbox, tmp_path: Path) -> None:
    at = desk(sandbox, tmp_path)
    found = TEMPLATES["correlation"](at)
    assert 'SYMBOL = "AAPL"' in found.code and 'AGAINST = "MSFT"' in found.code
    again = at.run(found.code, name="again.py", bars=at.load(samples("AAPL", "MSFT")))
    assert isinstance(again.result, dict) and found.told is not None
    assert again.result["beta"] == found.told.numbers["beta"]


def test_an_option_takes_its_spot_and_volatility_from_the_prices(sandbox: Sandbox, tmp_path: Path) -> None:
    found = TEMPLATES["option"](desk(sandbox, tmp_path))
    assert found.told is not None
    n = found.told.numbers
    close = sample("GOOG").candles["GOOG"].close
    volatility = estimate(close).volatility * math.sqrt(252)
    exact = price_option("call", spot=float(close[-1]), strike=800.0, years=30 / 365, volatility=volatility, rate=0.0)
    assert (n["price"], n["delta"], n["theta"]) == pytest.approx((exact.price, exact.delta, exact.theta))
    assert abs((n["simulated"] or 0) - exact.price) < 5 * (n["simulated_error"] or 0)


def test_weights_leave_cash_and_are_checked(sandbox: Sandbox, tmp_path: Path) -> None:
    question = PortfolioQuestion(
        data=samples("AAPL", "MSFT"), horizon=DAYS, weights={"AAPL": 0.5, "MSFT": 0.0}, cash=1_000.0, paths=500
    )
    found = ask_portfolio(question, desk(sandbox, tmp_path))
    assert 'SYMBOLS = ["AAPL"]' in found.code and "50 % AAPL" in found.text
    with pytest.raises(SettingsError, match=r"add up to 1\.5"):
        replace(question, weights={"AAPL": 1.0, "MSFT": 0.5})
    with pytest.raises(DataError, match="IBM has a weight"):
        ask_portfolio(replace(question, weights={"IBM": 1.0}), desk(sandbox, tmp_path))


def test_an_indicator_is_that_of_the_engine(sandbox: Sandbox, tmp_path: Path) -> None:
    from ringfence.trade.indicators import rsi

    found = ask_indicator(IndicatorQuestion(name="rsi", data=samples("GOOG"), rows=3), desk(sandbox, tmp_path))
    assert found.told is not None
    exact = rsi(sample("GOOG").candles["GOOG"].close, 14)
    assert found.told.series["rsi"] == pytest.approx(exact[-3:].tolist())
    times = found.told.series["time"]
    assert isinstance(times, list) and times[-1] == "2013-03-01T00:00:00Z"


def test_the_mapping_of_an_ichimoku_period_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    found = TEMPLATES["ichimoku"](desk(sandbox, tmp_path))
    assert "base 40, span B 80, drawn 40 bars ahead" in found.text and "9 : 26 : 52 : 26" in found.text
    assert "above the cloud" in found.text


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ({"name": "rsj"}, "did you mean rsi"),
        ({"name": "macd", "period": 14}, "no single period"),
        ({"name": "rsi", "parameters": {"length": 3.0}}, "it has period"),
        ({"name": "ichimoku", "period": 9, "parameters": {"base": 3.0}}, "not both"),
        ({"name": "crossover"}, "there is no indicator"),
    ],
)
def test_indicators_that_cannot_be_are_refused(question: dict[str, object], complaint: str) -> None:
    make: Callable[..., IndicatorQuestion] = IndicatorQuestion
    with pytest.raises(SettingsError, match=complaint):
        make(data=samples("GOOG"), **question)


def test_cleansing_leaves_the_bars_and_the_log(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = ["date,open,high,low,close,volume"]
    close = 100 + np.cumsum(np.random.default_rng(1).normal(0, 0.2, 80))
    close[40] *= 4
    for day, price in enumerate(close):
        stamp = str(np.datetime64("2020-01-01") + day)
        rows.append(f"{stamp},{price},{price + 0.1},{price - 0.1},{price},{10}")
    rows.append(rows[-1])  # a row that cannot be: mended when the file is read
    (tmp_path / "X.csv").write_text("\n".join(rows))
    question = CleanseQuestion(data=DataRequest(specs=(f"csv:{tmp_path}/X.csv",), repair=True))
    found = ask_cleanse(question, desk(sandbox, tmp_path, artifacts=tmp_path / "out"))
    assert found.told is not None, found.text
    assert (found.told.numbers["replaced_bars"], found.told.numbers["flagged_bars"]) == (1, 0)
    assert "2020-02-10" in found.text and "rows dropped" in found.text
    kept = tmp_path / "out" / found.outcome.run_id
    assert (kept / "changes.csv").read_text().count("replaced") == 4
    assert len((kept / "cleansed.csv").read_text().splitlines()) == 81


@pytest.mark.parametrize("name", ["price", "portfolio", "option", "correlation", "ichimoku", "indicator"])
def test_a_picture_is_made_inside_and_comes_out_as_a_file(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    found = TEMPLATES[name](desk(sandbox, tmp_path, plot=True))
    assert found.status == "ok", found.text
    (picture,) = [a for a in found.outcome.artifacts if a.mime == "image/png"]
    assert picture.data is not None and picture.data.startswith(b"\x89PNG") and picture.bytes > 5_000


class Forger:
    """A fence whose program answers what it likes: what comes back is looked at."""

    def __init__(self, sandbox: Sandbox, text: str) -> None:
        self._sandbox, self._text = sandbox, text

    def run(self, job: Job, **rest: object) -> Outcome:
        given = job.code or ""
        return self._sandbox.run(replace(job, code=f"{given}\n{self._text}\n"))

    def open_session(self, **rest: object) -> None:
        raise NotImplementedError

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("forged", "complaint"),
    [
        ("result = None", "no table of numbers"),
        ("result['upper'] = result['lower'] / 2", "not in this order"),
        ("result['p_up'] = 1.5", "p_up is 1.5"),
        ("result['lower'] = 'low'", "lower is no number"),
        ("result['median'] = True", "median is no number"),
        ("result['mean'] = float('nan')", "mean is no number"),
        ("result['observations'] = 9000", "9000 observations, and there are 2147"),
        ("del result['volatility']", "volatility is no number"),
        ("result['fan'] = result['fan'][:3]", "fan is not a list of 5 rows"),
        ("result['fan'][2] = [1.0]", "does not have 31 numbers"),
    ],
)
def test_a_result_that_cannot_be_is_told_as_a_failure(
    forged: str, complaint: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    at = replace(desk(sandbox, tmp_path), sandbox=Forger(sandbox, forged))  # type: ignore[arg-type]
    found = TEMPLATES["price"](at)
    assert found.status == "failed" and found.told is None
    assert "no numbers to give" in found.text and complaint in found.text
    assert found.to_json()["numbers"] == {}


def test_an_option_whose_simulation_disagrees_is_a_failure(sandbox: Sandbox, tmp_path: Path) -> None:
    at = replace(desk(sandbox, tmp_path), sandbox=Forger(sandbox, "result['price'] *= 1.5"))  # type: ignore[arg-type]
    found = TEMPLATES["bare option"](at)
    assert found.status == "failed" and "standard errors away" in found.text


@pytest.mark.parametrize(
    ("limits", "status"),
    [(Limits(wall_seconds=0.02, memory_mb=256), "timeout"), (Limits(wall_seconds=15, memory_mb=64), None)],
)
def test_a_limit_that_is_hit_is_told(limits: Limits, status: str | None, sandbox: Sandbox, tmp_path: Path) -> None:
    at = replace(desk(sandbox, tmp_path), limits=limits)
    question = PriceQuestion(data=samples("GOOG"), horizon=Horizon.parse("300"), paths=13_000)
    found = ask_price(question, at)
    assert found.status == "failed" and "no numbers to give" in found.text
    assert status is None or found.outcome.status == status


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"confidence": 1.0}, "confidence=1 is out of range"),
        ({"confidence": math.nan}, "confidence=nan"),
        ({"paths": 10}, "paths=10"),
        ({"above": -5.0}, "above=-5"),
    ],
)
def test_questions_that_make_no_sense_are_refused(changes: dict[str, float], complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        replace(PriceQuestion(data=samples("GOOG"), horizon=DAYS), **changes)  # type: ignore[arg-type]


def test_more_than_fits_is_refused_before_it_runs(sandbox: Sandbox, tmp_path: Path) -> None:
    question = PriceQuestion(data=samples("GOOG"), horizon=Horizon.parse("1000"), paths=100_000)
    with pytest.raises(SettingsError, match="at most 4,000 paths"):
        ask_price(question, desk(sandbox, tmp_path))


def test_one_instrument_of_several_must_be_named(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name the one you mean"):
        ask_price(PriceQuestion(data=samples("AAPL", "MSFT"), horizon=DAYS), desk(sandbox, tmp_path))
    with pytest.raises(DataError, match="two instruments"):
        ask_correlation(CorrelationQuestion(data=samples("AAPL")), desk(sandbox, tmp_path))


@pytest.mark.parametrize(
    ("text", "bars"), [("30", 30), ("30d", 30), ("2w", 10), ("3mo", 63), ("1y", 252), ("1q", 63), ("30cd", 21)]
)
def test_a_horizon_in_bars_of_an_exchange(text: str, bars: int) -> None:
    assert Horizon.parse(text).bars(sample("GOOG"), "GOOG") == bars


def test_a_horizon_on_other_clocks() -> None:
    hourly = sample("EURUSD")
    assert Horizon.parse("6h").bars(hourly, "EURUSD") == 6
    assert Horizon.parse("1d").bars(hourly, "EURUSD") == 24
    assert Horizon.parse("1y").years() == 1.0 and Horizon.parse("73d").years() == pytest.approx(0.2)
    for wrong in ("soon", "3 parsecs", "", "-5"):
        with pytest.raises(SettingsError, match="not understood"):
            Horizon.parse(wrong)
    with pytest.raises(SettingsError, match="1 to 10,000 bars"):
        Horizon.parse("1h").bars(sample("GOOG"), "GOOG")
    with pytest.raises(SettingsError, match="calendar"):
        Horizon.parse("30").years()


def test_a_program_takes_only_values_that_it_has_a_place_for() -> None:
    text = fill("correlation", {"SYMBOL": 'odd "name"\n', "CONFIDENCE": 0.5})
    assert 'SYMBOL = "odd \\"name\\"\\n"' in text and "CONFIDENCE = 0.5" in text
    compile(text, "x", "exec")
    with pytest.raises(KeyError, match="HORIZON is no capital"):
        fill("correlation", {"HORIZON": 3})


def test_made_up_prices_are_called_so(sandbox: Sandbox, tmp_path: Path) -> None:
    question = PriceQuestion(data=DataRequest(specs=("synthetic:gbm?seed=1",)), horizon=DAYS, paths=500)
    assert "SYNTHETIC" in ask_price(question, desk(sandbox, tmp_path)).text
