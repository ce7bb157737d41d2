"""Disk: filling the scratch space with bytes or with files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ringfence import Outcome

from tests.attacks.attack import Attack, limits

FILLS = [
    Attack(
        name="bytes_in_the_work_dir",
        code="with open('big', 'wb') as f:\n    while True: f.write(b'x' * 65536); f.flush()",
        expect=("disk_limit",),
    ),
    Attack(
        name="bytes_spread_over_all_three_places",
        code="""
import itertools
for n, place in zip(itertools.count(), itertools.cycle(("/job", "/tmp", "/dev/shm"))):
    open(f"{place}/{n}", "wb").write(b"x" * 1_000_000)
    assert n < MOST, "more than the limit was written"
""",
        expect=("disk_limit",),
    ),
    Attack(
        name="unlinked_files_that_are_still_open",
        code="""
import os, tempfile
held = []
while True:
    f = tempfile.TemporaryFile(buffering=0)
    f.write(b"x" * 500_000)
    held.append(f)
    assert len(held) < 20, "more than the limit was written"
""",
        expect=("disk_limit", "error"),  # the space is free again once the process is gone
    ),
    Attack(
        name="inodes",
        code="import itertools\nfor n in itertools.count(): open(f'/tmp/{n}', 'w').close()",
        expect=("disk_limit",),
        limits=limits(wall_seconds=20),
    ),
    Attack(
        name="inodes_as_directories_and_links",
        code="""
import itertools, os
for n in itertools.count():
    os.mkdir(f"d{n}")
    os.symlink("x" * 1000, f"d{n}/l")
""",
        expect=("disk_limit",),
        limits=limits(wall_seconds=20),
    ),
    Attack(
        name="errors_ignored",
        code="""
import os
fd = os.open("big", os.O_CREAT | os.O_WRONLY)
total = 0
for _ in range(2000):
    try:
        total += os.write(fd, b"x" * 65536)
    except OSError:
        pass
result = total
""",
        expect=("ok",),
        check=lambda o: _at_most(o, 9 << 20),
    ),
    Attack(
        name="a_sparse_file_allocated_in_place",
        code="import os\nfd = os.open('big', os.O_CREAT | os.O_RDWR)\nos.posix_fallocate(fd, 0, 1 << 30)",
        expect=("disk_limit", "error"),
    ),
]


# Where one file system holds all three places, the kernel keeps their sum; a container has one for each, and their sum
# is looked at twenty times a second. In between, no more can be written than what fits into all three.
MOST_FILES = {"native": 12, "native_user": 12, "native_delegated": 12, "docker": 3 * 9}


def _at_most(outcome: Outcome, size: int) -> None:
    assert isinstance(outcome.result, int)
    assert outcome.result <= size


@pytest.mark.parametrize("attack", FILLS, ids=lambda a: a.name)
def test_the_disk_cannot_be_filled(contain: Callable[[Attack], Outcome], backend: str, attack: Attack) -> None:
    outcome = contain(replace(attack, code=attack.code.replace("MOST", str(MOST_FILES[backend]))))
    assert sum(a.bytes for a in outcome.artifacts) <= 9 << 20
