"""Several hundred scripts in the manner in which models write them, the same in every run.

`text` is raw: with its Markdown, where it has any. `verdicts` are the words that may be said of it at the end of the
whole way, with healing and an added run allowed; `group` says what to expect of the text on its own:

- good: runs as it is; no_trades: runs as it is and trades nothing;
- fenced: good, once it is taken out of its Markdown; truncated: cut inside the class;
- healable: fails as it is, and runs when healed; unrun: defines a strategy and never runs it;
- needs_data, failed, not_a_strategy, timeout, memory_limit: as the words say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.corpus import broken, prices, wild
from tests.corpus.programs import AAPL, BTC, LOADERS, fenced, program, thinking, two_blocks, unclosed
from tests.corpus.strategies import SKETCHES

FILES: Mapping[str, bytes] = {BTC: prices.padded_csv(), AAPL: prices.tidy_csv()}  # to be mounted at these paths

_RAN = frozenset({"traded", "no_trades"})
_VERDICTS = {
    "good": frozenset({"traded"}),
    "fenced": frozenset({"traded"}),
    "healable": _RAN,
    "unrun": _RAN,
    "failed": frozenset({"failed"}),
    "timeout": frozenset({"timeout", "cpu_limit"}),
}


class Script(NamedTuple):
    name: str
    text: str
    verdicts: frozenset[str]
    group: str


def scripts() -> Iterator[Script]:
    for group, name, text in _rows():
        yield Script(f"{group}-{name}", text, _VERDICTS.get(group, frozenset({group})), group)


def _rows() -> Iterator[broken.Row]:
    yield from _good()
    for wrap in (fenced, unclosed, thinking, two_blocks):
        for number, sketch in enumerate(SKETCHES):
            yield "fenced", f"{wrap.__name__}-{sketch.name}", wrap(program(sketch, settings=number), sketch.title)
    yield from _truncated()
    for family in (broken.invented, broken.orders, broken.libraries, broken.columns, broken.missing_data):
        yield from family()
    for family in (broken.mistakes, broken.plain, wild.greedy, wild.flooding, wild.quiet, wild.several):
        yield from family()
    for family in (wild.optimised, wild.plotted, wild.unrun):
        yield from family()


def _good() -> Iterator[broken.Row]:
    for number, sketch in enumerate(SKETCHES):
        for shift, loader in enumerate(LOADERS):
            name = f"{loader}-{sketch.name}"
            yield "good", name, program(sketch, loader, settings=_affordable(loader, number + shift), ending=number)
    for number, sketch in enumerate(SKETCHES):
        yield "good", f"guarded-{sketch.name}", program(sketch, settings=number + 3, ending=2)
        yield "good", f"costly-{sketch.name}", program(sketch, settings=number + 1, ending=number + 1)
        yield "good", f"margin-{sketch.name}", program(sketch, settings=5, ending=3)


def _affordable(loader: str, number: int) -> int:
    return number if loader == "goog" else (2, 1, 3)[number % 3]


def _truncated() -> Iterator[broken.Row]:
    """Cut in the middle of a line of the class, where the reply's last token was."""
    for sketch in SKETCHES:
        text = program(sketch)
        inside = text.index("    def next(self):")
        end = text.index("\n\n\n", inside)
        for number, share in enumerate((0.35, 0.6, 0.85)):
            cut = inside + int((end - inside) * share)
            while text[cut - 1] not in ".(":  # a place where no statement can end
                cut += 1
            wrap = (unclosed, lambda text, _: text)[number % 2]
            yield "truncated", f"{sketch.name}-{number}", wrap(text[:cut], sketch.title)
