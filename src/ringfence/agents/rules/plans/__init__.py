"""The other kinds of strategy: fixed weights, rotation, pairs, switching."""
