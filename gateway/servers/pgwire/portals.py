"""Prepared statements and portals of one client, and the rows that portals give bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from gateway.servers.pgwire.cursors import CursorCommand
from gateway.servers.pgwire.messages import TEXT, protocol_error
from gateway.servers.pgwire.scrolling import ScrolledRows
from gateway.session.column_names import catalog_names, postgres_names
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.result_column import ResultColumn
from rewriter.syntax.parsing import Parsed

BATCH_ROWS = 1 << 14


@dataclass(slots=True)
class PreparedStatement:
    """A statement under a name; ``parsed`` is None for an empty one.

    ``oids`` are the types that the client gave, 0 for those it left open; ``columns`` and ``known``
    what a description has found, None before, in a ``generation`` of the warehouse's catalog.
    ``catalog`` is a statement on PostgreSQL's catalog, ``cursor`` a command on a cursor,
    ``is_call`` one of the DB-API's calls across a network. ``texts`` are the places of parameters
    that it takes as texts and that the client gives as values of other types.
    """

    text: str
    parsed: Parsed | None
    oids: tuple[int, ...] = ()
    catalog: exp.Expr | None = None
    cursor: CursorCommand | None = None
    columns: tuple[ResultColumn, ...] | None = None
    known: tuple[int, ...] | None = None
    generation: int = -1
    is_call: bool = False
    texts: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True for a text without a statement."""
        others = self.catalog is not None or self.cursor is not None or self.is_call
        return self.parsed is None and not others

    def named(self, columns: Sequence[ResultColumn]) -> list[ResultColumn]:
        """Columns of its rows under the names that PostgreSQL gives them."""
        if self.catalog is not None:
            return catalog_names(self.catalog, columns)
        return postgres_names(self.parsed, columns)


class RowStream:
    """The rows of a result in Arrow batches, as many at a time as a client asks for."""

    def __init__(self, outcome: StatementOutcome) -> None:
        assert outcome.rows is not None
        self._rows = outcome.rows
        self._batches: Iterator[pa.RecordBatch] = outcome.rows.batches(BATCH_ROWS)
        self._ahead: pa.RecordBatch | None = None
        self.sent = 0

    def take(self, limit: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most ``limit`` rows in all, 0 for all that are left."""
        left = limit
        while limit == 0 or left > 0:
            batch = self._ahead if self._ahead is not None else next(self._batches, None)
            self._ahead = None
            if batch is None:
                return
            if limit and batch.num_rows > left:
                batch, self._ahead = batch.slice(0, left), batch.slice(left)
            left -= batch.num_rows
            self.sent += batch.num_rows
            if batch.num_rows:
                yield batch

    @property
    def is_done(self) -> bool:
        """True when no row is left; may read ahead."""
        while self._ahead is None or not self._ahead.num_rows:
            self._ahead = next(self._batches, None)
            if self._ahead is None:
                return True
        return False

    def schema(self) -> pa.Schema:
        """The types of the rows; reads ahead."""
        if self._ahead is None:
            # There is one batch at least, so that they are known.
            self._ahead = next(self._batches)
        return self._ahead.schema

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.close()


@dataclass(slots=True)
class Portal:
    """A statement with its values; ``outcome`` and ``stream`` stand while it gives rows."""

    statement: PreparedStatement
    values: Sequence[Any]
    formats: tuple[int, ...]
    outcome: StatementOutcome | None = None
    stream: RowStream | None = None
    is_complete: bool = False
    is_cursor: bool = False
    sent_bytes: int = 0
    scrolled: ScrolledRows | None = None
    scrolls: bool = False
    holds: bool = False
    is_committed: bool = False

    @property
    def outlives_transactions(self) -> bool:
        """True for a cursor WITH HOLD whose own transaction has committed."""
        return self.holds and self.is_committed

    def keep_rows(self) -> None:
        """Have all rows at hand, so that the cursor scrolls and needs no transaction."""
        if self.stream is not None:
            self.scrolled = ScrolledRows(self.stream.schema(), self.stream.take(0))
            self.stream.close()
            self.stream = None

    def result_formats(self, columns: Sequence[ResultColumn]) -> list[int]:
        """The format of each column: none given is text, one given is that of all."""
        if len(self.formats) <= 1:
            return [self.formats[0] if self.formats else TEXT] * len(columns)
        if len(self.formats) != len(columns):
            raise protocol_error(
                f"Bind gives {len(self.formats)} formats for {len(columns)} columns"
            )
        return list(self.formats)

    def close(self) -> None:
        """Let go of the rows."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None
        if self.scrolled is not None:
            self.scrolled.close()
            self.scrolled = None


class Portals:
    """The portals of one client by name; the unnamed one is called by an empty text."""

    def __init__(self) -> None:
        self.by_name: dict[str, Portal] = {}

    def find(self, name: str) -> Portal:
        """The portal of a name; raises NO_CURSOR."""
        found = self.by_name.get(name)
        if found is None:
            raise PalimpsestError(
                Code.NO_CURSOR, f'there is no portal "{name}"', advice="bind it first"
            )
        return found

    def cursors(self) -> list[str]:
        """The names of those that DECLARE has made."""
        return [name for name, portal in self.by_name.items() if portal.is_cursor]

    def drop(self, name: str) -> None:
        """Let go of a portal, if there is one of that name."""
        portal = self.by_name.pop(name, None)
        if portal is not None:
            portal.close()

    def drop_ended(self) -> None:
        """Let go of those that end with their transaction."""
        for name, portal in list(self.by_name.items()):
            if not portal.outlives_transactions:
                self.drop(name)

    def close(self) -> None:
        """Let go of all."""
        for name in list(self.by_name):
            self.drop(name)
