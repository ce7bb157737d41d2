"""Who may speak to the HTTP server: the right Host, no foreign Origin, the token where there is one.

A web page in a browser on this machine can send requests here, and a name that its owner points at 127.0.0.1 makes
them look like its own (DNS rebinding). Such a request carries the name as its Host, so only names that are ours pass.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

Headers = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    names: frozenset[str]  # besides localhost
    loopback: bool  # bound to loopback only: other addresses cannot be ours
    tokens: tuple[str, ...] = ()  # none: everybody may call

    def knows_host(self, host: str) -> bool:
        """`host` with or without a port. A rebinding page has a name of its own, never an address."""
        name = (urlsplit(f"//{host}").hostname or "").lower().rstrip(".")
        if name == "localhost" or name in self.names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not self.loopback
        except ValueError:
            return False

    def knows_origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and self.knows_host(parts.netloc)
        except ValueError:
            return False

    def find_token(self, header: str) -> str | None:
        """The one that was sent. All are compared, and each in constant time: nothing is told by how long it takes."""
        kind, _, given = header.partition(" ")
        sent = given.strip().encode("latin-1", "replace")
        same = [token for token in self.tokens if hmac.compare_digest(sent, token.encode())]
        return same[0] if same and kind.lower() == "bearer" else None

    def refuse(self, headers: Headers) -> tuple[int, str] | None:
        """The status and the sentence for who may not speak to us; None for who may."""
        hosts = headers.get("host", [])
        try:
            known = len(hosts) == 1 and self.knows_host(hosts[0])
        except ValueError:
            known = False
        if not known:
            return 421, "this Host is not ours: use the address that the server printed, or set RINGFENCE_MCP_HOSTS"
        if not all(map(self.knows_origin, headers.get("origin", []))):
            return 403, "this Origin may not speak to the server: it is not ours"
        if self.tokens and self.find_token(headers.get("authorization", [""])[0]) is None:
            return 401, "a token is needed: send the header 'Authorization: Bearer TOKEN'"
        return None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_rules(host: str, more: str | None, token: str | None) -> Rules:
    """`more` is a list of names with commas: those that a proxy in front of us is known by. So is `token`."""
    names = set(listed((more or "").lower()))
    if not is_loopback(host):
        names |= {host.lower(), socket.gethostname().lower()}
    return Rules(names=frozenset(names), loopback=is_loopback(host), tokens=tuple(listed(token or "")))


def listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
