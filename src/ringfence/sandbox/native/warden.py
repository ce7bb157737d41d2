"""The warden: the supervisor's only child. It makes the zygote, outlives a crashed supervisor, and sweeps after it.

It holds one end of a socket whose other end only the supervisor has. When that closes, by an orderly `close` or
because the supervisor was killed, it kills the zygote (pid 1 of a namespace that holds every job, so all of them go
with it), removes the groups noted in the block, and leaves. If the warden itself is killed the zygote dies by its
parent-death signal, the supervisor sees its sockets close, and the next owner of the block sweeps. It also makes the
mounter, which serves jobs that want mounts.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path

from ringfence.sandbox.native import blocks, messages, mounter, syscalls as sc
from ringfence.sandbox.native.contain import name_process, reset_signals, write_id_maps


def main(life_fd: int, control_fd: int, trees_fd: int, lock_fd: int) -> None:
    life, trees = socket.socket(fileno=life_fd), socket.socket(fileno=trees_fd)
    setup = messages.decode_setup(messages.receive(life)[0])
    reset_signals()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor to judge
    name_process("rf-warden")
    if setup.privileged:
        sc.unshare(sc.CLONE_NEWNS)
    else:
        sc.unshare(sc.CLONE_NEWNS | sc.CLONE_NEWUSER)
        write_id_maps("self", setup.uid, setup.gid, setup.uid, setup.gid)
    # Mounts the host makes later still arrive here; ours never reach the host.
    sc.mount("none", "/", None, sc.MS_REC | sc.MS_SLAVE)
    helper = os.fork()
    if helper == 0:
        life.close()
        os.close(control_fd)
        os.close(lock_fd)
        mounter.main(trees)
    trees.close()
    sc.unshare(sc.CLONE_NEWPID)
    zygote = os.fork()
    if zygote == 0:
        life.close()
        os.close(lock_fd)
        from ringfence.sandbox.native import zygote as program

        program.main(setup, control_fd)
        os._exit(0)
    os.close(control_fd)
    _wait_for_an_end(life, os.pidfd_open(zygote))
    for pid in (helper, zygote):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os.waitpid(zygote, 0)
    _reap_soon(helper)
    blocks.Block(-1, Path(setup.lock_path), lock_fd).release()


def _reap_soon(pid: int) -> None:
    """A helper that hangs in a file system dies when that lets go; nobody waits for it."""
    for _ in range(100):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        time.sleep(0.01)


def _wait_for_an_end(life: socket.socket, zygote_pidfd: int) -> None:
    """Until the supervisor or the zygote is gone."""
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(zygote_pidfd, select.POLLIN)
    poll.poll()
