"""StoreSuite: what the store must do on every database, as named tests that a database's test class inherits.

    @pytest.fixture
    def store_url() -> str: ...     # of a database that nobody has used yet

    class TestMine(StoreSuite): ...

The behaviours stand in one module per topic; add a test to the topic it belongs to.
"""

from __future__ import annotations

from ringfence.testing.store_filters import FilterBehaviours
from ringfence.testing.store_records import RecordBehaviours
from ringfence.testing.store_runs import RunBehaviours
from ringfence.testing.store_survival import SurvivalBehaviours
from ringfence.testing.store_writers import WriterBehaviours


class StoreSuite(RunBehaviours, FilterBehaviours, RecordBehaviours, WriterBehaviours, SurvivalBehaviours):
    pass
