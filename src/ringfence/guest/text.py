"""Look at a text and run none of it: parsing is work that a text may abuse, so it is done behind the fence."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, TypedDict, cast

from ringfence.guest import program
from ringfence.guest.script import Drive
from ringfence.trade import checked_wire, reply
from ringfence.trade.checked import check_text

if TYPE_CHECKING:
    from ringfence.trade.run import Json


class Task(TypedDict):
    what: str  # check: all that is to be seen in a program. reply: the program in a model's reply
    name: str
    class_name: str | None
    given: dict[str, Json]


def make(task: dict[str, object]) -> Drive:
    order = cast(Task, task)

    def drive(code: str, path: str, module: types.ModuleType, box: program.ResultBox) -> None:
        box(look(code, order))

    return drive


def look(code: str, order: Task) -> dict[str, Json]:
    if order["what"] == "reply":
        return checked_wire.write_reply(reply.read_reply(code))
    seen = check_text(code, name=order["name"], class_name=order["class_name"], given=order["given"])
    return checked_wire.write_checked(seen)
