"""Which events people are told of: patterns of names, each with a status or without. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gateway.governance.events import EventName, EventStatus
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

DEFAULT = (
    "*:FAILED, sla.*, *exhausted, instance.past_cut_off, request.due, operation.*, safe_mode.*"
)
"""What somebody wants to know at once."""


@dataclass(frozen=True, slots=True)
class EventPatterns:
    """Names with ``*`` for any text, and the statuses they are wanted in; None: in both."""

    patterns: tuple[tuple[str, EventStatus | None], ...]

    def match(self, name: str, status: str) -> bool:
        """Whether an event is one of them."""
        return any(
            fnmatchcase(name, pattern) and wanted in (None, status)
            for pattern, wanted in self.patterns
        )


def parse_patterns(text: str) -> EventPatterns:
    """Patterns as options give them: ``instance.*:FAILED, sla.*``; raises SETTING_VALUE.

    >>> parse_patterns("sla.*, *:FAILED").match("entity.submit", "FAILED")
    True
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, status = part.partition(":")
        try:
            wanted = EventStatus(status.strip().upper()) if status else None
        except ValueError as error:
            raise _no_pattern(part, "write FAILED or SUCCEEDED behind the colon") from error
        if not any(fnmatchcase(known, name.strip()) for known in EventName):
            raise _no_pattern(part, "docs/governance.md lists the names of events")
        found.append((name.strip(), wanted))
    if not found:
        raise _no_pattern(text, "write names, as sla.*, or * for all")
    return EventPatterns(tuple(found))


def _no_pattern(text: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, f"{text!r} is no pattern of events", advice=advice)
