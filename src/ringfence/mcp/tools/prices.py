"""Which prices a tool is about, as arguments."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ringfence.mcp.tool import Arguments

Symbols = Annotated[list[str], Field(default_factory=list, description="Only these instruments.", max_length=100)]
Start = Annotated[str | None, Field(description="First day to trade; earlier bars warm up.")]
End = Annotated[str | None, Field(description="Last day.")]
Timeframe = Annotated[str | None, Field(description="Length of a bar, such as 1d.")]
Repair = Annotated[bool, Field(description="Mend impossible rows; the notes say what was done.")]
Cash = Annotated[float, Field(description="Money to begin with.")]
Fees = Annotated[float, Field(description="Fraction of each fill's value.")]
Fractional = Annotated[bool, Field(description="Trade parts of a share.")]
SlippageBps = Annotated[float, Field(description="Against you, on market and stop orders.")]

Specs = Annotated[list[str], Field(max_length=20)]

WHERE_FROM = "Prices, such as sample:GOOG, synthetic:gbm?seed=1, yahoo:AAPL, alpaca:AAPL or csv:FILE."


class Priced(Arguments):
    """Of a tool that is nothing without prices."""

    data: str | Specs = Field(description=WHERE_FROM, min_length=1)
    symbols: Symbols
    start: Annotated[str | None, Field(description="First day.")] = None
    end: End = None
    timeframe: Timeframe = None
    repair: Repair = False

    @property
    def specs(self) -> tuple[str, ...]:
        return as_specs(self.data)


def as_specs(data: str | list[str] | None) -> tuple[str, ...]:
    return (data,) if isinstance(data, str) else tuple(data or ())
