"""Text from a strategy, made harmless to look at."""

from __future__ import annotations

import re

# Controls but tab and newline, lone surrogates (which UTF-8 cannot say), separators that browsers treat as nothing,
# and the marks that reorder or hide text, with which code can be made to read as what it is not.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def inert(text: str) -> str:
    """`text` with every character that cannot be seen spelled out, such as \\x1b. Markup is escaped elsewhere."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))
