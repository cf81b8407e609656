"""Which columns have nearly as many values as rows, told by how a base file encodes them.

DuckDB writes a column chunk with a dictionary where its values repeat, and without one elsewhere.
One row group of the largest file stands for the table: a hint, which no answer depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from journal.local_engine.session import DuckDBSession
from journal.model.errors import PalimpsestError
from journal.model.segment import SegmentFile, Tier
from journal.transactions.state import TableState

_ROWS_MIN = 10_000
"""Of fewer rows nothing can be said, and groups cost little."""
_FILES_MAX = 10_000


_WITHOUT_DICTIONARY = """
    SELECT path_in_schema FROM parquet_metadata(?) WHERE row_group_id = 0
    AND row_group_num_rows >= ? AND dictionary_page_offset IS NULL AND type <> 'BOOLEAN'
"""
"""Truth values never have one."""
Sessions = Callable[[], AbstractContextManager[DuckDBSession]]


class VariedColumns:
    """The columns of tables whose values hardly repeat; footers are read once each.

    ``sessions`` lends one in no transaction, so that a damaged file ends nobody's. DuckDB keeps the
    footer for the query that asks; to load pyarrow's reader would take five times as long.
    """

    def __init__(self, root: Path, sessions: Sessions) -> None:
        self._root, self._sessions = root, sessions
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
            found = self._found[file.path] = self._without_dictionary(self._root / file.path)
        return found

    def _without_dictionary(self, path: Path) -> frozenset[str]:
        """Columns whose chunk in the first row group has no dictionary."""
        try:
            with self._sessions() as session:
                rows = session.text(_WITHOUT_DICTIONARY, [str(path), _ROWS_MIN])
        except PalimpsestError:
            # Whoever reads rows of it says what is wrong.
            return frozenset()
        return frozenset(name for (name,) in rows)
