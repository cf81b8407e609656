"""What an erasure or retention does with rows that refer to the rows it removes.

    REPORT    they stay, refer to nothing, and are counted
    REFUSE    nothing is taken away while there are any
    CASCADE   they go, too, and what refers to them; erasures alone

A table says it for those that refer to its own rows, in the property ``erasure_dependents`` and in
its policy; a request may say it for all tables it reaches. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Table, fold

PROPERTY = "erasure_dependents"


class Dependents(StrEnum):
    """What becomes of them."""

    REPORT = "REPORT"
    REFUSE = "REFUSE"
    CASCADE = "CASCADE"


def read_dependents(text: str) -> Dependents:
    """The word for it; raises SETTING_VALUE for another one."""
    try:
        return Dependents(text.strip().upper())
    except ValueError:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f'"{text}" is not a rule for rows that refer to removed ones',
            advice="write REPORT, REFUSE or CASCADE",
        ) from None


def dependents_of(table: Table, chosen: Dependents | None = None) -> Dependents:
    """What becomes of rows that refer to a table's: as chosen, else as its property says."""
    if chosen is not None:
        return chosen
    given = next((v for n, v in table.properties if fold(n) == PROPERTY), None)
    return Dependents.REPORT if given is None else read_dependents(given)


def dependents_error(table: Table, found: Mapping[str, int], what: str) -> PalimpsestError:
    """What is said where rows that refer to a table's must not be left behind."""
    parts = ", ".join(f"{count} of {name}" for name, count in found.items())
    return PalimpsestError(
        Code.FOREIGN_KEY,
        f"{what} of {table.name} is refused: other rows refer to those it would remove: {parts}",
        advice="change or delete these rows first, or choose another way: docs/erasure.md",
    )
