"""How a session has values written as text, where that is its own choice."""

from __future__ import annotations

from gateway.config import Settings
from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The zone that instants are shown in, and PostgreSQL's name of the style of intervals."""

    zone: str = "UTC"
    intervals: str = "postgres"

    @staticmethod
    def of(settings: Settings) -> TextStyle:
        """The style of a session with these settings."""
        return TextStyle(settings.timezone or "UTC", interval_style(settings))


def interval_style(settings: Settings) -> str:
    """The value of the setting ``intervalstyle``."""
    return dict(settings.taken).get("intervalstyle", "postgres") if settings.taken else "postgres"
