"""`ringfence run --device`: MLX code runs, and the answer says on what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import environment, ringfence
from tests.conftest import require

MLX = """
import mlx.core as mx
w = mx.array([0.5, -0.25])
x = mx.array([[1.0, 2.0], [3.0, 4.0]])
loss = lambda w: ((x @ w - 1.0) ** 2).mean()
result = [(x @ x.T).tolist(), mx.grad(loss)(w).tolist()]
"""


@pytest.fixture(autouse=True)
def linux() -> None:
    require("linux")


def test_mlx_code_that_asks_for_an_npu_runs_on_the_cpu_and_says_so(tmp_path: Path) -> None:
    require("mlx")
    (tmp_path / "model.py").write_text(MLX)
    # One place for running jobs, and little memory: the probe needs the one and must fit into the other.
    env = environment(RINGFENCE_MAX_RUNNING="1", RINGFENCE_MAX_MEMORY_MB="256")
    words = ["--device", "npu", "--json", "--memory", "200m"]
    done = ringfence("run", str(tmp_path / "model.py"), *words, env=env)
    assert done.code == 0, done.err
    outcome = json.loads(done.out)
    assert outcome["result"] == [[[5.0, 11.0], [11.0, 25.0]], [-2.5, -4.0]]
    device = outcome["device"]
    assert (device["requested"], device["used"]) == ("npu", "cpu")
    assert device["notice"].startswith("asked for an NPU, ran on the CPU: ")
    assert device["found"]["mlx"].endswith("default device cpu")
    assert device["found"]["mlx"] in device["notice"]
    assert device["found"]["npu"] == "no device"


def test_the_notice_is_shown_to_a_person_too() -> None:
    done = ringfence("run", "-c", "print('ran')", "--device", "gpu")
    assert (done.code, done.out) == (0, "ran\n")
    assert "asked for a GPU, ran on the CPU" in done.err


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_who_asks_for_none_is_told_nothing(device: str) -> None:
    done = ringfence("run", "-c", "x = 1", "--device", device, "--json")
    assert json.loads(done.out)["device"] == {"requested": device, "used": "cpu", "notice": None, "found": {}}
    assert done.err == ""
