"""`ringfence simulate`: what may come, by drawing it many times; and the questions that go with it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ringfence.base.errors import SettingsError
from ringfence.cli import asking, trading
from ringfence.cli.asking import Wish, answer, data_request, needed
from ringfence.cli.groups import spread, without

EPILOG = (
    "Every answer says its horizon, its assumptions, how many observations it rests on, and where they come from. "
    "Exit code: 0 answered; that of `ringfence run` where the program failed; 64 to 78 a bad request; 125 our failure."
)

Horizon = Annotated[
    str, typer.Option("--horizon", metavar="H", help="30 (bars), 30d, 6w, 3mo, 1y.", rich_help_panel=asking.SIMULATION)
]
Above = Annotated[
    float | None, typer.Option("--above", metavar="N", help="A price: say how likely it is to end above.")
]
Below = Annotated[float | None, typer.Option("--below", metavar="N", help="The same, to end below.")]
Drift = Annotated[
    bool,
    typer.Option("--drift/--no-drift", help="Go on with the drift of the data.", rich_help_panel=asking.SIMULATION),
]
Weights = Annotated[
    str | None, typer.Option("--weights", metavar="A=F,B=F", help="Shares of the cash. (default equal ones)")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run, as `ringfence runs list` names it.")]
Trades = Annotated[int | None, typer.Option("--trades", metavar="N", help="To draw each time. (default the run's)")]
Kind = Annotated[Literal["call", "put"], typer.Option("--kind", help="The right to buy, or to sell.")]
Spot = Annotated[float | None, typer.Option("--spot", metavar="N", help="The price. (default the last close)")]
Strike = Annotated[float | None, typer.Option("--strike", metavar="N", help="(default the spot)")]
Expiry = Annotated[str, typer.Option("--expiry", metavar="H", help="30d, 6w, 3mo or 1y from now, by the calendar.")]
Volatility = Annotated[
    float | None, typer.Option("--volatility", metavar="F", help="A year, as a fraction. (default that of the data)")
]
Rate = Annotated[float, typer.Option("--rate", metavar="F", help="Interest a year, continuous.")]
Dividend = Annotated[float, typer.Option("--dividend", metavar="F", help="Dividend yield a year, continuous.")]
Equity = Annotated[float, typer.Option("--equity", metavar="N", help="The money there is.")]
Risk = Annotated[float | None, typer.Option("--risk", metavar="F", help="Of the equity, lost at the stop.")]
Entry = Annotated[float | None, typer.Option("--entry", metavar="N", help="(default the last close)")]
Stop = Annotated[float | None, typer.Option("--stop", metavar="N", help="Where the position is given up.")]
WinRate = Annotated[float | None, typer.Option("--win-rate", metavar="F", help="For Kelly: the share of wins.")]
Payoff = Annotated[float | None, typer.Option("--payoff", metavar="N", help="For Kelly: average win by average loss.")]
Target = Annotated[
    float | None, typer.Option("--target-volatility", metavar="F", help="A year, to be reached with --data.")
]
Most = Annotated[float, typer.Option("--most", metavar="F", help="The largest share of the equity to invest.")]
Threshold = Annotated[float, typer.Option("--threshold", metavar="N", help="Robust deviations of a bad tick.")]
Stale = Annotated[int, typer.Option("--stale", metavar="N", help="Bars without movement that are flagged.")]


def register(app: typer.Typer, name: str, line: str) -> None:
    group = typer.Typer(no_args_is_help=True)
    for command, function, about in (
        ("monte-carlo", monte_carlo, "Say where a price may be: an interval, the chance of a rise, VaR and CVaR."),
        ("portfolio", portfolio, "Say what a portfolio may be worth, how deep it may fall, and its chance of ruin."),
        ("strategy", strategy, "Draw the trades of a stored run again: final equity, drawdown, ruin."),
        ("option", option, "Price a European option, with its Greeks and a simulation to check them."),
        ("sizing", sizing, "Say how much to buy: fixed fraction, Kelly, volatility target."),
        ("correlation", correlation, "Say how one instrument moves with another: correlation and beta."),
        ("cleanse", cleanse, "Find doubtful bars, mend what is safe to mend, and log every change."),
    ):
        group.command(command, help=about, epilog=EPILOG)(spread(function))
    app.add_typer(group, name=name, help=line)


def monte_carlo(
    *,
    prices: trading.Prices,
    horizon: Horizon = "30d",
    confidence: asking.Confidence = 0.95,
    method: asking.Method = "gbm",
    block: asking.Block = None,
    above: Above = None,
    below: Below = None,
    drift: Drift = True,
    paths: asking.Paths = 10_000,
    wish: Wish,
) -> int:
    from ringfence.verbs.simulate import Horizon, PriceQuestion, ask_price

    question = PriceQuestion(
        data=needed(prices), horizon=Horizon.parse(horizon), confidence=confidence, method=method, block=block,
        above=above, below=below, drift=drift, paths=paths,
    )  # fmt: skip
    return answer(wish, lambda desk, _: ask_price(question, desk))


def portfolio(
    *,
    prices: trading.Prices,
    weights: Weights = None,
    cash: trading.Cash = 100_000.0,
    horizon: Horizon = "1y",
    confidence: asking.Confidence = 0.95,
    ruin: asking.Ruin = 0.5,
    method: asking.Method = "bootstrap",
    block: asking.Block = None,
    paths: asking.Paths = 2_000,
    wish: Wish,
) -> int:
    from ringfence.verbs.simulate import Horizon, PortfolioQuestion, ask_portfolio

    question = PortfolioQuestion(
        data=needed(prices), horizon=Horizon.parse(horizon), weights=read_weights(weights), cash=cash,
        confidence=confidence, ruin=ruin, method=method, block=block, paths=paths,
    )  # fmt: skip
    return answer(wish, lambda desk, _: ask_portfolio(question, desk))


def strategy(
    *,
    run_id: RunId,
    trades: Trades = None,
    confidence: asking.Confidence = 0.95,
    ruin: asking.Ruin = 0.5,
    paths: asking.Paths = 5_000,
    wish: Wish,
) -> int:
    import os

    from ringfence.verbs.simulate import StrategyQuestion, ask_strategy

    question = StrategyQuestion(run_id=run_id, trades=trades, confidence=confidence, ruin=ruin, paths=paths)
    return answer(
        wish, lambda desk, settings: ask_strategy(question, desk, database_url=settings.database_url(os.environ))
    )


def option(
    *,
    kind: Kind = "call",
    prices: trading.Prices,
    spot: Spot = None,
    strike: Strike = None,
    expiry: Expiry = "90d",
    volatility: Volatility = None,
    rate: Rate = 0.0,
    dividend: Dividend = 0.0,
    paths: asking.Paths = 100_000,
    wish: Wish,
) -> int:
    from ringfence.verbs.simulate import Horizon, OptionQuestion, ask_option

    question = OptionQuestion(
        kind=kind, expiry=Horizon.parse(expiry), data=data_request(prices), spot=spot, strike=strike,
        volatility=volatility, rate=rate, dividend=dividend, paths=paths,
    )  # fmt: skip
    return answer(wish, lambda desk, _: ask_option(question, desk))


def sizing(
    *,
    equity: Equity = 100_000.0,
    risk: Risk = None,
    entry: Entry = None,
    stop: Stop = None,
    win_rate: WinRate = None,
    payoff: Payoff = None,
    target_volatility: Target = None,
    most: Most = 1.0,
    prices: trading.Prices,
    wish: Annotated[Wish, without("seed", "artifacts", "plot")],
) -> int:
    from ringfence.verbs.simulate import SizingQuestion, ask_sizing

    question = SizingQuestion(
        equity=equity, risk=risk, entry=entry, stop=stop, win_rate=win_rate, payoff=payoff, target=target_volatility,
        most=most, data=data_request(prices),
    )  # fmt: skip
    return answer(wish, lambda desk, _: ask_sizing(question, desk))


def correlation(
    *,
    prices: trading.Prices,
    confidence: asking.Confidence = 0.95,
    wish: Annotated[Wish, without("seed")],
) -> int:
    from ringfence.verbs.simulate import CorrelationQuestion, ask_correlation

    request = needed(prices)
    pair = request.symbols if len(request.symbols) == 2 else (None, None)
    question = CorrelationQuestion(data=request, symbol=pair[0], against=pair[1], confidence=confidence)
    return answer(wish, lambda desk, _: ask_correlation(question, desk))


def cleanse(
    *,
    prices: trading.Prices,
    threshold: Threshold = 10.0,
    stale: Stale = 5,
    wish: Annotated[Wish, without("seed", "plot")],
) -> int:
    from ringfence.verbs.simulate import CleanseQuestion, ask_cleanse

    question = CleanseQuestion(data=needed(prices), threshold=threshold, stale=stale)
    return answer(wish, lambda desk, _: ask_cleanse(question, desk))


def read_weights(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    made: dict[str, float] = {}
    for part in text.split(","):
        symbol, equals, share = (word.strip() for word in part.partition("="))
        try:
            made[symbol] = float(share)
        except ValueError:
            raise SettingsError(f"weight {part!r} is not SYMBOL=SHARE: write for example AAPL=0.6,MSFT=0.4") from None
        if not symbol or not equals:
            raise SettingsError(f"weight {part!r} is not SYMBOL=SHARE: write for example AAPL=0.6,MSFT=0.4")
    return made
