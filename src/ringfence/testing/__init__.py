"""What we ship for people who build on us: conformance suites for backends, and fakes for their users.

    from ringfence.testing import SandboxSuite      # needs pytest
    from ringfence.testing import FakeSandbox       # needs nothing

The names are fetched when first used, so that a fake never needs pytest, and so that the suites' modules
are announced to pytest before they are loaded: otherwise a failing assert would not show its values.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringfence.testing.agent import AgentCase as AgentCase, AgentSuite as AgentSuite
    from ringfence.testing.broker import BrokerSuite as BrokerSuite
    from ringfence.testing.evaluator import EvaluatorSuite as EvaluatorSuite
    from ringfence.testing.fake import FakeSandbox as FakeSandbox, FakeSession as FakeSession, outcome as outcome
    from ringfence.testing.sandbox import SandboxSuite as SandboxSuite
    from ringfence.testing.source import SourceCase as SourceCase, SourceSuite as SourceSuite
    from ringfence.testing.store import StoreSuite as StoreSuite

_HOMES = {
    "AgentSuite": "ringfence.testing.agent",
    "AgentCase": "ringfence.testing.agent",
    "EvaluatorSuite": "ringfence.testing.evaluator",
    "SandboxSuite": "ringfence.testing.sandbox",
    "BrokerSuite": "ringfence.testing.broker",
    "SourceSuite": "ringfence.testing.source",
    "SourceCase": "ringfence.testing.source",
    "StoreSuite": "ringfence.testing.store",
    "FakeSandbox": "ringfence.testing.fake",
    "FakeSession": "ringfence.testing.fake",
    "outcome": "ringfence.testing.fake",
}

_SUITES = (
    "ringfence.testing.agent",
    "ringfence.testing.broker",
    "ringfence.testing.broker_desk",
    "ringfence.testing.broker_orders",
    "ringfence.testing.broker_guards",
    "ringfence.testing.broker_refusals",
    "ringfence.testing.broker_costs",
    "ringfence.testing.broker_accounts",
    "ringfence.testing.evaluator",
    "ringfence.testing.jobs",
    "ringfence.testing.sandbox",
    "ringfence.testing.sandbox_artifacts",
    "ringfence.testing.sandbox_errors",
    "ringfence.testing.sandbox_inputs",
    "ringfence.testing.sandbox_libraries",
    "ringfence.testing.sandbox_limits",
    "ringfence.testing.sandbox_outcomes",
    "ringfence.testing.sandbox_privacy",
    "ringfence.testing.sandbox_results",
    "ringfence.testing.sandbox_sessions",
    "ringfence.testing.sandbox_streams",
    "ringfence.testing.sandbox_threads",
    "ringfence.testing.source",
    "ringfence.testing.store",
    "ringfence.testing.store_base",
    "ringfence.testing.store_filters",
    "ringfence.testing.store_records",
    "ringfence.testing.store_runs",
    "ringfence.testing.store_survival",
    "ringfence.testing.store_writers",
)

__all__ = [
    "AgentCase",
    "AgentSuite",
    "BrokerSuite",
    "EvaluatorSuite",
    "FakeSandbox",
    "FakeSession",
    "SandboxSuite",
    "SourceCase",
    "SourceSuite",
    "StoreSuite",
    "outcome",
]


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'ringfence.testing' has no attribute {name!r}") from None
    if home in _SUITES:
        import pytest

        # What a test has imported by its own name is past that, and pytest would complain.
        pytest.register_assert_rewrite(*(name for name in _SUITES if name not in sys.modules))
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
