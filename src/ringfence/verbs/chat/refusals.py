"""What to say when there is no template for it and no model to ask, or nothing to ask it."""

from __future__ import annotations

from ringfence.verbs.chat.answer import Answer
from ringfence.verbs.chat.intent import Reading
from ringfence.verbs.chat.leftover import EXAMPLES

# What works without a model: how to say it, and the command that does the same.
OFFLINE: tuple[tuple[str, str], ...] = (
    (EXAMPLES["price"], "ringfence simulate monte-carlo --data sample:GOOG --horizon 30d"),
    (EXAMPLES["portfolio"], "ringfence simulate portfolio --data sample:AAPL,MSFT"),
    (EXAMPLES["strategy"], "ringfence simulate strategy 3f2a9c1b"),
    (EXAMPLES["option"], "ringfence simulate option --data sample:GOOG --strike 800"),
    (EXAMPLES["sizing"], "ringfence simulate sizing --risk 0.01 --entry 100 --stop 95"),
    (EXAMPLES["correlation"], "ringfence simulate correlation --data sample:AAPL,MSFT"),
    (EXAMPLES["indicator"], "ringfence indicator ichimoku --data sample:GOOG --period 14"),
    (EXAMPLES["cleanse"], "ringfence simulate cleanse --data sample:GOOG"),
)
CONFIGURE = (
    "For anything else, configure a model: set RINGFENCE_MODEL, for example openai:gpt-x with its key in the "
    "environment, or RINGFENCE_MODEL_URL for a server of your own; or give --model NAME."
)


def refuse(reading: Reading, *, model: bool = False) -> Answer:
    """`model`: there is one, and this is nothing to have a program written for."""
    words = ", ".join(repr(word) for word in reading.unknown[:5])
    lost = f" (I do not know {words} here)" if words else ""
    offered = "\n".join(f"  {example}\n      {command}" for example, command in OFFLINE)
    if model:
        head, tail = "I do not take this for a question that numbers answer, so nothing was worked out. These are:", ""
    else:
        head = f"I do not take this for anything that I can work out without a model{lost}. These work offline:"
        tail = f"\n{CONFIGURE}"
    return Answer(kind="refused", text=f"{head}\n{offered}{tail}")


def point_to_research(text: str) -> Answer:
    quoted = text.strip().replace('"', "'")
    return Answer(
        kind="refused",
        intent="idea",
        text=(
            "This is a strategy in words. `ringfence research` makes a program of it, backtests it and judges it:\n"
            f'  ringfence research "{quoted}" --data sample:GOOG'
        ),
    )
