"""Things on the host that no guest may read, reach or change, and the proof that none did."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import shutil
import socket
import tempfile
import threading
from collections import Counter
from pathlib import Path

from ringfence.sandbox.job import Json
from ringfence.sandbox.outcome import Outcome

VARIABLE = "RINGFENCE_TEST_CANARY"


class Canary:
    """Secrets, listeners and a writable directory on the host, watched from the host.

    Every place holds `token`, which the guest is never told: wherever it turns up in an Outcome, it was stolen.
    Open it before the sandbox, so that the environment secret is in the supervisor when the sandbox starts.
    All of it is `owner`'s: an ordinary user's guest has the user's own id, and only the jail keeps it from these.
    """

    def __init__(self, owner: int) -> None:
        self.token = secrets.token_hex(16)
        self.hits: Counter[str] = Counter()
        self.root = Path(tempfile.mkdtemp(prefix="ringfence-canary-"))
        self.root.chmod(0o755)
        self._home = Path(tempfile.mkdtemp(prefix=".ringfence-canary-", dir=Path.home()))
        self._home.chmod(0o755)
        self.secret = self._write(self.root / "secret.txt", 0o644)
        self.private = self._write(self.root / "private.txt", 0o600)
        self.home = self._write(self._home / "id_rsa", 0o644)
        self.writable = self.root / "writable"
        self.writable.mkdir()
        self.writable.chmod(0o777)
        for path in self._watched():
            os.chown(path, owner, owner)
        self._seen = {path: _facts(path) for path in self._watched()}
        os.environ[VARIABLE] = self.token
        self._listen()

    def _write(self, path: Path, mode: int) -> Path:
        path.write_text(self.token)
        path.chmod(mode)
        return path

    def _watched(self) -> tuple[Path, ...]:
        return self.secret, self.private, self.home, self.writable

    def _listen(self) -> None:
        self.abstract = f"ringfence-canary-{os.getpid()}-{self.token[:6]}"  # in the abstract namespace: after a NUL
        self.socket = self.root / "daemon.sock"
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self.port, self.udp_port = int(tcp.getsockname()[1]), int(udp.getsockname()[1])
        named, unnamed = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        named.bind(str(self.socket))
        self.socket.chmod(0o666)
        unnamed.bind("\0" + self.abstract)
        for listener in (named, unnamed):
            listener.listen()
        self._stop, stopped = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._sockets = (tcp, udp, named, unnamed, stopped, self._stop)
        for name, sock in zip(("tcp", "udp", "socket", "abstract", "stop"), self._sockets):
            self._selector.register(sock, selectors.EVENT_READ, name)
        self._thread = threading.Thread(target=self._serve, name="canary", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Count every visit, and hand the token to whoever comes, so that a visit shows in the Outcome too."""
        while True:
            for key, _ in self._selector.select():
                sock = key.fileobj
                if key.data == "stop" or not isinstance(sock, socket.socket):
                    return
                self.hits[key.data] += 1
                if key.data == "udp":
                    _, sender = sock.recvfrom(65536)
                    sock.sendto(self.token.encode(), sender)
                else:
                    with sock.accept()[0] as visitor:
                        visitor.sendall(self.token.encode())

    def inputs(self, supervisor: int | None = None) -> dict[str, Json]:
        """Where everything is, for the guest: an attacker who knows where to look, but not what is there."""
        return {
            "secret": str(self.secret),
            "private": str(self.private),
            "home": str(self.home),
            "writable": str(self.writable),
            "socket": str(self.socket),
            "abstract": self.abstract,
            "port": self.port,
            "udp_port": self.udp_port,
            "variable": VARIABLE,
            "supervisor": supervisor or os.getpid(),
        }

    def untouched(self) -> None:
        """Assert that nothing was written, created, removed or visited."""
        for path, facts in self._seen.items():
            assert _facts(path) == facts, f"{path} was changed"
        assert not list(self.writable.iterdir()), f"files were made in {self.writable}"
        assert os.environ.get(VARIABLE) == self.token, "the supervisor's environment was changed"
        assert not self.hits, f"listeners of the host were reached: {dict(self.hits)}"

    def unleaked(self, outcome: Outcome) -> None:
        """Assert that the token is nowhere in the Outcome or in the bytes of its artifacts."""
        assert self.token not in json.dumps(outcome.to_json(), allow_nan=False), "the canary's token leaked"
        for artifact in outcome.artifacts:
            data = Path(artifact.path).read_bytes() if artifact.path else artifact.data or b""
            assert self.token.encode() not in data, f"the canary's token leaked into {artifact.name!r}"

    def close(self) -> None:
        self._stop.send(b"x")
        self._thread.join()
        self._selector.close()
        for sock in self._sockets:
            sock.close()
        shutil.rmtree(self.root)
        shutil.rmtree(self._home)
        del os.environ[VARIABLE]


def _facts(path: Path) -> tuple[object, ...]:
    stat = path.stat()
    content = path.read_bytes() if path.is_file() else b""
    return stat.st_ino, stat.st_mode, stat.st_uid, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_nlink, content
