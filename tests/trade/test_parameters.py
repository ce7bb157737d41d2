"""Parameters are read from the text; nothing of it is run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import DraftError
from ringfence.trade.draft import Draft, parse_parameter, range_warnings, read_draft
from ringfence.trade.parameters import Parameter


def draft(body: str, more: str = "") -> Draft:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    head = "from ringfence import Strategy, param\nimport math\nclass Dip(Strategy):\n"
    return read_draft(f"{head}{lines}    def next(self): pass\n{more}", name="dip")


def defaults(body: str) -> dict[str, object]:
    return {parameter.name: parameter.default for parameter in draft(body).parameters}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = 14", {"n": 14}),
        ("n: int = 14", {"n": 14}),
        ("n: int", {}),
        ("x = 0.5", {"x": 0.5}),
        ("x = -0.5", {"x": -0.5}),
        ("x = +3", {"x": 3}),
        ("flag = True", {"flag": True}),
        ("mode = 'fast'", {"mode": "fast"}),
        ("stop = None", {"stop": None}),
        ("x = 24 * 60", {"x": 1440}),
        ("x = -(2 + 3) / 10", {"x": -0.5}),
        ("x = 2 ** 10", {"x": 1024}),
        ("x = 7 // 2 + 7 % 2", {"x": 4}),
        ("a = b = 3", {"a": 3, "b": 3}),
        ("a, b = 1, 2", {"a": 1, "b": 2}),
        ("n = 1\nn = 2", {"n": 2}),
        ("_n = 3\n__slots__ = ()", {}),
    ],
)
def test_a_literal_class_attribute_is_a_parameter(body: str, expected: dict[str, object]) -> None:
    found = defaults(body)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    "value",
    [
        *("math.pi", "[1, 2]", "{}", "len('abc')", "10 ** 400", "2 ** 64", "1 / 0", "1e999", "'a' * 3", "True + 1"),
        *("b'x'", "1j", "10 ** 10 ** 10", "9" * 30, "(-8) ** 0.5", "...", r"'\ud800'", "param()", "lambda: 1", "n"),
    ],
)
def test_what_is_not_written_out_is_noted_and_no_parameter(value: str) -> None:
    made = draft(f"x = {value}")
    assert made.parameters == ()
    assert any("x is not written out" in note and "line 4" in note for note in made.notes)


def test_param_gives_a_range() -> None:
    made = draft(
        "low: float = param(35, 5, 50)\nn = param(10, low=2, high=20, step=2)\nm = param('a', choices=['a', 'b'])"
    )
    assert made.parameters == (
        Parameter(name="low", default=35, low=5, high=50, line=4),
        Parameter(name="n", default=10, low=2, high=20, step=2, line=5),
        Parameter(name="m", default="a", choices=("a", "b"), line=6),
    )
    assert made.notes == ()


@pytest.mark.parametrize("call", ["ringfence.param(3, 1, 5)", "rf.param(default=3, low=1, high=5)"])
def test_param_is_known_however_it_is_imported(call: str) -> None:
    text = f"import ringfence, ringfence as rf\nclass A(rf.Strategy):\n    n = {call}\n    def next(self): pass\n"
    assert read_draft(text, name="a").parameters == (Parameter(name="n", default=3, low=1, high=5, line=3),)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("param(3, math.pi, 5)", "its low is not written out"),
        ("param(3, choices=range(4))", "its choices are not written out"),
        ("param(3, 5, 1)", "from 5 down to 1"),
        ("param(3, 5, 9)", "below its range"),
        ("param('x', choices=['a'])", "none of its choices"),
    ],
)
def test_a_doubtful_range_is_noted(call: str, words: str) -> None:
    made = draft(f"n = {call}")
    assert [p.name for p in made.parameters] == ["n"]
    assert words in " ".join(made.notes)


def test_a_class_inherits_and_overrides_parameters() -> None:
    text = (
        "from ringfence import Strategy\nclass Timing:\n    n = 1\n    hours = 3\n"
        "class Base(Strategy):\n    n = 2\n    slow = 30\n    fast = 5\n    def next(self): pass\n"
        "class Child(Base, Timing):\n    slow = 40\n    def fast(self): return 1\n"
    )
    made = read_draft(text, name="child")
    assert made.class_name == "Child"
    assert {p.name: p.default for p in made.parameters} == {"n": 2, "hours": 3, "slow": 40}


FULL = draft(
    "n = 14\nx = 0.5\nflag = True\nmode = 'a'\nnone = None\nr = param(5, 1, 9)\nc = param('a', choices=['a', 'b'])"
)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("n=20", 20),
        ("n= 20 ", 20),
        ("n=2.5", 2.5),
        ("n=-3", -3),
        ("x=1", 1.0),
        ("x=1e-3", 0.001),
        ("flag=false", False),
        ("flag=TRUE", True),
        ("flag=0", False),
        ("mode=12", "12"),
        ("mode=a=b", "a=b"),
        ("mode=", ""),
        ("none=3", 3),
        ("none=3.5", 3.5),
        ("none=none", None),
        ("none=true", True),
        ("none=word", "word"),
    ],
)
def test_a_value_is_of_the_kind_of_the_default(word: str, value: object) -> None:
    name, parsed = parse_parameter(word, FULL)
    assert (name, parsed) == (word.partition("=")[0], value)
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("n", "NAME=VALUE"),
        ("=3", "NAME=VALUE"),
        ("mod=3", "did you mean 'mode'?"),
        ("quite_other=3", "use one of its own (n, x"),
        ("n=many", "no number"),
        ("x=nan", "no number"),
        ("x=inf", "no number"),
        ("n=1e400", "no number"),
        ("flag=2", "flag=true"),
    ],
)
def test_a_wrong_parameter_says_what_to_write(word: str, hint: str) -> None:
    with pytest.raises(DraftError) as caught:
        parse_parameter(word, FULL)
    assert hint in str(caught.value)
    assert caught.value.verdict == "failed"


def test_a_range_only_warns() -> None:
    assert parse_parameter("r=50", FULL) == ("r", 50)
    assert range_warnings(FULL, {"r": 5, "c": "b", "n": -1}) == ()
    above, below, choice = (
        range_warnings(FULL, {"r": 50}) + range_warnings(FULL, {"r": 0}) + range_warnings(FULL, {"c": "z"})
    )
    assert "above its range" in above and "below its range" in below and "none of its choices" in choice


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([p.name for p in FULL.parameters]), st.text(max_size=30))
def test_any_text_is_a_value_or_a_refusal(name: str, text: str) -> None:
    try:
        parse_parameter(f"{name}={text}", FULL)
    except DraftError:
        pass
