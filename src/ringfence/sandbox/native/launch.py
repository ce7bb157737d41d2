"""Find out what this machine allows, and open a sandbox that uses it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ringfence.base.config import Settings
from ringfence.base.errors import SettingsError
from ringfence.sandbox.job import Limits
from ringfence.sandbox.maximum import configured_maximum
from ringfence.sandbox.native import blocks, cgroup, messages, profiles, syscalls as sc
from ringfence.sandbox.native.child import User
from ringfence.sandbox.native.cradle import Cradle, Users
from ringfence.sandbox.native.fence import NativeSandbox
from ringfence.sandbox.native.isolation import Means
from ringfence.sandbox.native.line import PACKAGE_PARENT, Line
from ringfence.sandbox.native.pool import Pool
from ringfence.sandbox.native.pools import Pools


def open_native(
    settings: Settings, *, profile: str, park: int, preload: bool, allow_weaker: bool, xdg_runtime_dir: str | None
) -> NativeSandbox:
    if profile not in profiles.PROFILES:
        raise SettingsError(f"profile {profile!r} is unknown: use one of {', '.join(profiles.PROFILES)}")
    hierarchy = find_hierarchy(settings)
    means = find_means(hierarchy)
    folder = blocks.runtime_dir(settings.runtime_dir, os.getuid(), xdg_runtime_dir)

    def make_pool(modules: Sequence[str]) -> Pool:
        return Pool(lambda: _start(settings, means, hierarchy, folder, modules), park=park, limits=Limits())

    return NativeSandbox(
        Pools(make_pool, profiles.PROFILES[profile] if preload else profiles.Profile()),
        means,
        maximum=configured_maximum(settings),
        max_running=settings.max_running,
        allow_weaker=allow_weaker,
    )


def find_hierarchy(settings: Settings) -> cgroup.Hierarchy | None:
    own, mounts = Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text()
    return cgroup.find_hierarchy(own, mounts, settings.cgroup)


def find_means(hierarchy: cgroup.Hierarchy | None) -> Means:
    return Means(
        privileged=os.geteuid() == 0,
        cgroup_version=hierarchy.version if hierarchy else None,
        landlock_abi=sc.landlock_abi(),
    )


def _start(
    settings: Settings, means: Means, hierarchy: cgroup.Hierarchy | None, folder: Path, modules: Sequence[str]
) -> Cradle:
    """Take a block, make its groups, start a zygote. What is made is noted in the block first."""
    block = blocks.take_block(folder)
    try:
        groups = cgroup.GroupFolder(hierarchy, block.name) if hierarchy else None
        if groups:
            block.note(groups.places)
            groups.make()
        setup = messages.Setup(
            package_parent=PACKAGE_PARENT,
            lock_path=str(block.path),
            preload=list(modules),
            privileged=means.privileged,
            count_memory=groups is not None,
            uid=os.getuid(),
            gid=os.getgid(),
        )
    except BaseException:
        block.release()
        raise
    return Cradle(Line(setup, block), _users(settings, means, block), groups)


def _users(settings: Settings, means: Means, block: blocks.Block) -> Users:
    if not means.privileged:
        return Users([User(os.getuid(), os.getgid())], distinct=False)
    first = settings.uid_base + block.number * blocks.UIDS_PER_BLOCK
    return Users([User(uid, uid) for uid in range(first, first + blocks.UIDS_PER_BLOCK)], distinct=True)
