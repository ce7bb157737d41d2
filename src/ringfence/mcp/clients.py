"""Who a client is: defined here once, for files, sessions, places in the queue and greetings.

A client is known by its token. Where the server has none, it is known by its address and by what it was handed when it
greeted: the protocol session of `initialize`, or the cookie of `server/discover` in the protocol that has no sessions.
A caller that brings back neither is known by its address alone, and shares what it makes with others like it.

An *owner* is what stands behind clients and cannot be had anew by greeting again: the token, else the address. What is
counted against somebody before they have a name (connections, greetings) is counted against the owner.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

COOKIE = "ringfence-client"
_HANDED = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Client:
    owner: str
    handed: str = ""  # the protocol session or the cookie; nothing where the token says it all


STDIO = Client("stdio")  # the one client of a server that speaks over standard input and output


def owner_of(token: str | None, address: str) -> str:
    """Not the token itself: what names a client may be shown."""
    return f"address {address}" if token is None else f"token {hashlib.sha256(token.encode()).hexdigest()[:16]}"


def client_of(owner: str, *, has_token: bool, session: str | None, cookies: Sequence[str]) -> Client:
    if has_token:
        return Client(owner)
    if session is not None:
        return Client(owner, f"session {session}")
    handed = _cookie(cookies)
    return Client(owner) if handed is None else Client(owner, f"cookie {handed}")


def make_cookie() -> str:
    """The value of a Set-Cookie header: for this server's requests alone, and for no script."""
    return f"{COOKIE}={secrets.token_hex(16)}; HttpOnly; SameSite=Strict; Path=/"


def _cookie(headers: Sequence[str]) -> str | None:
    for header in headers:
        try:
            found = SimpleCookie(header).get(COOKIE)
        except CookieError:
            continue
        if found is not None and _HANDED.fullmatch(found.value):
            return str(found.value)
    return None
