"""The scope of a suppression: keys, identifiers, or identifiers of other rows as well.

    KEY         the keys of the rows that go
    IDENTIFIER  identifiers that the request names, where no row that stays holds them
    ALL         all identifiers that the request names

Keys are part of each. Pure.
"""

from __future__ import annotations

from enum import StrEnum

from journal.model.errors import Code, PalimpsestError


class Suppression(StrEnum):
    """How far a request reaches into what is written later."""

    KEY = "KEY"
    IDENTIFIER = "IDENTIFIER"
    ALL = "ALL"


def read_suppression(text: str) -> Suppression:
    """The word for it; raises SETTING_VALUE for another one."""
    try:
        return Suppression(text.strip().upper())
    except ValueError:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f'"{text}" is not a scope of a suppression',
            advice="write SCOPE KEY, SCOPE IDENTIFIER or SCOPE ALL",
        ) from None
