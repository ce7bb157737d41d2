"""Strategies of rules: entries, exits, guards, sizes, and the sides they are for."""
