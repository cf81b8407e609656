"""The server's end of the DB-API across a network: calls of one client on its session.

The session is the one that the client has logged in to; what it may not do by statements it may not
do by calls. Operations besides statements are few, which only look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import pyarrow as pa

from gateway.network.messages import PROTOCOL, answer_to_json, call_from_json, check_operation
from gateway.session import operations
from gateway.session.outcome import StatementOutcome
from gateway.session.results import BufferedRows
from gateway.session.session import Session
from gateway.sharing.arrow_batches import batch_to_bytes
from gateway.sharing.session_calls import SessionCalls
from gateway.sharing.time_zone import process_zone
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot
from journal.model.visibility import visible_to
from rewriter.dialect_semantics import check_dialect

ANSWER = ResultColumn("answer", "BLOB")


class NetworkCalls:
    """Runs the calls of one client of a server; ``close`` lets go of their results."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batches: list[bytes] = []
        self._told: CatalogSnapshot | None = None
        further: dict[str, Callable[..., Any]] = {
            "begin_implicitly": session.begin_implicitly,
            "catalog": self._catalog,
            "hello": self._hello,
            "perform": self._perform,
            "set_settings": self._set_settings,
        }
        self._calls = SessionCalls(session, self._send, self._first_rows, further)

    def run(self, call: str, protocol: str) -> StatementOutcome:
        """The rows that answer a call; raises PROTOCOL where no answer would be understood."""
        if protocol != PROTOCOL:
            raise PalimpsestError(
                Code.PROTOCOL,
                f"the client speaks version {protocol} of calls, and the server version {PROTOCOL}",
                advice="use the same version of palimpsest in both",
            )
        self._batches = []
        try:
            answer = answer_to_json(self._calls.answer(call_from_json(call))).encode()
            # Each by itself, for there is a limit to the bytes of an array.
            chunks = [pa.array([data], pa.binary()) for data in (answer, *self._batches)]
            rows = pa.table({ANSWER.name: pa.chunked_array(chunks)})
        finally:
            self._batches = []
        return StatementOutcome("SELECT", rows.num_rows, [ANSWER], BufferedRows(rows, list))

    def close(self) -> None:
        """Let go of all results."""
        self._calls.close()

    def _send(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch_to_bytes(batch))

    def _first_rows(
        self,
        batch: pa.RecordBatch,
        columns: Sequence[ResultColumn],
        zone: str | None,
        is_whole: bool,
    ) -> tuple[()]:
        del columns, zone, is_whole
        self._send(batch)
        return ()

    def _hello(self, dialect: str, autocommit: bool, zone: str, given: dict[str, Any]) -> None:
        """The session becomes one of the DB-API: its dialect, its transactions, its time zone."""
        session = self._session
        check_dialect(dialect)
        session.dialect, session.autocommit = dialect, autocommit
        settings = replace(session.settings, dialect=dialect)
        settings = settings.with_setting("timezone", zone if zone != process_zone() else None)
        session.settings = settings
        self._set_settings(given)
        session.settings_at_start = session.settings

    def _set_settings(self, given: dict[str, Any]) -> None:
        settings = self._session.settings
        for name, value in given.items():
            settings = settings.with_setting(name, value)
        self._session.settings = settings

    def _catalog(self) -> CatalogSnapshot | None:
        """The catalog; None if the client has it already."""
        found = self._session.catalog
        if found is self._told:
            return None
        self._told = found
        return visible_to(found, found.rights_of(self._session.settings.role))

    def _perform(self, name: str, arguments: list[Any]) -> Any:
        check_operation(name)
        catalog = self._session.catalog
        if not catalog.rights_of(self._session.settings.role).is_admin:
            raise PalimpsestError(
                Code.PRIVILEGE, "permission denied to look at journals", advice="it takes ADMIN"
            )
        found = operations.find(name)(self._session, operations.no_progress, *arguments)
        return None if found is None else list(astuple(found))
