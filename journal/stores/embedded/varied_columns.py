"""Which columns have nearly as many values as rows, told by how a base file encodes them.

DuckDB writes a column chunk with a dictionary where its values repeat, and without one elsewhere.
One row group of the largest file stands for the table: a hint, which no answer depends on.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from journal.model.segment import SegmentFile, Tier
from journal.stores.embedded.sealed_rows import opened_file
from journal.transactions.state import TableState

_ROWS_MIN = 10_000
"""Of fewer rows nothing can be said, and groups cost little."""
_FILES_MAX = 10_000


class VariedColumns:
    """The columns of tables whose values hardly repeat; footers are read once each."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[str, frozenset[str]] = {}

    def of(self, state: TableState) -> frozenset[str]:
        """Names as stored; none where there is no base, or nothing is known."""
        files = [f for s in state.manifest.in_tier(Tier.BASE) if s.bytes for f in s.files]
        if not files:
            return frozenset()
        return self._of(max(files, key=lambda file: file.rows))

    def _of(self, file: SegmentFile) -> frozenset[str]:
        found = self._found.get(file.path)
        if found is None:
            if len(self._found) >= _FILES_MAX:
                self._found.clear()
            found = self._found[file.path] = _without_dictionary(self._root / file.path)
        return found


def _without_dictionary(path: Path) -> frozenset[str]:
    """Columns whose chunk in the first row group has no dictionary; truth values never have one."""
    try:
        with opened_file(path) as file:
            group = file.metadata.row_group(0)
    except (OSError, IndexError, pa.ArrowException):
        # Whoever reads rows of it says what is wrong.
        return frozenset()
    if group.num_rows < _ROWS_MIN:
        return frozenset()
    chunks = [group.column(i) for i in range(group.num_columns)]
    return frozenset(
        c.path_in_schema
        for c in chunks
        if not c.has_dictionary_page and c.physical_type != "BOOLEAN"
    )
