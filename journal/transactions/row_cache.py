"""The row cache: recently written rows by key, in memory.

Per key the newest versions that commits wrote, newest last, each with the version of its commit. A
look-up at a snapshot takes the last one at or below it; a key that was deleted is here as such. A
key that is not here was not written after the version since which the table is known. Whatever
might change rows in another way than by a commit forgets the table. Bounded: keys written longest
ago go first.

Only for tables of plain types (``plain_rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from sys import getsizeof
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.point_rows import KeyLookup
from journal.model.schema import CatalogSnapshot, Table
from journal.model.segment import Manifest
from journal.model.store_session import MemoryRows, RowSet
from journal.model.version import Version
from journal.transactions.lookup import constant
from journal.transactions.pieces import newest_row
from journal.transactions.plain_rows import Key, Row, is_plain, keyed_rows, later, plain_type
from journal.transactions.transaction import Transaction

_BYTES_MAX = 64 << 20
_ROW_BYTES = 500
"""What a row takes besides its values."""
_VERSIONS_MAX = 4


Written = Mapping[int, Mapping[Key, Row] | None]
"""The newest state of each key that a commit wrote, by table; None where that is not known."""


@dataclass(frozen=True, slots=True)
class _CachedVersion:
    """A row, and the version of the commit that wrote it."""

    since: Version
    row: Row


@dataclass(slots=True)
class _KeyVersions:
    """What is known of one key."""

    table: Table
    versions: tuple[_CachedVersion, ...]
    bytes: int


class RowCache:
    """See the module's head. Written inside commit sections only, read by everybody."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._since: Version = 0
        self._gaps: dict[int, Version] = {}
        self._bytes = 0
        self._rows: dict[tuple[int, Key], _KeyVersions] = {}
        self._held: dict[int, set[Key]] = {}

    def __len__(self) -> int:
        """How many keys are here."""
        return len(self._rows)

    def find(self, table: Table, key: Key, snapshot: Version) -> Row | None:
        """What a key shows at a snapshot; None if that is not known here."""
        found = self._rows.get((table.id, key))
        if found is None or found.table is not table:
            return None
        return next((k.row for k in reversed(found.versions) if k.since <= snapshot), None)

    def seen_by(self, transaction: Transaction, table: Table, key: Key) -> Row | None:
        """What a key shows to a transaction, its own rows first; None if no such row is here.

        Raises KeyError where its own rows are not known by key.
        """
        own = newest_row(table, transaction.buffered(table.id), key)
        return own or self.find(table, key, transaction.snapshot.version)

    def holds(self, table: Table, key: Key) -> bool:
        """True if anything is known of a key."""
        return (table.id, key) in self._rows

    def known_since(self, table_id: int) -> Version:
        """What was written to a table after this version is here; ask after looking for a key."""
        return max(self._since, self._gaps.get(table_id, 0))

    def is_overtaken(self, table: Table, row: Row, snapshot: Version) -> bool:
        """True if it is known that somebody committed to a row's key after a snapshot."""
        if row.values is None:
            return False
        names = [c.physical for c in table.stored]
        found = self._rows.get((table.id, tuple(row.values[names.index(k)] for k in table.key)))
        return found is not None and found.versions[-1].since > snapshot

    def take(self, version: Version, written: Written, catalog: CatalogSnapshot) -> None:
        """Take in what a commit wrote, before anybody can begin at ``version``."""
        for table_id, rows in written.items():
            table = catalog.by_id(table_id)
            if table is None or rows is None:
                self.forget(table_id, version)
                continue
            for key, row in rows.items():
                self._put(table, key, _CachedVersion(version, row))
        while self._bytes > self._bytes_max and self._rows:
            self._drop(next(iter(self._rows)))

    def forget(self, table_id: int, version: Version) -> None:
        """Know nothing any more of what was written to a table up to a version."""
        self._gaps[table_id] = max(version, self._gaps.get(table_id, 0))
        for key in self._held.pop(table_id, set()):
            self._bytes -= self._rows.pop((table_id, key)).bytes

    def clear(self, version: Version) -> None:
        """Know nothing any more of what was written up to a version."""
        self._since = max(version, self._since)
        self._gaps.clear()
        self._rows.clear()
        self._held.clear()
        self._bytes = 0

    def _put(self, table: Table, key: Key, latest: _CachedVersion) -> None:
        each = _ROW_BYTES + sum(map(getsizeof, latest.row.values or ()))
        place = (table.id, key)
        before = self._rows.pop(place, None)
        versions: tuple[_CachedVersion, ...] = (latest,)
        if before is not None:
            self._bytes -= before.bytes
            if before.table is table:
                versions = (*before.versions[1 - _VERSIONS_MAX :], latest)
        self._rows[place] = _KeyVersions(table, versions, each * len(versions))
        self._bytes += each * len(versions)
        self._held.setdefault(table.id, set()).add(key)

    def _drop(self, place: tuple[int, Key]) -> None:
        # Those who miss the key must see that it may have been here.
        written = self._rows[place].versions[-1].since
        self._gaps[place[0]] = max(written, self._gaps.get(place[0], 0))
        self._bytes -= self._rows.pop(place).bytes
        self._held[place[0]].discard(place[1])


def only_moved(before: Manifest, after: Manifest) -> bool:
    """True for the two steps of a sealing: a head is new, or stands in segments that are."""
    if before.heads == after.heads or before.masks != after.masks:
        return False
    return set(before.segments) <= set(after.segments)


def find_rows(
    find: Callable[[Transaction, Table, Key], Row | None],
    transaction: Transaction,
    keyed: Iterable[KeyLookup],
    parameters: Mapping[str, Any],
) -> list[tuple[Table, Row]] | None:
    """Looked-up rows as ``find`` knows that a transaction sees them; None if it does not know."""
    found: list[tuple[Table, Row]] = []
    for place in keyed:
        table = transaction.catalog.by_id(place.table_id)
        if table is None or not is_plain(table):
            return None
        key = key_of(table, place, parameters)
        row = None if key is None else find(transaction, table, key)
        if row is None:
            return None
        found.append((table, row))
    return found


def key_of(table: Table, place: KeyLookup, parameters: Mapping[str, Any]) -> Key | None:
    """The key that is looked up, if its values are of its columns' own types."""
    found = []
    for name, node in zip(table.key, place.key, strict=True):
        value = constant(node, parameters)
        if not is_key_value(table, name, value):
            return None
        found.append(value)
    return tuple(found)


def is_key_value(table: Table, name: str, value: object) -> bool:
    """True for a value of a key column's own type, if it is one by which keys are found here."""
    plain = plain_type(table.by_physical(name).type)
    return plain is not None and plain.values in {int, str} and type(value) is plain.values


def written_rows(
    catalog: CatalogSnapshot, rows: Mapping[int, Sequence[RowSet]]
) -> dict[int, dict[Key, Row] | None]:
    """What a commit wrote, by table."""
    found: dict[int, dict[Key, Row] | None] = {}
    for table_id, sets in rows.items():
        table = catalog.by_id(table_id)
        found[table_id] = None if table is None else newest_rows(table, sets)
    return found


def newest_rows(table: Table, sets: Sequence[RowSet]) -> dict[Key, Row] | None:
    """The newest state of each key in sets of journal rows; None where that is not known."""
    found: dict[Key, Row] = {}
    for rows in sets:
        keyed = keyed_rows(table, rows) if isinstance(rows, MemoryRows) else None
        if keyed is None:
            return None
        for key, row in keyed.items():
            found[key] = later(found.get(key), row)
    return found
