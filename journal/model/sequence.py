"""A sequence as a value: its definition over a counter. Pure."""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass
from journal.model.number_source import NumberSource
from journal.model.table_name import TableName


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence: its definition, which transactions undo, over a counter, which they do not.

    ``owner`` is a table's id and a physical column, with which it goes. RESTART gives it another
    ``counter``, so that a ROLLBACK goes back to the old one; ``begin`` is what that begins with.
    """

    id: int
    name: TableName
    type: str
    start: int
    increment: int
    minimum: int
    maximum: int
    begin: int
    cycles: bool = False
    cache: int = 1
    owner: tuple[int, str] | None = None
    counter: int = 0
    comment: str | None = None

    @property
    def source(self) -> NumberSource:
        """Where its numbers come from."""
        return NumberSource(
            self.id,
            f"sequence {self.counter}",
            self.begin,
            self.increment,
            self.minimum,
            self.maximum,
            self.cycles,
            str(self.name),
        )
