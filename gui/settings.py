"""What the window remembers between two runs (window state, recent files, theme)."""

from __future__ import annotations

from PySide6.QtCore import QSettings

ORGANISATION = "Railsketch"
APPLICATION = "Railsketch"


def settings() -> QSettings:
    """The user's settings, one INI file a user."""
    return QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, ORGANISATION, APPLICATION)
