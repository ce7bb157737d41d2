"""A Draft knows its dialect, its class and its hash, or says why the text is none."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from ringfence.base.errors import DraftError
from ringfence.trade.draft import Draft, SeveralClasses, read_draft

from tests.corpus.scripts import Script, scripts

NEXT = "    def next(self): self.x = self.data.close\n"
LIBRARY_NEXT = "    def init(self): pass\n    def next(self): self.x = self.data.Close\n"
SIGNALS = "    def generate_signals(self, current_data): return []\n"


def refused(text: str, class_name: str | None = None) -> DraftError:
    with pytest.raises(DraftError) as caught:
        read_draft(text, name="dip", class_name=class_name)
    return caught.value


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("native", f"from ringfence import Strategy\nclass Dip(Strategy):\n{NEXT}"),
        ("native", f"import ringfence as rf\nclass Dip(rf.Strategy):\n{NEXT}"),
        ("native", f"from ringfence import *\nclass Dip(Strategy):\n{NEXT}"),
        ("native", f"from ringfence import Strategy as Base\nclass Dip(Base):\n{NEXT}"),
        ("native", f"try:\n    from ringfence import Strategy\nfinally:\n    pass\nclass Dip(Strategy):\n{NEXT}"),
        ("native", f"from ringfence import Strategy\nimport backtesting\nclass Dip(Strategy):\n{NEXT}"),
        ("native", f"class Dip(Strategy):\n{NEXT}"),
        ("signals", f"from ringfence import BaseStrategy\nclass Dip(BaseStrategy):\n{SIGNALS}"),
        ("signals", f"from strategies.base import BaseStrategy\nclass Dip(BaseStrategy):\n{SIGNALS}"),
        ("signals", f"class Dip(BaseStrategy):\n{SIGNALS}"),
        ("signals", f"class Dip(Strategy):\n{SIGNALS}"),
        ("backtesting.py", f"from backtesting import Strategy\nclass Dip(Strategy):\n{NEXT}"),
        ("backtesting.py", f"import backtesting as b\nclass Dip(b.Strategy):\n{NEXT}"),
        ("backtesting.py", f"from backtesting.lib import SignalStrategy\nclass Dip(SignalStrategy):\n{NEXT}"),
        ("backtesting.py", f"from backtesting import Backtest\nclass Dip(BaseStrategy):\n{NEXT}"),
        ("backtesting.py", f"class Dip(Strategy):\n{LIBRARY_NEXT}"),
        (
            "backtesting.py",
            "from backtesting import Strategy\ndef make():\n    class Dip(Strategy):\n        n = 1\n    return Dip\n",
        ),
    ],
)
def test_the_dialect_is_known_by_the_base(dialect: str, text: str) -> None:
    draft = read_draft(text, name="dip")
    assert (draft.dialect, draft.class_name, draft.classes) == (dialect, "Dip", ("Dip",))


def test_a_guess_is_noted() -> None:
    assert "native dialect" in " ".join(read_draft(f"class Dip(Strategy):\n{NEXT}", name="dip").notes)
    assert read_draft(f"from ringfence import Strategy\nclass Dip(Strategy):\n{NEXT}", name="dip").notes == ()
    assert read_draft(f"from ringfence import *\nclass Dip(Strategy):\n{NEXT}", name="dip").notes == ()


def test_the_hash_is_of_the_program_and_not_of_the_reply() -> None:
    text = f"from ringfence import Strategy\nclass Dip(Strategy):\n{NEXT}"
    bare, fenced = (read_draft(raw, name="dip") for raw in (text, f"Sure!\n```python\n{text}```\nEnjoy."))
    assert bare.sha256 == fenced.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (bare.given_line(2), fenced.given_line(2)) == (2, 4)


TWO = f"from ringfence import Strategy\nclass A(Strategy):\n    n = 1\n{NEXT}class B(Strategy):\n    m = 2\n{NEXT}"


def test_two_classes_need_a_choice() -> None:
    error = refused(f"Here:\n```python\n{TWO}```\n")
    assert isinstance(error, SeveralClasses)
    assert "A and B" in str(error) and "--class A" in str(error)
    assert error.line == 7
    assert [p.name for p in read_draft(TWO, name="two", class_name="B").parameters] == ["m"]


def test_a_class_that_is_not_there_is_named() -> None:
    assert "did you mean 'B'?" in str(refused(TWO.replace("class B", "class Beta"), "Bet")).replace("Beta", "B")
    assert "name one of A, B" in str(refused(TWO, "Quite"))


def test_the_class_that_derives_from_the_other_is_taken() -> None:
    draft = read_draft(TWO.replace("B(Strategy)", "B(A)"), name="two")
    assert (draft.class_name, draft.classes) == ("B", ("A", "B"))


def test_a_class_defined_twice_is_the_second() -> None:
    draft = read_draft(TWO.replace("class B", "class A"), name="two")
    assert [p.name for p in draft.parameters] == ["m"]


def test_a_class_called_like_its_base_is_a_strategy() -> None:
    assert (
        read_draft(f"from ringfence import Strategy\nclass Strategy(Strategy):\n{NEXT}", name="x").class_name
        == "Strategy"
    )


def test_a_script_chooses_its_class_itself() -> None:
    two = TWO.replace("from ringfence", "from backtesting").replace("import ", "import Backtest, ")
    assert read_draft(two, name="two").class_name is None
    assert read_draft(two, name="two").classes == ("A", "B")
    assert read_draft(two + "Backtest(data, B).run()\n", name="two").class_name == "B"
    assert read_draft(two + "Backtest(data, strategy=A).run()\n", name="two").class_name == "A"
    assert read_draft(two + "for s in (A, B): Backtest(data, s).run()\n", name="two").class_name is None
    assert read_draft(two, name="two", class_name="A").class_name == "A"


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "no class is a strategy", None),
        ("print('hello')\n", "no class is a strategy", None),
        ("Sorry", "no class is a strategy", None),
        ("from backtesting.lib import crossover\nprint(crossover([1], [2]))\n", "no class is a strategy", None),
        (f"import backtrader as bt\nclass A(bt.Strategy):\n{NEXT}", "backtrader.Strategy", 2),
        (f"class A:\n{NEXT}", "`class A(Strategy):`", 1),
        (
            "from ringfence import Strategy\ndef f():\n    class A(Strategy):\n        n = 1\n",
            "no class is a strategy",
            None,
        ),
    ],
)
def test_what_is_no_strategy_says_what_is_missing(text: str, words: str, line: int | None) -> None:
    error = refused(text)
    assert (error.verdict, error.line) == ("not_a_strategy", line)
    assert words in str(error)


@pytest.mark.parametrize("bad", ["return 1\n", "break\n", "def f(a, a): pass\n", "x = 1\nnonlocal x\n"])
def test_what_only_the_compiler_notices_is_a_failure(bad: str) -> None:
    text = f"from ringfence import Strategy\nclass Dip(Strategy):\n{NEXT}{bad}"
    assert refused(text).verdict == "failed"
    assert refused(f"Look:\n```python\n{text}```\n").line == (refused(text).line or 0) + 2


def test_nothing_of_the_text_is_run() -> None:
    text = f"raise SystemExit(3)\nfrom ringfence import Strategy\nclass Dip(Strategy):\n    print('x')\n{NEXT}"
    assert read_draft(text, name="dip").class_name == "Dip"


def test_warnings_of_the_compiler_are_not_ours() -> None:
    assert (
        read_draft(f"class Dip(Strategy):\n    pattern = '\\d'\n{NEXT}    y = 1 is 1\n", name="dip").class_name == "Dip"
    )


def test_an_error_survives_its_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(DraftError("cut: ask again", verdict="truncated", line=3)))
    assert (str(error), error.verdict, error.line) == ("cut: ask again", "truncated", 3)


def test_reading_a_draft_loads_nothing_heavy() -> None:
    script = "import sys, ringfence.trade.draft; print({'numpy', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def attempt(raw: str) -> Draft | str:
    """The Draft, or the verdict on the text."""
    try:
        return read_draft(raw, name="any")
    except DraftError as e:
        return e.verdict


@pytest.mark.parametrize("script", list(scripts()), ids=lambda script: script.name)
def test_the_corpus_is_told_apart(script: Script) -> None:
    match attempt(script.text):
        case str(verdict):
            assert verdict in script.verdicts
        case draft:
            assert draft.dialect == "backtesting.py"
            assert not script.verdicts & {"truncated", "not_a_strategy"}


WORDS = [
    "class A(Strategy):",
    "    n = 1",
    "    def next(self): pass",
    "from ringfence import Strategy",
    "class B(A, B): pass",
]
WORDS += [
    "class A(B): pass",
    "```python",
    "```",
    "from backtesting import *",
    "x = param(1)",
    "    x = -'a'",
    "def f():",
    "  class A(A): y = 2",
]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=12).map("\n".join)))
def test_any_text_is_a_draft_or_a_refusal(raw: str) -> None:
    match attempt(raw):
        case str(verdict):
            assert verdict in ("failed", "truncated", "not_a_strategy")
        case draft:
            assert read_draft(draft.text, name="any", class_name=draft.class_name).sha256 == draft.sha256


def test_a_long_chain_of_classes_is_read() -> None:
    chain = "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, 3000))
    assert read_draft(f"class C0(Strategy):\n{NEXT}{chain}", name="chain", class_name="C2").class_name == "C2"
