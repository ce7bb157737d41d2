"""Lines, their settings, and what stands on either side of a comparison."""
