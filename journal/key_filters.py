"""Which of some files may hold a row with a given key, by the filters that lie beside them.

For point reads: filters are kept in memory, up to a limit, the least recently asked go first. A
file whose filters are not there may hold any key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journal.erasure.descriptor import filtered_of
from journal.schema import Table

if TYPE_CHECKING:
    from journal.bloom import Bloom

_BYTES_MAX = 64 << 20
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})
_TEXT = frozenset({"TEXT", "VARCHAR"})


class KeyFilters:
    """The filters of keys that were asked last."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._held: OrderedDict[str, Bloom | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def narrow(self, root: Path, table: Table, paths: Sequence[str], key: Any) -> list[str]:
        """The paths that may hold the key; at least one."""
        found = list(paths)
        if len(found) < 2 or len(table.key) != 1 or not filtered_of(table):
            return found
        kind = table.by_physical(table.key[0]).type.upper()
        whole = isinstance(key, int) and not isinstance(key, bool) and abs(key) < 2**63
        if not (whole and kind in _WHOLE) and not (isinstance(key, str) and kind in _TEXT):
            return found
        return self._narrowed(root, found, key)

    def _narrowed(self, root: Path, paths: list[str], key: Any) -> list[str]:
        import pyarrow as pa

        from journal.hashing import hash_rows

        hashes = hash_rows(pa.array([key]))
        found = []
        for path in paths:
            bloom = self._of(root, path)
            if bloom is None or bloom.may_hold_any(hashes):
                found.append(path)
        return found or paths[:1]

    def _of(self, root: Path, path: str) -> Bloom | None:
        with self._lock:
            if path in self._held:
                self._held.move_to_end(path)
                return self._held[path]
        self._read(root, path)
        with self._lock:
            return self._held.get(path)

    def _read(self, root: Path, path: str) -> None:
        """Take in the filters of a file and of those beside it."""
        from journal.filters import KEY, read_sidecar

        folder = Path(path).parent
        filters = read_sidecar(root / folder, [KEY])
        with self._lock:
            self._held.setdefault(path, None)
            for name, columns in filters.items():
                self._keep(str(folder / name), columns[KEY])

    def _keep(self, path: str, bloom: Bloom) -> None:
        if self._held.get(path) is None:
            self._bytes += len(bloom.bits)
        self._held[path] = bloom
        while self._bytes > self._bytes_max and len(self._held) > 1:
            _, gone = self._held.popitem(last=False)
            self._bytes -= len(gone.bits) if gone is not None else 0
