"""Rows of a statement that ran in the process that owns the warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from journal.model.errors import Code, PalimpsestError

if TYPE_CHECKING:
    import pyarrow as pa

    from gateway.sharing.messages import OutcomeHead
    from gateway.sharing.session_link import SessionLink

Row = tuple[Any, ...]
_BATCHES = 4
"""How many Arrow batches come with one message; other calls wait no longer than that."""


class RemoteRows:
    """The first rows came with the answer; the others are fetched as they are asked for."""

    def __init__(self, owner: SessionLink, head: OutcomeHead) -> None:
        self._owner = owner
        self._head = head
        self._session_key = owner.session_key
        self._next = 0
        self._ahead: Sequence[Row] = ()
        self._is_whole = False
        self._rest: Iterator[pa.RecordBatch] | None = None
        if isinstance(head.rows, bytes | memoryview):
            self._rest = self._from_batch(head.rows)
        else:
            self._ahead, self._is_whole = head.rows, head.is_whole
        self._batch: pa.RecordBatch | None = None
        """Whose rows are ``_ahead``; None while these are the rows that came with the answer."""
        self._closed = False
        self.names: Sequence[str] | None = None

    @property
    def is_held(self) -> bool:
        """True while the owner keeps the rows."""
        return not self._closed

    def take(self, size: int) -> list[Row]:
        """The next rows, fewer at the end."""
        found = list(self._ahead[self._next : self._next + size])
        self._next += len(found)
        while len(found) < size and self._refill():
            more = self._ahead[: size - len(found)]
            self._next = len(more)
            found += more
        return found

    def arrow(self) -> pa.Table:
        """All rows that are left, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(0))

    def batches(self, _size: int) -> Iterator[pa.RecordBatch]:
        """All rows that are left, in Arrow batches; at least one batch."""
        if self._closed:
            raise PalimpsestError(
                Code.NO_RESULT,
                "the rows were fetched already",
                advice="execute again, then call fetch_arrow or fetch_df first",
            )
        taken, self._next = self._next, len(self._ahead)
        rest, self._rest = self._rest or self._fetched(from_first=True), iter(())
        yield (self._batch or next(rest)).slice(taken)
        yield from rest
        self.close()

    def close(self) -> None:
        """Forget the rows."""
        if not self._closed:
            self._closed = True
            self._ahead, self._next, self._rest = (), 0, None
            if self._owner.session_key == self._session_key:
                self._owner.drop(self._head.result)

    def _refill(self) -> bool:
        """Have the rows of the next batch at hand; False after the last one."""
        if self._closed or self._is_whole:
            return False
        if self._rest is None:
            self._rest = self._fetched(from_first=False)
        batch = next(self._rest, None)
        if batch is None:
            self._is_whole = True
            return False
        from journal.local_engine.arrow_values import python_rows

        self._batch = batch
        columns = self._head.columns or ()
        self._ahead = python_rows(batch, columns, self._owner.state.settings.timezone)
        self._next = 0
        return True

    def _from_batch(self, first: bytes | memoryview) -> Iterator[pa.RecordBatch]:
        """The batch that came with the answer, and what is fetched after it."""
        import pyarrow as pa

        yield from pa.ipc.open_stream(pa.py_buffer(first))
        if not self._head.is_whole:
            yield from self._fetched(from_first=False)

    def _fetched(self, *, from_first: bool) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        has_more = True
        while has_more:
            if self._owner.session_key != self._session_key:
                # Another session counts its results anew: the number means other rows there.
                raise self._owner.rows_lost()
            raw: list[memoryview] = []
            has_more = self._owner.call(
                "fetch", self._head.result, from_first, _BATCHES, batches=raw
            )
            from_first = False
            for data in raw:
                yield from pa.ipc.open_stream(pa.py_buffer(data))
