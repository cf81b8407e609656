"""Policies on the rows and columns of a table: what is kept of them. Values without I/O."""

from __future__ import annotations

from enum import StrEnum

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TablePolicy:
    """What roles other than a table's owner see of its rows, or of a column by its physical name.

    ``expression`` is canonical SQL over physical names: without a ``column`` the condition of rows
    that are seen, with one the value that is seen in its place. A condition ``of`` a use counts
    for that use of rows alone, beside the one of rows that are seen.
    """

    column: str
    expression: str
    of: str = ""


class RowUse(StrEnum):
    """What a statement does with rows that a row policy decides about."""

    READ = ""
    INSERT = "INSERT"
    """New rows, which the statement does not read."""
    UPSERT = "UPSERT"
    """New rows that it reads as well: with RETURNING, or where others may be in their way."""
    UPDATE = "UPDATE"
    """Rows before they are changed."""
    CHANGED = "CHANGED"
    """Rows after they were changed."""
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A row policy as PostgreSQL has them: ``command`` is ALL or the one that it is for.

    ``using`` is the condition of present rows, ``check`` that of new ones, both canonical SQL over
    physical names; ``roles`` are those that it is for. A row must meet one of the policies that
    are not ``restrictive``, and all that are.
    """

    name: str
    command: str
    restrictive: bool
    roles: tuple[int, ...]
    using: str | None = None
    check: str | None = None
    comment: str | None = None
