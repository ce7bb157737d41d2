"""What a program can reach beside the CPU, looked for from inside the fence.

Each answer is a short text. One that begins with `USABLE` names a device that answered; everything else says why there
is none. Only what is installed is imported, and only MLX, which is light: CUDA is asked through the driver's own
library, because that is what every framework needs in the end, and coremltools is never loaded, because its models run
on macOS only, where no fence of ours is.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib
import importlib.util
import os
import stat
from collections.abc import Callable, Mapping

USABLE = "usable: "
NOT_INSTALLED = "not installed"
NO_DEVICE = "no device"

_CUDA = "libcuda.so.1"  # it comes with the driver, and into a container only when a GPU is passed in
# Linux's accelerator class, Ascend, Coral. The last two also have nodes for their managers, which compute nothing.
_NPU_NODES = ("accel/accel[0-9]*", "accel[0-9]*", "davinci[0-9]*", "apex_[0-9]*")
_MOST_NAMED = 8
_NAME_BYTES = 96
# What a library that is broken, or that the jail's limits stop, raises at import or at its first call.
_FAILURES = (ImportError, OSError, RuntimeError, ValueError, AttributeError, TypeError)


def probe(dev: str = "/dev") -> dict[str, str]:
    """What is there, by name; never raises for what is missing or broken."""
    looks: Mapping[str, Callable[[], str]] = {
        "mlx": _mlx,
        "metal": _metal,
        "coreml": _coreml,
        "cuda": _cuda,
        "npu": functools.partial(_npu, dev),
    }
    return {name: _attempt(look) for name, look in looks.items()}


def _attempt(look: Callable[[], str]) -> str:
    try:
        return look()
    except _FAILURES as e:
        return f"there, but it fails: {type(e).__name__}: {e}"


def _mlx() -> str:
    if importlib.util.find_spec("mlx") is None:
        return NOT_INSTALLED
    mlx = importlib.import_module("mlx.core")
    kind = str(mlx.default_device().type).rpartition(".")[2]  # DeviceType.cpu
    return f"{mlx.__version__}, default device {kind}"


def _metal() -> str:
    if os.uname().sysname != "Darwin":
        return f"{NO_DEVICE}: Metal is a part of macOS"
    if importlib.util.find_spec("mlx") is None:
        return "unknown: it is asked through MLX, which is not installed"
    return f"{USABLE}Metal" if importlib.import_module("mlx.core").metal.is_available() else NO_DEVICE


def _coreml() -> str:
    if importlib.util.find_spec("coremltools") is None:
        return NOT_INSTALLED
    return "coremltools is installed, and runs its models on macOS only"


def _cuda() -> str:
    try:
        driver = ctypes.CDLL(_CUDA)
    except OSError:
        return f"{NO_DEVICE}: no driver library {_CUDA}"
    code = driver.cuInit(0)
    if code != 0:
        return f"{NO_DEVICE}: the driver is there, and cuInit answered {code}"
    count = ctypes.c_int(0)
    code = driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0 or count.value < 1:
        return f"{NO_DEVICE}: the driver is there, and cuDeviceGetCount answered {code} and {count.value}"
    names = ", ".join(_cuda_name(driver, n) for n in range(min(count.value, _MOST_NAMED)))
    return f"{USABLE}{count.value} by CUDA: {names}"


def _cuda_name(driver: ctypes.CDLL, ordinal: int) -> str:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(_NAME_BYTES)
    if driver.cuDeviceGet(ctypes.byref(device), ordinal) or driver.cuDeviceGetName(name, _NAME_BYTES, device):
        return "unnamed"
    return name.value.decode("utf-8", "replace")


def _npu(dev: str) -> str:
    paths = sorted({path for pattern in _NPU_NODES for path in glob.glob(os.path.join(dev, pattern))})
    nodes = [path for path in paths if os.path.exists(path) and stat.S_ISCHR(os.stat(path).st_mode)][:_MOST_NAMED]
    refused = {path: why for path in nodes if (why := _refusal(path))}
    opened = [path for path in nodes if path not in refused]
    if opened:
        return USABLE + ", ".join(opened)
    if refused:
        return f"{NO_DEVICE} that opens: " + ", ".join(f"{path} ({why})" for path, why in refused.items())
    return NO_DEVICE


def _refusal(path: str) -> str | None:
    """Why the node cannot be opened. It is tried, because Landlock and device groups refuse what access(2) allows."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as e:
        return e.strerror
    return None
