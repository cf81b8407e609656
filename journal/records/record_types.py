"""What tables of the records consist of: columns by name and type, and their format. Values."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from journal.model.lazy_dataclass import dataclass


class RecordType(StrEnum):
    """What a column holds; ``TEXTS`` is a list of texts, ``NUMERIC`` a whole number of any size."""

    TEXT = "text"
    INTEGER = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """One column; where it is ``required``, rows from before it have 0 in it."""

    name: str
    type: RecordType
    required: bool = False
    since: int = 1


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One table; of one that is ``append_only`` no row is ever changed or removed."""

    name: str
    columns: tuple[RecordColumn, ...]
    key: tuple[str, ...] = ()
    since: int = 1
    append_only: bool = False
    indexed: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)
    """Of its columns, in order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(c.name for c in self.columns))

    def type_of(self, name: str) -> RecordType:
        """What a column holds."""
        return self.columns[self.names.index(name)].type


def columns(text: str) -> tuple[RecordColumn, ...]:
    """Columns by name and type, with ``required`` and the format that brought them."""
    found = []
    for told in text.split(", "):
        name, kind, *more = told.split()
        since = next((int(word) for word in more if word.isdigit()), 1)
        found.append(RecordColumn(name, RecordType(kind), "required" in more, since))
    return tuple(found)
