"""Everything about a cluster and its training step that is true without a screen."""
