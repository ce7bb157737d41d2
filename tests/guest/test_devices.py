"""The look for devices: what it finds, what it says of what is not there, and that it loads nothing needlessly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ringfence.guest.devices import NO_DEVICE, NOT_INSTALLED, USABLE, probe

from tests.conftest import ROOT, require

# A driver that answers as NVIDIA's does: calls, argument types and codes are those of cuda.h.
DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal + 7; return 0; }
int cuDeviceGetName(char *name, int size, int device) {
    strncpy(name, device == 7 ? "Alpha" : "Beta", size);
    return device > 9;
}
"""


def probe_with(place: Path, *words: str, libraries: Path | None = None) -> tuple[dict[str, str], list[str]]:
    """What a fresh interpreter finds that looks for packages in `place` first, and what of interest it loaded."""
    code = (
        f"import json, sys\nfrom ringfence.guest.devices import probe\nfound = probe({str(place / 'dev')!r})\n"
        "print(json.dumps([found, [n for n in ('mlx', 'mlx.core', 'coremltools', 'torch') if n in sys.modules]]))"
    )
    env = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT / 'src'}", "LD_LIBRARY_PATH": str(libraries or "")}
    done = subprocess.run([sys.executable, *words, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    found, loaded = json.loads(done.stdout)
    return found, loaded


def package(place: Path, name: str, text: str) -> None:
    (place / name).mkdir()
    (place / name / "__init__.py").write_text(text)


class TestLibraries:
    def test_mlx_names_its_default_device(self, tmp_path: Path) -> None:
        require("mlx")
        require("linux")
        found, _ = probe_with(tmp_path)
        version, _, rest = found["mlx"].partition(", ")
        assert version.replace(".", "").isdigit()
        assert rest == "default device cpu"

    def test_what_is_not_installed_is_not_loaded(self, tmp_path: Path) -> None:
        found, loaded = probe_with(tmp_path, "-S")  # an interpreter without any installed package
        assert (found["mlx"], found["coreml"]) == (NOT_INSTALLED, NOT_INSTALLED)
        assert loaded == []

    def test_core_ml_is_named_and_not_loaded(self, tmp_path: Path) -> None:
        package(tmp_path, "coremltools", "raise SystemExit('loaded')")
        found, loaded = probe_with(tmp_path)
        assert found["coreml"] == "coremltools is installed, and runs its models on macOS only"
        assert "coremltools" not in loaded

    @pytest.mark.parametrize(
        "broken", ["raise ImportError('no libmlx.so')", "import ctypes; ctypes.CDLL('gone.so')", ""]
    )
    def test_a_broken_library_is_said_to_be_broken(self, tmp_path: Path, broken: str) -> None:
        package(tmp_path, "mlx", "")
        (tmp_path / "mlx" / "core.py").write_text(broken)
        found, _ = probe_with(tmp_path)
        assert found["mlx"].startswith("there, but it fails: ")
        assert found["npu"] == NO_DEVICE  # the others are looked for all the same

    def test_there_is_no_metal_outside_macos(self) -> None:
        require("linux")
        assert probe()["metal"].startswith(NO_DEVICE)


class TestCuda:
    def build(self, place: Path, **answers: int) -> Path:
        require("linux")
        require("cc")
        (place / "driver.c").write_text(DRIVER)
        words = [f"-D{name}={value}" for name, value in answers.items()]
        library = place / "libcuda.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", *words, "-o", library, place / "driver.c"], check=True)
        return place

    def test_devices_are_counted_and_named_by_the_driver(self, tmp_path: Path) -> None:
        found, _ = probe_with(tmp_path, libraries=self.build(tmp_path, INIT=0, COUNT=4))
        assert found["cuda"] == f"{USABLE}4 by CUDA: Alpha, Beta, Beta, unnamed"

    @pytest.mark.parametrize(("init", "count", "said"), [(100, 2, "cuInit answered 100"), (0, 0, "answered 0 and 0")])
    def test_a_driver_without_a_device_is_no_device(self, tmp_path: Path, init: int, count: int, said: str) -> None:
        found, _ = probe_with(tmp_path, libraries=self.build(tmp_path, INIT=init, COUNT=count))
        assert found["cuda"].startswith(NO_DEVICE)
        assert said in found["cuda"]

    def test_a_driver_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "libcuda.so.1").write_text("not a library")
        found, _ = probe_with(tmp_path, libraries=tmp_path)
        assert found["cuda"].startswith(NO_DEVICE)


class TestNodes:
    def test_a_node_that_opens_is_usable(self, tmp_path: Path) -> None:
        (tmp_path / "accel").mkdir()
        (tmp_path / "accel" / "accel0").symlink_to("/dev/null")
        (tmp_path / "davinci1").symlink_to("/dev/zero")
        assert probe(str(tmp_path))["npu"] == f"{USABLE}{tmp_path}/accel/accel0, {tmp_path}/davinci1"

    def test_a_node_that_does_not_open_is_not(self, tmp_path: Path) -> None:
        require("root")
        os.mknod(tmp_path / "accel0", 0o020600, os.makedev(4095, 255))  # a number that no driver has
        npu = probe(str(tmp_path))["npu"]
        assert npu.startswith(f"{NO_DEVICE} that opens: {tmp_path}/accel0 (")

    def test_files_and_managers_are_no_devices(self, tmp_path: Path) -> None:
        (tmp_path / "accel0").write_text("")
        (tmp_path / "davinci_manager").symlink_to("/dev/null")
        assert probe(str(tmp_path))["npu"] == NO_DEVICE

    def test_a_link_to_nowhere_does_not_end_the_look(self, tmp_path: Path) -> None:
        (tmp_path / "accel0").symlink_to(tmp_path / "gone")
        assert probe(str(tmp_path))["npu"] == NO_DEVICE
        (tmp_path / "accel1").symlink_to("/dev/null")
        assert probe(str(tmp_path))["npu"] == f"{USABLE}{tmp_path}/accel1"
