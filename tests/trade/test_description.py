"""A description as JSON, as a program and as a set of parameters."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from ringfence.base.errors import InputError
from ringfence.trade.checked import check_text
from ringfence.trade.description.code import parameters, to_code
from ringfence.trade.description.model import (
    Allocation,
    Compare,
    Cross,
    Description,
    Distance,
    Entry,
    Exit,
    Guards,
    Line,
    Number,
    Signals,
)
from ringfence.trade.description.stored import from_json, to_json
from ringfence.trade.draft import read_draft

from tests.agents.described import descriptions

RSI = Line(name="rsi", values=(14,))
DIP = Description(
    symbols=("GOOG",),
    plan=Signals(
        entries=(Entry(side="long", when=Cross(left=RSI, direction="below", right=Number(value=35))),),
        exits=(Exit(side="long", when=Compare(left=RSI, level="above", right=Number(value=65))),),
        guards=Guards(stop=Distance(kind="percent", value=5)),
    ),
)
QUICK = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(descriptions())
def test_json_keeps_all_of_it(description: Description) -> None:
    assert from_json(json.loads(json.dumps(to_json(description)))) == description


@QUICK
@given(descriptions())
def test_every_program_is_a_strategy_without_errors(description: Description) -> None:
    code = to_code(description)
    assert check_text(code, name="described").ok, code


@QUICK
@given(descriptions())
def test_the_parameters_are_those_of_the_program(description: Description) -> None:
    found = {p.name: (p.default, p.low, p.high) for p in parameters(description)}
    written = {
        p.name: (p.default, p.low, p.high) for p in read_draft(to_code(description), name="described").parameters
    }
    written.pop("symbol", None)
    assert written == found
    assert not [p for p in parameters(description) if p.objection(p.default)]


def test_every_number_is_a_parameter_with_a_range() -> None:
    found = {p.name: (p.default, p.low, p.high) for p in parameters(DIP)}
    assert found == {
        "rsi_period": (14, 7, 28),
        "entry_rsi": (35, 20, 50),
        "exit_rsi": (65, 50, 80),
        "stop": (0.05, 0.025, 0.1),
    }


def test_the_program_is_what_a_person_would_write() -> None:
    assert to_code(DIP) == (
        '"""Trade GOOG. Buy when the 14-bar RSI crosses below 35. Sell when the 14-bar RSI is above 65. '
        "Stop loss 5 %.\n"
        '"""\n'
        "\n"
        "from ringfence import Strategy, crossunder, param, rsi\n"
        "\n"
        "\n"
        "class RsiCross(Strategy):\n"
        '    symbol = "GOOG"\n'
        "    rsi_period = param(14, 7, 28)\n"
        "    entry_rsi = param(35, 20, 50)\n"
        "    stop = param(0.05, 0.025, 0.1)\n"
        "    exit_rsi = param(65, 50, 80)\n"
        "\n"
        "    def init(self):\n"
        "        data = self.data[self.symbol]\n"
        "        self.rsi = self.I(rsi, data.close, self.rsi_period)\n"
        "\n"
        "    def next(self):\n"
        "        position = self.position(self.symbol)\n"
        "        if not position:\n"
        "            if crossunder(self.rsi, self.entry_rsi):\n"
        '                self.buy(self.symbol, sl=self.stop, reason="entry")\n'
        "        elif self.rsi[-1] > self.exit_rsi:\n"
        '            position.close(reason="exit")\n'
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "version 99 is unknown"),
        ({"symbols": "GOOG"}, "description.symbols is 'GOOG'"),
        ({"plan": {"type": "Astrology"}}, "of type 'Astrology': give one of Signals"),
        ({"plan": {"type": "Allocation", "weights": ["a"]}}, r"description.plan.weights\[0\] is 'a'"),
        ({"plan": {"type": "Allocation", "luck": 1}}, "has 'luck', which no Allocation has"),
        ({"plan": {"type": "Signals"}}, "description.plan lacks something"),
        ({"plan": {"type": "Rotation", "count": 1, "rank": {"type": "Line", "name": "moon"}}}, "no indicator"),
        ({"plan": {"type": "Rotation", "count": 1, "rank": {"type": "Line", "name": "rsi"}}}, "takes period"),
    ],
)
def test_json_that_is_no_description_is_refused_with_its_place(change: dict[str, object], message: str) -> None:
    made = {**to_json(Description(plan=Allocation(), symbols=("GOOG",))), **change}
    with pytest.raises(InputError, match=message):
        from_json(made)  # type: ignore[arg-type]
