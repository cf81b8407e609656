"""Reads the arguments of a job: texts, numbers, switches, moments and durations. Pure.

Every reader raises SETTING_VALUE for a value that it cannot read, and returns None for an argument
that is missing. A kind of job reads all its arguments before the job runs and before its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from journal.model.duration import Duration
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

_ON = frozenset({"true", "1", "yes", "on"})
_OFF = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments by name, as the command line (texts) or SQL (values) gives them."""

    given: Mapping[str, Any]

    def given_names(self, *names: str) -> list[str]:
        """Which of these arguments the caller gave; a switch that is off does not count."""
        found = [n for n in names if self.given.get(n) is not None]
        return [n for n in found if str(self.given[n]).lower() not in _OFF]

    def text(self, name: str) -> str | None:
        """A text that says something."""
        found = self.given.get(name)
        if found is None:
            return None
        if not str(found).strip():
            raise argument_error(f"{name} is empty", f"give {name} a value, or leave it out")
        return str(found)

    def choice(self, name: str, *known: str) -> str | None:
        """One of some words."""
        found = self.text(name)
        if found is None or found in known:
            return found
        raise argument_error(f"{name} cannot be {found!r}", f"use one of {', '.join(known)}")

    def number(self, name: str) -> int | None:
        """A whole number of at least 1."""
        found = self.given.get(name)
        if found is None:
            return None
        text = str(found)
        if not (text.isascii() and text.isdigit()) or int(text) < 1:
            raise argument_error(f"{name} cannot be {found!r}", "give a whole number of at least 1")
        return int(text)

    def flag(self, name: str) -> bool:
        """A switch; off if it was not given."""
        found = self.given.get(name)
        if found is None or str(found).lower() in _OFF:
            return False
        if str(found).lower() not in _ON:
            raise argument_error(f"{name} cannot be {found!r}", "write true or false")
        return True

    def moment(self, name: str) -> datetime | None:
        """A moment; UTC unless it says otherwise."""
        text = self.text(name)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise argument_error(
                f"{text} is not a point in time",
                "write it as 2024-05-01 or 2024-05-01T12:00:00+00:00",
            ) from None
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

    def duration(self, name: str) -> Duration | None:
        """A length of time, as ``30 days``."""
        text = self.text(name)
        return None if text is None else Duration.parse(text)

    def check_exclusive(self, *names: str) -> None:
        """Raise if more than one of these was given."""
        found = self.given_names(*names)
        if len(found) > 1:
            raise argument_error(f"{' and '.join(found)} exclude each other", "give one of them")


def argument_error(message: str, advice: str) -> PalimpsestError:
    """The error of an argument that nothing can be done with."""
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice)
