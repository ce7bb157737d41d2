"""All that `ringfence research` needs for an idea, opened once: prices, sandbox, author, store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ringfence.base.errors import DataError
from ringfence.cli import trading

if TYPE_CHECKING:
    from ringfence.base.config import Settings
    from ringfence.cli.interrupt import Interruption
    from ringfence.cli.research_wish import ResearchWish
    from ringfence.sandbox import Sandbox
    from ringfence.store import Store
    from ringfence.trade.bars import Bars
    from ringfence.verbs.research import Grounds, Means, OnProgress, ResearchRequest, ResearchResult
    from ringfence.verbs.research.authors import Authors


class Desk:
    """All that an idea needs, opened once."""

    def __init__(
        self, wish: ResearchWish, store: Store, sandbox: Sandbox, grounds: Grounds, also: tuple[Grounds, ...],
        authors: Authors, interruption: Interruption, secret: str,
    ) -> None:  # fmt: skip
        self.store, self.interruption, self.grounds, self.also = store, interruption, grounds, also
        self._wish, self._sandbox, self._authors, self._secret = wish, sandbox, authors, secret

    def research(self, idea: str, research_id: str, on_progress: OnProgress | None = None) -> ResearchResult:
        from ringfence.verbs.research import research as do

        told = on_progress or (lambda progress: None)
        return do(self._request(idea), self._means(idea, told), research_id=research_id)

    def _request(self, idea: str) -> ResearchRequest:
        from ringfence.verbs.research import ResearchRequest

        wish = self._wish
        return ResearchRequest(
            idea=idea, grounds=self.grounds, also=self.also, aim=wish.aim(), budget=wish.budget(),
            rules=wish.rules(), seed=wish.seed, limits=wish.limits(), secret=self._secret,
        )  # fmt: skip

    def _means(self, idea: str, on_progress: OnProgress) -> Means:
        from datetime import UTC, datetime

        from ringfence.verbs.research import Means

        return Means(
            author=self._authors.pick(idea, self.grounds.facts()), sandbox=self._sandbox, store=self.store,
            now=lambda: datetime.now(UTC), judges=self._authors.judges, cancel=self.interruption.cancel,
            on_progress=on_progress,
        )  # fmt: skip


@contextmanager
def open_desk(
    wish: ResearchWish, settings: Settings, store: Store, backend: str, allow_weaker: bool,
    interruption: Interruption,
) -> Iterator[Desk]:  # fmt: skip
    from ringfence.sandbox import open_sandbox
    from ringfence.verbs.research import open_grounds
    from ringfence.verbs.research.authors import Authors

    authors = Authors(wish.author, model=wish.model, max_usd=wish.max_cost, environ=os.environ)
    sets = [_load(wish, settings, wish.data), *(_load(wish, settings, (spec,)) for spec in wish.also)]
    with ExitStack() as stack:
        first, *others = [stack.enter_context(open_grounds(bars)) for bars in sets]
        spec = trading.trading_sandbox(backend, "", allow_weaker)
        sandbox = stack.enter_context(open_sandbox(spec))
        yield Desk(
            wish, store, sandbox, first, tuple(others), authors, interruption, trading.read_secret(settings)
        )  # fmt: skip


def _load(wish: ResearchWish, settings: Settings, specs: tuple[str, ...]) -> Bars:
    symbols = wish.symbols if specs == wish.data else None
    prices = trading.Prices(
        data=list(specs), symbols=symbols, start=wish.start, end=wish.end, timeframe=wish.timeframe, repair=wish.repair
    )
    bars, _ = trading.load(trading.open_cache(settings), prices)
    if bars is None:
        raise DataError("a strategy needs data: give for example --data sample:GOOG")
    return bars
