"""Where an owner of containers lives: which kernel, since which boot, and what its paths mean."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """An empty text means that this system does not say; then nothing can be compared with it."""

    boot: str  # of the running kernel: no two kernels have the same, not even two starts of one machine
    machine: str  # stays over boots, but copies of a machine share it
    root: str  # the mount namespace, and the directory in it that paths begin at
    booted_at: float  # seconds since the epoch

    @classmethod
    def here(cls) -> Place:
        is_mac = sys.platform == "darwin"
        return cls(
            boot=_sysctl("kern.bootsessionuuid") if is_mac else _read("/proc/sys/kernel/random/boot_id"),
            machine=_sysctl("kern.uuid") if is_mac else _read("/etc/machine-id"),
            root=_root(),
            booted_at=time.time() - _uptime_seconds(),
        )


def _root() -> str:
    """A namespace's number is no other's as long as it lives; macOS has none."""
    root = os.stat("/")
    try:
        namespace = "" if sys.platform == "darwin" else os.readlink("/proc/self/ns/mnt")
    except OSError:
        return ""
    return f"{namespace}:{root.st_dev}:{root.st_ino}"


def _uptime_seconds() -> float:
    """Where that is not known, as long as can be: nothing was made before it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None:
        clock = getattr(time, "CLOCK_MONOTONIC_RAW", None)  # macOS counts it from the boot
    return time.clock_gettime(clock) if clock is not None else time.time()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    size = ctypes.c_size_t(64)
    value = ctypes.create_string_buffer(size.value)
    library = ctypes.CDLL(ctypes.util.find_library("c"))
    failed = library.sysctlbyname(name.encode(), value, ctypes.byref(size), None, 0)
    return "" if failed else value.value.decode()
