"""The words of words.txt, ready to be looked up. Read when the first request comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30,
    "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
    "thousand": 1000, "dozen": 12,
}  # fmt: skip

COINS = frozenset({"BTC", "ETH", "SOL", "XRP", "DOGE", "LTC", "ADA", "AVAX"})

_IRREGULAR = {
    "get": ("gets", "getting", "got"), "go": ("goes", "going", "went"), "sell": ("sells", "selling", "sold"),
    "buy": ("buys", "buying", "bought"), "put": ("puts", "putting", "put"), "set": ("sets", "setting", "set"),
    "cut": ("cuts", "cutting", "cut"), "hit": ("hits", "hitting", "hit"), "hold": ("holds", "holding", "held"),
    "keep": ("keeps", "keeping", "kept"), "lose": ("loses", "losing", "lost"), "rise": ("rises", "rising", "rose"),
    "fall": ("falls", "falling", "fell"), "break": ("breaks", "breaking", "broke"), "come": ("comes", "coming", "came"),
    "run": ("runs", "running", "ran"), "leave": ("leaves", "leaving", "left"), "sink": ("sinks", "sinking", "sank"),
    "take": ("takes", "taking", "took"), "spend": ("spends", "spending", "spent"), "grow": ("grows", "growing", "grew"),
    "give": ("gives", "giving", "gave"), "exit": ("exits", "exiting", "exited"), "dip": ("dips", "dipping", "dipped"),
    "shoot": ("shoots", "shooting", "shot"), "shed": ("sheds", "shedding", "shed"), "sit": ("sits", "sitting", "sat"),
    "begin": ("begins", "beginning", "began"), "enter": ("enters", "entering", "entered"),
    "cover": ("covers", "covering", "covered"), "recover": ("recovers", "recovering", "recovered"),
    "exceed": ("exceeds", "exceeding", "exceeded"), "stay": ("stays", "staying", "stayed"),
    "shrink": ("shrinks", "shrinking", "shrank"), "slide": ("slides", "sliding", "slid"),
    "test": ("tests", "testing", "tested"),
    "weaken": ("weakens", "weakening", "weakened"), "load": ("loads", "loading", "loaded"),
    "employ": ("employs", "employing", "employed"), "deploy": ("deploys", "deploying", "deployed"),
    "deposit": ("deposits", "depositing", "deposited"), "read": ("reads", "reading", "read"),
    "revert": ("reverts", "reverting", "reverted"), "gain": ("gains", "gaining", "gained"),
    "gap": ("gaps", "gapping", "gapped"), "own": ("owns", "owning", "owned"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    kinds: dict[str, str]  # phrase -> canonical word
    fillers: frozenset[str]
    longest: int  # words of the longest phrase
    titles: frozenset[str]  # what a strategy may be called, also where a phrase means something elsewhere


@cache
def lexicon() -> Lexicon:
    text = files("ringfence.agents.rules.text").joinpath("words.txt").read_text(encoding="utf-8")
    kinds: dict[str, str] = {}
    fillers: frozenset[str] = frozenset()
    entries: list[tuple[str, list[str]]] = []
    for kind, phrases in _entries(text):
        if kind == "FILLER":
            fillers |= frozenset(phrases)
            continue
        entries.append((kind, phrases))
    for kind, phrases in entries:
        for phrase in phrases:
            kinds.setdefault(phrase, kind)
    for kind, phrases in entries:  # as they are once the fillers have gone; what is listed so itself comes first
        for phrase in phrases:
            bare = " ".join(word for word in phrase.split() if word not in fillers)
            if bare:
                kinds.setdefault(bare, kind)
    titles = frozenset(phrase for kind, phrases in entries if kind in ("TITLE", "PLEASE") for phrase in phrases)
    longest = max(phrase.count(" ") + 1 for phrase in kinds)
    return Lexicon(kinds=kinds, fillers=fillers, longest=longest, titles=titles)


@cache
def companies() -> dict[str, str]:
    """What a company or a coin is called, in small letters -> its ticker."""
    text = files("ringfence.agents.rules.text").joinpath("companies.txt").read_text(encoding="utf-8")
    lines = [line.partition(":") for line in text.splitlines() if line and not line.startswith("#")]
    return {" ".join(name.split()).lstrip("~"): ticker for ticker, _, names in lines for name in names.split(",")}


@cache
def small_names() -> frozenset[str]:
    """Those that are nothing else in small letters: they are marked with ~."""
    text = files("ringfence.agents.rules.text").joinpath("companies.txt").read_text(encoding="utf-8")
    lines = [line.partition(":")[2] for line in text.splitlines() if line and not line.startswith("#")]
    names = [" ".join(name.split()) for line in lines for name in line.split(",")]
    return frozenset(name[1:] for name in names if name.startswith("~"))


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for match in re.finditer(r"^([A-Z_]+):((?:.*\n?)(?:^[ \t]+.*\n?)*)", plain, re.MULTILINE):
        given = [" ".join(phrase.split()) for phrase in match[2].split(",")]
        yield match[1], [form for phrase in given if phrase for form in _forms(phrase)]


def _forms(phrase: str) -> Iterator[str]:
    """`~pull back`: pull back, pulls back, pulling back, pulled back."""
    if not phrase.startswith("~"):
        yield phrase
        return
    verb, _, rest = phrase[1:].partition(" ")
    for form in (verb, *(_IRREGULAR.get(verb) or _inflected(verb))):
        yield f"{form} {rest}".strip()


def _inflected(verb: str) -> tuple[str, str, str]:
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es", f"{verb}ing", f"{verb}ed"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies", f"{verb}ing", f"{verb[:-1]}ied"
    if verb.endswith("e"):
        return f"{verb}s", f"{verb[:-1]}ing", f"{verb}d"
    if re.fullmatch(r".*[^aeiou][aeiou][^aeiouwxyn]", verb) or verb in ("run", "plan"):
        return f"{verb}s", f"{verb}{verb[-1]}ing", f"{verb}{verb[-1]}ed"
    return f"{verb}s", f"{verb}ing", f"{verb}ed"
