"""What `monte_carlo` and `indicator_compute` answer with: the Outcome of the program, and the numbers read from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import Field, JsonValue

from ringfence.mcp.answers import Answer, OutcomeAnswer, outcome_values
from ringfence.mcp.leavings import Left
from ringfence.mcp.run_view import spread
from ringfence.mcp.text import SERVER, describe, untrusted
from ringfence.mcp.wording import for_callers

if TYPE_CHECKING:
    from ringfence.verbs.simulate import Finding

_FAN_POINTS = 61
_PARAMETER = "_parameter"  # how a finding tells an indicator's parameters from its lines


class SourceAnswer(Answer):
    """Where the numbers came from, and how to ask for the same prices again."""

    spec: str
    asked_on: str = Field(description="The day of the computation.")
    symbols: list[str]
    timeframe: str | None
    first: str | None
    last: str | None
    bars: int
    sha256: str | None
    synthetic: bool = Field(description="No market printed these prices.")
    notes: list[str]


class Rests(Answer):
    """What numbers rest on."""

    horizon: str
    assumptions: list[str]
    observations: int
    observed: str = Field(description="What was counted.")


class FanAnswer(Answer):
    """Prices by quantile and bar, for a chart."""

    levels: list[float] = Field(description="The quantile of each row.")
    bars: list[int] = Field(description="The bar ahead of each column; at most 61, spread over the horizon.")
    values: list[list[float | None]]


class IntervalAnswer(Rests):
    """Losses are positive shares of the price; drift and volatility are of log returns."""

    spot: float
    lower: float
    median: float
    upper: float
    mean: float
    confidence: float
    horizon_bars: int
    p_up: float = Field(description="The chance of a rise.")
    p_down: float = Field(description="The chance of a fall.")
    above: float | None
    p_above: float | None = Field(description="The chance to end above that price.")
    below: float | None
    p_below: float | None = Field(description="The chance to end below that price.")
    value_at_risk: float = Field(description="VaR: the loss at the horizon that is not exceeded so surely.")
    expected_shortfall: float = Field(description="CVaR: the mean loss beyond it.")
    drift_year: float
    volatility_year: float
    drift_error: float = Field(description="Standard error of the drift of a bar.")
    block: int = Field(description="Bars that a bootstrap drew in a row; 0 without one.")
    closed_lower: float | None = Field(description="The same bound by formula, for gbm.")
    closed_upper: float | None
    fan: FanAnswer


class ReadingAnswer(Rests):
    name: str
    parameters: dict[str, float]
    close: float
    last: dict[str, float | None] = Field(description="Each line on the last bar; null is not ready.")
    time: list[str]
    lines: dict[str, list[float | None]] = Field(description="The last values of each line, one for each time.")


class ComputedAnswer(OutcomeAnswer):
    source: SourceAnswer
    code: str = Field(description="The program that was run.")


class MonteCarloAnswer(ComputedAnswer):
    interval: IntervalAnswer | None = Field(description="Null where the computation failed: see status and error.")


class IndicatorAnswer(ComputedAnswer):
    indicator: ReadingAnswer | None = Field(description="Null where the computation failed: see status and error.")


C = TypeVar("C", bound=ComputedAnswer)


def computed(kind: type[C], found: Finding, left: Left, told: dict[str, JsonValue]) -> C:
    """What is left is the finding's own, without the raw result: what could be believed of it is in `told`."""
    source: dict[str, JsonValue] = found.source.to_json()  # type: ignore[assignment]  # our Json is pydantic's
    return kind.model_validate({**outcome_values(left), "source": source, "code": found.code, **told})


def computed_text(found: Finding, left: Left) -> str:
    """The finding's sentences are ours, as every number in them was looked at; those of a failure quote the program."""
    if found.told is not None:
        return f"{found.text}\n{describe(left)}"
    said = untrusted({"reason": for_callers(found.text)}, by=SERVER)
    return f"The computation failed, so there are no numbers to give.\n{said}\n{describe(left)}"


def interval(found: Finding) -> dict[str, JsonValue] | None:
    told = found.told
    if told is None:
        return None
    fan = told.series["fan"]
    assert isinstance(fan, list)
    bars = spread(list(range(len(fan[0]))), _FAN_POINTS)
    values = [spread(row, _FAN_POINTS) for row in fan]
    numbers = {name: told.numbers[name] for name in IntervalAnswer.model_fields if name in told.numbers}
    return {**numbers, **_rests(found), "fan": {"levels": told.series["levels"], "bars": bars, "values": values}}  # type: ignore[dict-item]  # our Json is pydantic's


def indicator(found: Finding, name: str) -> dict[str, JsonValue] | None:
    told = found.told
    if told is None:
        return None
    lines = {line: values for line, values in told.series.items() if line != "time" and isinstance(values, list)}
    parameters = {
        key.removesuffix(_PARAMETER): value for key, value in told.numbers.items() if key.endswith(_PARAMETER)
    }
    last = {line: values[-1] for line, values in lines.items()}
    made = {"name": name, "parameters": parameters, "close": told.numbers["close"], "last": last}
    return {**made, **_rests(found), "time": told.series["time"], "lines": lines}  # type: ignore[dict-item]  # our Json is pydantic's


def _rests(found: Finding) -> dict[str, JsonValue]:
    told = found.told
    assert told is not None
    return {
        "horizon": told.horizon,
        "assumptions": list(told.assumptions),
        "observations": told.observations,
        "observed": told.observed,
    }
