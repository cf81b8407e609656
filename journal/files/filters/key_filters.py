"""Which of some files may hold rows with a given value, by the filters that lie beside them.

For point reads, by key or by another column that has filters. They are kept in memory, up to a
limit, the least recently asked go first. A file whose filter is not there may hold any value.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journal.identity.descriptor import DescriptorEntry, filtered_of
from journal.model.schema import Table

if TYPE_CHECKING:
    from journal.files.filters.bloom import Bloom

_BYTES_MAX = 64 << 20
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})
_TEXT = frozenset({"TEXT", "VARCHAR"})

_Name = tuple[str, str]
"""The path of a file, and the id that its filter is stored under."""


class KeyFilters:
    """The filters that were asked last."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._held: OrderedDict[_Name, Bloom | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def matching_paths(
        self, root: Path, table: Table, paths: Sequence[str], value: Any, column: str | None = None
    ) -> list[str]:
        """The paths that may hold a value of ``column``, or else of the key; at least one."""
        found = list(paths)
        if len(found) < 2 or not _can_be_asked(table, value, column):
            return found
        return self._matching_paths(root, table, found, value, column)

    def _matching_paths(
        self, root: Path, table: Table, paths: list[str], value: Any, column: str | None
    ) -> list[str]:
        import pyarrow as pa

        from journal.files.filters.hashing import hash_rows
        from journal.files.filters.sidecar import KEY, identifier_hashes

        values = pa.array([value])
        identity = None if column is None else _identities(table, column)[0]
        name = KEY if identity is None else identity.id
        hashes = hash_rows(values) if identity is None else identifier_hashes(values, identity)
        if hashes is None:
            return paths
        (wanted,) = hashes.tolist()
        filters = self._of(root, paths, name)
        found = [path for path in paths if _may_hold(filters[path], wanted)]
        return found or paths[:1]

    def _of(self, root: Path, paths: Sequence[str], name: str) -> dict[str, Bloom | None]:
        """The filters of some files; a sidecar is read once for all, and for those beside them."""
        from journal.files.filters.sidecar import read_sidecar

        found: dict[str, Bloom | None] = {}
        with self._lock:
            for path in paths:
                if (path, name) in self._held:
                    self._held.move_to_end((path, name))
                    found[path] = self._held[path, name]
        left = [path for path in paths if path not in found]
        for folder in dict.fromkeys(Path(path).parent for path in left):
            beside = read_sidecar(root / folder, [name])
            found |= {str(folder / file): columns[name] for file, columns in beside.items()}
        for path in left:
            found.setdefault(path, None)
        if left:
            with self._lock:
                for path, bloom in found.items():
                    self._cache((path, name), bloom)
        return found

    def _cache(self, name: _Name, bloom: Bloom | None) -> None:
        gone = self._held.pop(name, None)
        self._held[name] = bloom
        self._bytes += _size(bloom) - _size(gone)
        while self._bytes > self._bytes_max and len(self._held) > 1:
            _, gone = self._held.popitem(last=False)
            self._bytes -= _size(gone)


def _may_hold(bloom: Bloom | None, wanted: int) -> bool:
    return bloom is None or bloom.may_hold_one(wanted)


def _size(bloom: Bloom | None) -> int:
    return 0 if bloom is None else len(bloom.bits)


def _can_be_asked(table: Table, value: Any, column: str | None) -> bool:
    """Whether equal values have equal hashes: both are whole numbers, or both are text."""
    has_filter = len(table.key) == 1 and filtered_of(table)
    if not (has_filter if column is None else _identities(table, column)):
        return False
    kind = table.by_physical(table.key[0] if column is None else column).type.upper()
    if isinstance(value, str):
        return kind in _TEXT
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and abs(value) < 2**63 and kind in _WHOLE


def _identities(table: Table, column: str) -> list[DescriptorEntry]:
    """By what a column has filters: of its values as they are, rather than in a form."""
    found = [i for i in filtered_of(table) if i.path.root == column and not i.path.steps]
    return sorted(found, key=lambda i: bool(i.normaliser.word))
