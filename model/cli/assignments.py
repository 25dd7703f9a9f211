"""Arguments of the form key=value."""

from __future__ import annotations

from collections.abc import Sequence

from model.errors import InputError


def assignments(option: str, given: Sequence[str]) -> dict[str, str]:
    """The values by key. Raises `InputError` for one of another form, or a key given twice."""
    found: dict[str, str] = {}
    for each in given:
        key, equals, value = each.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f'{option} "{each}" is not of the form key=value.')
        if key in found:
            raise InputError(f"{option} {key} is given twice.")
        found[key] = value.strip()
    return found
