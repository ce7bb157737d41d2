"""SandboxSuite: what every sandbox must do, as named tests that a backend's test class inherits.

    @pytest.fixture(scope="module")
    def sandbox() -> Iterator[Sandbox]:
        with open_sandbox("mine") as sandbox:
            yield sandbox

    class TestMine(SandboxSuite):
        known_gaps = {"test_numba_compiles": "the image has no numba"}

A behaviour the backend cannot have is declared in `known_gaps` with its reason. Its test still runs and is
reported as an expected failure; when it begins to pass, it fails, so that no gap outlives its reason.
The behaviours stand in one module per topic; add a test to the topic it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from ringfence.testing.sandbox_artifacts import ArtifactBehaviours
from ringfence.testing.sandbox_errors import EndingBehaviours, ErrorBehaviours
from ringfence.testing.sandbox_inputs import InputBehaviours, MountBehaviours, SeedBehaviours
from ringfence.testing.sandbox_libraries import LibraryBehaviours
from ringfence.testing.sandbox_limits import LimitBehaviours
from ringfence.testing.sandbox_outcomes import OutcomeBehaviours
from ringfence.testing.sandbox_privacy import PrivacyBehaviours
from ringfence.testing.sandbox_results import ResultBehaviours
from ringfence.testing.sandbox_sessions import SessionBehaviours
from ringfence.testing.sandbox_streams import StreamBehaviours
from ringfence.testing.sandbox_threads import ThreadBehaviours


class SandboxSuite(
    ResultBehaviours,
    StreamBehaviours,
    ErrorBehaviours,
    EndingBehaviours,
    LimitBehaviours,
    ThreadBehaviours,
    OutcomeBehaviours,
    InputBehaviours,
    MountBehaviours,
    SeedBehaviours,
    ArtifactBehaviours,
    LibraryBehaviours,
    PrivacyBehaviours,
    SessionBehaviours,
):
    known_gaps: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture(autouse=True)
    def _declared_gap(self, request: pytest.FixtureRequest) -> None:
        name = getattr(request.node, "originalname", None) or request.node.name
        if name in self.known_gaps:
            request.node.add_marker(pytest.mark.xfail(reason=self.known_gaps[name], strict=True))

    def test_known_gaps_name_real_behaviours_and_give_reasons(self) -> None:
        unknown = [name for name in self.known_gaps if not callable(getattr(self, name, None))]
        assert not unknown, "known_gaps names tests that the suite does not have"
        assert all(reason.strip() for reason in self.known_gaps.values())
