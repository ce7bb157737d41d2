"""What is remembered of a batch: counts, the commonest reasons and the best results, however many files it has."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ringfence.verbs.batch.result import FileResult

_BEST = 5
_MOST_REASONS = 1_000  # of one verdict; later ones are counted together
_LONGEST = 160
OTHER = "other reasons"
_PLACE = re.compile(r",? (?:at|in|on|after) (?:line|bar) \d[\d,]*(?: \([^)]*\))?")
_NUMBER = re.compile(r"(?<![\w.'-])-?\d[\d,]*(?:\.\d+)?(?![\w'])")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Best:
    """One of the best results; `order` makes the earlier of equals the better."""

    value: float
    order: int
    file: str
    total_return: float | None
    sharpe: float | None
    trades: int | None
    provenance: str
    run_id: str | None


class Tally:
    """Results are added one by one and not kept."""

    def __init__(self) -> None:
        self.files = 0
        self.resumed = 0
        self.our_failures = 0
        self.verdicts: Counter[str] = Counter()
        self._reasons: dict[str, Counter[str]] = {}
        self.unranked: Counter[str] = Counter()  # results that traded and are not ranked, by what speaks against them
        self._best: dict[str, list[Best]] = {"return": [], "Sharpe": []}

    def add(self, result: FileResult) -> None:
        self.files += 1
        self.resumed += result.resumed
        self.our_failures += result.our_failure
        self.verdicts[result.verdict] += 1
        seen = self._reasons.setdefault(result.verdict, Counter())
        kind = kind_of(result.reason)
        seen[kind if kind in seen or len(seen) < _MOST_REASONS else OTHER] += 1
        if result.verdict == "traded" and not result.ranks:
            doubts = {"suspect": result.lookahead == "suspect", "mismatch": result.provenance == "mismatch"}
            self.unranked[next((word for word, true in doubts.items() if true), "mended")] += 1
        if result.ranks:
            self._rank("return", result, lambda r: r.total_return)
            self._rank("Sharpe", result, lambda r: r.sharpe)

    def _rank(self, name: str, result: FileResult, value_of: Callable[[FileResult], float | None]) -> None:
        value = value_of(result)
        if value is None:
            return
        entry = Best(
            value=value,
            order=-self.files,
            file=result.file,
            total_return=result.total_return,
            sharpe=result.sharpe,
            trades=_trades(result),
            provenance=result.provenance or "",
            run_id=result.run_id,
        )
        best = self._best[name]
        if len(best) < _BEST:
            heapq.heappush(best, entry)
        else:
            heapq.heappushpop(best, entry)

    def reasons(self, verdict: str, most: int = 3) -> list[tuple[str, int]]:
        """The commonest first, without the lines and numbers in which they differ."""
        return self._reasons.get(verdict, Counter()).most_common(most)

    def best(self, name: str) -> list[Best]:
        """By `return` or by `Sharpe`, the best first. Results of a mending that changes the meaning are not among them,
        nor those that their replay or the look for the future speaks against."""
        return sorted(self._best[name], reverse=True)


def kind_of(reason: str) -> str:
    """The reason with what differs from file to file left out, so that equal ones can be counted."""
    first = reason.partition("\n")[0]
    return _NUMBER.sub("N", _PLACE.sub("", first))[:_LONGEST]


def _trades(result: FileResult) -> int | None:
    count = (result.metrics or {}).get("trades", (result.statistics or {}).get("# Trades"))
    return int(count) if isinstance(count, (int, float)) else None
