"""Scripts written for other people's libraries: each runs unchanged on the real one, and what it did is recorded."""
