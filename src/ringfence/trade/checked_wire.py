"""What was seen in a text, on its way out of the fence: as plain JSON, and back with every value checked.

The text was parsed in a process that it may have taken over, so the answer proves nothing. The reader promises the
right shape and bounded size; anything odd is a ValueError. What is run in the end is run behind the fence all the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from ringfence.base.errors import DraftError
from ringfence.trade.checked import Checked, refused
from ringfence.trade.draft import Draft, SeveralClasses
from ringfence.trade.lint import Finding, Severity
from ringfence.trade.parameters import Number, Parameter, Scalar
from ringfence.trade.reply import Ending, ProgramReply
from ringfence.trade.syntax import MOST_CHARACTERS
from ringfence.trade.written import Call, Comparison, Written

if TYPE_CHECKING:
    from ringfence.trade.run import Json

_MOST = 20_000  # entries of a list
_LONGEST = 10_000  # characters of a sentence or a name
_VERDICTS = ("failed", "truncated", "not_a_strategy")
_CUT = "… (cut short)"

T = TypeVar("T")


def write_checked(checked: Checked) -> dict[str, Json]:
    if checked.error is not None:
        error = checked.error
        several = isinstance(error, SeveralClasses)
        row: dict[str, Json] = {"message": _shortened(str(error)), "verdict": error.verdict, "line": error.line}
        return {"error": {**row, "several": several}}
    assert checked.draft is not None
    draft = checked.draft
    return {
        "error": None,
        "draft": {
            "text": draft.text,
            "dialect": draft.dialect,
            "class_name": draft.class_name,
            "origin": draft.origin,
            "classes": list(draft.classes[:_MOST]),
            "parameters": [asdict(parameter) for parameter in draft.parameters[:_MOST]],
            "notes": [_shortened(note) for note in draft.notes[:_MOST]],
        },
        "findings": [_finding(finding) for finding in checked.findings[:_MOST]],
        "fingerprint": checked.fingerprint,
        "written": _write_written(checked.written),
    }


def read_checked(value: Json, *, name: str) -> Checked:
    top = _object(value)
    if top.get("error") is not None:
        row = _object(top["error"])
        kind = SeveralClasses if _flag(row["several"]) else DraftError
        verdict = _one_of(row["verdict"], _VERDICTS)
        line = None if row["line"] is None else _whole(row["line"])
        return refused(kind(_text(row["message"]), verdict=verdict, line=line))
    return Checked(
        draft=_read_draft(_object(top["draft"]), name),
        findings=_list(top["findings"], _read_finding),
        fingerprint=_text(top["fingerprint"], 64),
        written=_read_written(_object(top["written"])),
    )


def write_reply(reply: ProgramReply) -> dict[str, Json]:
    return {"code": reply.code, "ending": reply.ending, "notices": [_shortened(n) for n in reply.notices[:_MOST]]}


def read_reply(value: Json) -> ProgramReply:
    top = _object(value)
    return ProgramReply(
        code=None if top["code"] is None else _text(top["code"], MOST_CHARACTERS + 2),
        ending=cast(Ending, _one_of(top["ending"], get_args(Ending))),
        notices=_list(top["notices"], _text),
    )


def _read_draft(row: Mapping[str, Json], name: str) -> Draft:
    from ringfence.trade.run import Dialect

    text = _text(row["text"], MOST_CHARACTERS + 4096)
    return Draft(
        name=name,
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        dialect=cast(Dialect, _one_of(row["dialect"], get_args(Dialect))),
        class_name=None if row["class_name"] is None else _name(row["class_name"]),
        classes=_list(row["classes"], _name),
        parameters=_list(row["parameters"], _read_parameter),
        notes=_list(row["notes"], _text),
        origin=_list(row["origin"], _read_pair),
    )


def _read_parameter(value: Json) -> Parameter:
    row = _object(value)
    return Parameter(
        name=_name(row["name"]),
        default=_scalar(row["default"]),
        low=_bound(row["low"]),
        high=_bound(row["high"]),
        step=_bound(row["step"]),
        choices=None if row["choices"] is None else _list(row["choices"], _scalar),
        line=_whole(row["line"]),
    )


def _finding(finding: Finding) -> dict[str, Json]:
    return {**asdict(finding), "message": _shortened(finding.message)}


def _read_finding(value: Json) -> Finding:
    row = _object(value)
    return Finding(
        code=_text(row["code"], 16),
        line=_whole(row["line"]),
        column=_whole(row["column"]),
        severity=cast(Severity, _one_of(row["severity"], get_args(Severity))),
        message=_text(row["message"]),
        hint=_text(row["hint"]),
    )


def _write_written(written: Written) -> dict[str, Json]:
    def some(values: set[str]) -> list[Json]:
        return [value[:_LONGEST] for value in islice(sorted(values), _MOST)]

    calls = [[call.name[:_LONGEST], list(call.numbers)] for call in written.calls[:_MOST]]
    compared = [[some(set(one.names)), one.way, one.value] for one in written.comparisons[:_MOST]]
    series = {name[:_LONGEST]: made[:_LONGEST] for name, made in islice(written.series.items(), _MOST)}
    return {
        "numbers": list(islice(sorted(written.numbers), _MOST)),
        "texts": some(written.texts),
        "names": some(written.names),
        "calls": cast("Json", calls),
        "comparisons": cast("Json", compared),
        "guards": {role: list(islice(sorted(values), _MOST)) for role, values in written.guards.items()},
        "series": cast("Json", series),
        "asks_for_symbols": written.asks_for_symbols,
    }


def _read_written(row: Mapping[str, Json]) -> Written:
    return Written(
        numbers=set(_list(row["numbers"], _number)),
        texts=set(_list(row["texts"], _text)),
        names=set(_list(row["names"], _text)),
        calls=list(_list(row["calls"], _read_call)),
        comparisons=list(_list(row["comparisons"], _read_comparison)),
        guards={_text(role): set(_list(values, _number)) for role, values in _object(row["guards"]).items()},
        series={_text(name): _text(made) for name, made in _object(row["series"]).items()},
        asks_for_symbols=_flag(row["asks_for_symbols"]),
    )


def _read_call(value: Json) -> Call:
    name, numbers = _parts(value, 2)
    return Call(name=_text(name), numbers=_list(numbers, _number))


def _read_comparison(value: Json) -> Comparison:
    names, way, number = _parts(value, 3)
    found = frozenset(_list(names, _text))
    return Comparison(names=found, way=_one_of(way, ("above", "below", "")), value=_number(number))


def _read_pair(value: Json) -> tuple[int, int]:
    here, there = _parts(value, 2)
    return _whole(here), _whole(there)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - len(_CUT)] + _CUT


def _object(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping) or len(value) > _MOST:
        raise ValueError("there is no object where one should be")
    return _Known(value)


class _Known(dict[str, "Json"]):
    """What is not there is as wrong as what should not be."""

    def __missing__(self, name: str) -> Json:
        raise ValueError(f"{name!r} is missing")


def _list(value: Json, read: Callable[[Json], T]) -> tuple[T, ...]:
    if not isinstance(value, list | tuple) or len(value) > _MOST:
        raise ValueError("there is no list where one should be, or it is too long")
    return tuple(read(item) for item in value)


def _parts(value: Json, count: int) -> Sequence[Json]:
    if not isinstance(value, list | tuple) or len(value) != count:
        raise ValueError(f"there are not {count} values where they should be")
    return value


def _text(value: Json, longest: int = _LONGEST) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError("there is no text where one should be, or it is too long")
    value.encode()  # half of a character is a ValueError
    return value


def _name(value: Json) -> str:
    text = _text(value)
    if not text.isidentifier():
        raise ValueError("a name is no name")
    return text


def _one_of(value: Json, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(known)}")
    return cast(str, value)


def _flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise ValueError("there is no flag where one should be")
    return value


def _whole(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise ValueError("there is no count where one should be")
    return value


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("there is no number where one should be")
    return float(value)


def _bound(value: Json) -> Number | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)):
        return value
    raise ValueError("there is no bound where one should be")


def _scalar(value: Json) -> Scalar:
    if value is None or isinstance(value, bool | str):
        return value if not isinstance(value, str) else _text(value, MOST_CHARACTERS)
    return _bound(value)
