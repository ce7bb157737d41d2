"""`ringfence indicator`: one indicator on some prices."""

from __future__ import annotations

from typing import Annotated

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli import trading
from ringfence.cli.asking import Wish, answer, needed
from ringfence.cli.groups import spread, without

EPILOG = (
    "docs/indicators.md defines each of them. Exit code: 0 answered; that of `ringfence run` where the program failed; "
    "64 to 78 a bad request; 125 our failure."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as rsi, bollinger or ichimoku.", show_default=False)]
Period = Annotated[
    int | None, typer.Option("--period", metavar="N", help="In bars; Ichimoku's four are made of this one.")
]
Param = Annotated[
    list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Another parameter; may be repeated.")
]
Rows = Annotated[int, typer.Option("--rows", metavar="N", help="Last values to give with --json.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    app.command(name, help=line, epilog=EPILOG)(spread(indicator))


def indicator(
    *,
    name: Name,
    prices: trading.Prices,
    period: Period = None,
    param: Param = None,
    rows: Rows = 10,
    wish: Annotated[Wish, without("seed")],
) -> int:
    from ringfence.verbs.simulate import IndicatorQuestion, ask_indicator

    question = IndicatorQuestion(
        name=name, data=needed(prices), period=period,
        parameters=read_parameters(param or []), rows=rows,
    )  # fmt: skip
    return answer(wish, lambda desk, _: ask_indicator(question, desk))


def read_parameters(words: list[str]) -> dict[str, float]:
    made: dict[str, float] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            made[name.strip()] = float(value)
        except ValueError:
            raise SettingsError(f"parameter {word!r} is not NAME=VALUE: write for example fast=12") from None
    return made
