"""What a statement did, and its rows, wherever they come from: light enough for any client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from journal.model.result_column import ResultColumn

Row = tuple[Any, ...]


class ResultRows(Protocol):
    """The rows of a result, each fetched once.

    ``names`` are what the columns of Arrow tables are called, if not as in the store.
    """

    names: Sequence[str] | None

    @property
    def is_held(self) -> bool:
        """True while somebody keeps something for the rows until ``close``."""

    def take(self, size: int) -> list[Row]:
        """The next rows, fewer at the end."""

    def arrow(self) -> pa.Table:
        """All rows that are left, as an Arrow table."""

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """All rows that are left, in Arrow batches of about so many rows; at least one batch."""

    def close(self) -> None:
        """Let go of what the rows hold."""


class StatementOutcome:
    """What a statement did: its tag, its row count, and its rows if it has any.

    ``skipped`` counts new rows that it left out because they were erased, ``rejected`` those of a
    file that no column could take. ``notices`` are what the client is told besides. A query that
    reads no relation gives the same ``at_any_state``.
    """

    def __init__(
        self,
        tag: str,
        row_count: int = -1,
        columns: list[ResultColumn] | None = None,
        rows: ResultRows | None = None,
        written: Iterable[int] = (),
        skipped: int = 0,
        rejected: int = 0,
        notices: Sequence[str] = (),
    ) -> None:
        self.notices = tuple(notices)
        self.rejected = rejected
        self.skipped = skipped
        self.written = tuple(written)
        self.tag = tag
        self.row_count = row_count
        self.columns = columns
        self.rows = rows
        self.at_any_state = False

    def close(self) -> None:
        """Let go of what the rows hold."""
        if self.rows is not None:
            self.rows.close()
