"""What a re-derivation comes to: how much was checked, and what did not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    checks: int = 0
    wrong: int = 0
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def check(self, holds: bool, sentence: str) -> bool:
        """One thing looked at; what is said of it where it does not hold."""
        self.checks += 1
        if not holds:
            self.wrong += 1
            self.errors.append(sentence)
        return holds

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def add(self, others: Iterable[Findings]) -> None:
        for other in others:
            self.checks += other.checks
            self.wrong += other.wrong
            self.errors += other.errors
            self.warnings += other.warnings
            for what, number in other.counts.items():
                self.count(what, number)

    @property
    def score(self) -> float:
        return 1 - self.wrong / self.checks if self.checks else 0.0
