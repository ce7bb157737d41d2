"""More turns of phrase, in the notation of recasting.py: of orders, exits, stops, sizes and of what is measured."""

from __future__ import annotations

_ENDS = "STOP_MARK|,|AND|OR|)|USE|WHEN|END|DASH|COLON"
_UNIT = "DAY|BAR|WEEK|MONTH|HOUR"
_OWN = "POSITION|TRADE=trade/trades|IT"
_VERBS = "BUY|SHORT|LONG|HOLD|INVEST|DCA"
_LINES = "RSI|MFI|CCI|ADX|ROC|MOMENTUM|WILLIAMS|ATR|STOCHASTIC|SMA|EMA|WMA|OBV|VWAP|AVERAGE"
_SHOWN = "FALLS|RISES|IS|CROSS|CLOSES|MOVES|TURNS|ABOVE=above/exceeds/greater than/higher than|BELOW|AT_LEAST|AT_MOST"
# How tight or how firm a stop is called says nothing: its distance does.
_FIRM = (
    "UNKNOWN=hard/tight/wide/loose/protective/initial/disaster/catastrophic/catastrophe/emergency/modest/generous/"
    "mental/static/fairly/narrow/firm/strict/comfortable/sensible|FIXED|STRATEGY=simple|TITLE=standard/basic/classic"
)
_DAYS = "MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY"

PHRASES = (
    # I would like to test putting $500 into VTI; a purchase is made when …; the sale is made when …
    (f"<STOP_MARK|,|END TO? REACHES=test/testing >{_VERBS}", ""),
    ("BUY=purchase/buy/entry IS MAKES=made >WHEN|ON|AT", "1"),
    ("SELL=sell/sale|EXIT=exit IS MAKES=made >WHEN|ON|AT", "1"),
    (f"HOLD=holding/holdings IS SELL=sold|CLOSES=closed|EXIT=exited/liquidated >{_ENDS}|AT|ON|AFTER", "EXIT"),
    # In: … Out: …; let them go after it has gained 5 %; whatever is left goes; loses another 6 %
    ("<STOP_MARK|END|, IN COLON", "BUY COLON"),
    ("<STOP_MARK|,|AND|END|THEN|OR MOVES=go >AFTER|AT|ON|WHEN", "EXIT"),
    ("ANYTHING MOVES=goes >STOP_MARK|,|END", "EXIT"),
    ("ANYTHING IS|MOVES=gets SELL=sold|CLOSES=closed >STOP_MARK|,|END", "EXIT"),
    ("LOSS|FALLS ANOTHER NUM PERCENT >STOP_MARK|,|END|OR|AND", "1 3 4"),
    # The trade has lasted 25 bars, I have held it for 25 bars
    (f"{_OWN} LASTS FOR? NUM {_UNIT}", "4 5 HAVE_PASSED"),
    (f"<OR|WHEN {_OWN}? IS? HOLD=held/held it|OPEN FOR NUM {_UNIT}", "6 7 HAVE_PASSED"),
    # A hard 5 % stop, a tight 2 ATR stop; 2N where N is the 20-day ATR; with R being the distance to a 2 ATR stop
    (f"{_FIRM} NUM PERCENT|ATR STOP|TARGET|TRAIL", "2 3 4"),
    (f"{_FIRM} NUM TIMES ATR STOP|TARGET|TRAIL", "2 3 4 5"),
    (f"NUM AND=n WHEN=where AND=n IS|EQUALS NUM {_UNIT} ATR", "1 6 7 8"),
    ("USE|WHEN=where SYMBOL=R|RISK IS|EQUALS UNKNOWN=distance TO >STOP|NUM", ","),
    # MFI over 14 days falls below 20; the stochastic, 14 3 3, crosses up, %K over %D
    (f"{_LINES} ABOVE=over NUM {_UNIT} >{_SHOWN}", "3 4 1"),
    ("STOCHASTIC , NUM NUM NUM ,", "1 ( 3 , 4 , 5 )"),
    ("STOCHASTIC|PERCENT_K NUM NUM NUM", "1 ( 2 , 3 , 4 )"),
    # The last month's worth of highs (21 days); the second-to-last day
    (f"PREVIOUS MONTH|WEEK|YEAR WORTH HIGH|LOW|CLOSE ( NUM {_UNIT} )", "6 7 4"),
    ("LONG|BUY|HOLD FROM >ANOTHER|THIRD|NTH|QUARTER|FIFTH", "1 ON"),
    ("DAY OF NEW|NEXT NUM=one", "1 OF MONTH"),
    # Keep all money in SHY …; look at it on the last day; the universe is the nine sector funds: …
    ("ADD_EACH=keep all >EQUITY|OF", "HOLD"),
    ("PLEASE=look at IT|TRADE=it on ON? >MONTH_END|MONTH_START|LAST|FIRST|PREVIOUS|EVERY", "REBALANCE ON"),
    ("TRADE=universe/tickers/symbols/watchlist IS >NUM|SYMBOL|STOCKS|EVERY_SYMBOL", "1"),
    ("HOLD|BUY WEEKLY|MONTHLY|QUARTERLY >NUM|TOP|BOTTOM", "2 1"),  # own every week the two with the lowest RSI
    # In on Mondays, out on Thursdays, every week; hold TLT instead
    (f"{_DAYS} ,? WEEKLY=every week/each week >STOP_MARK|END|,", "1"),
    ("HOLD|BUY SYMBOL INSTEAD_WORD >STOP_MARK|END|,|AND", "1 2"),
    # Exit either way when …; cash for that half otherwise; 80 % of the account, the rest stays cash
    ("EXIT|SELL EITHER_WAY=either way >WHEN|AT|ON|AFTER", "1 EITHER"),
    (f"NUM {_UNIT} AVERAGE|SMA|EMA IS WHEN=where EITHER|BOTH NUM=one? IS|MOVES=gets CLOSES=closed", "EXIT 6 AT 1 2 3"),
    ("EQUITY=cash FOR HALF|THIRD|QUARTER|POSITION|IT OTHERWISE", "OTHERWISE EXIT"),
    ("<EQUITY ,|AND|USE? HOLD? REST IS|IN|HOLD IN? EQUITY=cash >STOP_MARK|END|,", ""),
    # See how Intel does if we hold it …; how would it have done?
    ("PLEASE SYMBOL WHEN=if/when >HOLD|BUY|SHORT|INVEST|LONG", "1 2 ,"),
    ("UNKNOWN=how IT|STRATEGY|TRADE EXIT=done >STOP_MARK|END", "PLEASE"),
    # Volume on the last of them exceeds its average; when both have turned, that is …; when the price fails, meaning …
    ("VOLUME ON PREVIOUS|LAST OF >ABOVE|IS|BELOW|AT_LEAST", "1"),
    ("WHEN BOTH|EITHER MOVES=turned|TURNS=turned/turn|OPPOSITE , IS|MEANING", "1"),
    ("WHEN PRICE|IT|STOCKS UNKNOWN|NO_LONGER=fails , MEANING", "1"),
    ("PRICE=stock/price NUM DAY >IS|ABOVE|BELOW|CROSS", "ITS 2 3"),  # that stock's 50-day is over its 200-day
    # A MACD bullish crossover below the zero line; a break of the 50-day average to the downside
    ("MACD BULLISH CROSS BELOW=below/under NUM=zero/0 LINE?", "1 CROSS ABOVE SIGNAL_LINE AND 1 4 5"),
    ("MACD BEARISH CROSS ABOVE=above/over NUM=zero/0 LINE?", "1 CROSS BELOW SIGNAL_LINE AND 1 4 5"),
    ("NUM DAY AVERAGE|SMA|EMA MOVES=break FALLS=to downside/on downside", "CLOSE CROSS BELOW 1 2 3"),
    ("NUM DAY AVERAGE|SMA|EMA MOVES=break RISES=to upside/on upside", "CLOSE CROSS ABOVE 1 2 3"),
    ("WEEK IS? FALLS|RISES ABOVE|AT_LEAST? NUM PERCENT ( NUM DAY ROC )", "PRICE 3 4 5 6 IN 8 9"),
    # A 20 EMA slope strategy; HYG as a single holding; we scale out in thirds; two targets; position on when …
    ("SLOPE >STRATEGY|TITLE", ""),
    ("<SYMBOL UNKNOWN=as SINGLE POSITION|HOLD=holding >COLON|STOP_MARK|,", ""),
    ("STRATEGY=scale out/scaling out OF? POSITION? IN THIRD=thirds|HALF=halves|QUARTER=quarters COLON", ""),
    ("<,|STOP_MARK|COLON NUM=two/three/2/3 TARGET=targets >STOP_MARK|COLON", ""),
    ("<,|STOP_MARK|COLON|END POSITION ON WHEN", "BUY WHEN"),
    ("<,|STOP_MARK|AND OFF WHEN", "EXIT WHEN"),
    ("TRAIL COLON >TRAIL", ""),
    ("AND=but VOLATILITY TARGET=targeted COLON", "COLON"),
    ("USE FIXED? SIZE=dollar sizing/sizing/position sizing/fixed sizing >STOP_MARK", ""),
    # Condition one, … Condition two, …; exit: the 10-day opposite channel
    ("UNKNOWN=condition NUM=one/1/first ,|COLON", "BUY WHEN"),
    ("STOP_MARK UNKNOWN=condition NUM=two/2/three/3/four/4 ,|COLON", "AND"),
    ("EXIT COLON|AT|ON NUM DAY OPPOSITE BAND", "EXIT LONG ON 3 4 LOW AND SHORT ON 3 4 HIGH"),
    ("WAIT=wait for >NUM|RSI|CLOSE|PRICE|MACD|ADX|CCI|STOCHASTIC|PERCENT_K|SYMBOL", "WHEN"),
    # If it isn't there within 20 days, sell
    (f"OTHERWISE=if it is not BETWEEN NUM {_UNIT} ,? SELL|EXIT|COVER", "AFTER 3 4 6"),
    # Enter NFLX long on …; get in with price above …; go long on Friday; always long while …
    ("BUY=enter/open/take SYMBOL BUY=long on", "BUY 2 ON"),
    ("BUY=enter/enters/enter trade SYMBOL LONG >WHEN|ON|AT|IF|AFTER", "1 2"),
    ("BUY=enter/enters/enter trade SYMBOL SHORT >WHEN|ON|AT|IF|AFTER", "3 2"),
    ("BUY|SHORT|EXIT USE=with >PRICE|CLOSE|RSI|MACD|ADX|CCI|MFI", "1 WHEN"),
    (f"BUY=go long on/get long on/long on|SHORT=go short on >{_DAYS}", "1 ON"),
    ("ALL_TIME LONG|SHORT WHEN=while/whenever/when/as long as/so long as", "2 3"),
    # The 10-day low gets taken out; the upper band of a 20-period, 2-deviation Bollinger; go long gold via GLD
    ("MOVES=gets/got/get|TURNS=gets BROKEN", "IS 2"),
    (
        "UPPER|BELOW=lower|LOWER|MIDDLE BAND OF NUM BAR|DAY ,|AND? NUM STDEV BOLLINGER|KELTNER",
        "1 9 ( 4 , 7 )",
    ),
    ("BUY|SHORT USE=via/using SYMBOL", "1 3"),
    (f"NUM PERCENT|ATR STOP BELOW=underneath/below/beneath/under >{_ENDS}", "1 2 3"),
    (f"NUM TIMES ATR STOP BELOW=underneath/below/beneath/under >{_ENDS}", "1 2 3 4"),
    # Buy pullbacks to the 20-day EMA: the low comes down to it
    ("BUY UNKNOWN=pullbacks|FALLS=pullback/dips/dip TO >NUM|EMA|SMA|AVERAGE|MIDDLE", "1 WHEN LOW IS AT_MOST"),
    # By trailing six month return; anything with a negative return is swapped for cash
    ("TRAIL=trailing NUM MONTH|DAY|WEEK|BAR|YEAR ROC|MOMENTUM|VOLATILITY", "2 3 4"),
    (
        "ANYTHING|EVERY=any USE NEGATIVE ROC IS|MOVES=gets REPLACED|UNKNOWN=swapped FOR|USE EQUITY=cash",
        "EITHER 4 IS 3 REPLACED USE EQUITY",
    ),
    ("<AND|,|STOP_MARK IS=sit/sits/sitting ON >STOP_MARK|END", "HOLD"),
    ("MOVES=move/carry/go ON USE=with REST >UNTIL", "HOLD REST"),
    # %K crosses above %D from under 20; MACD crosses above its signal below zero
    ("PERCENT_K CROSS ABOVE PERCENT_D BELOW=under/below NUM", "1 2 3 4 AND 1 5 6"),
    ("PERCENT_K CROSS BELOW PERCENT_D ABOVE=above/over NUM", "1 2 3 4 AND 1 5 6"),
    ("MACD CROSS ABOVE SIGNAL_LINE BELOW=below/under NUM=zero/0 LINE?", "1 2 3 4 AND 1 5 6"),
    ("MACD CROSS BELOW SIGNAL_LINE ABOVE=above/over NUM=zero/0 LINE?", "1 2 3 4 AND 1 5 6"),
    ("BAND_WIDTH OF BOLLINGER", "1"),
    (
        "BUY|LONG ON PREVIOUS|LAST DAY ,|AND EXIT|SELL ON QUARTER|THIRD|ANOTHER|FIFTH|NTH|FIRST|NUM DAY >OF",
        "1 ON MONTH_END 5 6 7 8 9",
    ),
    # A further loss of 4 %; RSI on the EURUSD 4h chart moves …; oversold on the RSI; the cloud is below the price
    ("<OR|AFTER|AT ANOTHER=further/another FALLS|LOSS OF? NUM PERCENT", "3 5 6"),
    ("ON SYMBOL NUM HOUR|MINUTE CHART|BAR >IS|MOVES|RISES|FALLS|CROSS|ABOVE|BELOW|CLOSES|TURNS", "1 2 ON 3 4 5"),
    (f"PRICE|IT|SYMBOL IS? OVERSOLD|OVERBOUGHT ON|BY NUM {_UNIT} RSI|MFI|CCI|STOCHASTIC|WILLIAMS", "5 6 7 IS 3"),
    ("PRICE|IT|SYMBOL IS? OVERSOLD|OVERBOUGHT ON|BY RSI|MFI|CCI|WILLIAMS ( NUM )", "5 6 7 8 IS 3"),
    (f"PRICE|IT|SYMBOL IS? OVERSOLD|OVERBOUGHT ON|BY RSI|MFI|CCI|STOCHASTIC|WILLIAMS >{_ENDS}", "5 IS 3"),
    ("CLOUD IS BELOW=below/under/beneath PRICE|CLOSE", "PRICE 2 ABOVE 1"),
    ("CLOUD IS ABOVE=above/over PRICE|CLOSE", "PRICE 2 BELOW 1"),
    ("SYMBOL|UNKNOWN ( TRADE=ticker/symbol SYMBOL )", "4"),
    ("<STOP_MARK|COLON|END UNKNOWN=dual/double|TWICE=double SMA|EMA|WMA >ON|FOR|IN|COLON", "TITLE"),
    # The trade is on when …, off when …; the trigger is …; never more than 2 % of the account: stop at 10 %
    ("<STOP_MARK|,|END|AND TRADE|POSITION IS ON WHEN", "BUY 5"),
    ("<STOP_MARK|,|END|AND TRADE|POSITION IS OFF WHEN", "EXIT 5"),
    ("<STOP_MARK|END HAPPENS=trigger IS|COLON", "BUY COLON"),
    ("EQUITY COLON >STOP", "1 ,"),
    (f"FALLS|MOVES|IS|CLOSES BY? NUM STDEV BELOW NUM {_UNIT} AVERAGE|SMA", "1 5 LOWER BOLLINGER ( 6 , 3 )"),
    (f"RISES|MOVES|IS|CLOSES BY? NUM STDEV ABOVE NUM {_UNIT} AVERAGE|SMA", "1 5 UPPER BOLLINGER ( 6 , 3 )"),
    # The 20-day moves above the 100-day, simple averages: as they are read anyway
    ("<DAY , STRATEGY=simple AVERAGE|SMA >,|STOP_MARK|END|AND", ""),
)  # fmt: skip
