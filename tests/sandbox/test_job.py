"""Job, Limits, Mount and Cancel check themselves when they are made, and stay as they were made."""

from __future__ import annotations

import dataclasses
import json
import math
import select
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ringfence.base.errors import InputError, JobError, LimitError, MountError, RefusedError, SourceError
from ringfence.sandbox.job import PRESETS, Cancel, Job, Json, Limits, Mount

WHOLE = ("memory_mb", "processes", "disk_mb", "output_bytes")
FRACTIONAL = ("wall_seconds", "cpu_seconds", "cpus")


def make_limits(**values: object) -> Limits:
    """Limits from values that no type checker would let through."""
    return dataclasses.replace(Limits(), **values)  # type: ignore[arg-type]


class TestLimits:
    def test_the_defaults_are_those_of_the_spec(self) -> None:
        assert Limits() == Limits(
            wall_seconds=30, cpu_seconds=None, memory_mb=512, cpus=1, processes=64, disk_mb=100, output_bytes=1 << 20
        )
        assert PRESETS["default"] == Limits()
        assert PRESETS["chat"].wall_seconds == 15
        assert (PRESETS["backtest"].memory_mb, PRESETS["backtest"].wall_seconds) == (2048, 300)

    @pytest.mark.parametrize("name", WHOLE + FRACTIONAL)
    @pytest.mark.parametrize("value", [-1, -(1 << 80), 1 << 80])
    def test_a_value_out_of_range_is_refused_by_name(self, name: str, value: int) -> None:
        with pytest.raises(LimitError, match=f"{name}=.*give a value from"):
            make_limits(**{name: value})

    @pytest.mark.parametrize("name", WHOLE + FRACTIONAL)
    @pytest.mark.parametrize("value", [True, "5", [5], 5j])
    def test_a_value_that_is_no_number_is_refused_by_name(self, name: str, value: object) -> None:
        with pytest.raises(LimitError, match=name):
            make_limits(**{name: value})

    @pytest.mark.parametrize("name", FRACTIONAL)
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0, 0.0])
    def test_nan_infinity_and_zero_are_refused(self, name: str, value: float) -> None:
        with pytest.raises(LimitError, match=name):
            make_limits(**{name: value})

    @pytest.mark.parametrize("name", WHOLE)
    def test_a_fraction_of_a_whole_limit_is_refused(self, name: str) -> None:
        with pytest.raises(LimitError, match="whole number"):
            make_limits(**{name: 50.0})

    @pytest.mark.parametrize("name", [n for n in WHOLE + FRACTIONAL if n != "cpu_seconds"])
    def test_only_the_cpu_time_may_be_unlimited(self, name: str) -> None:
        with pytest.raises(LimitError, match=name):
            make_limits(**{name: None})
        assert make_limits(cpu_seconds=None).cpu_seconds is None

    @given(st.sampled_from(FRACTIONAL), st.floats())
    def test_any_float_is_kept_or_refused(self, name: str, value: float) -> None:
        try:
            kept = getattr(make_limits(**{name: value}), name)
        except LimitError:
            return
        assert kept == value
        assert 0 < value < math.inf

    @given(st.sampled_from(WHOLE + FRACTIONAL), st.integers(-(1 << 70), 1 << 70))
    def test_any_integer_is_kept_or_refused(self, name: str, value: int) -> None:
        try:
            kept = getattr(make_limits(**{name: value}), name)
        except LimitError:
            return
        assert kept == value >= 0

    def test_a_number_too_large_for_a_float_is_refused(self) -> None:
        with pytest.raises(LimitError, match="memory_mb"):
            make_limits(memory_mb=10**400)

    def test_limits_are_within_themselves(self) -> None:
        for limits in PRESETS.values():
            limits.check_within(limits)

    @pytest.mark.parametrize("name", [*WHOLE, "wall_seconds", "cpus"])
    def test_more_than_the_maximum_is_refused_by_name(self, name: str) -> None:
        maximum = Limits()
        over = make_limits(**{name: getattr(maximum, name) + 1})
        with pytest.raises(RefusedError, match=f"{name}.*maximum"):
            over.check_within(maximum)
        maximum.check_within(over)

    def test_unlimited_cpu_time_is_over_any_maximum(self) -> None:
        with pytest.raises(RefusedError, match="cpu_seconds=unlimited"):
            Limits().check_within(Limits(cpu_seconds=10))
        Limits(cpu_seconds=10).check_within(Limits())


class TestMount:
    @pytest.mark.parametrize(
        ("text", "host", "guest", "mode"),
        [
            ("./data:/data", "data", "/data", "ro"),
            ("/srv/bars:/data:ro", "/srv/bars", "/data", "ro"),
            ("/srv/bars:/data:rw", "/srv/bars", "/data", "rw"),
            ("/srv/bars:/data/", "/srv/bars", "/data", "ro"),
            ("/srv/bars:/job/data", "/srv/bars", "/job/data", "ro"),
        ],
    )
    def test_text_is_read(self, text: str, host: str, guest: str, mode: str) -> None:
        mount = Mount.parse(text)
        assert (mount.host, mount.guest, mount.mode) == (Path(host), guest, mode)

    @pytest.mark.parametrize("text", ["", "/a", "/a:/b:rx", "/a:/b:ro:rw", "/a:/b:", "::", ":::"])
    def test_other_text_is_refused_with_the_form(self, text: str) -> None:
        with pytest.raises(MountError, match=r"HOST:GUEST|mount target"):
            Mount.parse(text)

    @pytest.mark.parametrize(
        "guest",
        [
            *(
                "",
                "data",
                "./data",
                "/",
                "//",
                "/job",
                "/job/",
                "/tmp",
                "/tmp/x",
                "/dev/shm",
                "/proc/self",
                "/sys/fs",
            ),
            *("/etc", "/etc/passwd", "/usr/lib/python3", "/lib64/x", "/bin/sh", "/box/script.py", "/data\0"),
            *("//data", "/data//x", "/data/../usr", "/data/.", "/job/..", "/job/../etc", "/a/../../etc"),
        ],
    )
    def test_a_place_that_is_ours_or_unclear_is_refused(self, guest: str) -> None:
        with pytest.raises(MountError, match="mount target"):
            Mount(Path("/srv"), guest)

    def test_an_unknown_mode_is_refused(self) -> None:
        with pytest.raises(MountError, match="use ro or rw"):
            Mount(Path("/srv"), "/data", "rwx")  # type: ignore[arg-type]

    def test_a_missing_host_path_is_refused_when_checked(self, tmp_path: Path) -> None:
        Mount(tmp_path, "/data").check_host()
        with pytest.raises(MountError, match=r"nowhere.*check the path"):
            Mount(tmp_path / "nowhere", "/data").check_host()

    @pytest.mark.parametrize("text", [":/data", ":/data:rw", "a\0b:/data"])
    def test_a_source_that_is_no_path_is_refused(self, text: str) -> None:
        with pytest.raises(MountError, match="mount source"):
            Mount.parse(text)

    @given(st.text(max_size=60))
    def test_any_text_is_a_mount_or_refused(self, text: str) -> None:
        try:
            mount = Mount.parse(text)
        except MountError:
            return
        assert Mount.parse(f"{text.split(':')[0]}:{mount.guest}:{mount.mode}") == mount

    @given(st.lists(st.sampled_from(["", ".", "..", "data", "usr", "job", "etc", "x"]), max_size=5))
    def test_no_place_leads_into_ours(self, parts: list[str]) -> None:
        try:
            guest = Mount(Path("/srv"), "/" + "/".join(parts)).guest
        except MountError:
            return
        first, *rest = guest.removeprefix("/").split("/")
        assert first not in ("", "usr", "etc")
        assert first != "job" or rest
        assert not {"", ".", ".."} & set(guest.removeprefix("/").split("/"))


class TestJob:
    def test_a_job_needs_something_to_run(self) -> None:
        with pytest.raises(JobError, match="code or argv"):
            Job()
        assert Job(code="").argv == ()
        assert Job(argv=["ls"]).code is None

    @pytest.mark.parametrize("seed", [-1, 1 << 64])
    def test_a_seed_out_of_range_is_refused(self, seed: int) -> None:
        with pytest.raises(JobError, match="seed"):
            Job(code="", seed=seed)

    @pytest.mark.parametrize("seed", [1.5, True, "7"])
    def test_a_seed_that_is_no_whole_number_is_refused(self, seed: int) -> None:
        with pytest.raises(JobError, match="seed"):
            Job(code="", seed=seed)

    def test_a_name_too_long_for_a_file_is_refused(self) -> None:
        with pytest.raises(JobError, match="plain file name"):
            Job(code="", name="\u20ac" * 100)

    @pytest.mark.parametrize("argv", ["ls", [1], ["a\ud800"]])
    def test_arguments_that_are_no_list_of_text_are_refused(self, argv: list[str]) -> None:
        with pytest.raises(JobError, match="argv"):
            Job(argv=argv)

    @pytest.mark.parametrize(
        "files", [{"a": "text"}, {"a": b"", "a/b": b""}, {"a/b/c": b"", "a": b""}, {"x" * 256: b""}, {"\ud800": b""}]
    )
    def test_files_that_cannot_be_written_are_refused(self, files: dict[str, bytes]) -> None:
        with pytest.raises(InputError, match="file"):
            Job(code="", files=files)

    def test_an_input_named_like_a_keyword_is_refused(self) -> None:
        with pytest.raises(InputError, match="variable name"):
            Job(code="", inputs={"class": 1})

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b.py", "/etc/passwd", "a\nb.py", "a\0.py", "x" * 201])
    def test_a_name_that_is_no_plain_file_name_is_refused(self, name: str) -> None:
        with pytest.raises(JobError, match="plain file name"):
            Job(code="", name=name)

    def test_a_network_or_device_that_is_unknown_is_refused(self) -> None:
        with pytest.raises(JobError, match="network 'host'"):
            Job(code="", network="host")  # type: ignore[arg-type]
        with pytest.raises(JobError, match="device 'tpu' is unknown: use one of auto, cpu, gpu, npu"):
            Job(code="", device="tpu")  # type: ignore[arg-type]

    def test_a_program_that_is_no_clean_text_is_refused(self) -> None:
        with pytest.raises(SourceError, match="NUL"):
            Job(code="x = '\0'")

    def test_an_argument_with_a_nul_is_refused(self) -> None:
        with pytest.raises(JobError, match="NUL"):
            Job(argv=["echo", "a\0b"])

    @pytest.mark.parametrize("name", ["", "a b", "1a", "a-b", "__builtins__", "__x", "a.b"])
    def test_an_input_that_is_no_variable_name_is_refused(self, name: str) -> None:
        with pytest.raises(InputError, match="variable name"):
            Job(code="", inputs={name: 1})

    @pytest.mark.parametrize("value", [math.nan, [math.inf], b"x", {1, 2}, object(), {"a": {"b": print}}])
    def test_an_input_that_is_no_json_is_refused_by_name(self, value: object) -> None:
        with pytest.raises(InputError, match="'x' is not JSON"):
            Job(code="", inputs={"x": value})  # type: ignore[dict-item]

    def test_an_input_that_holds_itself_is_refused(self) -> None:
        loop: list[Json] = []
        loop.append(loop)
        with pytest.raises(InputError, match="'loop'"):
            Job(code="", inputs={"loop": loop})

    @pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\0b", ".."])
    def test_a_file_outside_the_working_directory_is_refused(self, name: str) -> None:
        with pytest.raises(InputError, match="relative path"):
            Job(code="", files={name: b""})

    def test_mounts_may_be_text(self) -> None:
        assert Job(code="", mounts=["/srv:/data:rw"]).mounts == (Mount(Path("/srv"), "/data", "rw"),)
        with pytest.raises(MountError, match="HOST:GUEST"):
            Job(code="", mounts=["/srv"])

    def test_a_job_does_not_change_with_what_it_was_made_of(self) -> None:
        argv, inputs, files, mounts = ["a"], {"x": 1}, {"f": b"1"}, ["/srv:/data"]
        job = Job(code="", argv=argv, inputs=inputs, files=files, mounts=mounts)
        argv.append("b")
        inputs["y"] = 2
        files.clear()
        mounts.clear()
        assert (job.argv, dict(job.inputs), dict(job.files), len(job.mounts)) == (("a",), {"x": 1}, {"f": b"1"}, 1)
        with pytest.raises(TypeError):
            job.inputs["z"] = 1  # type: ignore[index]
        with pytest.raises(dataclasses.FrozenInstanceError):
            job.seed = 1  # type: ignore[misc]

    def test_a_job_may_be_copied_with_changes(self) -> None:
        job = Job(code="x", inputs={"a": 1}, files={"f": b""}, mounts=["/srv:/data"])
        other = dataclasses.replace(job, seed=5)
        assert (other.seed, other.inputs, other.mounts) == (5, job.inputs, job.mounts)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=10,
        )
    )
    def test_any_value_is_an_input_exactly_when_strict_json_carries_it(self, value: Json) -> None:
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            with pytest.raises(InputError):
                Job(code="", inputs={"x": value})
        else:
            assert Job(code="", inputs={"x": value}).inputs["x"] == value

    @given(st.text(max_size=20))
    def test_any_file_name_stays_inside_or_is_refused(self, name: str) -> None:
        try:
            Job(code="", files={name: b""})
        except InputError:
            return
        inside = Path("/job/x") / name
        assert ".." not in inside.parts
        assert inside.is_relative_to("/job/x")
        assert inside != Path("/job/x")


class TestCancel:
    def test_it_can_be_waited_for_once_set(self) -> None:
        cancel = Cancel()
        assert not select.select([cancel], [], [], 0)[0]
        cancel.set()
        cancel.set()
        assert select.select([cancel], [], [], 0)[0] == [cancel]
        assert select.select([cancel], [], [], 0)[0] == [cancel]
        cancel.close()

    def test_it_may_be_set_any_number_of_times(self) -> None:
        cancel = Cancel()
        for _ in range(70_000):
            cancel.set()
        cancel.close()
