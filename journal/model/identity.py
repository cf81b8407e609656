"""The numbers that a column generates. Pure."""

from __future__ import annotations

from dataclasses import replace

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """A generated number: ``always`` refuses explicit values.

    RESTART gives it another ``counter``, so that a ROLLBACK goes back to the old one; ``begin`` is
    what the counter begins with, where that is not ``start``.
    """

    always: bool = False
    start: int = 1
    increment: int = 1
    counter: int = 0
    begin: int | None = None

    @property
    def first(self) -> int:
        """The first number of its counter."""
        return self.start if self.begin is None else self.begin

    def counted_as(self, physical: str) -> str:
        """What the counter of a column is called."""
        return f"{physical} {self.counter}" if self.counter else physical

    def restarted(self, counter: int, begin: int | None = None) -> Identity:
        """The same with a new counter, which begins with ``start`` if nothing else is given."""
        return replace(self, counter=counter, begin=begin)
