"""What every other layer may use: errors, settings, plug-in lookup."""
