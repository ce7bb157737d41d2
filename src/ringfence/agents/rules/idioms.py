"""Turns of phrase that say something twice, or of one thing among several, in the notation of `recasting`."""

from __future__ import annotations

_LONG_UNITS = "WEEK|MONTH|QUARTER|YEAR"
_SPANNED = "AVERAGE|SMA|EMA|WMA|ROC|MOMENTUM|HIGH|LOW|RSI|VOLATILITY"
_STATES = "IS|ABOVE|BELOW|CROSS|RISES|FALLS|MOVES|TURNS|POSITIVE|NEGATIVE"

IDIOMS = (
    # The 20-week average, which is 140 days; a 10-month average (use 200 days): the bars that are meant
    (f"NUM {_LONG_UNITS} {_SPANNED} , IS? NUM DAY|BAR , >{_STATES}", "6 7 3"),
    (f"NUM {_LONG_UNITS} {_SPANNED} , IS? NUM DAY|BAR >,|STOP_MARK|END", "6 7 3"),
    (f"NUM {_LONG_UNITS} {_SPANNED} ( USE|IS? NUM DAY|BAR )", "6 7 3"),
    # Buy silver, SLV, when …; both ways on GBPUSD: …; ride AVGO up: …; the fund is equally split between …
    ("<STOP_MARK|END BUY|SHORT|LONG SYMBOL , >WHEN", "2 3"),
    ("<STOP_MARK|END SELL|EXIT|COVER , >WHEN=if/when/once/whenever", "2"),  # sell it, if RSI is above 70
    ("<STOP_MARK|END EITHER_WAY|TWO_SIDED ON|FOR|IN SYMBOL COLON|STOP_MARK", "4 , 2 STOP_MARK"),
    ("<STOP_MARK|END HOLD=ride SYMBOL RISES|FALLS COLON", "3 COLON"),
    ("<STOP_MARK|END|COLON PRICE|EQUITY IS >EQUALLY", ""),
    ("<STOP_MARK|END|COLON LONG NUM >USE", "HOLD 3"),  # long the two with the lowest RSI
    # Sell that one when …, buy either one when …, exit either one when …, no trades before 10:00, it is closing above
    ("SELL|COVER|EXIT NUM=one >WHEN", "1 IT"),
    ("SELL|COVER EVERY=each >WHEN", "1"),
    ("BUY|SHORT EITHER NUM=one >WHEN", "1"),
    ("EXIT|CLOSES=close EITHER NUM=one >WHEN|AT|AFTER|ON", "1 2"),
    ("NOT IS=trades >BEFORE|AFTER|ON", "NOT TRADE"),
    ("IS CLOSES=closing", "2"),
    ("<STOP_MARK|END|, ONLY IS=to be/be IN SYMBOL >WHEN", "HOLD 5"),  # I only want to be in SPY while …
    ("WEEKLY|MONTHLY|DAILY|QUARTERLY|YEARLY REBALANCE >ON|AT|COLON", "2 1"),  # weekly check on Mondays
    ("NOTHING|NO_POSITION|ONE_POSITION=no position OTHERWISE", "2 1"),
    ("SELL=sell/selling NOTHING >STOP_MARK|END|,", "NOT SELL"),
    ("AND HOLD ONLY NUM=one >STOP_MARK|END|,", ""),  # take the strongest, and hold only that one
    # On every cross of A above B; sell on the cross back down; it loses its 20-day average; into or below the cloud
    ("ON CROSS BACK FALLS|RISES|BELOW|ABOVE >STOP_MARK|END|,|AND|OR", "ON OPPOSITE"),
    ("WHEN IT IS OPPOSITE >,|THEN|BUY|SHORT|SELL|EXIT|COVER|COLON", "WHEN OPPOSITE"),
    ("LOSS=loses/lost/losing ITS >NUM|SMA|EMA|AVERAGE", "LOSES_LINE 2"),
    ("IN OR_LESS=or below/or under >CLOUD|UPPER|BELOW|BAND", "BELOW"),
    ("CLOUD TOP=top", "UPPER 1"),
    ("CLOUD BOTTOM=bottom|LOWER=bottom", "LOWER 1"),
    # If not more than 3 % below its high; MACD crosses up below zero; if it gaps up, meaning the open is above …
    ("OTHERWISE=if not ABOVE=more than NUM PERCENT >BELOW|ABOVE", "WHEN IT IS AT_MOST 3 4"),
    ("MACD RISES=crosses up/cross up/crossing up BELOW|ABOVE >NUM", "1 CROSS ABOVE SIGNAL_LINE AND 1 IS 3"),
    ("MACD FALLS=crosses down/cross down/crossing down BELOW|ABOVE >NUM", "1 CROSS BELOW SIGNAL_LINE AND 1 IS 3"),
    ("<STOP_MARK|END|COLON WHEN SYMBOL GAP RISES|FALLS , MEANING", "FOR 3 , 2"),
    ("WHEN IT|PRICE GAP RISES|FALLS , MEANING", "1"),
    # Stop 2x ATR below, target 3x ATR above; risk no more than 6 % on the position with a stop
    ("RISK AT_MOST? NUM PERCENT ON|OF POSITION USE=with/using STOP", "8 3 4"),
    ("MORNINGS ONLY? ,? FROM? TIME TO TIME ONLY?", "ONLY FROM 5 6 7"),
    ("MORNINGS ONLY? ( FROM? TIME TO TIME )", "ONLY FROM 5 6 7"),
)  # fmt: skip
