"""The warden: the supervisor's only child. It makes the zygote, outlives a crashed supervisor, and sweeps after it.

It holds one end of a socket whose other end only the supervisor has. When that closes, by an orderly `close` or
because the supervisor was killed, it kills the zygote (pid 1 of a namespace that holds every job, so all of them go
with it), removes the groups noted in the block, and leaves. If the warden itself is killed the zygote dies by its
parent-death signal, the supervisor sees its sockets close, and the next owner of the block sweeps.

It stays in the host's mount tree (a copy, in a namespace of its own), so it can make detached mounts of host paths
for jobs that ask for them, also where the supervisor itself has no right to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
from pathlib import Path

from ringfence.sandbox.native import blocks, messages, syscalls as sc
from ringfence.sandbox.native.contain import name_process, write_id_maps

_SIGNS_OF_DEATH = (errno.ENOMEM, errno.ESRCH, errno.ENOENT)


def main(life_fd: int, control_fd: int, lock_fd: int) -> None:
    life = socket.socket(fileno=life_fd)
    setup = messages.decode_setup(messages.receive(life)[0])
    # What the host application does with its signals is inherited, and must not be.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor to judge
    name_process("rf-warden")
    flags = sc.CLONE_NEWPID | sc.CLONE_NEWNS
    if not setup.privileged:
        sc.unshare(flags | sc.CLONE_NEWUSER)
        write_id_maps("self", setup.uid, setup.gid, setup.uid, setup.gid)
    else:
        sc.unshare(flags)
    # Mounts the host makes later still arrive here; ours never reach the host.
    sc.mount("none", "/", None, sc.MS_REC | sc.MS_SLAVE)
    zygote = os.fork()
    if zygote == 0:
        life.close()
        os.close(lock_fd)
        from ringfence.sandbox.native import zygote as program

        program.main(setup, control_fd)
        os._exit(0)
    os.close(control_fd)
    _watch(life, os.pidfd_open(zygote))
    with contextlib.suppress(ProcessLookupError):
        os.kill(zygote, signal.SIGKILL)
    os.waitpid(zygote, 0)
    blocks.Block(-1, Path(setup.lock_path), lock_fd).release()


def _watch(life: socket.socket, zygote_pidfd: int) -> None:
    """Serve mount trees until the supervisor or the zygote is gone."""
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(zygote_pidfd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if zygote_pidfd in ready:
            return
        try:
            packet, _ = messages.receive(life)
            if not packet:
                return
            _answer(life, messages.decode_tree(packet), zygote_pidfd)
        except (BrokenPipeError, ConnectionResetError):
            return  # the supervisor was killed before it read an answer


def _answer(life: socket.socket, order: messages.TreeOrder, zygote_pidfd: int) -> None:
    try:
        tree = _open_tree(order)
    except OSError as e:
        # Our children are in the zygote's namespace: when it dies they do, and no more can be made. That is no fault
        # of the mount, so it gets no answer, and the supervisor sees us leave.
        if e.errno not in _SIGNS_OF_DEATH or not select.select([zygote_pidfd], [], [], 1.0)[0]:
            messages.send(life, f"!{e}".encode())
    else:
        messages.send(life, b"ok", [tree])
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
