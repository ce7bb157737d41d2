"""Turns of phrase of schedules, switches, rotations and savings plans, in the notation of `recasting`."""

from __future__ import annotations

_DAY = "MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY|SATURDAY|SUNDAY"
_MONTH = "JANUARY|FEBRUARY|MARCH|APRIL|MAY|JUNE|JULY|AUGUST|SEPTEMBER|OCTOBER|NOVEMBER|DECEMBER"
_LONGER = "WEEK|MONTH|QUARTER|YEAR"

PLAN_TURNS = (
    ("<BUY|SHORT|LONG|SELL|COVER|EXIT TRADE=it on", "ON"),  # buy it on the 20th
    # Only on Tuesdays: if …; each Monday that SPY is above …; closed lower that day; out the following Monday
    (f"BUY|TRADE IN? SYMBOL ONLY ON {_DAY} COLON >WHEN", "TRADE 3 STOP_MARK TRADE 4 5 6 STOP_MARK"),
    (f"<STOP_MARK|END|COLON ON? {_DAY} ONLY COLON|, >WHEN|BUY|SHORT", "TRADE ONLY ON 3 STOP_MARK"),
    (f"<CLOSE ABOVE|BELOW {_DAY} CLOSE BY NUM PERCENT OR_MORE", "IS AT_LEAST 6 7 2 3 4"),
    (f"EVERY {_DAY}|DAY SYMBOL|IT IS|CLOSES ABOVE|BELOW", "1 2 WHEN 3 4 5"),
    (f"ON? EVERY {_DAY} >CLOSES", "2 3 WHEN IT"),
    ("FALLS|RISES DAY=day >,|AND|THEN|BUY|END|STOP_MARK", "1"),
    (f"STRATEGY=following >{_DAY}", "NEXT"),
    ("<SYMBOL|,|COLON|END|STOP_MARK LONG_ONLY=long only >ON", "BUY"),
    # A 20-week average (140 days), a 10-month average, say 210 days: what it is in bars
    (f"NUM {_LONGER} AVERAGE|SMA|EMA|ROC|HIGH|LOW ( USE? NUM DAY|BAR )", "6 7 3"),
    (f"NUM {_LONGER} AVERAGE|SMA|EMA , USE=say NUM DAY|BAR ,", "6 7 3"),
    (f"NUM {_LONGER} ( USE? NUM DAY|BAR )", "5 6"),
    (f"{_LONGER} AGO ( NUM DAY|BAR )", "4 5 2"),
    (f"FOR {_LONGER} , NUM DAY|BAR >STOP_MARK|END", "1 4 5"),
    (f"ABOVE|BELOW IT IS? NUM DAY|BAR|{_LONGER} AGO", "1 4 5 6"),
    (f"ABOVE|BELOW IT IS {_LONGER} AGO", "1 4 5"),
    # Otherwise all cash, else no position, go to zero, all to cash whenever …
    ("OTHERWISE ,? ALL_IN=all cash/all in cash", "1 EXIT"),
    ("OTHERWISE ,? ONE_POSITION=no position", "1 EXIT"),
    ("OTHERWISE ,? HOLD? NO_POSITION", "1 EXIT"),
    ("<,|THEN|BELOW MOVES TO NUM=zero/0 >STOP_MARK|END|,", "EXIT"),
    ("BOTH|ALL_IN TO EQUITY=cash >WHEN", "EXIT"),
    ("INVEST=take/takes/taking/put/move POSITION|ALL_IN|IT TO EQUITY=cash >WHEN", "EXIT"),
    # Looked at on the last day of the month; until the end of April; two ETFs, one rule
    ("<,|STOP_MARK|AND PLEASE=looked at/look at/looking at >ON|AT|EVERY|MONTHLY|WEEKLY|MONTH_END", "REBALANCE"),
    ("<STOP_MARK|END NUM=two EVERY_SYMBOL|STOCKS ,|AND STRATEGY STOP_MARK", ""),
    # SPY and EFA get 50 % each; 25 % of capital for each of …; any asset under …; goes to cash until it is back above
    ("<SYMBOL MOVES=get/gets NUM PERCENT EVERY", ", 3 4 5"),
    ("<EQUITY FOR|IN|TO EVERY_SYMBOL >SYMBOL", "EVERY"),
    ("EVERY PRICE=asset/fund/security >ABOVE|BELOW|WHEN|IS", "1 STOCKS"),
    ("<EXIT UNTIL IT IS BACK ABOVE AT LATER MONTH_END", ""),
    ("EVERY HOLD WHEN=only if/only when/only while/if/while", "ONLY WHEN"),
    # A pair: ±2, both legs closed at 0, each leg gets half of equity, no pair is kept longer than 30 days
    ("UNKNOWN=± NUM", "AND OR MINUS 2"),
    ("LEG CLOSES=closed >AT|WHEN", "EXIT"),
    ("LEG MOVES=get/gets HALF OF? EQUITY", "HALF OF EQUITY LEG"),
    ("LEG MOVES=get/gets NUM PERCENT OF EQUITY", "3 4 5 6 LEG"),
    ("NOT PAIR IS HOLD|LASTS ABOVE NUM DAY|BAR|WEEK", "TIME_STOP 6 7"),
    ("SPREAD? UNKNOWN=log ( SYMBOL ) MINUS|SLASH UNKNOWN=log ( SYMBOL )", "4 AGAINST 9 LOG_RATIO"),
    # A momentum rotation over six sectors; if the leader has changed; provided each is above its average
    ("WHEN TOP UNKNOWN=changed/changes|TURNS=changes/changed", ""),
    ("WHEN EVERY=each IS >ABOVE|BELOW", "1 IT 3"),
    ("<STOP_MARK|END|COLON|ON MOMENTUM ROTATE ABOVE=over >NUM|SYMBOL|STOCKS|EVERY_SYMBOL", "ROTATE AMONG"),
    ("<COLON|STOP_MARK|END MOMENTUM USE TITLE >STOP_MARK|COLON", "TITLE"),
    ("NUM DAY|BAR STDEV OF DAILY ROC", "1 2 VOLATILITY"),
    ("IN UNKNOWN=list/basket IS >SYMBOL", "TRADE"),
    # Long SPY every day except Mondays; long SPY all year, but out for September; twice a year; any day
    (f"LONG|HOLD|BUY=be long SYMBOL ON? DAILY EXCEPT|AND=but {_DAY} >STOP_MARK|END|,", "HOLD 2 UNLESS IT IS 6"),
    (f"LONG|HOLD|BUY=be long SYMBOL BOTH? YEAR ,? AND=but EXIT FOR|IN|DURING {_MONTH}", "HOLD 2 EXCEPT IN 9"),
    ("LONG|HOLD|BUY=be long SYMBOL BOTH? YEAR >EXCEPT", "HOLD 2"),
    ("NUM=two/2 TIMES YEAR", "HALF_YEARLY"),
    ("<NUM , WHEN=any day >STOP_MARK|END", ""),
    ("<SYMBOL IN REST=second half COLON", "COLON"),
    ("<STOP_MARK|END BETWEEN|FROM TIME AND|TO TIME ON NUM MINUTE|HOUR BAR|CHART ,", "7 8 9 , 2 3 4 5 ,"),
    ("<STOP_MARK|,|END NUM=one POSITION OF >NUM", "USE"),
    ("BUY SYMBOL USE MONEY >EVERY|MONTHLY|WEEKLY|DAILY|ON|AT", "INVEST 4 IN 2"),
)  # fmt: skip
