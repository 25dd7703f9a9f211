"""Gestures, one file each. A gesture asks the model before it acts, and is one undo step."""
