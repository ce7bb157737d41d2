"""Column types that mean the same in both databases, and give back exactly what was put in."""

from __future__ import annotations

import json
import re
import zlib
from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, LargeBinary, Text, TypeDecorator

from ringfence.trade.run import Json

Counter = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what is exactly INTEGER

# Neither database takes a lone surrogate, and PostgreSQL no NUL. Names of files and messages of strategies may hold
# both, so each is written as SUB and four digits, and SUB itself too, which loses nothing and leaves all else readable.
_AWKWARD = re.compile("[\x00\x1a\ud800-\udfff]")
_SPELLED = re.compile("\x1a([0-9a-f]{4})")
_FAST = 3  # of zlib: a third of the time of the default level, for a tenth more bytes


class Exact(TypeDecorator[str]):
    """Any Python string."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _AWKWARD.sub(lambda found: f"\x1a{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _SPELLED.sub(lambda found: chr(int(found[1], 16)), value)


class JsonText(TypeDecorator[Json]):
    """A JSON value as its text: what databases make of JSON themselves differs in order, numbers and NULs."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Json, dialect: Dialect) -> str:
        return json.dumps(value, allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Json:
        return None if value is None else json.loads(value)


class Packed(TypeDecorator[str]):
    """Long text, compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(value.encode("utf-8", "surrogatepass"), _FAST)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return None if value is None else zlib.decompress(value).decode("utf-8", "surrogatepass")


class Moment(TypeDecorator[datetime]):
    """A moment with its zone, in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} names no time zone: say which one is meant")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc  # SQLite keeps no zone

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
