"""The program comes out of a reply whole or not at all, and nothing on the way depends on the reply being kind."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import DraftError
from ringfence.trade.extract import Extracted, extract

from tests.corpus.programs import program, unclosed
from tests.corpus.strategies import SKETCHES

NATIVE = textwrap.dedent(
    """\
    from ringfence import Strategy

    class Dip(Strategy):
        def init(self):
            self.n = 3

        def next(self):
            self.buy()
    """
)
LIBRARY = NATIVE.replace("from ringfence import", "from backtesting import Backtest,")
RUN = "bt = Backtest(data, Dip)\nbt.run()\n"


def fence(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}```\n"


def refused(raw: str) -> DraftError:
    with pytest.raises(DraftError) as caught:
        extract(raw)
    return caught.value


@pytest.mark.parametrize(
    "raw",
    [
        fence(NATIVE),
        f"Here you are:\n\n{fence(NATIVE)}\nIt buys dips. Don't trust it.",
        fence(NATIVE, "py"),
        fence(NATIVE, "Python"),
        fence(NATIVE, 'python title="dip.py"'),
        fence(NATIVE, ""),
        f"~~~python\n{NATIVE}~~~\n",
        f"````python\n{NATIVE}````\n",
        f"```markdown\n# Dip\n{fence(NATIVE)}```\n",
        f"1. The code:\n\n{textwrap.indent(fence(NATIVE), '   ')}",
        f"```bash\npip install ringfence\n```\n{fence(NATIVE)}```\nReturn 12 %\n```\n",
        f"<think>\nShall I?\n{fence('x = 1')}</think>\n{fence(NATIVE)}",
        f"Let me think.\n</think>\n\n{fence(NATIVE)}",
        f"{NATIVE}```\nThat is all.",
        f"```python\n{NATIVE}``",
        f"```python\n{NATIVE}\nThis one buys dips and never sells.\n",
        f"The strategy below buys.\n\n{NATIVE}",
        f"{NATIVE}\nThis strategy buys when it can't sell.\nNo more.",
        f"{NATIVE}\n- Entry: always\n- Exit: never\n",
        "\ufeff" + NATIVE,
        NATIVE.replace("\n", "\r\n"),
        "\ufeff" + fence(NATIVE).replace("\n", "\r\n"),
    ],
)
def test_the_program_is_found(raw: str) -> None:
    assert extract(raw).text.strip() == NATIVE.strip()


def test_what_was_left_out_is_noted() -> None:
    notes = " ".join(extract(f"\ufeff<think>hm\n</think>\nSee:\n{fence(NATIVE)}").notes)
    assert "byte order mark" in notes
    assert "lines 1 to 2" in notes
    assert "fence at lines 5 to 12" in notes


def test_lines_lead_back_to_the_reply() -> None:
    raw = f"Here:\n\n{fence(NATIVE)}"
    found = extract(raw)
    line = found.text.split("\n").index("class Dip(Strategy):") + 1
    assert raw.split("\n")[found.given_line(line) - 1] == "class Dip(Strategy):"


def test_a_fence_inside_a_docstring_does_not_end_the_program() -> None:
    for inside in ("```\nDip()\n```", "```text\nDip()\n```", "```python\nDip()\n```"):
        text = f'"""A dip.\n\n{inside}\n"""\n{NATIVE}'
        assert extract(f"Look:\n{fence(text)}And so on.\n").text == text


def test_a_later_version_of_the_class_replaces_the_earlier() -> None:
    better = NATIVE.replace("self.n = 3", "self.n = 4")
    found = extract(f"{fence(NATIVE)}Better:\n{fence(better)}")
    assert found.text == better
    assert any("left out" in note for note in found.notes)


def test_another_strategy_after_the_first_is_left_out() -> None:
    assert extract(fence(NATIVE) + fence(NATIVE.replace("Dip", "Variant"))).text == NATIVE


def test_earlier_blocks_come_along_when_they_are_needed() -> None:
    imports, helper = "from ringfence import Strategy\n", "def level(n):\n    return n * 2\n"
    rest = NATIVE.removeprefix(imports).replace("= 3", "= level(3)")
    found = extract(fence(imports) + fence("unrelated = 1\n") + fence(helper) + fence(rest))
    assert ast.dump(ast.parse(found.text)) == ast.dump(ast.parse(imports + helper + rest))
    assert [found.text.split("\n")[here - 1] for here, _ in found.origin][:2] == [imports.strip(), "def level(n):"]


def test_the_block_that_runs_the_class_belongs_to_the_program() -> None:
    found = extract(f"{fence(LIBRARY)}Run it:\n{fence(RUN)}{fence('other = 1')}")
    assert found.text == f"{LIBRARY}\n\n{RUN}"


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        ("            self.buy(", 9),
        ("            if self.n", 9),
        ("            if self.n:", 9),
        ("            if self.n:\n                # buy", 10),
        ("            x = 'abc", 9),
        ("            x = [1,\n                 2", 10),
        ("            self.", 9),
        ('            """Buy', 9),
        ("        def on_end(self):", 9),
        ("        def on_end(self", 9),
        ("        @property", 9),
        ("            try:\n                self.buy()", 10),
        ("            x = y \\", 9),
        ("            x = 10_", 9),
        ("            x = 1 if self.n", 9),
        ("            x = self.n an", 9),
        ("            for x i", 9),
        ("class Next(Strategy):", 9),
    ],
)
@pytest.mark.parametrize("fenced", [True, False])
def test_a_reply_cut_inside_a_statement_is_truncated(tail: str, line: int, fenced: bool) -> None:
    error = refused(("```python\n" if fenced else "") + NATIVE + tail.removeprefix("    "))
    assert error.verdict == "truncated"
    assert error.line == line + fenced
    assert f"line {line + fenced}" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        NATIVE + "        # now the exit",
        NATIVE + "        self.position",
        NATIVE + '    def on_end(self):\n        """Say goodbye."""',
        NATIVE.partition("    def next")[0],
        NATIVE.partition("class")[0],
        LIBRARY,
        LIBRARY + "bt = Backtest(data, Dip)\n",
    ],
)
def test_an_unclosed_fence_that_parses_may_still_be_cut(text: str) -> None:
    assert refused("```python\n" + text).verdict == "truncated"
    assert extract(fence(text + "\n")).text.strip() == text.strip()
    assert extract(text).text == text


@pytest.mark.parametrize("text", [NATIVE, LIBRARY + RUN, LIBRARY + RUN + "stats"])
def test_an_unclosed_fence_around_a_whole_program_is_accepted_with_a_note(text: str) -> None:
    found = extract("Here:\n```python\n" + text)
    assert found.text.strip() == text.strip()
    assert any("not closed" in note for note in found.notes)


def test_half_a_closing_fence_is_an_end() -> None:
    assert extract(f"```python\n{LIBRARY}``").text == LIBRARY


def test_no_cut_inside_a_class_gets_through_an_unclosed_fence() -> None:
    text = program(SKETCHES[0])
    first, end = text.index("class ") + 6, text.index("\n\n\n", text.index("def next"))
    assert {refused(unclosed(text[:cut], "any")).verdict for cut in range(first, end)} == {"truncated"}


def test_thoughts_that_never_end_are_truncated() -> None:
    assert refused("<think>\nThe user wants\nmore").line == 3


def test_a_cut_new_version_is_not_replaced_by_the_old_one() -> None:
    assert refused(fence(NATIVE) + "Better:\n```python\nclass Dip(Strategy):\n    def next(self").verdict == "truncated"


def test_a_cut_run_block_is_missed() -> None:
    assert refused(fence(LIBRARY) + "```python\nbt = Backtest(data, Dip, cash=").verdict == "truncated"


def test_a_cut_block_that_is_no_part_of_the_program_is_left_out() -> None:
    assert extract(fence(NATIVE) + "Try also:\n```python\nprint(").text == NATIVE
    assert extract(fence(NATIVE) + "```bash\npip install").text == NATIVE


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        (NATIVE.replace("self.n = 3", "self.n = = 3"), 5, "correct it"),
        (NATIVE + "x = 1 2\n", 9, "correct it"),
        ("%matplotlib inline\n" + NATIVE, 1, "notebook"),
        ("!pip install x\n" + NATIVE, 1, "notebook"),
        (NATIVE.replace("self.n = 3", "self.n = “3”"), 5, "keyboard"),
        (NATIVE.replace("self.n = 3", "self.n =\u00a03"), 5, "keyboard"),
        (NATIVE.replace("self.n = 3", "self.n = '\0'"), 5, "NUL"),
        (NATIVE.replace("self.n = 3", "self.n = '\ud800'"), 5, "half of a character"),
    ],
)
def test_a_slip_of_the_pen_is_a_failure_with_its_line(text: str, line: int, hint: str) -> None:
    for before, raw in ((0, text), (2, f"Here:\n{fence(text)}")):
        error = refused(raw)
        assert error.verdict == "failed"
        assert hint in str(error)
        assert error.line == line + before


@pytest.mark.parametrize("raw", ["I can't help with that.", "```\nReturn 12 %\n```", "`" * 100, "```bash\nls -l\n```"])
def test_a_reply_without_a_program_is_no_strategy(raw: str) -> None:
    assert refused(raw).verdict == "not_a_strategy"


def test_too_much_is_refused() -> None:
    assert "characters" in str(refused("x" * (5 << 20)))
    assert "blocks" in str(refused(fence("x = 1\n") * 300))


@pytest.mark.parametrize(
    "raw",
    [
        "`" * 1_000_000,
        "```" + " " * 1_000_000 + "`",
        "```\n" * 250_000,
        "~~~" * 300_000,
        fence("x = 1\n") * 50_000,
        fence("'''\n") * 50_000,
        "<think>\n" * 125_000,
        "</think>" * 120_000,
        "class A(" * 100_000,
        "import x\nNote that\n" * 50_000,
        "(" * 1_000_000,
        "1+" * 500_000,
        "\ufeff" * 1_000_000,
    ],
    ids=range(13),
)
def test_hostile_text_is_refused_in_good_time(raw: str) -> None:
    """The suite's own limit on a test is the judge of the time: what is quadratic does not come back within it."""
    found = attempt(raw)
    assert isinstance(found, DraftError) or found.text == raw.lstrip("\ufeff")


PIECES = [
    *[
        "```python",
        "```",
        "~~~",
        "````",
        "``",
        "`",
        "class A(Strategy):",
        "    def next(self):",
        "        self.buy()",
        "import pandas",
    ],
    *[
        "from backtesting import Strategy",
        "<think>",
        "</think>",
        "(",
        ")",
        "[",
        "'",
        '"""',
        "# note",
        "x = 1",
        "\\",
        "Note that it's so.",
    ],
    *[
        "\t",
        "\r",
        "\r\n",
        "\ufeff",
        "\0",
        "if x:",
        "else:",
        "return",
        "- item",
        "1. item",
        "\u2028",
        "\f",
        "\ud800",
        "“",
    ],
]
replies = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=30).map("\n".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
)


def attempt(raw: str) -> Extracted | DraftError:
    try:
        return extract(raw)
    except DraftError as e:
        return e


@settings(max_examples=400, deadline=None)
@given(replies)
def test_whatever_comes_is_a_program_or_a_refusal(raw: str) -> None:
    found = attempt(raw)
    if isinstance(found, DraftError):
        assert found.verdict in ("failed", "truncated", "not_a_strategy")
        assert found.line is None or 1 <= found.line <= raw.count("\n") + raw.count("\r") + 1
    else:
        assert extract(found.text).text == found.text


@settings(max_examples=200, deadline=None)
@given(replies)
def test_a_program_without_fences_is_returned_unchanged(raw: str) -> None:
    try:
        ast.parse(raw)
    except (SyntaxError, ValueError):
        return
    if "\r" not in raw:
        assert extract(raw) == Extracted(text=raw, origin=((1, 1),), notes=())
