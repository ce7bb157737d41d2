"""What the host asks of the driver. It comes from our own side of the fence, so a wrong one is our mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The fields of `Job.task`; each may be left out."""

    heal: bool = False  # mend what is known to be mendable, and list it
    add_run: bool = False  # run the strategy if the text only defines it
    bars: str | None = None  # an Arrow file of bars, mounted read-only
    data: str | None = None  # a CSV file, mounted read-only
    files: tuple[str, ...] = ()  # other mounted files that a script may know under another folder
    cash: float = 10_000.0  # of an added run, as is the commission
    commission: float = 0.0
    symbol: str = ""  # what the trades are of; the library has no word for it
    workers: int = 1  # processes at once in optimize()
    result_mb: int = 8  # as the Job's

    @classmethod
    def read(cls, task: Mapping[str, object]) -> Task:
        strangers = task.keys() - cls.__slots__
        if strangers:
            raise ValueError(f"the task has unknown fields {sorted(strangers)}: use {', '.join(cls.__slots__)}")
        fields = dict(task)
        if "files" in fields:
            fields["files"] = tuple(cast("list[str]", fields["files"]))
        return cls(**fields)  # type: ignore[arg-type]  # the host's own values
