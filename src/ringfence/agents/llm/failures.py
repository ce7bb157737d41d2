"""What the library raises, sorted: worth another try, not allowed in this form, or over."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ringfence.agents.llm.config import Target
from ringfence.agents.llm.providers import key_name
from ringfence.base.errors import AgentError

_SHOWN = 240  # characters of a server's words in a message of ours
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class Rejected(Exception):
    """The server does not take such a request, and would not take it a second time either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    what: str  # in our words, without a remedy
    again: bool  # it may work later
    remedy: str
    retry_after: float | None = None
    rejected: bool = False  # the form of the request was the matter

    def error(self, target: Target) -> AgentError:
        return AgentError(f"{target} {self.what}: {self.remedy}")


def read_failure(error: Exception, target: Target) -> Failure:
    from pydantic_ai import exceptions as theirs

    said = _said(error, target)
    status = error.status_code if isinstance(error, theirs.ModelHTTPError) else None
    told = f"HTTP {status}: {said}" if status else said
    asked = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
    match error:
        case theirs.ModelAuthenticationError():
            return Failure(what=f"refused our key ({told})", again=False, remedy=f"check {key_name(target)}")
        case theirs.ModelQuotaExceededError():
            return Failure(
                what=f"has no quota left for us ({told})", again=False, remedy="look at the account's limits"
            )
        case theirs.ModelNotFoundError():
            return Failure(what=f"is not there ({told})", again=False, remedy="check the model's name and the URL")
        case theirs.ModelContextWindowExceededError():
            return Failure(
                what=f"cannot take so long a brief ({told})",
                again=False,
                remedy="shorten the idea, or choose a model with a longer context",
            )
        case theirs.ModelRequestTimeout():
            return Failure(
                what=f"did not answer within the {error.timeout:.3g} s that were left",
                again=False,
                remedy="raise RINGFENCE_MODEL_SECONDS, or choose a faster model",
            )
    later = "try again later, or set RINGFENCE_MODEL_FALLBACK to another model"
    if isinstance(error, theirs.ModelRateLimitError):
        return Failure(what=f"asks us to slow down ({told})", again=True, remedy=later, retry_after=asked)
    if status in _AGAIN or isinstance(error, theirs.ModelUnavailableError | theirs.ModelServerError):
        return Failure(what=f"has trouble of its own ({told})", again=True, remedy=later, retry_after=asked)
    if isinstance(error, theirs.ModelConnectionError):
        return Failure(what=f"cannot be reached ({told})", again=True, remedy="check the network and the URL")
    if status is None and not isinstance(error, theirs.ModelRequestRejectedError):
        remedy = "check that the URL is that of a model server; OpenAI-compatible ones end in /v1"
        return Failure(what=f"sent what is no answer of a model ({told})", again=True, remedy=remedy)
    remedy = "check the model's name and the options"
    return Failure(what=f"does not take the request ({told})", again=False, remedy=remedy, rejected=True)


def wait_seconds(failure: Failure, attempt: int, rng: random.Random) -> float:
    """As long as the server asks for; else twice as long each time, a little uneven, so that callers do not march."""
    if failure.retry_after is not None:
        return failure.retry_after
    return float(min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt) * (0.75 + rng.random() / 2))


def _said(error: Exception, target: Target) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    text = inner.get("message") if isinstance(inner, dict) else inner
    plain = " ".join(str(text or error).split())
    if target.key:
        plain = plain.replace(target.key, "[key]")
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
