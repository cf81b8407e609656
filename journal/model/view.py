"""A view. A value."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass
from journal.model.table_name import TableName


@dataclass(frozen=True, slots=True)
class View:
    """A logical view: its SELECT as canonical text; comments by the folded names of columns.

    ``defined`` is the SELECT with the calls of macros in it; None where ``query`` had none.
    """

    name: TableName
    query: str
    columns: tuple[str, ...] = ()
    comment: str | None = None
    column_comments: tuple[tuple[str, str], ...] = ()
    defined: str | None = None

    @property
    def shown_query(self) -> str:
        """The SELECT as it was written, in canonical words."""
        return self.defined or self.query
