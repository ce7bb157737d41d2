"""From the name of a model to the library's object for it. The library costs seconds to import, so nothing here does
until it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ringfence.agents.llm.config import KEYS, Target
from ringfence.base.errors import AgentError

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

# Said before a name, these mean "the name at that URL"; names such as `llama3:8b` have colons of their own.
_CHAT = ("openai", "openai-chat", "ollama", "vllm", "litellm")


def key_name(target: Target) -> str:
    """The variable that holds the key for it, as a remedy names it."""
    own = KEYS.get(target.model.partition(":")[0])
    return "RINGFENCE_MODEL_KEY" if target.url or own is None else f"{own} or RINGFENCE_MODEL_KEY"


def open_model(target: Target) -> Model:
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as e:
        raise AgentError("the llm author needs pydantic-ai: pip install 'ringfence[llm]', or use --author rules") from e
    try:
        return _at_url(target, target.url) if target.url else infer_model(target.model, _factory(target.key))
    except ImportError as e:
        raise AgentError(f"{target} needs a library that is not installed ({_first(e)}): install it") from e
    except (UserError, ValueError) as e:
        raise AgentError(
            f"{target} cannot be asked ({_first(e)}): name it as provider:model and set {key_name(target)}, "
            "or give RINGFENCE_MODEL_URL"
        ) from e


def _at_url(target: Target, url: str) -> Model:
    provider, colon, name = target.model.partition(":")
    if colon and provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        # Not the variable's key: it belongs to the provider, and this is somebody else's server.
        return AnthropicModel(name, provider=AnthropicProvider(base_url=url, api_key=target.key or "none"))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    plain = name if colon and provider in _CHAT else target.model
    # The key is never OPENAI_API_KEY, for the same reason.
    server = OpenAICompatibleProvider("openai-compatible", base_url=url, api_key=target.key or "none")
    return OpenAIChatModel(plain, provider=server)


def _factory(key: str | None) -> Any:
    """How the library makes a provider: with our key where there is one, else with the provider's own variable."""
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if key is None:
        return infer_provider

    def make(name: str) -> Provider[Any]:
        with_key: Any = infer_provider_class(name)
        provider: Provider[Any] = with_key(api_key=key)
        return provider

    return make


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")[:200]
