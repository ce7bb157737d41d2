"""Bars that are named after their weekday: buy on Tuesdays if Monday's close was below Friday's.

Such a name becomes so many bars before the day on which the rule acts; where none is named, that is the later of those
that are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ringfence.agents.rules.text.tokens import Token

_WEEK = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
_LEAVING = ("EXIT", "SELL", "COVER", "HOLD")
_BREAKS = ("STOP_MARK", ",", "COLON")
_MOVED = ("FALLS", "RISES")
NOTICE = "a bar that is named after a weekday is counted from the day of the rule: it is another day after a holiday"


def on_named_days(tokens: Sequence[Token]) -> list[Token] | None:
    """The same with bars that are counted, or None where no bar is named so."""
    tokens = _own_bar(_compared(tokens))
    named = [n for n in range(len(tokens)) if tokens[n].kind in _WEEK and _is_bar(tokens, n)]
    acts = {tokens[n].kind for n in range(len(tokens)) if _acts(tokens, n, named)}
    if not 1 <= len(named) <= 2 or len(acts) > 1 or (acts and any(_leaves(tokens, n) for n in named)):
        return None  # an exit has a day of its own
    day = min(acts, default=tokens[named[0]].kind)
    made: list[Token] = []
    n, ago = 0, None  # how far back the one before it lies
    stated = bool(acts)
    while n < len(tokens):
        if n not in named:
            if tokens[n].kind == "STOP_MARK":
                ago = None
            made.append(tokens[n])
            n += 1
            continue
        if not stated:
            made += _on(tokens, n, day, made)
            stated = True
        back = (_WEEK.index(day) - _WEEK.index(tokens[n].kind)) % 5
        than = bool(made) and made[-1].kind in ("ABOVE", "BELOW")
        if than and back <= (ago or 0):
            back += 5  # Monday's close is below that of the Monday before
        if back and ago is None and (end := _of_line(tokens, n, named)) is not None:
            day_said = [_word(tokens[n], "ON"), tokens[n]]  # Friday's close was below the band: the band of Friday too
            made += [*tokens[n + 1 : end], *day_said]
            n = end
            continue
        new, taken = _bar(tokens, n, back, made, compared=than)
        if new is None:
            return None
        made += new
        n, ago = n + taken, back
    return made


def _compared(tokens: Sequence[Token]) -> Sequence[Token]:
    """SPY closes lower on Monday than on Friday: Monday's close of SPY is below Friday's."""
    for n in range(len(tokens) - 4):
        who, moved, on, day, than = tokens[n : n + 5]
        kinds = (who.kind in ("SYMBOL", "IT"), moved.kind in _MOVED, on.kind == "ON", day.kind in _WEEK)
        after = n + 5 + (tokens[n + 5 : n + 6] != [] and tokens[n + 5].kind == "ON")
        if all(kinds) and than.text == "than" and after < len(tokens) and tokens[after].kind in _WEEK:
            owner = [_word(who, "OF"), who] if who.kind == "SYMBOL" else []
            side = "BELOW" if moved.kind == "FALLS" else "ABOVE"
            said = [day, _word(who, "CLOSE"), *owner, _word(moved, "IS"), _word(moved, side)]
            return [*tokens[:n], *said, *tokens[after:]]
    return tokens


def _own_bar(tokens: Sequence[Token]) -> Sequence[Token]:
    """On Tuesdays, if SPY closed lower on Monday and is below …: that bar is Monday's, and the next rule today's."""
    for n in range(len(tokens) - 3):
        who, moved, on, day = tokens[n : n + 4]
        if who.kind not in ("SYMBOL", "IT") or moved.kind not in _MOVED or on.kind != "ON" or day.kind not in _WEEK:
            continue
        acts = {tokens[k].kind for k in range(len(tokens)) if _acts(tokens, k, (n + 3,))}
        if len(acts) != 1 or day.kind in acts or tokens[n - 1].kind not in ("WHEN", "AND"):
            continue
        owner = [_word(who, "OF"), who] if who.kind == "SYMBOL" else []
        after = list(tokens[n + 4 :])
        if [t.kind for t in after[:2]] == ["AND", "IS"]:
            after[1:1] = [_word(after[1], "CLOSE"), *owner]
        return [*tokens[:n], day, *owner, moved, *after]
    return tokens


def _of_line(tokens: Sequence[Token], n: int, named: Sequence[int]) -> int | None:
    """Where the rule ends that is about a close and a line of that day, and not about two closes."""
    if [t.kind for t in tokens[n + 1 : n + 3]] not in (["CLOSE", "IS"], ["CLOSE", "ABOVE"], ["CLOSE", "BELOW"]):
        return None
    depth = 0
    for k in range(n + 1, len(tokens) + 1):
        kind = tokens[k].kind if k < len(tokens) else "STOP_MARK"
        depth += (kind == "(") - (kind == ")")
        if k in named:
            return None
        if not depth and kind in (*_BREAKS, "AND", "OR", "THEN", "BUY", "SHORT", "LONG"):
            return k
    return None


def _is_bar(tokens: Sequence[Token], n: int) -> bool:
    """Friday's close; Monday closed lower; below Thursday; it closed lower on Monday, where that is no day to act."""
    before = tokens[n - 1].kind if n else ""
    after = tokens[n + 1].kind if n + 1 < len(tokens) else ""
    second = tokens[n + 2].kind if n + 2 < len(tokens) else ""
    if after == "CLOSE" and before not in ("ON", "EVERY"):
        return True
    if before in ("ABOVE", "BELOW") or (before == "ON" and n > 1 and tokens[n - 2].text == "than"):
        return True
    if after == "OF":  # as _own_bar has put it
        after = tokens[n + 3].kind if n + 3 < len(tokens) else ""
    subject = before in ("WHEN", "COLON", "AFTER", "AND") and not tokens[n].text.endswith("s")
    return subject and (after in _MOVED or (after == "CLOSES" and second in ("ABOVE", "BELOW", "AT_LEAST", *_MOVED)))


def _acts(tokens: Sequence[Token], n: int, named: Sequence[int]) -> bool:
    """on Mondays, every Monday, Mondays only, it is Monday; not: sell on Friday, and no title."""
    if tokens[n].kind not in _WEEK or n in named:
        return False
    return not (n and tokens[n - 1].kind == "TITLE") and not _leaves(tokens, n)


def _leaves(tokens: Sequence[Token], n: int) -> bool:
    for k in range(n - 1, -1, -1):
        if tokens[k].kind in (*_LEAVING, *_BREAKS):
            return tokens[k].kind in _LEAVING
    return False


def _on(tokens: Sequence[Token], n: int, day: str, made: list[Token]) -> list[Token]:
    """it is Monday and …: the day of the bar itself, where no other is named."""
    said = [_word(tokens[n], kind) for kind in ("IT", "IS", day, "AND")]
    return said if made and made[-1].kind in ("WHEN", "AND") else [_word(tokens[n], "WHEN"), *said]


def _bar(
    tokens: Sequence[Token], n: int, back: int, made: list[Token], *, compared: bool
) -> tuple[list[Token] | None, int]:
    """The close of that bar, and what is said of it; and how many tokens that were."""
    token, at = tokens[n], n + 1
    ago = [_word(token, "NUM", str(back), back), _word(token, "BAR"), _word(token, "AGO")] if back else []
    close = [_word(token, "CLOSE"), *ago]
    kinds = [t.kind for t in tokens[at : at + 6]] + [""] * 6
    if compared:
        return close, 1 + (kinds[0] == "CLOSE")
    if kinds[0] == "CLOSE":
        owner = [tokens[at + 2]] if kinds[1] in ("ON", "OF", "IN") and kinds[2] == "SYMBOL" else []
        return [*([_word(token, "CLOSE"), _word(token, "OF"), *owner, *ago] if owner else close)], 2 + 2 * len(owner)
    if kinds[:2] == ["OF", "SYMBOL"]:
        close, at = [_word(token, "CLOSE"), *tokens[at : at + 2], *ago], at + 2
        kinds = kinds[2:] + [""] * 2
    if made and made[-1].kind == "AFTER":
        made[-1] = replace(made[-1], kind="WHEN", text="when")
    over = [_word(token, "ABOVE", "over"), _word(token, "NUM", "1", 1), _word(token, "BAR")]
    if kinds[0] in _MOVED:  # closed lower by more than 1 %
        by = at + 1 + (kinds[1] == "BY")
        bound = [tokens[by]] if tokens[by : by + 1] and tokens[by].kind in ("ABOVE", "AT_LEAST") else []
        rate = tokens[by + len(bound) : by + len(bound) + 2]
        if [t.kind for t in rate] == ["NUM", "PERCENT"]:
            new = [*close, _word(token, "IS"), tokens[at], *bound, *rate, *over]
            return new, by + len(bound) + 2 - n
        lasting = [_word(token, "FOR"), *over[1:]]
        return [*close, _word(token, "IS"), tokens[at], *lasting], at + 1 - n
    if kinds[1:5] == ["ABOVE", "NUM", "PERCENT", kinds[4]] and kinds[4] in _MOVED:  # closed more than 1 % down
        return [*close, _word(token, "IS"), tokens[at + 4], *tokens[at + 1 : at + 4], *over], 6
    if kinds[1] in ("ABOVE", "BELOW") and tokens[at + 2].kind in _WEEK:
        return [*close, _word(token, "IS")], 2  # closed lower than Thursday
    return None, 0


def _word(at: Token, kind: str, text: str = "", value: float = 0) -> Token:
    return replace(at, kind=kind, text=text or kind.lower(), value=value)
