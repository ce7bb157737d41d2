"""Which names a program may give to what it leaves: the one rule, for every backend, on disk and in memory.

A name outlives the fence. A shell expands it, a terminal shows it, a browser or a file manager follows it, git reads
its configuration from it, and another file system folds it. So the rule says what is fit, and all else is refused:

    Each part of a path has letters, marks and digits of any script, spaces inside, and - _ . , = + @ ^ ( ) € £.
    It begins with a letter, a digit, _ or ^ and does not end in a dot or a space.
    It is none of the few names that mean something wherever they lie (see _MEANT and _LAUNCHERS).
    No two paths of a run are the same but for capitals or the way their characters are composed.

Why the first character is special: a dot hides a file and configures tools, `-` is an option, `+` a command of vim and
less, `~` a home, `=` a path in zsh, `@` a list of arguments. Why every other sign is refused: the shells take the ASCII
ones ($ ` ; & | < > * ? ! " ' \\ # [ ] { } ~), browsers `:` and `%`, and Windows turns many of the others into these.
"""

from __future__ import annotations

import unicodedata

PUNCTUATION = "- _ . , = + @ ^ ( ) € £"
MOST_BYTES = 255  # of one part
MOST_CHARACTERS = 1000  # of a whole path

_FIT_SIGNS = frozenset(PUNCTUATION)  # with the space
_FIT_FIRST = frozenset("_^")
# Letters and marks that show as nothing, and that some file systems pass over; the categories have the other ones.
_INVISIBLE = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0))
) | frozenset(map(chr, range(0xE0100, 0xE01F0)))
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_MEANT = {
    "head": "is what git knows a repository by, with settings that git obeys",
    "desktop.ini": "is what Windows obeys when it shows a folder",
    "autorun.inf": "is what Windows obeys when it shows a drive",
}
# What a file manager starts, or fetches something for, when it shows it or when it is clicked.
_LAUNCHERS = frozenset(
    {".desktop", ".inetloc", ".library-ms", ".lnk", ".pif", ".scf", ".search-ms", ".searchconnector-ms", ".url"}
    | {".webloc"}
)
_SAY_FIT = f"use letters, digits, spaces inside and {PUNCTUATION} only"


def fault(part: str) -> str | None:
    """What is wrong with one part of a path, and how to name it instead; None if it is fit."""
    # Once more as a file system or a code page would fold it: `①.` is fit as it stands, and `1.` is not.
    return _fault(part) or _fault(unicodedata.normalize("NFKC", part))


def _fault(part: str) -> str | None:
    if not part:
        return "its name has an empty part: leave no // in it"
    for sign in part:
        if sign in _INVISIBLE or (sign not in _FIT_SIGNS and unicodedata.category(sign)[0] not in "LMN"):
            return f"its name has {_spelt(sign)} in it: {_SAY_FIT}"
    if part[0] not in _FIT_FIRST and unicodedata.category(part[0])[0] not in "LN":
        return f"its name begins with {_spelt(part[0])}: let it begin with a letter, a digit, _ or ^"
    if part[-1] in ". ":
        return f"its name ends in {_spelt(part[-1])}: let it end otherwise"
    if len(part.encode()) > MOST_BYTES:
        return f"its name is longer than {MOST_BYTES} bytes: shorten it"
    return _meaning(part.casefold())


def _spelt(sign: str) -> str:
    return repr(sign) if " " <= sign <= "~" else f"U+{ord(sign):04X}"


def _meaning(part: str) -> str | None:
    dot = part.rfind(".")
    if part.partition(".")[0].rstrip() in _DEVICES:
        return f"its name is a device on Windows ({part!r}): choose another"
    if part in _MEANT:
        return f"its name {_MEANT[part]} ({part!r}): choose another"
    if dot >= 0 and part[dot:] in _LAUNCHERS:
        return f"its name ends in {part[dot:]!r}, which a file manager starts: end it otherwise"
    return None


class Names:
    """The names of one run's artifacts so far. Whoever places or hands out a file claims its name here first."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._spelt: dict[str, str] = {}  # as file systems may fold them, to the spelling that came first

    def claim(self, name: str) -> str | None:
        """Why this path cannot be used, or None: then it is taken."""
        if len(name) > MOST_CHARACTERS:
            return f"its path is longer than {MOST_CHARACTERS} characters: shorten it"
        parts = name.split("/")
        for part in parts:
            if wrong := fault(part):
                return wrong
        ways = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        for way in ways:
            first = self._spelt.get(_folded(way))
            if first is not None and (first != way or way == name or way in self._files):
                return f"its name meets {first!r}, which is the same to some file systems: rename one of them"
        self._spelt.update((_folded(way), way) for way in ways)
        self._files.add(name)
        return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


def shown(text: str) -> str:
    """A name that may hold anything, as it can be shown to people and models."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= 300 else safe[:299] + "…"
