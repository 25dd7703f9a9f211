"""Ready-made clusters with parameters."""
