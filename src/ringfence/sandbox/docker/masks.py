"""What every engine shows in a container and no job has a use for: the host's hardware, its names, and terminals.

A masked file reads as empty, a masked folder is an empty one. A list of one's own replaces the engine's, so its own
entries stand here too. Of /sys the control groups stay, which the keeper reads.
"""

from __future__ import annotations

_ENGINE = (
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap",
    "/sys/firmware",
)  # fmt: skip
# The resolver's address is the host's own, though there is no network to reach it by; the other names the machine.
_NAMES = ("/etc/resolv.conf", "/proc/sys/kernel/random/boot_id")
_DEVICES = ("/dev/console", "/dev/mqueue", "/dev/pts", "/dev/tty")
_HARDWARE = tuple(
    f"/sys/{name}" for name in ("block", "bus", "class", "dev", "devices", "hypervisor", "kernel", "module", "power")
)


def masked_paths(*, gpus: bool) -> list[str]:
    """A GPU's driver looks for it below /sys."""
    return [*_ENGINE, *_NAMES, *_DEVICES, *(() if gpus else _HARDWARE)]
