"""Network: there is none. Nothing goes out, nothing of the host is reached, and trying costs no time."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable

import pytest

from ringfence import Job, Outcome
from ringfence.sandbox import Sandbox

from tests.attacks.attack import ATTEMPT, Attack, limits, nothing_won, run_promptly
from tests.attacks.beside import beside
from tests.attacks.canary import Canary

Contain = Callable[[Attack], Outcome]


def quickly(outcome: Outcome) -> None:
    """It came to its end: a name server that does not answer would take more than the wall limit."""
    nothing_won(outcome)
    assert outcome.status == "ok", outcome.reason


def attempts(*doors: str, before: str = "") -> str:
    """A program that tries each expression and reports those that did not fail."""
    tries = "\n".join(f"attempt({door!r}, lambda: {door})" for door in doors)
    return f"import os, socket, struct, subprocess, urllib.request\n{ATTEMPT}\n{before}\n{tries}\nresult = won"


CONNECT = "socket.create_connection(({host!r}, {port}), timeout=2).recv(100)"
UDP = """
def send(family, host, port, kind=socket.SOCK_DGRAM, protocol=0):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(1)
        s.sendto(b"x", (host, port))
        return s.recv(100)
"""
ICMP = "b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0'"
OTHER = """
def differs(pid, file):
    text = open(f"/proc/{pid}/net/{file}").read()
    if text == open(f"/proc/self/net/{file}").read():
        raise LookupError("it is our own")
    return text
"""
VSOCK = """
def vsock(cid, port=1024):
    with socket.socket(socket.AF_VSOCK) as s:
        s.settimeout(1)
        s.connect((cid, port))
"""
UNIX = """
def visit(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.settimeout(1)
        s.connect(address)
        return s.recv(100)
"""
DAEMONS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/journal/socket",
    "/dev/log",
    "/tmp/.X11-unix/X0",
    "/run/user/0/bus",
)

ATTACKS = (
    Attack(
        name="TCP to the internet",
        code=attempts(*(CONNECT.format(host=h, port=p) for h, p in (("1.1.1.1", 443), ("8.8.8.8", 53), ("::1", 80)))),
        check=quickly,
    ),
    Attack(
        name="UDP to the internet",
        code=attempts("send(socket.AF_INET, '8.8.8.8', 53)", "send(socket.AF_INET6, '::1', 53)", before=UDP),
        check=quickly,
    ),
    Attack(
        name="ICMP, raw and as a ping socket",
        code=attempts(
            "send(socket.AF_INET, '127.0.0.1', 0, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
            "send(socket.AF_INET, '127.0.0.1', 0, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)",
            "subprocess.run(['ping', '-c', '1', '-W', '1', '127.0.0.1'], check=True)",
            before=UDP,
        ),
        check=quickly,
    ),
    Attack(
        name="names do not resolve, and fail fast",
        code=attempts(
            "socket.getaddrinfo('example.com', 443)",
            "socket.gethostbyname('example.com')",
            "socket.gethostbyaddr('8.8.8.8')",
            "socket.getaddrinfo('metadata.google.internal', 80)",
            "subprocess.run(['getent', 'hosts', 'example.com'], check=True, timeout=2)",
            "urllib.request.urlopen('https://example.com/', timeout=2)",
        ),
        check=quickly,
    ),
    Attack(
        name="a resolver of its own",
        code=attempts(
            "send(socket.AF_INET, '127.0.0.53', 53)",
            "[line for line in open('/etc/resolv.conf') if 'nameserver' in line][0]",
            "visit('/run/systemd/resolve/io.systemd.Resolve')",
            "visit('/run/nscd/socket')",
            before=UDP + UNIX,
        ),
        check=quickly,
    ),
    Attack(
        name="loopback services of the host",
        code=attempts(
            "socket.create_connection(('127.0.0.1', canary['port']), timeout=1).recv(100)",
            "socket.create_connection(('localhost', canary['port']), timeout=1).recv(100)",
            "send(socket.AF_INET, '127.0.0.1', canary['udp_port'])",
            "urllib.request.urlopen(f'http://127.0.0.1:{canary[\"port\"]}/', timeout=1)",
            before=UDP,
        ),
        check=quickly,
    ),
    Attack(
        name="loopback through the shell",
        code=attempts(
            "subprocess.run(['bash', '-c', f'exec 3<>/dev/tcp/127.0.0.1/{canary[\"port\"]}; cat <&3'], check=True)",
            "subprocess.run(['bash', '-c', f'echo x > /dev/udp/127.0.0.1/{canary[\"udp_port\"]}'], check=True)",
            "subprocess.run(['curl', '-m', '1', f'http://127.0.0.1:{canary[\"port\"]}'], check=True)",
            "subprocess.run(['perl', '-MIO::Socket::INET', '-e', "
            'f\'IO::Socket::INET->new("127.0.0.1:{canary["port"]}") or die\'], check=True)',
        ),
        check=quickly,
    ),
    Attack(
        name="a port of its own",
        code=attempts(
            "socket.create_server(('127.0.0.1', 0))", "socket.create_server(('::', 0), family=socket.AF_INET6)"
        ),
        check=quickly,
    ),
    Attack(
        name="metadata addresses",
        code=attempts(
            CONNECT.format(host="169.254.169.254", port=80),
            CONNECT.format(host="fd00:ec2::254", port=80),
            CONNECT.format(host="100.100.100.200", port=80),
            "urllib.request.urlopen('http://169.254.169.254/latest/meta-data/', timeout=2)",
        ),
        check=quickly,
    ),
    Attack(
        name="abstract unix sockets of the host",
        code=attempts(
            "visit('\\0' + canary['abstract'])",
            "visit('\\0' + canary['abstract'], socket.SOCK_SEQPACKET)",
            "[visit(n) for n in ('\\0/tmp/.X11-unix/X0', '\\0/tmp/dbus', '\\0/containerd-shim')]",
            before=UNIX,
        ),
        check=quickly,
    ),
    Attack(
        name="unix sockets of the host by path",
        code=attempts(
            "visit(canary['socket'])",
            "visit('/proc/1/root' + canary['socket'])",
            "visit('/proc/self/root/..' + canary['socket'])",
            *(f"visit({path!r}, {kind})" for path in DAEMONS for kind in ("socket.SOCK_STREAM", "socket.SOCK_DGRAM")),
            before=UNIX,
        ),
        check=quickly,
    ),
    Attack(
        name="vsock to the host and to itself",
        code=attempts(
            "vsock(2)", "vsock(1)", "vsock(0)", "open('/dev/vsock')", "open('/dev/vhost-vsock')", before=VSOCK
        ),
        check=quickly,
    ),
    Attack(
        name="netlink, packet and kernel crypto sockets",
        code=attempts(
            *(f"socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, {protocol})" for protocol in range(23)),
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)",
            "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
            "socket.socket(socket.AF_CAN, socket.SOCK_RAW)",
            "socket.if_nameindex()[0]",
            "subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)",
        ),
        check=quickly,
    ),
    Attack(
        name="the network namespace of another process",
        code=attempts(
            *(f"differs({pid}, {file!r})" for pid in (1, 2) for file in ("tcp", "unix", "route")),
            "[line for line in open('/proc/self/net/unix').read().splitlines()[1:] if canary['abstract'] in line][0]",
            "[line for line in open('/proc/self/net/dev').read().splitlines()[2:] if 'lo:' not in line][0]",
            "os.open('/proc/1/ns/net', os.O_RDONLY)",
            "[name for name in os.listdir('/sys/class/net') if name != 'lo'][0]",
            before=OTHER,
        ),
        check=quickly,
    ),
    Attack(
        name="a descriptor that is a way out",
        code=attempts(
            *(
                f"socket.socket(fileno=os.dup({fd})).sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
                f"struct.pack('i', os.open('/dev/null', os.O_RDONLY)))])"
                for fd in (0, 1, 2, *range(4, 64))
            ),
        ),
        check=quickly,
    ),
)


@pytest.mark.container_sample(
    "TCP to the internet",
    "loopback services of the host",
    "abstract unix sockets of the host",
    "unix sockets of the host by path",
    "vsock to the host and to itself",
    "a descriptor that is a way out",
    why="a namespace without a device is the same everywhere",
)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_no_network(contain: Contain, attack: Attack) -> None:
    contain(attack)


# Two guests that know each other's meeting place: one listens, the other comes. Neither may find the other.
MEET = """
import os, socket, time
deadline = time.monotonic() + 1.5
def listen(kind, address):
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(0.05)
    s.bind(address)
    if kind == socket.SOCK_STREAM:
        s.listen()
    return s
stream = listen(socket.SOCK_STREAM, "\\0meet-stream-" + here)
datagram = listen(socket.SOCK_DGRAM, "\\0meet-dgram-" + here)
met = []
while time.monotonic() < deadline:
    for what, step in (("came", stream.accept), ("heard", lambda: datagram.recv(10))):
        try:
            step()
            met.append(what)
        except OSError:
            pass
    for kind, name in ((socket.SOCK_STREAM, "stream"), (socket.SOCK_DGRAM, "dgram")):
        s = socket.socket(socket.AF_UNIX, kind)
        s.settimeout(0.05)
        try:
            s.connect(f"\\0meet-{name}-" + there)
            s.send(b"x")
            met.append("visited " + name)
        except OSError:
            pass
        s.close()
result = sorted(set(met))
"""


def test_guests_do_not_meet(sandbox: Sandbox, canary: Canary) -> None:
    outcomes: dict[str, Outcome] = {}

    def run(here: str, there: str) -> None:
        job = Job(code=MEET, inputs={"here": here, "there": there}, limits=limits(wall_seconds=4))
        outcomes[here] = run_promptly(sandbox, job)

    threads = [threading.Thread(target=run, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, outcome in outcomes.items():
        assert (outcome.status, outcome.result) == ("ok", []), f"{name}: {outcome}"
    assert len(outcomes) == 2
    canary.untouched()


def test_the_tables_of_the_network_name_nothing_of_others(sandbox: Sandbox, canary: Canary) -> None:
    """Sockets of a neighbour and of the host, by their names; and no device but a loopback of one's own."""
    name = f"ringfence-{secrets.token_hex(8)}"
    holder = f"""
import socket, time
held = socket.socket(socket.AF_UNIX)
held.bind("\\0{name}")
path = socket.socket(socket.AF_UNIX)
path.bind("/tmp/{name}")
print(open("/proc/self/net/unix").read(), flush=True)
time.sleep(4)
"""
    reader = """
import os
for top in ("/proc/net", "/proc/self/net", "/proc/1/net", "/proc/thread-self/net"):
    for folder, _, files in os.walk(top + "/"):
        for file in files:
            try: print(folder, file, open(os.path.join(folder, file), errors="replace").read())
            except OSError: pass
"""
    with socket.socket(socket.AF_UNIX) as host:
        host.bind(f"\0{name}-of-the-host")
        with beside(sandbox, Job(code=holder, limits=limits(wall_seconds=30))):
            outcome = run_promptly(sandbox, Job(code=reader, limits=limits(wall_seconds=30)))
    assert outcome.status == "ok", outcome.reason
    assert not outcome.truncated.stdout
    told = [line for line in outcome.stdout.splitlines() if name in line or canary.abstract in line]
    assert told == []
