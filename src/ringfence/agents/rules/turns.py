"""More turns of phrase, in the notation of `recasting`: what a run of tokens is, and what it becomes."""

from __future__ import annotations

_ENDS = "STOP_MARK|,|AND|OR|)|USE|WHEN|END|DASH|COLON"
_DAYS = "MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY"
_GOES = "MOVES|FALLS|RISES|CROSS|IS|CLOSES|TURNS"
_LINES = "ICHIMOKU|RSI|MACD|BOLLINGER|KELTNER|DONCHIAN|SUPERTREND|SAR|ADX|CCI|STOCHASTIC|WILLIAMS|EMA|SMA|MFI"

_DIP = "UNKNOWN=weakness/strength|FALLS=pullback/dip/dips/pullbacks"

TURNS = (
    # KRE - long - close crosses above … - stop 4 % - 10k per trade: dashes in place of commas
    ("<SYMBOL THEN|DASH|COLON|, LONG|SHORT|BUY DASH", "2 3 WHEN"),
    ("DASH >STOP|TARGET|TRAIL|SIZE|RISK|EXIT|SELL|COVER|TIME_STOP|USE|MONEY", ","),
    ("DASH NUM >PER_TRADE|SHARES|DOLLARS|EVERY", ", 2"),
    ("DASH NUM PERCENT >STOP|TARGET|TRAIL|OF|PER_TRADE", ", 2 3"),
    # The close touches or goes under the band; not more than 2 % away from its high; a 4 % down day
    (f"<CLOSE REACHES OR {_GOES}? BELOW=below/under/beneath", "IS AT_MOST"),
    (f"<CLOSE REACHES OR {_GOES}? ABOVE=above/over/exceeds", "IS AT_LEAST"),
    ("<IS AT_MOST NUM PERCENT AWAY", "BETWEEN 3 4 FROM"),
    ("NUM PERCENT FALLS=down day/red day/losing day/negative day", "PRICE FALLS 1 2 IN DAY"),
    ("NUM PERCENT RISES=up day/green day/winning day/positive day", "PRICE RISES 1 2 IN DAY"),
    ("ABOVE=higher than|BELOW=lower than IT UNKNOWN=did >NUM", "1"),  # higher than it did four weeks ago
    # If it goes 2 ATR against me, stop out; the stop is 1.5 ATR below; … should protect the trade
    ("WHEN PRICE|IT|TRADE|POSITION MOVES|TURNS NUM TIMES? ATR AGAINST_ME , STOP=stop out|EXIT|SELL|COVER", "STOP 4 6"),
    (f"STOP IS? NUM TIMES? ATR BELOW=below/under|ABOVE=above/over >{_ENDS}", "1 3 5"),
    (f"STOP IS? NUM PERCENT BELOW=below/under|ABOVE=above/over >{_ENDS}", "1 3 4"),
    (f"UNKNOWN=protect/protects TRADE|POSITION|IT|LONG >{_ENDS}", ""),
    ("<BAR|DAY|WEEK WHEN NO_OTHER_EXIT=nothing else HAPPENS|REACHES|MOVES", ""),
    # Take SPY short; cover at RSI under 55; sell on the first day when …; skip it if …; 200 short
    ("INVEST=take/taking SYMBOL SHORT", "3 2"),
    ("INVEST=take/taking SYMBOL LONG", "BUY 2"),
    ("<COVER|SELL|EXIT AT RSI|CCI|MFI|WILLIAMS|ADX|PERCENT_K BELOW|ABOVE", "WHEN 3 4"),
    ("AT|ON FIRST DAY|BAR WHEN", "4"),
    ("NOT=skip IT WHEN", "1 BUY 3"),
    (f"NOT {_DAYS} AND|OR {_DAYS} STOP_MARK ON REST=other DAY ,?", "1 2 3 4 5"),  # avoid Mondays. On other days …
    (f"NOT {_DAYS} STOP_MARK ON REST=other DAY ,?", "1 2 3"),
    ("OPPOSITE=reverse TO NUM SHORT", "SHORT 3 SHARES"),
    ("WHEN IT IS OPPOSITE", "1 4"),
    ("<STOP_MARK|END BETWEEN CLOUD NOTHING STOP_MARK", ""),
    # The strategy trades IWM in both directions. A long-only Ichimoku system. Bollinger bands on DIS, 20 bars, 2 std
    ("<STOP_MARK|END STRATEGY IS=trades SYMBOL EITHER_WAY|BOTH_CASES >STOP_MARK|COLON|,", "TRADE 4 , TWO_SIDED"),
    ("<STOP_MARK|END STRATEGY IS=trades SYMBOL >STOP_MARK|COLON|,", "TRADE 4"),
    (f"STRATEGY LONG_ONLY >{_LINES}", "2 ,"),
    (f"LONG_ONLY >{_LINES}", "1 ,"),
    ("BOLLINGER ON|FOR SYMBOL , NUM BAR|DAY AND|,|USE NUM STDEV", "1 ( 5 , 8 ) 2 3"),
    # … the close is above the open. Buy, hold 3 days, sell
    ("STOP_MARK=. BUY|SHORT , HOLD NUM", "THEN 2 , 4 5"),
    ("<,|OTHERWISE|THEN HOLD NUM=100 PERCENT SYMBOL", "2 5"),
    ("AND? INVEST=split/divide EQUITY EQUALLY BETWEEN|AMONG? >STOP_MARK|END", ", EQUALLY"),
    ("<,|AND ROC=change >WEEKLY|MONTHLY|EVERY|QUARTERLY", "REBALANCE"),
    ("DAY OF NEW NUM=one", "1 2 MONTH"),
    # Test the golden cross on Microsoft? I mean going long …; buy on weakness, INTC: …; enter on a pullback: …
    ("REACHES=test GOLDEN_CROSS|DEATH_CROSS ON|FOR|IN SYMBOL STOP_MARK=? >AVERAGE=mean|BUY|WHEN", "2 3 4 COLON"),
    ("GOLDEN_CROSS|DEATH_CROSS ON|FOR|IN SYMBOL STOP_MARK=? >AVERAGE=mean|BUY|WHEN", "1 2 3 COLON"),
    ("<STOP_MARK|,|COLON AVERAGE=mean >BUY|SHORT|WHEN|LONG", ""),
    (f"BUY ON|AFTER {_DIP} , SYMBOL COLON", "1 5 WHEN"),
    (f"BUY ON|AFTER {_DIP} COLON", "1 WHEN"),
    # … and gets closed after 7 bars; exit no later than 15:30; at the first close above …; exit either one when …
    ("AND IS|MOVES=gets/is|TURNS=gets CLOSES=closed|SELL=sold|EXIT=exited >AFTER|WHEN|AT|ON|BY", "1 EXIT"),
    ("AT_MOST=no later than/not later than TIME", "BY 2"),
    ("<SELL|EXIT|COVER AT FIRST CLOSE >ABOVE|BELOW", "ON 4"),
    ("EXIT EITHER NUM=one >WHEN|AT|ON|AFTER", "1 2"),
    ("SELL BOTH=all of/all IT|SHARES|POSITION >END|STOP_MARK|,|WHEN|AND", "1"),
    (f"<SELL|EXIT|COVER ON {_DAYS} AFTER >STOP_MARK|END", "2 3"),  # exit on the Wednesday after
    ("OTHERWISE ONE_POSITION=no position >END|STOP_MARK", "1 EXIT"),
    (", WHEN=any day OF WEEK >STOP_MARK|END", ""),
    ("<TIME MORNINGS=in morning/morning", ""),
    ("USE SAME STRATEGY >COLON", ""),
    ("AND NO_POSITION=hold nothing >WHEN", "AND EXIT"),
)  # fmt: skip
