"""Runs made by hand, where the tests look for them; the builder is shipped, because the suites need it too."""

from __future__ import annotations

from ringfence.testing.runs import TEXT, make_curve, make_draft, make_metrics, make_run, make_trade

__all__ = ["TEXT", "make_curve", "make_draft", "make_metrics", "make_run", "make_trade"]
