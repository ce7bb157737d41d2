"""Many files on few threads: each has its result, recorded before it is told; what goes wrong stays where it is."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringfence.base.errors import MountError, SandboxError, StoreError
from ringfence.sandbox import OnOutput
from ringfence.sandbox.job import Cancel, Job, Mount
from ringfence.sandbox.outcome import Failure, Outcome
from ringfence.store import Store, open_store
from ringfence.testing.fake import FakeSandbox, look_at, outcome
from ringfence.verbs.batch import Conditions, FileResult, Work, run_batch
from ringfence.verbs.batch.summary import Tally, kind_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCRIPT = "from backtesting import Strategy\nclass S(Strategy):\n    def init(self): pass\n    def next(self): pass\n"
NATIVE = "from ringfence import Strategy\nclass S(Strategy):\n    def next(self): self.buy()\n"
TIMED_OUT = outcome(status="timeout", reason="stopped after 1 s of wall time")

Faults = list[tuple[str, BaseException]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/results.db") as store:
        yield store


@pytest.fixture
def cancel() -> Iterator[Cancel]:
    cancel = Cancel()
    yield cancel
    cancel.close()


class Threaded(FakeSandbox):
    """Answers without its lock, so that one answer may take its time while others are given."""

    def __init__(self, answer: Callable[[Job], Outcome]) -> None:
        super().__init__(answer)
        self._respond = answer

    def run(self, job: Job, *, on_output: OnOutput | None = None, cancel: Cancel | None = None) -> Outcome:
        if job.driver == "text":
            return look_at(job)
        self.jobs.append(job)
        return self._respond(job)


def make_files(folder: Path, count: int, text: str = SCRIPT) -> list[Path]:
    paths = [folder / f"s{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"{text}# {number}\n")
    return paths


def make_work(
    store: Store, cancel: Cancel, sandbox: FakeSandbox, *, resume: bool = False, conditions: Conditions | None = None
) -> Work:
    conditions = conditions or Conditions()
    spec = conditions.spec(places=["/x"], sandbox="fake", version="1")
    batch = store.begin_batch(spec, resume=resume, now=NOON)
    done = store.done_files(batch) if batch.resumed else {}
    return Work(
        conditions=conditions, sandbox=sandbox, store=store, batch=batch, done=done, cancel=cancel, now=lambda: NOON
    )


def refuse_faults(file: str, error: BaseException) -> None:
    raise AssertionError(f"{file}: {error}")


def test_every_file_has_a_result_that_was_recorded_before_it_was_told(
    store: Store, cancel: Cancel, tmp_path: Path
) -> None:
    work = make_work(store, cancel, FakeSandbox(lambda job: TIMED_OUT))
    paths = make_files(tmp_path, 9)
    told = []
    for result in run_batch(paths, work, jobs=3, on_fault=refuse_faults):
        assert store.done_files(work.batch)[result.file].line == result.to_json()
        assert result.run_id is not None and store.get_run(result.run_id).record.verdict == "timeout"
        told.append(result)
    assert {result.file for result in told} == {str(path) for path in paths}
    assert {(r.verdict, r.reason, r.wall_ms, r.resumed) for r in told} == {("timeout", TIMED_OUT.reason, 1.0, False)}


def test_what_holds_no_strategy_is_told_and_not_run(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    sandbox = FakeSandbox([])
    texts = {
        "empty": "",
        "prose": "Buy low, sell high.",
        "cut": SCRIPT + "    def more(self):\n        return self.data.",
        "native": NATIVE,
        "cookie": f"# -*- coding: latin-1 -*-\n{SCRIPT}",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    paths = [*(tmp_path / f"{name}.py" for name in texts), tmp_path / "gone.py"]
    work = make_work(store, cancel, sandbox)
    found = {Path(r.file).stem: r for r in run_batch(paths, work, jobs=2, on_fault=refuse_faults)}
    assert {name: r.verdict for name, r in found.items()} == {
        "empty": "not_a_strategy",
        "prose": "not_a_strategy",
        "cut": "truncated",
        "native": "needs_data",
        "cookie": "failed",
        "gone": "failed",
    }
    assert found["cut"].line == 6 and "--data" in found["native"].reason
    assert all(r.run_id is None and r.wall_ms == 0 for r in found.values())
    assert not sandbox.jobs and len(store.done_files(work.batch)) == len(texts) + 1


def test_a_line_counts_in_the_file_as_it_was_given(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(f"Here it is:\n\n```python\n{SCRIPT}```\n")
    error = Failure(type="KeyError", message="'Funding'", line=3, traceback="")
    sandbox = FakeSandbox(lambda job: outcome(status="error", error=error))
    work = make_work(store, cancel, sandbox, conditions=Conditions(heal=False))
    (result,) = run_batch([tmp_path / "reply.md"], work, jobs=1, on_fault=refuse_faults)
    assert (result.line, result.reason) == (6, "KeyError: 'Funding' at line 6")


def test_one_slow_file_does_not_hold_the_others(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    go_on = threading.Event()

    def answer(job: Job) -> Outcome:
        if job.name == "s0.py":
            assert go_on.wait(60)
        return TIMED_OUT

    work = make_work(store, cancel, Threaded(answer))
    results = run_batch(make_files(tmp_path, 12), work, jobs=2, on_fault=refuse_faults)
    others = [Path(next(results).file).stem for _ in range(11)]
    assert sorted(others) == sorted(f"s{n}" for n in range(1, 12))
    go_on.set()
    assert [Path(result.file).stem for result in results] == ["s0"]


def test_few_files_are_under_way_however_many_there_are(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    paths, taken = make_files(tmp_path, 30), 0

    def listing() -> Iterator[Path]:
        nonlocal taken
        for path in paths:
            taken += 1
            yield path

    work = make_work(store, cancel, FakeSandbox(lambda job: TIMED_OUT))
    results = run_batch(listing(), work, jobs=2, on_fault=refuse_faults)
    for told, _ in enumerate(results, 1):
        assert taken <= told + 4
    assert taken == 30


def test_a_resumed_batch_runs_only_what_is_new_or_changed(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    paths = make_files(tmp_path, 5)
    first = make_work(store, cancel, FakeSandbox(lambda job: TIMED_OUT))
    before = {r.file: r for r in run_batch(paths[:4], first, jobs=2, on_fault=refuse_faults)}
    paths[1].write_text(SCRIPT + "# changed\n")
    sandbox = FakeSandbox(lambda job: TIMED_OUT)
    again = make_work(store, cancel, sandbox, resume=True)
    after = {r.file: r for r in run_batch(paths, again, jobs=2, on_fault=refuse_faults)}
    assert sorted(job.name for job in sandbox.jobs) == ["s1.py", "s4.py"]
    assert {file for file, r in after.items() if not r.resumed} == {str(paths[1]), str(paths[4])}
    kept = str(paths[2])
    assert after[kept] == replace(before[kept], resumed=True, healed=[], warnings=[])
    assert {r.to_json()["resumed"] for r in before.values()} == {False}


def test_another_kind_of_batch_is_not_resumed(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    paths = make_files(tmp_path, 1)
    list(run_batch(paths, make_work(store, cancel, FakeSandbox([TIMED_OUT])), jobs=1, on_fault=refuse_faults))
    sandbox = FakeSandbox([TIMED_OUT])
    other = make_work(store, cancel, sandbox, resume=True, conditions=Conditions(seed=1))
    list(run_batch(paths, other, jobs=1, on_fault=refuse_faults))
    assert len(sandbox.jobs) == 1 and not other.batch.resumed


def test_a_mounts_content_is_part_of_what_a_batch_is_known_by(tmp_path: Path) -> None:
    data, folder = tmp_path / "data.csv", tmp_path / "folder"
    folder.mkdir()

    def spec() -> object:
        mounts = (Mount(data, "/data.csv"), Mount(folder, "/folder"), Mount(tmp_path, "/rw", "rw"))
        return Conditions(mounts=mounts).spec(places=[], sandbox="", version="")

    data.write_text("1")
    first = spec()
    (tmp_path / "written-by-a-script").write_text("x")
    assert spec() == first
    data.write_text("2")
    second = spec()
    (folder / "new.csv").write_text("x")
    assert second != first and spec() != second
    data.unlink()
    with pytest.raises(MountError, match="does not exist"):
        spec()


def test_a_sandbox_that_fails_once_is_tried_again(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(job: Job) -> Outcome:
        seen.append(job.name)
        if seen.count(job.name) == 1:
            raise SandboxError("the zygote died: try again")
        return TIMED_OUT

    work = make_work(store, cancel, FakeSandbox(answer))
    results = list(run_batch(make_files(tmp_path, 3), work, jobs=1, on_fault=refuse_faults))
    assert [r.verdict for r in results] == ["timeout"] * 3 and len(seen) == 6


@pytest.mark.parametrize("error", [SandboxError("the zygote died: try again"), ZeroDivisionError("a bug")])
def test_our_own_failure_is_told_and_the_others_go_on(
    store: Store, cancel: Cancel, tmp_path: Path, error: Exception
) -> None:
    def answer(job: Job) -> Outcome:
        if job.name == "s1.py":
            raise error
        return TIMED_OUT

    faults: Faults = []
    paths = make_files(tmp_path, 4)
    work = make_work(store, cancel, FakeSandbox(answer))
    results = {r.file: r for r in run_batch(paths, work, jobs=2, on_fault=lambda *fault: faults.append(fault))}
    ours = results.pop(str(paths[1]))
    assert (ours.verdict, ours.our_failure, str(error) in ours.reason) == ("failed", True, True)
    assert faults == [(str(paths[1]), error)] and {r.verdict for r in results.values()} == {"timeout"}
    sandbox = FakeSandbox([TIMED_OUT])
    again = make_work(store, cancel, sandbox, resume=True)
    told = list(run_batch(paths, again, jobs=2, on_fault=refuse_faults))
    assert [job.name for job in sandbox.jobs] == ["s1.py"] and {r.verdict for r in told} == {"timeout"}


def test_what_is_wrong_with_every_file_ends_the_batch(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    paths = make_files(tmp_path, 20)
    mounts = (Mount(tmp_path / "gone.csv", "/data.csv"),)
    work = make_work(store, cancel, FakeSandbox(lambda job: TIMED_OUT))
    lost = replace(work, conditions=Conditions(mounts=mounts))
    with pytest.raises(MountError, match=r"gone\.csv"):
        list(run_batch(paths, lost, jobs=2, on_fault=refuse_faults))


def test_a_store_that_cannot_be_written_ends_the_batch(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    def answer(job: Job) -> Outcome:
        store.close()
        return TIMED_OUT

    work = make_work(store, cancel, FakeSandbox(answer))
    with pytest.raises(StoreError, match="closed"):
        list(run_batch(make_files(tmp_path, 20), work, jobs=2, on_fault=refuse_faults))


def test_a_cancelled_batch_leaves_no_trace_of_what_it_gave_up(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    paths = make_files(tmp_path, 20)

    def answer(job: Job) -> Outcome:
        if job.name == "s3.py":  # as when Ctrl-C comes after the run as it stands and before the one that heals it
            cancel.set()
            return outcome(status="error")
        return TIMED_OUT

    work = make_work(store, cancel, FakeSandbox(answer))
    told = {Path(r.file).stem for r in run_batch(paths, work, jobs=1, on_fault=refuse_faults)}
    assert told == {"s0", "s1", "s2"} == {Path(file).stem for file in store.done_files(work.batch)}
    assert store.count_runs() == 3


def test_nothing_runs_on_when_the_reader_of_the_results_leaves(store: Store, cancel: Cancel, tmp_path: Path) -> None:
    def answer(job: Job) -> Outcome:
        if job.name == "s0.py":
            return TIMED_OUT
        assert select.select([cancel], [], [], 60)[0], "nobody told it to end"
        return outcome(status="cancelled")

    sandbox = Threaded(answer)
    results = run_batch(make_files(tmp_path, 50), make_work(store, cancel, sandbox), jobs=2, on_fault=refuse_faults)
    assert Path(next(results).file).stem == "s0"
    results.close()
    assert len(sandbox.jobs) < 50 and store.count_runs() == 1
    assert select.select([cancel], [], [], 0)[0]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batch")]


def result(number: int, **parts: object) -> FileResult:
    make: type = FileResult
    made: FileResult = make(**{"file": f"{number}.py", "verdict": "traded", "reason": "r", **parts})
    return made


def test_the_best_are_kept_and_no_more() -> None:
    tally = Tally()
    for number in range(100):
        figures = {"Return [%]": float(number), "Sharpe Ratio": -float(number), "# Trades": 3}
        tally.add(result(number, statistics=figures, provenance="claimed"))
    assert [best.file for best in tally.best("return")] == [f"{n}.py" for n in (99, 98, 97, 96, 95)]
    assert [best.file for best in tally.best("Sharpe")] == [f"{n}.py" for n in range(5)]
    top = tally.best("return")[0]
    assert (top.total_return, top.sharpe, top.trades, top.provenance) == (0.99, -99.0, 3, "claimed")
    assert tally.files == 100 and tally.verdicts == {"traded": 100}


def test_our_own_metrics_come_before_a_scripts_claim() -> None:
    mixed = result(1, metrics={"total_return": 0.1, "sharpe": None}, statistics={"Return [%]": 900.0})
    assert (mixed.total_return, mixed.sharpe) == (0.1, None)


def test_what_is_doubtful_wins_no_ranking() -> None:
    tally = Tally()
    good = {"statistics": {"Return [%]": 1.0, "Sharpe Ratio": 1.0}}
    tally.add(result(1, **good, healed=("semantic: size was floored (× 3)",)))
    tally.add(result(2, **good, provenance="mismatch"))
    tally.add(result(3, **good, lookahead="suspect"))
    tally.add(result(4, **good, verdict="no_trades"))
    tally.add(result(5, **good, healed=("alias: crossunder",)))
    assert [best.file for best in tally.best("return")] == [best.file for best in tally.best("Sharpe")] == ["5.py"]
    assert sum(tally.unranked.values()) == tally.verdicts["traded"] - 1
    assert set(tally.unranked) == {"suspect", "mismatch", "mended"}


def test_reasons_that_differ_in_numbers_are_counted_together() -> None:
    tally = Tally()
    for number in range(3):
        tally.add(result(number, verdict="failed", reason=f"KeyError: 'Funding' at line {number}, on bar {number}"))
    tally.add(result(4, verdict="failed", reason="ValueError: 64 and 65.5 do not fit int64 at line 7"))
    assert tally.reasons("failed") == [("KeyError: 'Funding'", 3), ("ValueError: N and N do not fit int64", 1)]
    assert tally.reasons("traded") == []
    assert kind_of("the reply is cut off in line 34: `x = self.` \nmore") == "the reply is cut off: `x = self.` "


def test_the_memory_for_reasons_is_bounded() -> None:
    tally = Tally()
    for number in range(3_000):
        tally.add(result(number, verdict="failed", reason=f"KeyError: 'x{number}'"))
    assert tally.reasons("failed", 2_000)[0] == ("other reasons", 2_000)
    assert len(tally.reasons("failed", 5_000)) == 1_001
