"""What a description's rules say on given bars, worked out anew: from the prices and the indicators alone, for all bars
at once, and with nothing of the generated program or of the engine. It is what the trades of a Run are held against."""

from __future__ import annotations
