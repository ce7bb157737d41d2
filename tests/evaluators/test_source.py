"""Each rule is seen to find what it is about, and to leave alone what only looks like it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable

import pytest

from ringfence.trade.checked import check_text
from ringfence.trade.draft import read_draft
from ringfence.trade.lint import Finding
from ringfence.trade.lint.findings import RULES, lint
from ringfence.trade.lint.libraries import LIBRARIES

from tests.conftest import ROOT
from tests.corpus.scripts import scripts
from tests.evaluators.cases import CASES, USE
from tests.evaluators.texts import native


def codes(text: str) -> set[str]:
    return {finding.code for finding in check_text(text, name="dip.py").findings}


def found(text: str, code: str) -> Finding:
    findings = [finding for finding in check_text(text, name="dip.py").findings if finding.code == code]
    assert findings, f"{code} was not found in\n{text}"
    return findings[0]


@pytest.mark.parametrize(("code", "wrong", "right"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_rule_finds_its_fault_and_nothing_like_it(code: str, wrong: str, right: str) -> None:
    assert code in codes(wrong)
    assert code not in codes(right)


def test_every_rule_has_a_case() -> None:
    refusals = {"RF001", "RF002", "RF003", "RF004"}
    assert {rule.code for rule in RULES} | refusals == {code for code, *_ in CASES}


def test_codes_are_each_used_once() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)


def test_every_rule_is_documented_with_its_severity() -> None:
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    missing = [rule.code for rule in RULES if f"| {rule.code} | {rule.severity} |" not in page]
    assert missing == []


def test_a_finding_points_at_its_place_in_characters() -> None:
    finding = found(native(step="x = 'é'; y = self.data.close.shift(-1)"), "RF201")
    assert finding.column == 22
    assert finding.severity == "warning"


def test_lines_are_those_of_the_reply() -> None:
    program = native(step="self.buy(size=100)\nself.position.close()")
    bare = found(program, "RF404").line
    assert found(f"Here it is:\n\n```python\n{program}```\n", "RF404").line == bare + 3


def test_a_helper_that_next_calls_counts_as_next() -> None:
    text = native(step="self.enter()") + "    def enter(self):\n        x = self.I(f, self.data.close)\n"
    assert "RF302" in codes(text)


def test_an_indicator_that_is_a_method_or_a_lambda_is_looked_into() -> None:
    method = (
        native(init="self.x = self.I(self.z, self.data.close)") + "    def z(self, c):\n        return c - c.mean()\n"
    )
    assert "RF207" in codes(method)
    assert "RF207" in codes(native(init="self.x = self.I(lambda c: c / c.max(), self.data.close)"))


def test_a_setting_of_an_indicator_is_no_series() -> None:
    assert "RF207" not in codes(native(top="def f(c, n=[1, 2]):\n    return c * n.max()", init=USE))


def good_scripts() -> Iterable[tuple[str, str]]:
    return [(s.name, s.text) for s in scripts() if s.group in ("good", "fenced", "no_trades")]


def test_scripts_that_run_as_they_are_get_no_error_and_no_warning() -> None:
    loud = {
        (name, finding.code, finding.message)
        for name, text in good_scripts()
        for finding in check_text(text, name=name).findings
        if finding.severity != "info"
    }
    assert loud == set()


def test_every_library_of_the_guest_is_listed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    spelled = {"scikit-learn": "sklearn", "ta-lib": "talib", "pandas-ta-classic": "pandas_ta_classic"}
    wanted = {word.partition(">")[0].strip().lower() for word in (*extras["guest"], *extras["backtesting"])}
    assert {spelled.get(name, name) for name in wanted} <= LIBRARIES


def test_a_deep_tree_is_linted() -> None:
    text = native(step="x = " + "+".join(["1"] * 800))
    assert lint(read_draft(text, name="deep")) is not None
