"""What can be said of a Draft or a Run: one file per evaluator."""
