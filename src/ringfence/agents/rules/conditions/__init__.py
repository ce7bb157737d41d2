"""Conditions: comparisons, crosses, movements, and what they are joined by."""
