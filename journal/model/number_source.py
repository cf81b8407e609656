"""The rules by which numbers are generated: where they begin, how they go on, where they end.

Values only; counters are kept by ``counters``, or in a database.
"""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass

CounterKey = tuple[int, str]
"""A table's id and a column, or a sequence's id and the name of its counter."""
LARGEST = (1 << 63) - 1
TYPES = {"SMALLINT": (1 << 15) - 1, "INT": (1 << 31) - 1, "BIGINT": LARGEST}
"""Types of a sequence, with the largest number of each."""


@dataclass(frozen=True, slots=True)
class NumberBlock:
    """Numbers that were taken: ``first`` and so on, ``until_turn`` of them before a cycle turns.

    ``following`` is what the counter goes on with. ``count`` may be less than was wanted.
    """

    first: int
    until_turn: int
    following: int
    count: int


@dataclass(frozen=True, slots=True)
class NumberSource:
    """Where generated numbers are counted and by which rules; ``shown`` is its name."""

    table_id: int
    column: str
    start: int = 1
    increment: int = 1
    minimum: int = 1
    maximum: int = LARGEST
    cycles: bool = False
    shown: str = ""

    @property
    def key(self) -> CounterKey:
        """The counter."""
        return self.table_id, self.column

    @property
    def first_of_cycle(self) -> int:
        """Where a cycle begins again."""
        return self.minimum if self.increment > 0 else self.maximum

    @property
    def period(self) -> int:
        """How many numbers there are in a cycle that has turned."""
        return (self.maximum - self.minimum) // abs(self.increment) + 1

    def block(self, following: int, wanted: int) -> NumberBlock:
        """The next numbers of a counter that goes on with ``following``, as many as there are."""
        room = self._room(following)
        if room == 0 and self.cycles:
            following, room = self.first_of_cycle, self.period
        if wanted <= room or not self.cycles:
            count = min(wanted, room)
            return NumberBlock(following, count, following + count * self.increment, count)
        turned = (wanted - room - 1) % self.period + 1
        return NumberBlock(following, room, self.first_of_cycle + turned * self.increment, wanted)

    def _room(self, following: int) -> int:
        """How many numbers there are from one on, without turning."""
        last = self.maximum if self.increment > 0 else self.minimum
        return max(0, (last - following) // self.increment + 1)


@dataclass(frozen=True, slots=True)
class CounterPosition:
    """The number that a counter goes on with, which is looked at and not taken."""

    source: NumberSource
