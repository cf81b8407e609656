"""Names of relations and of what else stands in a schema, and how names compare. Pure."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


def fold(name: str) -> str:
    """The form under which names are compared."""
    return name.casefold()


@dataclass(frozen=True, slots=True)
class TableName:
    """Schema and name as first written; equality ignores case through ``key``."""

    schema: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """What two spellings of one name share."""
        return (fold(self.schema), fold(self.name))

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"
