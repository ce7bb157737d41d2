"""Which model is asked, where, and within which bounds: from the options of the spec and the environment.

Keys come from the environment alone, because a spec may be written by somebody who must not have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.agents.llm.budget import Limits
from ringfence.base.config import Settings
from ringfence.base.errors import AgentError, SettingsError

_OPTIONS = (
    "model", "target", "url", "fallback", "seconds", "retries", "continuations", "temperature", "seed", "stream",
    "run_usd", "day_usd", "run_tokens", "day_tokens",
)  # fmt: skip
_MOST = 1e9
# The variable in which each provider's key is usually kept; the library knows more providers than these.
KEYS: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
}
UNCONFIGURED = (
    "no model is configured. Without one, `ringfence research --author rules`, `chat`, `simulate`, `indicator`, "
    "`backtest`, `batch`, `check` and `run` work offline. To ask a model, set "
    "RINGFENCE_MODEL and its provider's key (RINGFENCE_MODEL="
    "anthropic:NAME with ANTHROPIC_API_KEY, openai:NAME with OPENAI_API_KEY), or name a server of your own: "
    "RINGFENCE_MODEL_URL=http://localhost:11434/v1 RINGFENCE_MODEL=NAME"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A model as `provider:name`; with `url`, a name at that server."""

    model: str
    url: str | None = None
    key: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.model} at {self.url}" if self.url else self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmConfig:
    targets: tuple[Target, ...]  # the first that can be had answers
    ledger_dir: Path
    limits: Limits = field(default_factory=Limits)
    seconds: float = 300.0  # for one answer of one model, with its retries and continuations
    retries: int = 4
    continuations: int = 3
    temperature: float | None = None
    seed: int | None = None
    stream: bool = False


def read_config(options: Mapping[str, str], environ: Mapping[str, str]) -> LlmConfig:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        remedy = f"use one of {', '.join(_OPTIONS)}"
        if "key" in unknown[0]:
            remedy = "set RINGFENCE_MODEL_KEY in the environment"
        raise SettingsError(f"llm has no option {unknown[0]!r}: {remedy}")
    settings = Settings.from_env(environ)
    model = options.get("model") or options.get("target") or settings.model
    if not model:
        raise AgentError(UNCONFIGURED)
    url = options.get("url") or settings.model_url
    targets = [Target(model=model, url=_url(url), key=settings.model_key)]
    fallback = options.get("fallback") or settings.model_fallback
    if fallback:
        targets.append(_fallback(fallback, targets[0]))
    return LlmConfig(
        targets=tuple(targets),
        ledger_dir=settings.home_dir(environ) / "models",
        limits=Limits(
            run_usd=_number(options, "run_usd", settings.model_run_usd),
            day_usd=_number(options, "day_usd", settings.model_day_usd),
            run_tokens=_whole(options, "run_tokens", settings.model_run_tokens),
            day_tokens=_whole(options, "day_tokens", settings.model_day_tokens),
        ),
        seconds=_number(options, "seconds", settings.model_seconds) or 300.0,
        retries=_whole(options, "retries", settings.model_retries) or 0,
        continuations=_whole(options, "continuations", 3) or 0,
        temperature=_number(options, "temperature", None),
        seed=_whole(options, "seed", None),
        stream=_yes(options, "stream"),
    )


def _fallback(model: str, first: Target) -> Target:
    """A model at its provider, with the provider's own key; a bare name is another model at the first one's server."""
    provider, colon, _ = model.partition(":")
    if colon and (provider in KEYS or not first.url):
        return Target(model=model)
    return Target(model=model, url=first.url, key=first.key)


def _url(text: str | None) -> str | None:
    if text and not text.startswith(("http://", "https://")):
        raise SettingsError(f"the model's URL {text!r} does not begin with http:// or https://: correct it")
    return text or None


def _number(options: Mapping[str, str], name: str, otherwise: float | None) -> float | None:
    if name not in options:
        return otherwise
    try:
        value = float(options[name])
    except ValueError:
        value = -1.0
    if not 0 <= value <= _MOST:
        raise SettingsError(f"{name}={options[name]} is no number from 0 to {_MOST:g}: correct it")
    return value


def _whole(options: Mapping[str, str], name: str, otherwise: int | None) -> int | None:
    value = _number(options, name, otherwise)
    if value is not None and value != int(value):
        raise SettingsError(f"{name}={options[name]} is no whole number: correct it")
    return None if value is None else int(value)


def _yes(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "no")
    if text not in ("yes", "no"):
        raise SettingsError(f"{name}={text} is unknown: use yes or no")
    return text == "yes"
