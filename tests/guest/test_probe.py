"""The rewritten text does what the text did, and notes how near each condition came."""

from __future__ import annotations

import pytest

from ringfence.guest import probe


def run(body: str, *calls: tuple[object, ...], head: str = "") -> tuple[list[object], list[dict[str, object]]]:
    """What `next` returned for each call, and the notes."""
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    init = "    def init(self):\n        return 1 < 2\n"
    code = f"{head}\nclass S:\n{init}    def next(self, a, b=0.0, c=0.0):\n{lines}\n"
    notes = probe.Notes()
    space: dict[str, object] = {probe.NAME: notes.near}
    exec(compile(probe.with_notes(code, "S"), "s.py", "exec"), space)
    made = space["S"]()  # type: ignore[operator]
    returned = []
    for bar, call in enumerate(calls):
        notes.clock = lambda bar=bar: bar  # type: ignore[misc]
        returned.append(made.next(*call))
    made.init()
    return returned, notes.rows()


def test_a_comparison_comes_to_what_it_came_to() -> None:
    for op, held in (("<", True), ("<=", True), (">", False), (">=", False), ("==", False), ("!=", True)):
        assert run(f"return a {op} b", (1.0, 2.0))[0] == [held]


def test_what_was_missing_is_noted_with_its_moment() -> None:
    returned, (row,) = run("return a > b", (1.0, 5.0), (4.0, 5.0), (2.0, 5.0))
    assert returned == [False, False, False]
    assert row == {"line": 6, "text": "a > b", "seen": 3, "true": 0, "bar": 1, "left": 4.0, "right": 5.0}


def test_how_often_it_held_is_counted() -> None:
    _, (row,) = run("return a < b", (1.0, 5.0), (4.0, 1.0), (2.0, 5.0))
    assert (row["seen"], row["true"], row["bar"], row["left"]) == (3, 2, 1, 4.0)


@pytest.mark.parametrize(
    ("call", "held", "left", "right"), [((1.0, 2.0, 3.0), True, None, None), ((5.0, 2.0, 3.0), False, 5.0, 2.0),
                                        ((1.0, 4.0, 3.5), False, 4.0, 3.5)],
)  # fmt: skip
def test_a_chain_holds_as_a_chain_does(
    call: tuple[float, ...], held: bool, left: float | None, right: float | None
) -> None:
    returned, (row,) = run("return a < b < c", call)
    assert returned == [held] and row["text"] == "a < b < c"
    if not held:
        assert (row["left"], row["right"]) == (left, right)


def test_each_side_is_read_once() -> None:
    returned, _ = run("return a.pop() > b", ([1.0, 9.0], 5.0))
    given = [1.0, 9.0]
    run("return a.pop() > b", (given, 5.0))
    assert returned == [True] and given == [1.0]


def test_what_cannot_be_subtracted_is_counted_all_the_same() -> None:
    returned, (row,) = run("return a < b", ("b", "a"))
    assert returned == [False] and (row["seen"], row["true"], row["bar"]) == (1, 0, -1)


def test_what_is_no_number_yet_is_not_near() -> None:
    _, (row,) = run("return a > b", (float("nan"), 1.0), (0.5, 1.0))
    assert row["bar"] == 1


def test_an_exception_of_a_comparison_stays_one() -> None:
    with pytest.raises(TypeError):
        run("return a < b", (1, "x"))


CROSS = "def crossover(x, y): return x > y and x > 10\nns = type('N', (), {'crossover': staticmethod(crossover)})"


@pytest.mark.parametrize("name", ["crossover", "ns.crossover"])
def test_a_cross_is_as_near_as_its_lines(name: str) -> None:
    returned, rows = run(f"return {name}(a, b)", (5.0, 3.0), (6.0, 5.5), (11.0, 3.0), head=CROSS)
    assert returned == [False, False, True]
    assert rows[0] | {"line": 0} == {
        "line": 0, "text": f"{name}(a, b)", "seen": 3, "true": 1, "bar": 1, "left": 6.0, "right": 5.5,
    }  # fmt: skip


def test_init_and_other_classes_are_left_alone() -> None:
    code = "class S:\n    def init(self): return 1 < 2\nclass T:\n    def next(self): return 1 < 2\n"
    notes = probe.Notes()
    space: dict[str, object] = {probe.NAME: notes.near}
    exec(compile(probe.with_notes(code, "S"), "s.py", "exec"), space)
    space["S"]().init(), space["T"]().next()  # type: ignore[operator]
    assert notes.rows() == []


def test_conditions_within_conditions_are_told_in_their_own_words() -> None:
    _, rows = run("return (a if a > b else b) < (c if c > 1 else 1)", (1.0, 2.0, 3.0))
    assert {row["text"] for row in rows} == {"a > b", "c > 1", "(a if a > b else b) < (c if c > 1 else 1)"}
