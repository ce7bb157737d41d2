"""Leaks: the children of one zygote start from one memory image, and must not draw the same random numbers."""

from __future__ import annotations

import pytest

from ringfence import Job
from ringfence.sandbox import Sandbox
from ringfence.sandbox.job import Json

from tests.attacks.attack import REPEATS, assert_serves, limits, run_promptly

# Each a way to draw a value that two runs must not share.
DRAWS = {
    "random": "__import__('random').random()",
    "random.SystemRandom": "__import__('random').SystemRandom().random()",
    "uuid4": "str(__import__('uuid').uuid4())",
    "secrets": "__import__('secrets').token_hex()",
    "urandom": "__import__('os').urandom(16).hex()",
    "tempfile": "__import__('tempfile').mktemp()",
    "numpy.random": "float(__import__('numpy').random.random())",
    "numpy default_rng": "float(__import__('numpy').random.default_rng().random())",
    "numpy RandomState": "float(__import__('numpy').random.RandomState().random_sample())",
    "scipy": "float(__import__('scipy.stats').stats.norm.rvs())",
    "pandas sample": "__import__('pandas').Series(range(10**6)).sample(1).iloc[0].item()",
    "random in a child": "in_child()",
}
IN_CHILD = """
import os, random
def in_child():
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(random.random()).encode())
        os._exit(0)
    os.wait()
    return os.read(read, 100).decode()
"""


def draws(sandbox: Sandbox, names: list[str], runs: int, seed: int | None = None) -> list[dict[str, Json]]:
    drawn = ", ".join(f"{name!r}: {DRAWS[name]}" for name in names)
    found = []
    for _ in range(runs):
        job = Job(code=f"{IN_CHILD}\nresult = {{{drawn}}}", seed=seed, limits=limits(memory_mb=512))
        outcome = run_promptly(sandbox, job)
        assert outcome.status == "ok" and isinstance(outcome.result, dict), outcome
        found.append(dict(outcome.result))
    return found


@pytest.mark.backends("native", why="a container imports for itself, and forks once: below is what is left to share")
def test_randomness_is_not_shared(quant: Sandbox) -> None:
    found = draws(quant, list(DRAWS), runs=6)
    shared = [name for name in DRAWS if len({str(run[name]) for run in found}) < len(found)]
    assert not shared, f"these repeat from run to run: {shared}"
    assert_serves(quant)


def test_randomness_is_not_shared_without_preloading(sandbox: Sandbox, backend: str) -> None:
    names = [name for name in DRAWS if "numpy" not in name and name not in ("scipy", "pandas sample")]
    found = draws(sandbox, names, runs=REPEATS[backend] * 2)
    assert [name for name in names if len({str(run[name]) for run in found}) < len(found)] == []
    assert_serves(sandbox)


def test_a_seed_does_not_make_secrets_repeat(sandbox: Sandbox) -> None:
    """A seed is for reproducible research; keys and ids must stay fresh."""
    first, second = draws(sandbox, ["random", "uuid4", "secrets", "urandom"], runs=2, seed=7)
    assert first["random"] == second["random"]
    assert [name for name in ("uuid4", "secrets", "urandom") if first[name] == second[name]] == []
    assert_serves(sandbox)
