"""Makes the children of one zygote: lends the user, makes the group, opens the mount trees, sends the order."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Sequence

from ringfence.base.errors import SandboxError
from ringfence.sandbox.job import Limits
from ringfence.sandbox.native.cgroup import Group, GroupFolder
from ringfence.sandbox.native.child import Child, Shape, User
from ringfence.sandbox.native.line import Line


class Users:
    """Who jobs run as: ids that are each lent to one child at a time, the longest unused first; or always the same."""

    def __init__(self, free: Sequence[User], *, distinct: bool) -> None:
        self._free = deque(free)
        self.distinct = distinct
        self._lock = threading.Lock()

    def lend(self) -> User:
        with self._lock:
            if not self._free:
                raise SandboxError("every user id of this sandbox is in use: run fewer jobs at once")
            return self._free.popleft() if self.distinct else self._free[0]

    def give_back(self, user: User) -> None:
        if self.distinct:
            with self._lock:
                self._free.append(user)


class Cradle:
    def __init__(self, line: Line, users: Users, folder: GroupFolder | None) -> None:
        self.line, self._users, self._folder = line, users, folder
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._out = 0  # children that are not yet freed
        self._retired = False

    def order_child(self, shape: Shape, limits: Limits) -> Child:
        user = self._users.lend()
        trees: list[int] = []
        group: Group | None = None
        try:
            for mount in shape.mounts:
                # Root's jobs run as a stranger: a mount must show its owner as the job's user.
                owner = user.uid if self._users.distinct else None
                trees.append(self.line.open_tree(mount.host.absolute(), owner))
            if self._folder:
                group = self._folder.new(f"run-{next(self._numbers)}", limits)
            child = Child(shape, user, group, self._take_back)
        except BaseException:
            for tree in trees:
                os.close(tree)
            self._free(user, group, clean=True)
            raise
        with self._lock:
            self._out += 1
        try:
            child.order(self.line, trees)
        except BaseException:
            child.discard()
            raise
        return child

    def _take_back(self, user: User, group: Group | None, clean: bool) -> None:
        try:
            self._free(user, group, clean=clean)
        finally:
            with self._lock:
                self._out -= 1
            self._close_if_retired()

    def _free(self, user: User, group: Group | None, *, clean: bool) -> None:
        """What a process that could not be killed still has is lent to nobody: whoever had it next would share it."""
        if not clean:
            return
        try:
            if group and self._folder:
                self._folder.give_back(group)
        finally:
            self._users.give_back(user)

    def retire(self) -> None:
        """Make no more children; end with the last of those that are there."""
        self._retired = True
        self._close_if_retired()

    def _close_if_retired(self) -> None:
        with self._lock:
            ended = self._retired and self._out == 0
        if ended:
            self.line.close()
