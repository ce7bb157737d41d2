"""The limits that no request may exceed, as they are configured."""

from __future__ import annotations

from dataclasses import fields

from ringfence.base.config import Settings
from ringfence.sandbox.job import Limits


def configured_maximum(settings: Settings) -> Limits | None:
    """None where nothing is configured. What is not configured is not bounded."""
    most = {f.name: getattr(settings, f"max_{f.name}") for f in fields(Limits)}
    if all(value is None for value in most.values()):
        return None
    return Limits.widest(**{name: value for name, value in most.items() if value is not None})
