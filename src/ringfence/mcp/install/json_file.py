"""An entry in a JSON file. The order of keys, the indentation and the letters stay; comments are refused, not lost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ringfence.mcp.install.clients import Entry, merged


class _Number(float):
    """A number as it is spelled: 1.0 and 1e3 stay what they are."""

    def __new__(cls, text: str) -> _Number:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __repr__(self) -> str:
        return self.text


def edit(text: str, place: tuple[str, ...], entry: Entry | None) -> str:
    """`text` with `entry` at `place`, or with nothing there. ValueError for what is no JSON object."""
    marked, body = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    root = _parse(body) if body.strip() else {}
    *folders, name = place
    table: dict[str, object] = root
    for folder in folders:
        inner = table.setdefault(folder, {}) if entry is not None else table.get(folder, {})
        if not isinstance(inner, dict):
            raise ValueError(f"since its {folder!r} is no object")
        table = inner
    if entry is None:
        if name not in table:
            return text
        del table[name]
    elif table.get(name) == (wanted := merged(table.get(name), entry)):
        return text
    else:
        table[name] = wanted
    return marked + _dump(root, body)


def _parse(text: str) -> dict[str, object]:
    def pairs(found: Sequence[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in found]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"since {twice[0]!r} is in it twice")
        return dict(found)

    try:
        root = json.loads(text, object_pairs_hook=pairs, parse_float=_Number)
    except json.JSONDecodeError as e:
        remark = ", comments are not JSON" if re.search(r"^\s*(//|/\*)", text, re.MULTILINE) else ""
        raise ValueError(f"since it is not JSON (line {e.lineno}: {e.msg}{remark})") from e
    except RecursionError as e:
        raise ValueError("since it is nested too deeply") from e
    if not isinstance(root, dict):
        raise ValueError("since it is no JSON object")
    return root


def _dump(root: object, like: str) -> str:
    """Indented as the text was, or by two spaces, with its line ends."""
    found = re.search(r"^([ \t]+)\S", like, re.MULTILINE)
    indent = found[1] if found else "  "
    newline = "\r\n" if "\r\n" in like else "\n"
    end = newline if not like.strip() or like.endswith("\n") else ""
    made = _encode(root, indent, "")
    return made.replace("\n", newline) + end


def _encode(value: object, indent: str, outer: str) -> str:
    """As `json.dumps` with an indentation, but numbers keep their spelling, which it does not let one say."""
    inner = outer + indent
    if isinstance(value, dict) and value:
        rows = (f"{inner}{json.dumps(k, ensure_ascii=False)}: {_encode(v, indent, inner)}" for k, v in value.items())
        return "{\n" + ",\n".join(rows) + f"\n{outer}}}"
    if isinstance(value, list) and value:
        rows = (f"{inner}{_encode(item, indent, inner)}" for item in value)
        return "[\n" + ",\n".join(rows) + f"\n{outer}]"
    return value.text if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)
