"""What stays with one worker."""

from __future__ import annotations

from tests.sharing import share_of


def test_a_file_is_one_share_and_all_attacks_on_containers_are_another() -> None:
    assert share_of("tests/trade/test_bars.py::test_x[docker]") == "tests/trade/test_bars.py"
    assert share_of("tests/attacks/test_time.py::test_x[native-sleep]") == "tests/attacks/test_time.py"
    pooled = ("tests/attacks/test_time.py::test_x[docker]", "tests/attacks/test_disk.py::test_y[a-docker-b]")
    assert {share_of(nodeid) for nodeid in pooled} == {"attacks on docker"}
