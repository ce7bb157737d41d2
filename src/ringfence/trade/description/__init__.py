"""The typed description of a strategy: a value, its JSON, its English, its program and its parameters."""

from __future__ import annotations

from ringfence.trade.description.model import VERSION as VERSION, Description as Description
