"""The mounter: makes detached mounts of host paths for jobs that ask for them.

The warden forks it while it still is in the host's pid namespace and has the host's mount tree (a copy, in a namespace
of its own), so it can mount also what the supervisor itself has no right to. Each mount is made in a thread of its own:
a path on a file system that hangs must keep no other job waiting. The mounter ends when the supervisor's end of its
socket closes, and dies with the warden.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import threading

from ringfence.sandbox.native import messages, syscalls as sc
from ringfence.sandbox.native.contain import name_process, write_id_maps


def main(orders: socket.socket) -> None:
    """Serve until the supervisor is gone; never returns."""
    name_process("rf-mounter")
    sc.prctl(sc.PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(ConnectionResetError):
        while True:
            packet, fds = messages.receive(orders)
            if not packet:
                break
            words = (socket.socket(fileno=fds[0]), messages.decode_tree(packet))
            threading.Thread(target=_answer, args=words, daemon=True).start()
    os._exit(0)  # whatever thread still waits for a file system


def _answer(asker: socket.socket, order: messages.TreeOrder) -> None:
    with asker, contextlib.suppress(BrokenPipeError, ConnectionResetError):  # who asked was killed, or gave it up
        try:
            tree = _open_tree(order)
        except OSError as e:
            messages.send(asker, f"!{e}".encode())
            return
        try:
            messages.send(asker, b"ok", [tree])
        finally:
            os.close(tree)


def _open_tree(order: messages.TreeOrder) -> int:
    tree = sc.open_tree(order.path)
    try:
        if order.uid is not None:
            owner = os.stat(order.path)
            userns = _make_user_namespace(owner.st_uid, owner.st_gid, order.uid)
            try:
                sc.idmap_mount(tree, userns)
            finally:
                os.close(userns)
    except OSError:
        os.close(tree)
        raise
    return tree


def _make_user_namespace(owner_uid: int, owner_gid: int, job_uid: int) -> int:
    """A namespace that shows the files' owner as the job's user. It lives in a short-lived process."""
    go_read, go_write = os.pipe()
    done_read, done_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sc.unshare(sc.CLONE_NEWUSER)
            os.write(done_write, b"x")
            os.close(go_write)  # the last copy is then the mounter's, whose end ends this one too
            os.read(go_read, 1)
        finally:
            os._exit(0)
    os.close(done_write)  # or the end of a child that failed would not be seen
    try:
        if not os.read(done_read, 1):
            raise OSError(errno.ESRCH, "no user namespace can be made to show its files as the job's own")
        write_id_maps(str(child), owner_uid, owner_gid, job_uid, job_uid)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(go_write, b"x")
        os.waitpid(child, 0)
        for fd in (go_read, go_write, done_read):
            os.close(fd)
