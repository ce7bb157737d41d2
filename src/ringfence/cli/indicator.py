"""`ringfence indicator`: one indicator on some prices."""

from __future__ import annotations

from typing import Annotated

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli import asking, options, trading
from ringfence.cli.asking import Wish, answer, data_request, needed

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
    app.command(name, help=line, epilog=EPILOG)(indicator)


def indicator(
    name: Name,
    data: trading.Data = None,
    symbols: trading.Symbols = None,
    start: trading.Start = None,
    end: trading.End = None,
    timeframe: trading.Timeframe = None,
    repair: trading.Repair = False,
    period: Period = None,
    param: Param = None,
    rows: Rows = 10,
    backend: options.Backend = "native",
    allow_weaker: options.AllowWeaker = False,
    artifacts: asking.Artifacts = None,
    plot: asking.Plot = None,
    code: asking.Code = False,
    as_json: asking.AsJson = False,
) -> int:
    from ringfence.verbs.simulate import IndicatorQuestion, ask_indicator

    question = IndicatorQuestion(
        name=name, data=needed(data_request(data, symbols, start, end, timeframe, repair)), period=period,
        parameters=read_parameters(param or []), rows=rows,
    )  # fmt: skip
    wish = Wish(backend=backend, allow_weaker=allow_weaker, artifacts=artifacts, plot=plot, code=code, as_json=as_json)
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
