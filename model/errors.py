"""The errors a user can cause. Each message is one sentence: what, where, and what would be right."""

from __future__ import annotations


class RailsketchError(Exception):
    """Base of every error that is shown to a user as its message, never as a traceback."""


class InputError(RailsketchError):
    """A file, an argument or a parameter cannot be used as given."""


class EditRefused(RailsketchError):
    """An edit would break the document (unknown id, port budget, kinds that do not connect)."""


class JobError(RailsketchError):
    """The job breaks a legality rule; the message names the rule, the values and the nearest legal ones."""
