"""Turns of phrase that say what a plainer one says: a position is opened, whatever happens, a stop too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from ringfence.agents.rules.idioms import IDIOMS
from ringfence.agents.rules.meanings import MEANINGS
from ringfence.agents.rules.phrases import PHRASES
from ringfence.agents.rules.plan_turns import PLAN_TURNS
from ringfence.agents.rules.turns import TURNS

if TYPE_CHECKING:
    from ringfence.agents.rules.tokens import Token

_ENDS = "STOP_MARK|,|AND|OR|)|USE|WHEN|END|DASH|COLON"
_GOES_ON = f"{_ENDS}|AT|ON|AFTER|BY|IN|UNTIL|FOR|UNLESS|NEXT_OPEN|EVERY|FRIDAY|MONDAY|BEFORE"
_IS = "IS|MOVES=gets/get/got|TURNS=gets"
_OWN = "POSITION|TRADE=trade/trades|LONG|EVERY_SYMBOL"
_ALL = "ANYTHING|ALL_IN=everything"
_TRADED = f"{_ENDS}|PER_TRADE|ON|SINCE_ENTRY|FROM|SELL|EXIT"
_DAYS = "MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY"
_DOES = "BUY=buys/enters/purchases/goes long|SELL=sells|EXIT=exits/leaves|COVER=covers"
_INDICES = ("MFI", "RSI", "CCI", "ADX")
_CLOSED = "CLOSES=closed|SELL=sold|EXIT=exited/liquidated/flattened/unwound|COVER=covered"
_MEASURED = (
    "NUM|)|SMA|EMA|WMA|AVERAGE|BAND|VWAP|CLOUD|HIGH|LOW|POSITIVE|NEGATIVE|SAR|SIGNAL_LINE|IT|OVERSOLD|OVERBOUGHT"
)
_TOMORROW = "NEXT_DAY=next day/following day/next session/next trading day/next bar/following session"
_SPANS = "WEEK|MONTH|QUARTER|YEAR"

_TWO = "RSI|MFI|CCI|ADX|ROC|MOMENTUM|STOCHASTIC|WILLIAMS|SMA|EMA|PERCENT_K|PERCENT_D"

# What a run of tokens is, and what it becomes. An element is kinds with | between, each with the texts it may have
# after =; `?` makes it optional, `>` only looks ahead, `<` only looks back. What it becomes: kinds, or the number of an
# element that stays as it is; a text after = has _ for blanks.
_RULES = (
    ("ON EVERY=every/each >CROSS", "1"),  # on every cross of …
    ("BUY_AND_HOLD FOR NUM DAY|BAR|WEEK|MONTH|HOUR", "BUY AND HOLD 2 3 4"),
    ("BUY_AND_HOLD NUM DAY|BAR|WEEK|MONTH|HOUR", "BUY AND HOLD 2 3"),  # buy and hold 2 days
    ("EMPHASIS", ""),  # sell after five bars, no matter what
    (f"TOO >{_ENDS}", ""),  # a 10 % stop, too
    # The position is opened when …, a short is opened when …, JPM is bought if …
    (f"{_OWN} {_IS}? OPENED >{_GOES_ON}", "BUY"),
    (f"SHORT {_IS}? OPENED >{_GOES_ON}", "SHORT"),
    (f"SYMBOL {_IS} BUY=bought/purchased|SHORT=shorted|SELL=sold >{_GOES_ON}", "3 1"),
    # The short is closed when …, it is closed when …, everything closed by 15:55, what is still open at 16:00 is closed
    (f"SHORT {_IS}? {_CLOSED} >{_GOES_ON}", "COVER"),
    (f"{_OWN}|{_ALL}|IT {_IS} {_CLOSED} >{_GOES_ON}", "EXIT"),
    (f"{_OWN}|{_ALL} {_CLOSED} >{_GOES_ON}", "EXIT"),
    (f"BOTH|EITHER POSITION|TRADE? {_IS} {_CLOSED} >{_GOES_ON}", "EXIT 1"),  # both are closed when …
    ("POSITION|ALL_IN=everything MOVES=goes|TURNS=goes >WHEN|AT|AFTER", "EXIT"),  # the whole thing goes if …
    (f"ANYTHING AT|BY|AFTER TIME {_IS} {_CLOSED}", "EXIT 2 3"),
    ("<,|AND|THEN|STOP_MARK|OR CLOSES=closed >WHEN", "EXIT"),
    (f"SELL|EXIT|COVER|CLOSES=close ANYTHING >{_GOES_ON}", "EXIT"),
    # Enter when: …, a buy for me, in the case of Salesforce, do it on SPY
    ("WHEN COLON", "1"),
    ("FOR >STOP_MARK|,|COLON|END", ""),
    # Take AMD long when …, go short NVDA; being long when …; SPY is what I hold
    ("INVEST=take/taking/put/putting SYMBOL LONG|BUY=long on >CROSS|OF", "BUY 2 ON"),
    ("INVEST=take/taking/put/putting SYMBOL LONG|BUY=long on", "BUY 2"),
    ("INVEST=take/taking/put/putting SYMBOL SHORT=short", "SHORT 2"),
    ("IS=being LONG|LONG_ONLY >WHEN", "HOLD"),
    ("IS=being LONG SYMBOL >WHEN", "HOLD 3"),
    # RSI below 30 to buy, and above 70 to get out; a close above it and I'm in
    (f"<{_MEASURED} TO BUY|LONG|SELL|EXIT|SHORT|COVER >STOP_MARK|,|END", "THEN 3"),
    (f"<{_MEASURED} AND IN >STOP_MARK|,|END|USE|NUM|MONEY", "THEN BUY"),
    (f"<{_MEASURED} IS LONG|SHORT >STOP_MARK|,|END", "THEN 3"),  # to be long
    ("BUY|LONG|SHORT AT NUM=100 PERCENT >AND|,|STOP_MARK|END", "1 ALL_IN"),
    ("SYMBOL MOVES=goes/go ON BUY UNKNOWN=list", "BUY 1"),
    ("ONLY IS=to be|HOLD=be in|HOLD=be invested in IN? SYMBOL >WHEN", "HOLD 4"),  # I only want to be in SPY while …
    ("SHORT STRATEGY=setup COLON >PRICE|CLOSE|RSI|IT|CLOSES|BELOW|ABOVE", "1 3"),  # a short setup: …
    ("BUY|LONG STRATEGY=setup COLON >PRICE|CLOSE|RSI|IT|CLOSES|BELOW|ABOVE", "1 3"),
    ("<,|STOP_MARK|AND IT SELL=sell|BUY=buy >WHEN", "3"),  # and it sell when …
    (f"BUY|SHORT IT? {_TOMORROW} >STOP_MARK|,|AND|END|USE|AT|THEN", "1"),  # if it gains 10 %, I short it the next day
    ("BUY=is entry/is buy/is buy signal/is long entry/is my buy/is long signal >STOP_MARK|,|END", "THEN 1"),
    ("SHORT=is short entry/is short signal >STOP_MARK|,|END", "THEN 1"),
    ("FROM FIRST >STOP_MARK|,|END|USE|AND", ""),  # buy and hold SPY from the start
    ("NOT SELL EITHER IT", "1 2"),  # never sold any of it
    ("OTHERWISE ,? ALL_IN=all cash/all money", "OTHERWISE EXIT"),
    ("<STOP_MARK|,|END|WHEN IN SYMBOL >UNLESS", "HOLD 3"),  # I'm in SBUX unless …
    ("IN|FOR SYMBOL UNKNOWN=case", "FOR 2"),
    (f"<STOP_MARK|,|COLON|END|AND IT|STRATEGY? {_DOES}", "3"),
    ("<STOP_MARK|END IT IS=trades SYMBOL", "ON 4"),
    # Put in $500, add $400 to QQQ, $200 a month
    ("USE=put in/puts in/putting in/add/adds/adding >MONEY", "INVEST"),
    ("USE=put in/puts in/putting in/add/adds/adding NUM DOLLARS", "INVEST 2 3"),
    ("<MONEY|DOLLARS MONTH=month", "MONTHLY"),
    ("<MONEY|DOLLARS WEEK=week", "WEEKLY"),
    ("<MONEY|DOLLARS DAY=day", "DAILY"),
    ("<MONEY|DOLLARS QUARTER=quarter", "QUARTERLY"),
    ("<MONEY|DOLLARS YEAR=year", "YEARLY"),
    # A Walmart position of 50 shares, opened when …, closed after 5 days
    ("SYMBOL POSITION OF NUM SHARES ,? OPENED", "BUY 4 5 1"),
    ("SYMBOL POSITION OF MONEY ,? OPENED", "BUY 4 1"),
    ("POSITION OF NUM SHARES IN|OF SYMBOL ,? OPENED", "BUY 3 4 6"),
    ("<,|AND|THEN|STOP_MARK|OR CLOSES=closed|SELL=sold >AFTER", "EXIT"),
    ("ITS >ABOVE=above/over|BELOW=below/under|OVERSOLD|OVERBOUGHT|POSITIVE|NEGATIVE", "IT IS"),
    ("WHEN=in case of SYMBOL >,", "FOR 2"),
    ("<STOP_MARK|,|END IT ON SYMBOL >STOP_MARK|,|AND|END", "ON 4"),
    ("BUY=buy trigger/entry trigger/buy signal/entry signal/entry/entry rule DASH", "1 COLON"),
    ("SHORT=short entry/short signal/short trigger DASH", "1 COLON"),
    ("SELL=sell trigger/sell signal|EXIT=exit trigger/exit signal/exit rule DASH", "1 COLON"),
    # If it goes 6 % against me, take 8 % profit, I won't take more than an 8 % loss, for the exit, …
    ("AGAINST >END|STOP_MARK|,|BY|OR|AND|POSITION|)|TRADE|SELL|EXIT|COVER|THEN", "AGAINST_ME"),
    ("AGAINST NUM PERCENT", "AGAINST_ME 2 3"),
    ("INVEST=take/taking NUM PERCENT >GAIN|LOSS", "EXIT 2 3"),
    ("NOT INVEST=take/taking|RISK ABOVE NUM PERCENT >LOSS", "STOP 4 5"),
    ("EXIT=for exit/for exits/as exit ,", "1 COLON"),
    # RSI above 50: in. In at a 10-day low. …. Buy. When it crosses below, close.
    ("<COLON|THEN|DASH IN >STOP_MARK|,|END", "BUY"),
    ("<STOP_MARK|COLON|END|,|SYMBOL IN >AT", "BUY"),
    ("STOP_MARK=. BUY|SHORT|SELL|EXIT|COVER >STOP_MARK", "THEN 2"),
    ("<,|THEN|COLON CLOSE=close >STOP_MARK|END", "EXIT"),
    # A stop of 6 % should apply; keep a 10 % stop; its own average; a long-only strategy for Walmart
    ("IS? USE=apply/applies/applied/used >STOP_MARK|,|END", ""),
    ("HOLD=keep/keeping/maintain NUM PERCENT STOP|TRAIL", "USE 2 3 4"),
    ("<ABOVE|BELOW|OF|THROUGH HOLD=own >NUM|SMA|EMA|AVERAGE|RSI", "ITS"),
    ("LONG_ONLY|SHORT_ONLY STRATEGY FOR|ON|IN SYMBOL >STOP_MARK|COLON|,", "4 , 1"),
    ("LONG_ONLY STRATEGY FOR|ON|IN SYMBOL USE=with/using >WMA|SMA|EMA|RSI|MACD", "4 , 1 , BUY WHEN"),
    ("SHORT_ONLY STRATEGY FOR|ON|IN SYMBOL USE=with/using >WMA|SMA|EMA|RSI|MACD", "4 , 1 , SHORT WHEN"),
    ("STOCKS=etf/fund/stock/name >CLOSES|CROSS|RISES|FALLS|IS", "PRICE"),
    ("SYMBOL , DAILY=daily|HOURLY|WEEKLY=weekly >COLON|STOP_MARK|,", "1 3 BAR"),
    ("OTHERWISE=if it not/when it not/if not MOVES|REACHES|HAPPENS|RETURNS BACK?", "WHEN NOT_YET"),  # if it has not
    ("<,|STOP_MARK|AND|END BUY=entries/new entries >DURING|ONLY", "TRADE"),  # entries only between 8:00 and 16:00
    ("EXIT , APART ,", "1"),
    ("STOP|TARGET|TRAIL SLASH >NUM", "1 ,"),  # 5 % SL / 10 % TP
    ("TRAIL , NUM PERCENT|ATR >END|STOP_MARK|,|(", "1 3 4"),
    ("STOP|TARGET|TRAIL ( NUM PERCENT|ATR )", "1 3 4"),
    (f"NOT IT LOSS ABOVE NUM PERCENT >{_TRADED}", "STOP 5 6"),  # don't let it lose more than 8 %
    (f"NOT TO? LOSS ABOVE NUM PERCENT >{_TRADED}", "STOP 5 6"),  # never lose more than 8 % on a trade
    (f"NOT SINGLE? TRADE|POSITION MAY? LOSS ABOVE NUM PERCENT >{_TRADED}", "STOP 7 8"),
    (f"NOTHING=no trade MAY? LOSS ABOVE NUM PERCENT >{_TRADED}", "STOP 5 6"),  # no trade may lose more
    (f"<STOP_MARK|,|AND|END LOSS AT_MOST NUM PERCENT >{_TRADED}", "STOP 4 5"),  # lose no more than 8 % per trade
    ("<STOP_MARK|,|AND|END IS=stay/remain >UNTIL", "HOLD"),
    ("<STOP_MARK|,|AND|END|THEN MOVES=go/gone >WHEN", "EXIT"),  # I let go when …, I'm gone when …
    ("POSITION|TRADE|IT IS HOLD >FOR|UNTIL", "HOLD"),
    (f"<STOP_MARK|,|AND|END IS=trades IS {_CLOSED} >{_GOES_ON}", "EXIT"),
    ("MIDDLE BAND|LINE? IS EXIT=exit/exit signal/only exit|TARGET >END|STOP_MARK|,", "EXIT AT 1"),
    ("IS EXIT=exit/exit signal/out/only exit >END|STOP_MARK|,", "THEN 2"),  # RSI above 70 is my exit
    ("AND EXIT=out >END|STOP_MARK", "THEN 2"),
    ("IS=remaining >NUM|HALF|THIRD|QUARTER|POSITION|SHARES", "REST"),
    ("ON NUM WHEN=day after/bar after BUY=entry/entries/buying", "AFTER 2 DAY"),  # on the 10th day after entry
    ("FROM|BELOW|OFF TOP=best CLOSE", "1 PEAK 3"),
    ("FROM TOP >END|STOP_MARK|,|OR|AND", "1 PEAK"),
    # Goes past 65; a new maximum of 100 days; volume spikes of twice its average; ADX at 20 or more
    ("RISES PREVIOUS=past NUM >STOP_MARK|,|END|AND|OR|SELL|BUY|EXIT", "CROSS ABOVE 3"),
    ("FALLS PREVIOUS=past NUM >STOP_MARK|,|END|AND|OR|SELL|BUY|EXIT", "CROSS BELOW 3"),
    ("NEW HIGHEST OF|IN|FOR PREVIOUS? NUM DAY|BAR|WEEK|MONTH", "1 5 6 HIGH"),
    ("NEW LOWEST OF|IN|FOR PREVIOUS? NUM DAY|BAR|WEEK|MONTH", "1 5 6 LOW"),
    ("NEW AT_MOST=maximum of NUM DAY|BAR|WEEK|MONTH", "1 3 4 HIGH"),
    ("NEW AT_LEAST=minimum of NUM DAY|BAR|WEEK|MONTH", "1 3 4 LOW"),
    ("PRICE|IT|CLOSE NEW >NUM", "1 MAKES 2"),
    # On a cross of the 9 EMA over the 21 EMA; Parabolic SAR, default settings, on EURUSD
    ("CROSS OF NUM SMA|EMA|WMA|AVERAGE ABOVE|BELOW", "3 4 1 5"),
    ("CROSS OF NUM DAY|BAR SMA|EMA|WMA|AVERAGE ABOVE|BELOW", "3 4 5 1 6"),
    ("CROSS OF SMA|EMA|WMA NUM ABOVE|BELOW", "3 4 1 5"),
    ("CROSS OF PRICE|CLOSE|MACD|PERCENT_K|TENKAN|RSI|PLUS_DI ABOVE|BELOW", "3 1 4"),
    (", DEFAULTS ,? ON|FOR|IN SYMBOL", "4 5"),
    ("IT? CROSS BACK >STOP_MARK|,|END|OR|AND|THEN", "OPPOSITE=opposite_cross"),  # when it crosses back
    # A 50-day versus 200-day crossover; the bottom three; the three least volatile; Ford, 10 % trailing stop
    ("NUM DAY AGAINST NUM DAY CROSS", "1 SLASH 4 2 SMA 6"),
    ("<END|STOP_MARK MOVES=run/running|PLEASE=run >NUM", ""),
    ("LOWER=bottom >NUM", "BOTTOM"),
    ("UNKNOWN=least UNKNOWN=volatile", "BOTTOM"),
    ("NUM DAY|BAR STDEV OF DAILY? ROC", "1 2 VOLATILITY"),
    ("<END|STOP_MARK SYMBOL NUM PERCENT|ATR STOP|TRAIL|TARGET", "2 , 3 4 5"),
    ("<NUM , WHEN=any day|DAILY=every day/each day >STOP_MARK|END", ""),  # sell when RSI is above 60, any day
    ("<STOP_MARK|,|END|AND AMONG=out of SYMBOL >WHEN", "EXIT 3"),
    ("<LOW|HIGH|OPEN|CLOSE OF DAY_IS", "IS"),
    ("<LOW|HIGH|OPEN|CLOSE OF DAY >BELOW|ABOVE|CROSS", ""),  # the low of the day under the 20 EMA
    # Only enter trades when …; no new trades while …; MRK long only; sell Wednesday
    ("ONLY BUY=enter/open|INVEST=take/place/put IS=trades|TRADE=trades >WHEN|DURING|BETWEEN|FROM|ON", "1 TRADE"),
    ("NOT NEW IS=trades|BUY=entries|TRADE|POSITION >WHEN|UNLESS", "1 TRADE"),
    ("<END|STOP_MARK SYMBOL LONG_ONLY|SHORT_ONLY >STOP_MARK|COLON|,|DASH", "2 , 3"),
    ("SELL|EXIT|COVER MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY >STOP_MARK|END|,", "1 ON 2"),
    ("SELL|EXIT|COVER ON EVERY=any >RISES|FALLS", "1 2 FIRST"),  # sell on any up close
    # The 5 EMA crosses the 20 EMA upward: long. Downward: short
    ("<STOP_MARK CROSS? FALLS=downward/downwards COLON|, >SHORT|SELL|EXIT", "WHEN OPPOSITE=opposite_cross ,"),
    ("<STOP_MARK CROSS? RISES=upward/upwards COLON|, >BUY|LONG|COVER", "WHEN OPPOSITE=opposite_cross ,"),
    ("VOLUME RISES=spike/surge/jump OF >TWICE|TRIPLE|NUM", "1 IS AT_LEAST"),
    ("VOLUME RISES=spike/surge/jump OF >AT_LEAST|ABOVE", "1 IS"),
    ("<)|ADX|RSI|MFI|CCI|PERCENT_K|PERCENT_D|WILLIAMS|STOCHASTIC AT NUM OR_MORE|OR_LESS", "IS 3 4"),
    (f"NUM {_SPANS} AVERAGE|SMA|EMA|WMA ( NUM DAY|BAR )", "1 2 4 5 6 7 3"),  # its 10-month average (210 days)
    ("PERCENT SYMBOL SLASH >NUM", "1 2 AND"),  # 80 % VTI / 20 % BND
    # 1R = 2 ATR; 2N where N = ATR(20); a fixed 5 % stop; exit at 1.5R where the stop is 4 %
    ("NUM=1/one TIMES RISK EQUALS|IS|COLON >NUM|STOP", ""),
    ("NUM AND=n ( ATR NUM )", "1 4 3 5 6"),  # 2N (ATR 20)
    ("NUM AND=n STOP WHEN=where AND=n IS|EQUALS|COLON ATR ( NUM )", "1 7 8 9 10 3"),
    ("NUM AND=n WHEN=where AND=n IS|EQUALS|COLON ATR ( NUM )", "1 6 7 8 9"),
    ("NUM AND=n STOP WHEN=where AND=n IS|EQUALS NUM DAY|BAR ATR", "1 7 8 9 3"),
    ("FIXED|UNKNOWN=fixed NUM PERCENT|ATR STOP|TARGET", "2 3 4"),
    ("WHEN=where >STOP", ","),
    ("TRAIL , >TRAIL", ""),  # a chandelier exit, i.e. a trailing stop of 3 ATR
    # Entry -> RSI < 30; my buy signal comes when …; a sell is triggered when …; KO should be sold when …; Bitcoin/USD
    ("<STOP_MARK|,|END BUY=entry/buy|EXIT=exit|SELL=sell|TRADE=ticker/symbol THEN", "2 COLON"),
    ("BUY|SELL|EXIT|SHORT|COVER IS? HAPPENS|MOVES=comes/come >WHEN", "1"),
    (f"{_OWN} IN|ON SYMBOL {_IS}? OPENED >{_GOES_ON}", "BUY 3"),
    ("<AND|,|THEN IS SELL=sold|BUY=bought|SHORT=shorted|COVER=covered|EXIT=exited >WHEN", "3"),
    ("<STOP_MARK|,|END|AND|COLON IS BUY=buying|SELL=selling|SHORT=shorting|HOLD=holding", "3"),
    ("SYMBOL SLASH DOLLARS=usd", "1"),
    ("<NUM|)|AVERAGE|SMA|EMA|BAND ON CLOSE=close/daily close/day close >STOP_MARK|,|AND|THEN|END|OR|COLON", ""),
    # Hourly Ethereum, 15-minute QQQ bars: the bars after what is traded
    ("<STOP_MARK|COLON|ON|,|END HOURLY|DAILY=daily SYMBOL BAR|CHART", "3 2 4"),
    ("<STOP_MARK|COLON|ON|,|END HOURLY|DAILY=daily SYMBOL >STOP_MARK|COLON|,", "3 2 BAR"),
    ("<STOP_MARK|ON|,|END HOURLY SYMBOL FROM|BETWEEN TIME TO|AND TIME ONLY? COLON", "3 2 BAR , TRADE ONLY FROM 5 TO 7"),
    ("NUM MINUTE|HOUR SYMBOL BAR|CHART", "3 1 2 4"),
    ("NUM MINUTE|HOUR SYMBOL >STOP_MARK|COLON|,|WHEN", "3 1 2 BAR"),
    # A close above it is my buy. I want the trade to start when …
    (f"IS BUY=buy/buy signal/entry/entry signal|SELL=sell/sell signal|SHORT=short/short signal >{_ENDS}", "THEN 2"),
    ("TO FIRST=start/begin >WHEN", "BUY"),
    # ETH is traded both ways. Don't trade on Fridays. On the other days buy … The 22-day high of the previous bars
    ("SYMBOL IS? TWO_SIDED=traded both ways/trades both ways >,|USE|STOP_MARK|COLON", "1 , 3"),
    (f"NOT TRADE=trade on|BUY ON? {_DAYS} STOP_MARK|, ON REST=other DAY=days ,?", "1 2 3 4 5"),
    (f"NOT TRADE|BUY ON {_DAYS} STOP_MARK|, ON REST=other DAY=days ,?", "1 2 3 4 5"),
    ("NUM DAY|BAR|WEEK HIGH|LOW OF PREVIOUS BAR=bars|DAY=days >,|STOP_MARK|AND|END|OR", "1 2 3"),
    (", USE=add/added/adding NOTHING", ""),  # nothing is added anyway
    ("<PERCENT_K|CROSS|ABOVE|BELOW UNKNOWN=d", "PERCENT_D"),  # %K crosses above D
    ("<EMA|SMA IN MIDDLE >STOP_MARK|,|END", ""),  # the 20 EMA in the middle of the channel
    ("<STOP_MARK|,|AND|END EQUITY=equity/capital LONG|SHORT >WHEN", "3"),
    ("<STOP_MARK|END MOMENTUM TWO_SIDED >,|STOP_MARK|COLON", "3"),
    ("<ABOVE=above/over|BELOW=below/under LINE=line >,|STOP_MARK|AND|OR|END|THEN|BUY|SELL", "IT"),
    ("ON DAY=day >RSI|SMA|EMA|MACD|PRICE|CLOSE|IT", "WHEN"),  # on the day it closes below …
    ("ON DAY=day NUM DAY|BAR >RSI|SMA|EMA|AVERAGE", "WHEN 3 4"),
    # In a general uptrend (close over SMA 200) buy …: what is meant stands in the brackets
    ("<STOP_MARK|,|END BETWEEN=inside/within|IN|DURING? UNKNOWN=general? BULLISH|BEARISH (", "WHEN 5"),
    ("TO CLOSES=finish/end|LAST=end >WHEN", "EXIT"),
    # Drop them when …; sell SPY and wait; short as it crosses below 80; natural gas through UNG
    ("<AND|,|STOP_MARK|THEN|END FALLS=drop/dropping >WHEN", "SELL"),
    ("<SELL|EXIT|COVER|SYMBOL|IT AND UNKNOWN=wait|WAIT=wait >END|STOP_MARK|,", ""),
    ("REBALANCE RETURNS=back at", "1 AT"),
    ("<NUM LOWEST=min CHART|BAR", "MINUTE 3"),
    ("CLOSE IN|ON|OF SYMBOL ABOVE|BELOW", "3 CLOSE 4"),
    ("CLOSES=day closes RISES=up|FALLS=down", "CLOSE 2"),
    ("OPPOSITE=reverse WHEN=each time|PER_TRADE=each time >END|STOP_MARK|,", "ALWAYS_IN"),
    ("<,|AND|STOP_MARK OPPOSITE=reverse WHEN=each time|PER_TRADE=each time >END|STOP_MARK|,", "ALWAYS_IN"),
    ("<LONG|SHORT|BUY|SELL|EXIT|COVER UNKNOWN=as", "WHEN"),
    ("CANNOT_INDEX THROUGH|USE=via/using|BY SYMBOL", "3"),
    # Short QQQ, 10-minute bars, if …; the cross of the close above it; its high is exceeded by the close
    ("SYMBOL , NUM MINUTE|HOUR BAR|CHART , >WHEN|ON|AFTER", "1 3 4 5"),
    ("SYMBOL INTRADAY , NUM MINUTE|HOUR BAR|CHART , >WHEN|ON|AFTER", "1 4 5 6 2"),
    ("CROSS OF CLOSE|PRICE ABOVE|BELOW", "3 1 4"),
    ("PREVIOUS HIGH|LOW|CLOSE IS ABOVE=exceeded BY CURRENT? CLOSE", "7 IS ABOVE 1 2"),
    ("EMA ( NUM ) ABOVE=>|BELOW=< EMA ( NUM ) CROSS", "1 2 3 4 10 5 6 7 8 9"),
    ("SMA ( NUM ) ABOVE=>|BELOW=< SMA ( NUM ) CROSS", "1 2 3 4 10 5 6 7 8 9"),
    (f"<STOP_MARK|,|END|WHEN|COLON|AND {_TWO} AND {_TWO} BOTH >ABOVE|BELOW|IS|CROSS|RISES|FALLS", "BOTH 2 AND 4"),
    (", STRATEGY=simple UNKNOWN=averages >,|STOP_MARK|END", ""),  # moves above the 100-day, simple averages
    ("<BUY|LONG|HOLD FROM >MONTH_END", "ON"),
    ("<DAY|BAR OF NEW NUM=one", "OF MONTH"),
    ("<DAY|BAR OF NEW|NEXT MONTH", "OF MONTH"),
    # … is what makes me buy; more than 100, we are long; anything in between, we keep what we have
    (",? IS POSITION=what MAKES|HAPPENS BUY|SELL|EXIT|SHORT", "THEN 5"),
    ("<, IS LONG|BUY|SHORT >STOP_MARK|,|END", "THEN 3"),
    ("ANYTHING? BETWEEN=in between ,? HOLD=keep/hold POSITION=what/what have/what hold|IT >STOP_MARK|,|END", ""),
    # If after ten bars the trade in Micron isn't closed, close it; if it is still open after ten days, close it
    (
        "WHEN AFTER NUM DAY|BAR|WEEK BUY=trade in SYMBOL IS NOT CLOSES=closed ,? EXIT|SELL|COVER",
        "6 , EXIT AFTER 3 4",
    ),
    ("WHEN AFTER NUM DAY|BAR|WEEK TRADE|POSITION|IT IS NOT CLOSES=closed ,? EXIT|SELL|COVER", "EXIT AFTER 3 4"),
    ("WHEN AFTER NUM DAY|BAR|WEEK TRADE|POSITION|IT IS OPEN ,? EXIT|SELL|COVER", "EXIT AFTER 3 4"),
    ("WHEN TRADE|POSITION|IT IS OPEN AFTER NUM DAY|BAR|WEEK ,? EXIT|SELL|COVER", "EXIT AFTER 6 7"),
    ("CLOSE RISES=up|FALLS=down ABOVE|AT_LEAST NUM PERCENT >,|STOP_MARK|END|AND", "PRICE 2 3 4 5 ON DAY"),
    ("AT|ON FIRST CLOSE >ABOVE|BELOW", "ON 3"),
    ("SIZE POSITION|IT? FOR NUM PERCENT >YEARLY|VOLATILITY", "1 TO 4 5"),
    ("<NUM STRATEGY=simple >STOP_MARK|,|END", ""),  # golden cross, 50/200 simple
    # Every day that SPY closes 1 % lower, buy: a rule, and no schedule
    ("<STOP_MARK|END DAILY=every day/each day/any day SYMBOL|IT >CLOSES|IS|FALLS|RISES|CROSS|GAP|MOVES", "WHEN 3"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Element:
    kinds: dict[str, tuple[str, ...]]
    optional: bool = False
    ahead: bool = False
    behind: bool = False

    def fits(self, token: Token | None) -> bool:
        if token is None:
            return "END" in self.kinds
        return token.kind in self.kinds and (not self.kinds[token.kind] or token.text in self.kinds[token.kind])


@cache
def _rules() -> tuple[tuple[tuple[_Element, ...], tuple[str, ...]], ...]:
    rules = (*MEANINGS, *_RULES, *IDIOMS, *TURNS, *PHRASES, *PLAN_TURNS)
    return tuple((tuple(map(_element, _elements(said))), tuple(becomes.split())) for said, becomes in rules)


def _elements(said: str) -> list[str]:
    """Cut at the blanks before a kind; those within a text ("buy signal") stay."""
    made: list[str] = []
    for word in said.split(" "):
        if made and word[:1].islower():
            made[-1] += f" {word}"
        else:
            made.append(word)
    return made


def _element(said: str) -> _Element:
    kinds: dict[str, tuple[str, ...]] = {}
    for one in said.strip("<>?").split("|"):
        kind, _, texts = one.partition("=")
        kinds[kind] = tuple(texts.split("/")) if texts else ()
    return _Element(kinds=kinds, optional=said.endswith("?"), ahead=said[0] == ">", behind=said[0] == "<")


def recast(tokens: Sequence[Token]) -> list[Token]:
    """The same in the plain words that the grammar has rules for."""
    made = _same_index(tokens)
    for elements, becomes in _rules():
        present = {"END", *(token.kind for token in made)}
        if any(not element.optional and element.kinds.keys().isdisjoint(present) for element in elements):
            continue  # most rules are about words that are not there
        n = 0
        while n < len(made):
            found = _fit(made, n, elements)
            if found is None:
                n += 1
                continue
            taken, end = found
            new = [_made(made, taken, one, (n, end)) for one in becomes if not one.isdigit() or int(one) in taken]
            made[n:end] = new
            n += len(new)
    return made


def _same_index(tokens: Sequence[Token]) -> list[Token]:
    """The money flow index falls below 20 …, the index exceeds 70: the one that was named, where a number follows."""
    made = list(tokens)
    named: Token | None = None
    for n, token in enumerate(made):
        if token.kind in _INDICES and token.text.endswith("index"):
            named = token
        if named is None or (token.kind, token.text) != ("PRICE", "index"):
            continue
        number = next((k for k in range(n + 1, min(n + 5, len(made))) if made[k].kind == "NUM"), None)
        after = made[number + 1].kind if number is not None and number + 1 < len(made) else "END"
        if number is not None and after in _ENDS.split("|") and made[number - 1].kind not in _ENDS.split("|"):
            made[n] = replace(token, kind=named.kind, text=named.text)
    return made


def _fit(tokens: list[Token], n: int, elements: tuple[_Element, ...]) -> tuple[dict[int, int], int] | None:
    """Which token each element has, and the first one after them all."""
    taken: dict[int, int] = {}
    at = n
    for number, element in enumerate(elements, 1):
        token = tokens[at] if at < len(tokens) else None
        if element.behind:
            if not element.fits(tokens[n - 1] if n else None):
                return None
        elif element.ahead:
            if not element.fits(token):
                return None
        elif element.fits(token) and token is not None:
            taken[number] = at
            at += 1
        elif not element.optional:
            return None
    return taken, at


def _made(tokens: list[Token], taken: dict[int, int], one: str, span: tuple[int, int]) -> Token:
    if one.isdigit():
        return tokens[taken[int(one)]]
    first, last = tokens[span[0]], tokens[span[1] - 1]
    if ":" in one:  # NUM:2
        kind, _, number = one.partition(":")
        return replace(first, kind=kind, text=number, value=int(number), end=last.end)
    one, _, text = one.partition("=")
    return replace(first, kind=one, text=text.replace("_", " ") or one.lower(), start=first.start, end=last.end)
