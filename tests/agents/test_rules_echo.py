"""The canonical English of a description reads as that description again, whatever it is."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from ringfence.agents.rules.compiler import Understood, compile_request
from ringfence.trade.description import Description
from ringfence.trade.description.echo import echo

from tests.agents.described import descriptions


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(descriptions())
def test_an_echo_reads_as_what_it_says(description: Description) -> None:
    said = echo(description)
    found = compile_request(said)
    assert isinstance(found, Understood), f"{found}\n{said}"
    assert found.description == description, said
    assert echo(found.description) == said
