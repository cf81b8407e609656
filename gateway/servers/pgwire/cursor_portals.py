"""Cursors of SQL among the portals of a client: declared, read, closed, and their ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from gateway.servers.pgwire.cursors import (
    CloseCursor,
    CursorCommand,
    DeclareCursor,
    FetchCursor,
    forward_only,
)
from gateway.servers.pgwire.portals import Portal, Portals, RowStream
from gateway.servers.pgwire.scrolling import EVERY, FetchWay
from gateway.session.outcome import StatementOutcome
from gateway.session.results import BufferedRows
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn

OpenQuery = Callable[[str, Sequence[Any]], Portal]
"""From the text of a query and values of its parameters to the portal of its rows."""


class CursorPortals:
    """Runs the commands on cursors; ``open_query`` runs a query up to its first row."""

    def __init__(self, session: Session, portals: Portals, open_query: OpenQuery) -> None:
        self._session = session
        self._portals = portals
        self._open_query = open_query

    def run(self, portal: Portal, command: CursorCommand) -> None:
        """Run a command; its outcome, and rows of a FETCH, become those of ``portal``."""
        match command:
            case DeclareCursor():
                self._declare(command, portal.values)
                portal.outcome = StatementOutcome("DECLARE CURSOR")
            case FetchCursor(name, way, limit, is_move):
                source = self._portals.find(name)
                taken = self._rows(name, source, way, limit)
                if is_move:
                    portal.outcome = StatementOutcome("MOVE", taken.num_rows)
                    return
                rows = BufferedRows(taken, list)
                columns = list(self.columns(name))
                portal.outcome = StatementOutcome("FETCH", taken.num_rows, columns, rows)
                portal.stream = RowStream(portal.outcome)
            case CloseCursor(str(name)):
                self._portals.find(name)
                self._portals.drop(name)
                portal.outcome = StatementOutcome("CLOSE CURSOR")
            case CloseCursor():
                for cursor in self._portals.cursors():
                    self._portals.drop(cursor)
                portal.outcome = StatementOutcome("CLOSE CURSOR ALL")

    def columns(self, name: str) -> Sequence[ResultColumn]:
        """The columns of an open cursor; raises NO_CURSOR."""
        source = self._portals.find(name)
        columns = source.outcome.columns if source.outcome else None
        return source.statement.named(columns or ())

    def settle(self, *, committed: bool) -> None:
        """A transaction has ended: cursors WITH HOLD that it declared stay, or are gone."""
        for name, portal in list(self._portals.by_name.items()):
            if portal.holds and not portal.is_committed:
                portal.is_committed = committed
                if not committed:
                    self._portals.drop(name)

    def _declare(self, command: DeclareCursor, values: Sequence[Any]) -> None:
        is_open = self._session.in_transaction
        if not is_open and not command.holds:
            raise PalimpsestError(
                Code.NO_TRANSACTION,
                "DECLARE CURSOR needs a transaction",
                advice="start one with BEGIN, or declare it WITH HOLD",
            )
        opened = self._open_query(command.query, values)
        opened.scrolls, opened.holds = command.scrolls, command.holds
        opened.is_committed = not is_open
        if command.is_kept and opened.outcome is not None and opened.outcome.rows is not None:
            with self._session.fetching(opened.outcome.rows):
                opened.keep_rows()
        self._portals.drop(command.name)
        self._portals.by_name[command.name] = opened

    def _rows(self, name: str, source: Portal, way: FetchWay, limit: int) -> pa.Table:
        """The rows of a FETCH; raises CURSOR_DIRECTION for other ways than on, without SCROLL."""
        if way is not FetchWay.FORWARD and not source.scrolls:
            raise forward_only(name)
        if source.scrolled is not None:
            return source.scrolled.fetch(way, limit)
        if source.stream is None or source.outcome is None or source.outcome.rows is None:
            return pa.table({})
        with self._session.fetching(source.outcome.rows):
            taken = list(source.stream.take(0 if limit == EVERY else limit))
        return pa.Table.from_batches(taken) if taken else pa.table({})
