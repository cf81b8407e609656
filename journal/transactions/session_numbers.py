"""The sequence numbers that a session has taken, and its own counters.

``currval`` and ``lastval`` are a session's, and a ROLLBACK changes neither. Numbers of temporary
relations are counted in memory, since nobody else takes any.
"""

from __future__ import annotations

from journal.model.counters import Counters, Numbers
from journal.model.errors import Code, PalimpsestError
from journal.model.number_source import CounterKey, NumberBlock, NumberSource
from journal.model.schema import CatalogSnapshot


def _owner(key: CounterKey) -> CounterKey:
    """The column of a counter, or the sequence, to which RESTART gives another counter."""
    number, name = key
    column, _, counter = name.rpartition(" ")
    return (number, column) if column and counter.isdigit() else key


class SessionNumbers:
    """The last number of each source that a session has used; one thread at a time uses it."""

    def __init__(self) -> None:
        self._own = Counters({})
        self._last: dict[CounterKey, int] = {}
        self._latest: CounterKey | None = None

    def forget(self) -> None:
        """Know no number any more that the session has taken."""
        self._last.clear()
        self._latest = None

    def counters_of(self, table_id: int, catalog: CatalogSnapshot, shared: Numbers) -> Numbers:
        """The counters for the numbers of a table or sequence: its own if that is temporary."""
        return self._own if table_id in catalog.own_ids() else shared

    def take(self, source: NumberSource, count: int, counters: Numbers) -> NumberBlock:
        """Take numbers; raises SEQUENCE_END where there are fewer, which are gone then."""
        found: list[NumberBlock] = []

        def change(following: int) -> int:
            found.append(source.block(following, count))
            return found[-1].following

        if count == 0:
            return NumberBlock(source.start, 0, source.start, 0)
        counters.change(source, change)
        block = found[-1]
        if block.count:
            self.note(source.key, block.following - source.increment)
        if block.count < count:
            bound, last = ("maximum", source.maximum), ("minimum", source.minimum)
            word, value = bound if source.increment > 0 else last
            raise PalimpsestError(
                Code.SEQUENCE_END,
                f"sequence {source.shown} has reached its {word} value, {value}",
                advice="ALTER SEQUENCE .. RESTART, give it another bound, or CYCLE",
            )
        return block

    def put(self, source: NumberSource, value: int, is_called: bool, counters: Numbers) -> None:
        """Have a source go on behind ``value``, or with it if it is not called yet.

        Raises OUT_OF_RANGE for a value beyond its bounds.
        """
        if not source.minimum <= value <= source.maximum:
            raise PalimpsestError(
                Code.OUT_OF_RANGE,
                f"setval: value {value} is out of bounds for sequence {source.shown}"
                f" ({source.minimum}..{source.maximum})",
                advice="give a value within them, or ALTER SEQUENCE",
            )
        counters.change(source, lambda _: value + source.increment if is_called else value)
        if is_called:
            self._last[_owner(source.key)] = value

    def note(self, key: CounterKey, value: int) -> None:
        """A number was taken."""
        self._latest = _owner(key)
        self._last[self._latest] = value

    def position(self, source: NumberSource, counters: Numbers) -> int:
        """The number that a source would give out next."""
        found: list[int] = []

        def keep(following: int) -> int:
            found.append(following)
            return following

        counters.change(source, keep)
        return found[-1]

    def current(self, source: NumberSource | None) -> int:
        """The last number of a source, or of whichever was used last.

        Raises SEQUENCE_UNUSED where the session has taken none.
        """
        key = self._latest if source is None else _owner(source.key)
        if key is None or key not in self._last:
            what = "lastval" if source is None else f"currval of sequence {source.shown}"
            raise PalimpsestError(
                Code.SEQUENCE_UNUSED,
                f"{what} is not yet defined in this session",
                advice="take a number with nextval first",
            )
        return self._last[key]
