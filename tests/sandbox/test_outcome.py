"""The JSON form of an Outcome is strict, complete and in the order of the spec; the fake gives real Outcomes."""

from __future__ import annotations

import json
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from ringfence.base.errors import MountError, SandboxError
from ringfence.sandbox import Sandbox, Session, Stream
from ringfence.sandbox.job import Cancel, Job, Json, Limits, Mount
from ringfence.sandbox.outcome import Artifact, Failure, Outcome, RejectedArtifact, Status, Truncated, Usage
from ringfence.testing import FakeSandbox, outcome
from ringfence.testing.sandbox_outcomes import NESTED_KEYS, OUTCOME_KEYS

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


def full() -> Outcome:
    """An Outcome with something in every field."""
    return replace(
        outcome(status="error", stdout="out", stderr="err", result={"a": [1, None]}),
        error=Failure(type="ValueError", message="bad", line=3, traceback="Traceback ..."),
        artifacts=(Artifact(name="a.csv", bytes=3, sha256="00", mime="text/csv", data=b"a,b"),),
        rejected_artifacts=(RejectedArtifact("link", "it is a link"),),
        truncated=Truncated(stdout=True),
        usage=Usage(wall_ms=1.5, cpu_ms=0.5, peak_memory_bytes=1, processes=2, output_bytes=6),
        limits=Limits(cpu_seconds=2.5),
    )


class TestJsonForm:
    def test_it_has_the_keys_of_the_spec_in_order(self) -> None:
        form = full().to_json()
        assert list(form) == OUTCOME_KEYS == [f.name for f in fields(Outcome)]
        for name, keys in NESTED_KEYS.items():
            nested = form[name]
            assert isinstance(nested, dict)
            assert set(nested) == keys

    def test_values_are_plain(self) -> None:
        form = full().to_json()
        assert form["error"] == {"type": "ValueError", "message": "bad", "line": 3, "traceback": "Traceback ..."}
        assert form["rejected_artifacts"] == [{"name": "link", "reason": "it is a link"}]
        assert form["truncated"] == {"stdout": True, "stderr": False, "artifacts": False}
        assert (form["result"], form["status"]) == ({"a": [1, None]}, "error")
        assert json.loads(json.dumps(form, allow_nan=False)) == form

    def test_bytes_of_artifacts_are_left_out(self) -> None:
        assert full().to_json()["artifacts"] == [
            {"name": "a.csv", "bytes": 3, "sha256": "00", "mime": "text/csv", "path": None}
        ]
        assert b"a,b" not in repr(full()).encode()

    def test_the_form_does_not_share_anything_with_the_outcome(self) -> None:
        original = full()
        form = original.to_json()
        assert isinstance(form["result"], dict)
        form["result"]["a"] = 0
        assert original.result == {"a": [1, None]}

    def test_a_result_may_hold_the_key_that_artifacts_leave_out(self) -> None:
        table: Json = {"columns": ["c"], "index": [0], "data": [[1]]}
        assert outcome(result=table).to_json()["result"] == table

    def test_what_is_no_json_is_refused(self) -> None:
        with pytest.raises(TypeError, match="bytes"):
            replace(outcome(), result=b"raw").to_json()

    @given(_JSON)
    def test_any_result_comes_back_equal(self, value: Json) -> None:
        form = outcome(result=value).to_json()
        assert json.loads(json.dumps(form, allow_nan=False))["result"] == value

    @given(st.sampled_from(get_args(Status)), st.text(), st.text())
    def test_any_text_is_carried(self, status: Status, stdout: str, reason: str) -> None:
        form = json.loads(json.dumps(outcome(status=status, stdout=stdout, reason=reason).to_json(), allow_nan=False))
        assert (form["status"], form["stdout"], form["reason"]) == (status, stdout, reason)

    def test_only_ok_is_ok(self) -> None:
        assert [status for status in get_args(Status) if outcome(status=status).ok] == ["ok"]


class TestFakeSandbox:
    def test_it_answers_in_order_and_remembers_the_jobs(self) -> None:
        sandbox: Sandbox = FakeSandbox([outcome(result=1), outcome(status="timeout", stdout="so far")])
        first = sandbox.run(Job(code="one", limits=Limits(wall_seconds=5), device="cpu"))
        second = sandbox.run(Job(code="two"))
        assert (first.result, first.limits.wall_seconds, first.device.requested) == (1, 5, "cpu")
        assert (second.status, second.stdout, second.exit_code) == ("timeout", "so far", None)
        assert first.run_id != second.run_id
        assert isinstance(sandbox, FakeSandbox)
        assert [job.code for job in sandbox.jobs] == ["one", "two"]

    def test_it_may_answer_with_a_function_of_the_job(self) -> None:
        sandbox = FakeSandbox(lambda job: outcome(result=job.inputs["x"]))
        assert [sandbox.run(Job(code="", inputs={"x": x})).result for x in (1, 2)] == [1, 2]

    def test_a_run_without_a_script_says_so(self) -> None:
        with pytest.raises(SandboxError, match="script one for each run"):
            FakeSandbox([]).run(Job(code=""))

    def test_output_is_handed_over(self) -> None:
        chunks: list[tuple[Stream, bytes]] = []
        sandbox = FakeSandbox([outcome(stdout="out", stderr="err")])
        sandbox.run(Job(code=""), on_output=lambda stream, chunk: chunks.append((stream, chunk)))
        assert chunks == [("stdout", b"out"), ("stderr", b"err")]

    def test_a_cancelled_run_takes_nothing_from_the_script(self) -> None:
        sandbox, cancel = FakeSandbox([outcome(result=1)]), Cancel()
        cancel.set()
        assert sandbox.run(Job(code=""), cancel=cancel).status == "cancelled"
        assert sandbox.run(Job(code="")).result == 1
        cancel.close()

    def test_a_missing_mount_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(MountError):
            FakeSandbox([outcome()]).run(Job(code="", mounts=[Mount(tmp_path / "nowhere", "/data")]))

    def test_a_closed_one_refuses(self) -> None:
        with FakeSandbox([outcome()]) as sandbox:
            pass
        sandbox.close()
        with pytest.raises(SandboxError, match="closed"):
            sandbox.run(Job(code=""))

    def test_many_threads_share_the_script(self) -> None:
        sandbox = FakeSandbox(outcome(result=i) for i in range(50))
        results: list[Json] = []
        threads = [threading.Thread(target=lambda: results.append(sandbox.run(Job(code="")).result)) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(str(r) for r in results) == sorted(str(i) for i in range(50))

    def test_a_session_takes_from_the_script_and_ends_with_a_kill(self) -> None:
        sandbox = FakeSandbox([outcome(result=1), outcome(status="memory_limit")])
        session: Session
        with sandbox.open_session(limits=Limits(memory_mb=64)) as session:
            assert session.run("1").result == 1
            assert session.alive
            assert session.run("x").limits.memory_mb == 64
            assert not session.alive
            with pytest.raises(SandboxError, match="open a new one"):
                session.run("y")
        session.close()
