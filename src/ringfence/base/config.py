"""Settings: every `RINGFENCE_*` variable, read in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import get_type_hints

from ringfence.base.errors import SettingsError

_PREFIX = "RINGFENCE_"
_LEAST_UID = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Each field is the environment variable RINGFENCE_<FIELD>; docs/settings.md says what each one means."""

    runtime_dir: Path | None = None
    home: Path | None = None
    database: str | None = None
    cgroup: Path | None = None
    uid_base: int = 0x70000000  # systemd leaves the ids from here to 2**31 to nobody
    park: int = 2
    image: str = "ringfence-guest"
    npu_image: str | None = None
    runtime: str | None = None
    max_running: int = 32
    max_wall_seconds: float | None = None
    max_cpu_seconds: float | None = None
    max_memory_mb: int | None = None
    max_cpus: float | None = None
    max_processes: int | None = None
    max_disk_mb: int | None = None
    max_output_bytes: int | None = None
    max_data_mb: int = 2048
    max_data_rows: int = 10_000_000
    model: str | None = None
    model_url: str | None = None
    model_key: str | None = field(default=None, repr=False)
    model_fallback: str | None = None
    model_seconds: float = 300.0
    model_retries: int = 4
    model_run_usd: float | None = None
    model_day_usd: float | None = None
    model_run_tokens: int | None = None
    model_day_tokens: int | None = None
    mcp_max_calls: int = 8
    mcp_max_waiting: int = 64
    mcp_max_sessions: int = 8
    mcp_session_seconds: float = 900.0
    mcp_artifacts_mb: int = 256
    mcp_artifacts_seconds: float = 3600.0
    mcp_max_clients: int = 256
    mcp_max_connections: int = 512
    mcp_address_connections: int = 128
    mcp_head_seconds: float = 10.0
    mcp_body_seconds: float = 30.0
    mcp_text_kb: int = 256
    mcp_answer_kb: int = 1024
    mcp_synthetic_rows: int = 200_000
    mcp_token: str | None = field(default=None, repr=False)
    mcp_hosts: str | None = None
    mcp_data_dir: Path | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        hints = get_type_hints(cls)
        given: dict[str, str | Path | int | float] = {}
        for f in fields(cls):
            text = environ.get(_PREFIX + f.name.upper())
            if text:
                given[f.name] = _parse(_PREFIX + f.name.upper(), text, hints[f.name])
        make: type = cls
        settings: Settings = make(**given)
        if settings.uid_base < _LEAST_UID:
            raise SettingsError(
                f"RINGFENCE_UID_BASE={settings.uid_base} is too low: ids below {_LEAST_UID} are people's"
            )
        if settings.max_running < 1:
            raise SettingsError("RINGFENCE_MAX_RUNNING=0 would let no job run: set it to 1 or more")
        for name in ("mcp_max_calls", "mcp_max_clients", "mcp_max_connections", "mcp_address_connections"):
            if getattr(settings, name) < 1:
                raise SettingsError(f"{_PREFIX}{name.upper()}=0 would let nobody call: set it to 1 or more")
        return settings

    def home_dir(self, environ: Mapping[str, str]) -> Path:
        """Where bars and results are kept: RINGFENCE_HOME, else the place the desktop's convention gives."""
        if self.home is not None:
            return self.home
        base = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".local" / "share")
        return Path(base) / "ringfence"

    def database_url(self, environ: Mapping[str, str]) -> str:
        return self.database or f"sqlite:///{self.home_dir(environ) / 'ringfence.db'}"


def _parse(name: str, text: str, hint: object) -> str | Path | int | float:
    wanted = str(hint)
    if "Path" in wanted:
        return Path(text)
    if "str" in wanted:
        return text
    kind = float if "float" in wanted else int
    try:
        value: int | float = kind(text)
    except ValueError:
        raise SettingsError(f"{name}={text!r} is not a number: correct it or unset it") from None
    if value < 0:
        raise SettingsError(f"{name}={text!r} is negative: correct it or unset it")
    return value
