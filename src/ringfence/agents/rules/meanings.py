"""Turns of phrase that come before those of recasting.py: what is defined as it is used, exceptions, spans of time."""

from __future__ import annotations

_WEEK = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
_PRICES = "CLOSE|HIGH|LOW|OPEN"
_TIME = "DAY|BAR|WEEK|MONTH|QUARTER|YEAR"
_AVERAGES = "AVERAGE|SMA|EMA|WMA"
_LINES = "CLOSE|PRICE|RSI|ADX|ROC|MACD|VOLUME|SMA|EMA|AVERAGE|IT|ATR|BAND_WIDTH|CCI|MFI"
_VAGUE = "UNKNOWN=good/weak/strong/healthy/bad/tight/narrow/squeezed/wide/quiet/calm/favourable/favorable/stretched"


MEANINGS = (
    # The trend is good, meaning the close is …; not overbought, that is RSI below 70: what is meant takes its place
    (f"<NUM|BAND|)|{_AVERAGES}|STOCKS|OVERBOUGHT|OVERSOLD|UNKNOWN , IS=is >{_LINES}", ", MEANING"),
    ("NOT? OVERBOUGHT|OVERSOLD ,? MEANING", ""),
    (f"TITLE=trend|PRICE=market|IT IS NOT? {_VAGUE}|BULLISH|BEARISH|POSITIVE|NEGATIVE ,? MEANING|USE=say", ""),
    (f"TITLE=trend|PRICE=market IS NOT? {_VAGUE} COLON", ""),
    (f"WHEN BOLLINGER OF SYMBOL IS {_VAGUE} COLON|MEANING", "FOR 4 1"),
    (f"WHEN BOLLINGER IS {_VAGUE} COLON|MEANING", "1"),
    ("NOT BUY ANYTHING|IT? WHEN >WHEN", ""),
    # On a pullback: uptrend means A, pullback means B
    ("ON|IN FALLS=pullback/pullbacks/dip/dips COLON", "WHEN"),
    ("BULLISH=uptrend|FALLS=pullback/dip|OVERSOLD|OVERBOUGHT THEN=means", ""),
    # A 20-week average (use 140 days); two weeks (10 trading days); a month, 21 trading days
    (f"NUM {_TIME} {_AVERAGES} ( USE? NUM {_TIME} )", "6 7 3"),
    (f"NUM {_TIME} ( USE? NUM {_TIME} )", "5 6"),
    (f"<FOR|AFTER|HOLD|IN NUM? {_TIME} , NUM {_TIME} >STOP_MARK|END|AND", "5 6"),
    (f"NUM {_TIME} HOLD >STOP_MARK|END|,|AND", "HOLD FOR 1 2"),  # a 3-day hold
    # But skip it if …, add nothing
    ("AND=but ,? NOT=skip/avoid/not/never IT|TRADE|PER_TRADE|BUY|SIGNALS|SIGNAL_LINE|IS=trades? >WHEN", "UNLESSED"),
    ("UNLESSED WHEN=if/when/whenever/while", "UNLESS"),
    ("USE=add NOTHING", "ONE_POSITION"),
    ("NOT=no/never LONG|BUY|SHORT|TRADE UNLESS", "ONLY 2 WHEN"),
    # -DI gets on top; it returns below 50; RSI below -90, we're in
    ("MOVES|TURNS|IS TOO=on top", "MOVES ABOVE IT"),
    ("<IT|PRICE|CLOSE|SYMBOL|)|RSI|CCI|MFI|ADX|WILLIAMS|MACD ROC=returns/returned >BELOW|ABOVE", "MOVES"),
    ("<, IN >STOP_MARK|END", "BUY"),
    ("<STOP_MARK|END|, IN COLON", "BUY COLON"),
    ("REST MOVES=goes/comes/go|TURNS=goes OFF? >WHEN|AT|ON|AFTER", "SELL 1"),
    ("WHEN NO_LONGER , EXIT|SELL", "4 1 2"),
    ("PLEASE=looked at/look at >ON|AT|MONTH_END|MONTHLY|WEEKLY|EVERY", "REBALANCE"),
    # Put a stop under it; trail it with 3 ATR; position 30 % of equity in SMH; 95 % of equity each time
    ("INVEST=put/place/putting >STOP|TRAIL|TARGET", "USE"),
    ("STOP|TRAIL OF|AT? NUM PERCENT|ATR BELOW IT >STOP_MARK|,|AND|END", "1 2 3 4"),
    ("NUM PERCENT|ATR STOP|TRAIL BELOW IT >STOP_MARK|,|AND|END", "1 2 3"),
    ("USE=trail it with/trails it with/trailing it with NUM ATR|PERCENT >STOP_MARK|,|AND|END", "TRAIL 2 3"),
    ("<STOP_MARK|END|, POSITION=position NUM PERCENT OF EQUITY IN|ON >SYMBOL", "INVEST 3 4 5 6 7"),
    ("EQUITY WHEN=each time/every time >STOP_MARK|END|,", "1 PER_TRADE"),
    ("STOP NUM PERCENT|ATR , THEN|AFTER >EXIT|SELL|COVER", "1 2 3 ,"),
    # Each Monday that Home Depot is above …, buy it; with that on, buy …; long only on Mondays; go long next day
    (f"<STOP_MARK|END EVERY {'|'.join(_WEEK)} SYMBOL|IT IS|CLOSES", "2 3 WHEN 4 5"),
    ("USE=with ON ,", ""),
    (f"LONG_ONLY=long only >ON|{'|'.join(_WEEK)}", "LONG"),
    ("SYMBOL COLON|,? LONG_ONLY=long only >WHEN", "HOLD 1"),
    ("IS? LONG_ONLY=long only >WHEN", "HOLD"),
    ("<CLOSE|PRICE|IT|SYMBOL MOVES NUM PERCENT >ABOVE|BELOW", "IS 3 4"),
    ("BUY|SHORT|LONG NEXT_DAY >STOP_MARK|,|END|AND|USE", "1"),
    ("BUY EVERY|EITHER NUM=one >RSI|ADX|CCI|PRICE|CLOSE|MFI|WILLIAMS|STOCHASTIC", "1 EVERY_SYMBOL WHEN"),
    ("MOMENTUM|ROC|SMA|EMA|WMA OF NUM >CROSS|IS|ABOVE|BELOW|MOVES|RISES|FALLS|TURNS", "1 3"),
    ("NUM=two/2 TIMES YEAR", "HALF_YEARLY"),
    ("NUM=four/4 TIMES YEAR", "QUARTERLY"),
    # Take 1/3 off at 10 %, another 1/3 at 20 %, let the rest run until …
    ("INVEST=take/taking/takes NUM=1 SLASH NUM=3 OFF?", "SELL THIRD"),
    ("INVEST=take/taking/takes NUM=1 SLASH NUM=2 OFF?", "SELL HALF"),
    ("INVEST=take/taking/takes NUM=1 SLASH NUM=4 OFF?", "SELL QUARTER"),
    ("ANOTHER NUM=1 SLASH NUM=3", "1 THIRD"),
    ("ANOTHER NUM=1 SLASH NUM=4", "1 QUARTER"),
    ("HOLD=rest run/rest ride", "HOLD REST"),
    # A cross of the 20 SMA over the 50 SMA; stochastic …, crosses downward above 80; the close returns to that average
    ("<IS|ON CROSS OF NUM DAY|BAR? SMA|EMA|WMA|AVERAGE ABOVE|BELOW", "4 5 6 CROSS 7"),
    ("<IS|ON CROSS OF MACD|PRICE|CLOSE|RSI|TENKAN|PLUS_DI|MINUS_DI|PERCENT_K ABOVE|BELOW", "4 CROSS 5"),
    ("<STOP_MARK|END|, CROSS FALLS|RISES >ABOVE|BELOW", "2 IT 3"),
    ("<CLOSE|PRICE REVERTS=returns to average/returns to mean/comes back to mean/goes back to mean", "RETURNS AVERAGE"),
    # Yesterday's low is below the day before's low
    (
        f"PREVIOUS=yesterday/yesterdays {_PRICES} IS? CLOSES? BELOW|ABOVE PREVIOUS=day before {_PRICES}",
        "1 2 3 4 5 7 NUM:2 BAR AGO",
    ),
    # I only want to buy …; exit that one when …; band width under 6 % of the middle band; whichever of the two
    ("<STOP_MARK|END|, ONLY TO >BUY|SHORT|HOLD", ""),
    ("<STOP_MARK|END|, ONLY IS=to be IN >SYMBOL", "HOLD"),
    ("EXIT|SELL|COVER NUM=one >WHEN|AFTER|ON|AT", "1"),
    ("BAND_WIDTH IS? BELOW|ABOVE|AT_MOST|AT_LEAST NUM PERCENT OF MIDDLE BAND|LINE?", "1 2 3 4 5"),
    ("WHICHEVER OF NUM=two", "1"),
    ("HALF AND HALF", "EQUALLY"),
    ("SYMBOL USE=with STOP|TARGET|TRAIL|TIME_STOP >COLON", "1 , 2 3"),
    ("<ON|AFTER ANOTHER=second >CONSECUTIVE", "NUM:2"),
    ("<ON|AFTER THIRD=third >CONSECUTIVE", "NUM:3"),
    ("<ON|AFTER QUARTER=fourth|NTH=fourth >CONSECUTIVE", "NUM:4"),
    ("<ON|AFTER FIFTH=fifth|NTH=fifth >CONSECUTIVE", "NUM:5"),
    ("UPPER MOVES=breakout/breakouts/break", "PRICE MOVES ABOVE UPPER BAND"),
    ("BELOW=lower|LOWER MOVES=breakout/breakouts/break", "PRICE MOVES BELOW LOWER BAND"),
    ("FOR=for next MONTH|WEEK|QUARTER >STOP_MARK|END|,", "UNTIL NEXT 2"),
    ("<HOLD EITHER=one of >SYMBOL", "AMONG"),
    ("SIZE SYMBOL MOVES|IS|USE AT|TO? NUM PERCENT VOLATILITY", "FOR 2 , TARGET 5 6 7"),
)  # fmt: skip
