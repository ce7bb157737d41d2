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
from ringfence.testing.suite import Suite


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
    Suite,
):
    """Every behaviour of a backend; see the top of this module."""
