"""The drawing surface: arrays of what is drawn, painters, gestures, overlays and pictures."""
