"""Many small guest programs in one text, each under a line `# %% its name`, as in a notebook."""

from __future__ import annotations


def cells(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split("\n# %% ")[1:]:
        name, _, code = part.partition("\n")
        assert name not in found, f"two programs are called {name!r}"
        found[name] = code.strip("\n") + "\n"
    return found
