"""Which words mean what. A phrase is matched word by word, the longest first, so that a part of a word never counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Concept = Literal[
    "idiom",  # words that mean something else together: they are read, and ask for nothing
    "simulate", "interval", "future", "risk", "chance", "ruin", "worth", "portfolio", "strategy", "run", "price",
    "option", "leg", "terms", "relation", "market", "sizing", "cleanse", "data", "indicator", "compute", "model",
    "other", "explain", "order", "condition", "advice",
]  # fmt: skip

_PHRASES: Mapping[Concept, str] = {
    "idiom": """
        business model; business models; revenue model; operating model; role model; role models; data model; fashion
        model; language model; pricing model of the subscription; model year; model number; new model; model s; model
        3; model x; model y; beta version; beta test; beta tester; beta testers; beta release; beta program; in beta;
        put together; put on hold; put off; put aside; call me; call it; call you; call us; phone call; phone calls;
        earnings call; conference call; margin call; sales call; call the; call support; call center; call option on
        my time; stock options for employees; employee stock options; my options; other options; payment options;
        options menu; shipping options; settings options; clean energy; clean code; clean water; clean room; monte
        carlo casino; casino; price range of homes; product range; range of products; mountain range; driving range;
        range rover; wide range; range of motion; risk management policy; in the long run; run a company; run for; dry
        run; test run; home run; simulation game; flight simulator; simulation hypothesis; size of the company;
        portfolio of patents; portfolio website; portfolio manager; portfolio company; portfolio companies; art
        portfolio; design portfolio; delta air lines; delta airlines; gamma rays; project manager; project management;
        project plan; side project; band of brothers; rubber band; rock band; at risk youth; interval training;
        correlation is not causation; strategy game; marketing strategy; go to market strategy; business strategy;
        content strategy; chance the rapper; data center; data centers; data privacy; database; personal data; trend
        report
    """,
    "simulate": """
        monte carlo; montecarlo; simulate; simulates; simulated; simulating; simulation; simulations; gbm; bootstrap;
        geometric brownian motion; brownian motion; random walk; random paths; price paths; resample; resampling; fan
        chart; redraw; shuffle
    """,
    "interval": """
        confidence interval; prediction interval; interval; intervals; range; ranges; price range; band; bands; cone;
        forecast; forecasts; predict; prediction; project; projection; projected; expected move; expected range;
        distribution; percentile; percentiles; quantile; quantiles; how high; how low; how far; estimate; outlook;
        upper and lower; lower and upper; bounds; error bars
    """,
    "future": """
        could move; might move; may move; where do you see; where will; where could; where might; where would; where
        is; where does; end up; ends up; be trading; be worth; trade at; from now; in the future; by the end;
        tomorrow; next; ahead; horizon; finish; finishes; close above; close below; be above; be below; be higher; be
        lower; go up; goes up; go down; goes down; rise; rises; fall; falls; gain; gains; drop; drops; going to
    """,
    "risk": """
        var; value at risk; value-at-risk; cvar; expected shortfall; conditional var; tail risk; worst case;
        worst-case; downside; downside risk; how much could i lose; how much can i lose; maximum loss; potential loss
    """,
    "chance": "probability; probabilities; chance; chances; odds; likelihood; likely; how likely; p up; probable",
    "ruin": """
        ruin; risk of ruin; blow up; blowing up; wipe out; drawdown; drawdowns; draw down; final equity; go broke
    """,
    "worth": "worth; value; final value; grow to; grows to; become; final wealth; wealth",
    "portfolio": "portfolio; portfolios; allocation; basket; holdings; 60/40; 50/50; 70/30; 80/20; weighted; mix",
    "strategy": """
        strategy; strategies; trading strategy; trading system; backtest; backtests; backtested; equity curve; my
        trades; its trades; these trades; the trades; trades
    """,
    "run": "run; stored run; runs",
    "price": """
        price; prices; share price; stock price; stock; stocks; share; shares; ticker; index; coin; close; closing
    """,
    "option": """
        option; options; call option; put option; call options; put options; option price; option pricing; black
        scholes; black-scholes; blackscholes; bsm; greeks; option greeks; implied volatility
    """,
    "leg": "call; calls; put; puts; straddle",
    "terms": """
        strike; strikes; expiry; expiring; expires; expiration; maturity; at the money; at-the-money; in the money;
        out of the money; atm; itm; otm; premium; european; spot; delta; gamma; vega; theta; rho
    """,
    "relation": """
        correlation; correlations; correlate; correlated; correlates; beta; betas; r squared; r-squared; covariance;
        move together; moves together; move with; moves with; moving together; move in step; co-move; comovement;
        regress; regression; related to; track; tracks; how closely
    """,
    "market": "market; the market; benchmark; against; versus; vs; relative to; between",
    "sizing": """
        how big should my position; how large should my position; position size; position sizes; position sizing; size
        my position; size a position; size the position; bet size; how many shares; how many units; how many
        contracts; how much should i buy; how much should i invest; how much to buy; how much to invest; how much
        should i risk; how much capital; fixed fraction; fixed fractional; kelly criterion; kelly fraction; kelly bet;
        kelly sizing; kelly size; kelly formula; half kelly; full kelly; kelly; volatility target; volatility
        targeting; target volatility; vol target; vol targeting; lot size; trade size; size of my position
    """,
    "cleanse": """
        clean; cleans; cleaned; cleaning; cleanse; cleansing; clean up; cleanup; scrub; scrubbing; outlier; outliers;
        bad tick; bad ticks; bad rows; bad data; bad bars; data quality; dirty; spike; spikes; anomaly; anomalies;
        missing values; stale prices; sanitise; sanitize; tidy
    """,
    "data": """
        data; dataset; data set; csv; bars; candles; ohlc; ohlcv; ticks; quotes; rows; time series; history; file;
        feed
    """,
    "compute": """
        compute; calculate; show; plot; draw; chart; give; get; work out; what is the current; current; latest; now;
        today; value; values; signal; reading; tell me; display; run me
    """,
    "model": "model; models; modelling; modeling; modelled",
    "other": """
        sales; revenue; revenues; earnings; eps; deliveries; inflation; gdp; demand; weather; rain; temperature;
        traffic; churn; headcount; election; elections; votes; unemployment; profit margin; margins; dividend date;
        customers; users; population; score; game; match; championship; salary; rent; birth; pregnancy; covid; cases;
        battery; mileage; interest rates; fed funds; tax; taxes; valuation; dcf; fair value; market share; market cap;
        news; sentiment; ceo; company; competitors; merger; acquisition; ipo; lawsuit; patent; hire; hiring; party;
        recipe; poem; joke; essay
    """,
    "explain": """
        explain; define; definition; meaning; what does; what do you mean; how does; how do; who invented; who
        created; who is; history of; difference between; differences between; why is; why are; why do; why does;
        tutorial; introduction to; teach me; learn; what are; describe how; pros and cons; example of; when was; when
        should; is it true
    """,
    "order": """
        buy; sell; go long; go short; short; enter; exit; purchase; accumulate; rebalance; rotate; close the position;
        take profit; stop loss
    """,
    "condition": """
        when; whenever; if; once; crosses; crosses above; crosses below; cross; drops below; rises above; falls below;
        breaks above; breaks below; every monday; every day; each month; monthly; daily
    """,
    "advice": """
        should i buy; should i sell; should i hold; good investment; worth buying; recommend; which stock; best stock;
        best stocks
    """,
}

# What may be computed by name: the words, and the indicator they mean.
INDICATORS: Mapping[str, str] = {
    "sma": "sma", "simple moving average": "sma", "moving average": "sma", "ema": "ema",
    "exponential moving average": "ema", "wma": "wma", "weighted moving average": "wma", "rsi": "rsi",
    "relative strength index": "rsi", "macd": "macd", "bollinger": "bollinger", "bollinger bands": "bollinger",
    "bollinger band": "bollinger", "atr": "atr", "average true range": "atr", "true range": "true_range", "adx": "adx",
    "average directional index": "adx", "stochastic": "stochastic", "stochastics": "stochastic",
    "stochastic oscillator": "stochastic", "cci": "cci", "commodity channel index": "cci", "williams r": "williams_r",
    "williams % r": "williams_r", "donchian": "donchian", "donchian channel": "donchian",
    "donchian channels": "donchian", "keltner": "keltner", "keltner channel": "keltner", "keltner channels": "keltner",
    "vwap": "vwap", "volume weighted average price": "vwap", "obv": "obv", "on balance volume": "obv",
    "on-balance volume": "obv", "mfi": "mfi", "money flow index": "mfi", "roc": "roc", "rate of change": "roc",
    "momentum": "momentum", "ichimoku": "ichimoku", "ichimoku cloud": "ichimoku", "supertrend": "supertrend",
    "super trend": "supertrend", "parabolic sar": "parabolic_sar", "psar": "parabolic_sar",
    "average volume": "volume_average", "volume average": "volume_average",
}  # fmt: skip

# Words that say nothing about which intent it is; what they say of the question itself, leftover.py looks at.
_FILLER = """
    a an the of for in on at to and or with over within after by from my me i you it its is are be will would could
    can might may what whats what's which where how much many do does please just some this that these those using
    use used based give want need like about up down per day days week weeks month months quarter quarters year
    years hour hours minute minutes bar bars trading business calendar period periods % $ percent confidence sure
    certain one two three level paths futures draws trials times next coming return returns log annual annualised
    annualized volatility vol rate win wins loss losses average payoff ratio reward equity account capital cash stop
    entry stop-loss long short size risk make made there have has if then as i'm i'd let's lets can't not no yes out
    off so bar's today's current daily weekly hourly also assuming assume given than more less least most under
    above below higher lower end ends high low plus minus risking dollars usd eur euros interest dividend yield free
    buying selling invest investing money put it's them sigma
"""
FILLER = frozenset(_FILLER.split())

PHRASES: Mapping[tuple[str, ...], Concept] = {
    **{tuple(phrase.split()): "indicator" for phrase in INDICATORS},
    **{
        tuple(phrase.split()): concept
        for concept, text in _PHRASES.items()
        for phrase in " ".join(text.split()).split("; ")
    },
}
LONGEST = max(map(len, PHRASES))
