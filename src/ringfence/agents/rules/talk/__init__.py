"""What is said and is no rule: talk, and what belongs to the run."""
