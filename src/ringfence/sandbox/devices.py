"""Which device a Job had: asked of a Job of our own, so that no program can answer for itself.

`auto` and `cpu` are answered without a look and cost nothing. The first Job that asks for a GPU or an NPU has a probe
run before it, behind the same fence but in a jail of its own, and what that found is kept for as long as the sandbox.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace

from ringfence.guest.devices import USABLE
from ringfence.sandbox.job import Device, Job, Json, Limits
from ringfence.sandbox.outcome import DeviceReport, Outcome

# What of the probe's answers is a device of that kind.
_KINDS: Mapping[Device, tuple[str, ...]] = {"gpu": ("cuda", "metal"), "npu": ("npu",)}
_ASKED: Mapping[Device, str] = {"gpu": "a GPU", "npu": "an NPU"}
_CODE = "from ringfence.guest import devices\nresult = devices.probe()\n"
_LIMITS = Limits(wall_seconds=10, cpu_seconds=10)
_MOST_FOUND, _LONGEST_NAME, _LONGEST_TEXT = 16, 32, 400
_MACOS = "on macOS a container cannot reach the Neural Engine of Apple Silicon, nor Metal"


class Devices:
    """What one sandbox can offer. Safe from many threads.

    `run` runs a Job behind that sandbox's fence; it is called within `report`, so a backend must not hold one of its
    places for running Jobs while it asks. `why` is what the backend knows of why there may be none, after "because".
    """

    def __init__(
        self, run: Callable[[Job], Outcome], backend: str, *, maximum: Limits | None = None, why: str | None = None
    ) -> None:
        self._run, self._backend, self._maximum, self._why = run, backend, maximum, why
        self._lock = threading.Lock()
        self._found: Mapping[str, str] = {}

    def report(self, requested: Device) -> DeviceReport:
        if requested not in _KINDS:
            return DeviceReport(requested=requested)
        with self._lock:
            if not self._found:
                outcome = self._run(probe_job(self._maximum))
                self._found = read_found(outcome.result) if outcome.ok else {}
                if not self._found:  # not kept: what stopped it may be gone when the next Job asks
                    ended = f"the probe of its devices ended with {outcome.status} ({outcome.reason})"
                    return report(requested, {}, backend=self._backend, notice=ended)
        return report(requested, self._found, backend=self._backend, notice=self._why)


def report(
    requested: Device,
    found: Mapping[str, str],
    *,
    backend: str,
    notice: str | None = None,
    host: str | None = None,
) -> DeviceReport:
    """The truth for one Job. `notice` is why there may be no device, said when there is none.

    `host` is the operating system that the sandbox runs on, as `platform.system()` has it.
    """
    if requested == "auto" or requested == "cpu":
        return DeviceReport(requested=requested)
    if any(found.get(name, "").startswith(USABLE) for name in _KINDS[requested]):
        return DeviceReport(requested=requested, used=requested, found=dict(found))
    said = f"asked for {_ASKED[requested]}, ran on the CPU: the {backend} sandbox showed none"
    said += f", because {notice}" if notice else ""
    said += f"; {_MACOS}" if (host or platform.system()) == "Darwin" else ""
    if found:
        said += "; found " + ", ".join(f"{name} ({text})" for name, text in found.items())
    return DeviceReport(requested=requested, notice=said, found=dict(found))


def probe_job(maximum: Limits | None = None) -> Job:
    """The Job that looks, with modest limits that stay within `maximum`."""
    bounds = {f.name: getattr(maximum, f.name, None) for f in fields(Limits)}
    lower = {name: most for name, most in bounds.items() if most is not None and most < getattr(_LIMITS, name)}
    return Job(code=_CODE, name="devices.py", limits=replace(_LIMITS, **lower))


def read_found(answer: Json) -> Mapping[str, str]:
    """What of the probe's answer is as it should be: it comes out of a jail, and goes to terminals and pages."""
    if not isinstance(answer, Mapping):
        return {}
    pairs = [(k, v) for k, v in answer.items() if isinstance(v, str) and k.isidentifier() and len(k) <= _LONGEST_NAME]
    return {name: _clean(text) for name, text in pairs[:_MOST_FOUND]}


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:_LONGEST_TEXT])
