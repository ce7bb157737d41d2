"""Strategies, brokers and what they make of prices: values and arithmetic, no file, no clock, no network.

This folder runs on both sides of the fence: inside it drives the strategy, outside it replays what the strategy
did. Nothing here may be trusted to protect the host.
"""
