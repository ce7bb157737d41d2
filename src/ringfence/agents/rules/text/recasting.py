"""Turns of phrase (turns.txt) that say what a plainer one says: a position is opened, whatever happens, a stop too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringfence.agents.rules.text.tokens import Token

_INDICES = ("MFI", "RSI", "CCI", "ADX")
_ENDS = ("STOP_MARK", ",", "AND", "OR", ")", "USE", "WHEN", "END", "DASH", "COLON")


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

    @property
    def words(self) -> frozenset[str]:
        """One of which must be there for it to fit, as `_present` has them."""
        return frozenset(one for kind, texts in self.kinds.items() for one in _keys(kind, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    elements: tuple[_Element, ...]
    becomes: tuple[str, ...]
    needs: tuple[frozenset[str], ...]  # one of each must be there: most rules are about words that are not


def _keys(kind: str, texts: Sequence[str]) -> list[str]:
    return [f"{kind}={text}" for text in texts] or [kind]


def _present(tokens: Sequence[Token]) -> set[str]:
    return {"END", *(token.kind for token in tokens), *(f"{token.kind}={token.text}" for token in tokens)}


@cache
def _rules() -> tuple[_Rule, ...]:
    text = files("ringfence.agents.rules.text").joinpath("turns.txt").read_text(encoding="utf-8")
    return tuple(_rule(said, becomes) for said, becomes in _turns(text))


def _rule(said: str, becomes: str) -> _Rule:
    elements = tuple(map(_element, _elements(said)))
    needs = tuple(element.words for element in elements if not element.optional)
    return _Rule(elements=elements, becomes=tuple(becomes.split()), needs=tuple(sorted(needs, key=len)))


def _turns(text: str) -> Iterator[tuple[str, str]]:
    """Each rule of the file with its $NAMES put in: what is said, and what that becomes."""
    named: dict[str, str] = {}
    for line in text.splitlines():
        rule = line.partition("  # ")[0].rstrip()
        if not rule or rule.startswith("#"):
            continue
        name = re.match(r"\$([A-Z_]+) = ", rule)
        rest = re.sub(r"\$([A-Z_]+)", lambda found: named[found[1]], rule[name.end() :] if name else rule)
        if name:
            named[name[1]] = rest
        else:
            said, _, becomes = rest.partition(" =>")
            yield said, becomes.strip()


def _elements(said: str) -> list[str]:
    """Cut at the blanks before a kind; those within a text ("buy signal", "z - score") stay."""
    made: list[str] = []
    for word in said.split(" "):
        if made and (word[:1].islower() or word == "-"):
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
    made = _same_span(_same_index(_defined(tokens)))
    present = _present(made)
    for rule in _rules():
        if any(words.isdisjoint(present) for words in rule.needs):
            continue
        n = 0
        while n < len(made):
            found = _fit(made, n, rule.elements)
            if found is None:
                n += 1
                continue
            taken, end = found
            new = [_made(made, taken, one, (n, end)) for one in rule.becomes if not one.isdigit() or int(one) in taken]
            made[n:end] = new
            n += len(new)
            present = _present(made)
    return made


_DEFINED = ("SMA", "EMA", "WMA", "RSI", "ROC", "ATR", "ADX", "CCI", "MFI")


def _defined(tokens: Sequence[Token]) -> list[Token]:
    """Fast = EMA(10), slow = EMA(30). Long when fast crosses above slow: what the words stand for, in their place."""
    made = list(tokens)
    n = 0
    while n < len(made):
        kinds = [token.kind for token in made[n : n + 7]]
        meant = made[n + 2 : n + 6]
        named = kinds[:2] in (["UNKNOWN", "EQUALS"], ["UNKNOWN", "IS"]) and kinds[3:6] == ["(", "NUM", ")"]
        again = any(token.kind == "UNKNOWN" and token.text == made[n].text for token in made[n + 6 :])
        if not (named and again and meant[0].kind in _DEFINED and kinds[6:] in ([","], ["STOP_MARK"], ["AND"])):
            n += 1
            continue
        word = made[n].text
        first = n - 1 if n and made[n - 1].text in ("define", "defined", "where") else n
        later = made[n + 7 :]
        made[first:] = [
            one
            for token in later
            for one in (
                [replace(part, start=token.start, end=token.end) for part in meant] if token.text == word else [token]
            )
        ]
        n = first
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
        if number is not None and after in _ENDS and made[number - 1].kind not in _ENDS:
            made[n] = replace(token, kind=named.kind, text=named.text)
    return made


_SPANS = ("WEEK", "MONTH", "QUARTER", "YEAR")
_SPANNED = ("SMA", "EMA", "WMA", "AVERAGE", "ROC", "MOMENTUM", "HIGH", "LOW")


def _same_span(tokens: Sequence[Token]) -> list[Token]:
    """A 20-week average (140 days) …, below the 20-week average: of as many days again."""
    made = list(tokens)
    meant: dict[tuple[str, float, str], tuple[Token, Token]] = {}
    for n in range(len(made) - 2):
        count, unit, line = made[n : n + 3]
        if count.kind != "NUM" or unit.kind not in _SPANS or line.kind not in _SPANNED:
            continue
        key = (unit.kind, count.value, line.kind)
        after = made[n + 3 : n + 8]
        at = next((k for k, token in enumerate(after) if token.kind == "NUM"), len(after))
        led = [token.kind for token in after[:at]]
        days = after[at : at + 2] if led and led[0] in ("(", ",") else []
        said = all(kind in ("(", ",", "USE", "IS", "IT", "UNKNOWN") for kind in led)
        if said and len(days) == 2 and days[1].kind in ("DAY", "BAR"):
            meant.setdefault(key, (days[0], days[1]))
        elif key in meant:
            made[n] = replace(count, value=meant[key][0].value, text=meant[key][0].text)
            made[n + 1] = replace(unit, kind=meant[key][1].kind, text=meant[key][1].text)
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
        value = float(number) if "." in number else int(number)
        return replace(first, kind=kind, text=number, value=value, end=last.end)
    one, _, text = one.partition("=")
    return replace(first, kind=one, text=text.replace("_", " ") or one.lower(), start=first.start, end=last.end)
