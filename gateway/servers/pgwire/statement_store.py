"""Prepared statements of a client by name, with the types of parameters and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.network.calls import ANSWER
from gateway.network.messages import CALL_SQL
from gateway.servers.pg_catalog.reader import CatalogReader
from gateway.servers.pg_catalog.translation import catalog_parameters, catalog_queries
from gateway.servers.pgwire.catalog_prepared import CatalogPrepared
from gateway.servers.pgwire.cursors import (
    DeclareCursor,
    FetchCursor,
    cursor_command,
    split_at_cursors,
)
from gateway.servers.pgwire.explained import explained_name, plan_of
from gateway.servers.pgwire.given_types import describe_as_given
from gateway.servers.pgwire.messages import Parse
from gateway.servers.pgwire.portals import PreparedStatement
from gateway.servers.pgwire.taken_texts import places_of_texts
from gateway.servers.pgwire.types import TEXT, field_of
from gateway.servers.pgwire.void_arguments import VOID, without_void_arguments
from gateway.session.description import describe
from gateway.session.outcome import StatementOutcome
from gateway.session.prepared import prepared_statement
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError
from journal.model.result_column import ResultColumn
from rewriter.statement import Execute, Explain, SelectedCalls, ShowSetting, SqlStatement
from rewriter.syntax.parsing import Parsed

CursorColumns = Callable[[str], Sequence[ResultColumn]]


class StatementStore:
    """The statements of one client."""

    def __init__(
        self, session: Session, catalog: CatalogReader, cursor_columns: CursorColumns
    ) -> None:
        """``cursor_columns`` finds the columns of an open cursor by its name."""
        self._session = session
        self._catalog = catalog
        session.catalog_answers = self._answer
        self._cursor_columns = cursor_columns
        self._named: dict[str, PreparedStatement] = {}
        self._catalog_prepared = CatalogPrepared(session)

    def split(
        self, text: str, *, placeholders: bool = False, runs: bool = False
    ) -> list[PreparedStatement]:
        """The statements of a text: on PostgreSQL's catalog, about cursors, or the session's.

        ``runs``: they are run at once, and not described before.
        """
        if text == CALL_SQL:
            return [PreparedStatement(text, None, is_call=True)]
        pieces = split_at_cursors(text)
        if len(pieces) > 1:
            return [part for piece in pieces for part in self.split(piece, runs=runs)]
        command = cursor_command(text)
        if command is not None:
            return [PreparedStatement(text, None, cursor=command)]
        name = explained_name(text)
        explained = None if name is None else self._named.get(name)
        if explained is not None:
            plan = plan_of(explained.parsed, self.columns(explained) or ())
            return [PreparedStatement(text, None, catalog=plan)]
        prepared = self._catalog_prepared.statement(text)
        if prepared is not None:
            return [prepared]
        queries = catalog_queries(text)
        if queries is not None:
            return [PreparedStatement(text, None, catalog=query) for query in queries]
        found = self._session.to_run(text) if runs else self._session.parse(text, placeholders)
        if len(found) == 1:
            return [PreparedStatement(found[0].text, found[0])]
        return [_statement_of(parsed) for parsed in found]

    def _answer(self, text: str) -> StatementOutcome | None:
        """What a query on PostgreSQL's catalog within a block gives; None for any other."""
        queries = catalog_queries(text)
        return None if not queries or len(queries) > 1 else self._catalog.run(queries[0], ())

    def prepare(self, message: Parse) -> None:
        """Keep a statement under its name; raises DUPLICATE_PREPARED, and SYNTAX for several."""
        if message.name and message.name in self._named:
            raise PalimpsestError(
                Code.DUPLICATE_PREPARED,
                f'the prepared statement "{message.name}" exists already',
                advice="close it first, or use another name",
            )
        text = without_void_arguments(message.text, message.oids)
        found = self.split(text, placeholders="$" in text)
        if len(found) > 1:
            raise PalimpsestError(
                Code.SYNTAX,
                "a prepared statement holds one statement",
                advice="prepare each by itself, or send them as a simple query",
            )
        statement = found[0] if found else PreparedStatement(message.text, None)
        statement.oids = message.oids
        self._named[message.name] = statement

    def get(self, name: str) -> PreparedStatement:
        """The statement of a name; raises UNKNOWN_PREPARED."""
        found = self._named.get(name)
        if found is None:
            raise PalimpsestError(
                Code.UNKNOWN_PREPARED,
                f'there is no prepared statement "{name}"',
                advice="prepare it first, in this connection",
            )
        return found

    def forget(self, name: str) -> None:
        """Forget a statement, if there is one of that name."""
        self._named.pop(name, None)

    def release(self, name: str) -> bool:
        """Forget a statement that the client prepared in messages; False if there is none."""
        return name != "" and self._named.pop(name, None) is not None

    def release_all(self) -> None:
        """Forget all statements, as DEALLOCATE ALL and DISCARD ALL do."""
        self._named.clear()

    def parameter_oids(self, statement: PreparedStatement) -> tuple[int, ...]:
        """The types of parameters: those that the client gave, else those of their places."""
        if statement.known is None:
            self._learn(statement)
        assert statement.known is not None
        return statement.known

    def current_oids(self, statement: PreparedStatement) -> tuple[int, ...]:
        """As ``parameter_oids``, after a look whether tables have changed since.

        Raises STALE_PREPARED for a statement whose rows would not be those that the client was told
        of, as PostgreSQL does.
        """
        told = statement.columns
        if statement.known is not None and (
            statement.generation != self._generation() or _executes(statement)
        ):
            self._learn(statement)
            if told is not None and [c.type for c in told] != _types(statement.columns):
                raise PalimpsestError(
                    Code.STALE_PREPARED,
                    "the rows of the prepared statement would have other columns than before",
                    advice="a table that it reads was changed: prepare it again",
                )
        return self.parameter_oids(statement)

    def _generation(self) -> int:
        return self._session.catalog.generation

    def columns(self, statement: PreparedStatement) -> tuple[ResultColumn, ...] | None:
        """The columns of the rows that a statement gives; None if it gives none."""
        if statement.known is None:
            self._learn(statement)
        return statement.columns

    def _learn(self, statement: PreparedStatement) -> None:
        """Find out what a statement takes and gives, once."""
        parsed, given = statement.parsed, statement.oids
        statement.generation = self._generation()
        if statement.catalog is not None:
            statement.known = catalog_parameters(statement.catalog, given)
            found = self._catalog.describe(statement.catalog, statement.known)
            statement.columns = tuple(found)
            return
        if statement.is_call:
            statement.known, statement.columns = (TEXT.oid, TEXT.oid), (ANSWER,)
            return
        if isinstance(statement.cursor, DeclareCursor):
            # It takes what its query takes.
            (query,) = self.split(statement.cursor.query, placeholders=True)
            query.oids = given
            statement.known = self.parameter_oids(query)
            return
        if isinstance(statement.cursor, FetchCursor) and not statement.cursor.is_move:
            statement.columns = tuple(self._cursor_columns(statement.cursor.name))
        places = [p for p in parsed.parameters if isinstance(p, int)] if parsed else []
        count = max(places, default=-1) + 1
        types: tuple[str | None, ...] = (None,) * count
        if parsed is not None and isinstance(
            parsed.statement, SqlStatement | SelectedCalls | Explain
        ):
            statement.parsed, described = describe_as_given(self._session, parsed, given)
            types, statement.columns = described.parameters, described.columns
        elif parsed is not None and isinstance(parsed.statement, Execute):
            kept = prepared_statement(self._session, parsed.statement.name)
            told = Parsed(kept.statement, kept.text, kept.parameters)
            statement.columns = describe(self._session, told).columns
        elif parsed is not None and isinstance(parsed.statement, ShowSetting):
            # It gives a row and changes nothing, though it is no query.
            outcome = self._session.run(parsed)
            statement.columns = tuple(outcome.columns or ()) or None
            outcome.close()
        statement.texts = places_of_texts(
            None if parsed is None else parsed.statement, types, given
        )
        known = [field_of(ResultColumn("", kind or "VARCHAR")).oid for kind in types]
        known[: len(given)] = [oid or known[i] for i, oid in enumerate(given[:count])]
        if VOID in given:
            known += given[len(known) :]
        statement.known = tuple(known)


def _statement_of(parsed: Parsed) -> PreparedStatement:
    """One of several statements of a text, of which some may read the catalog alone."""
    queries = catalog_queries(parsed.text)
    if queries is None:
        return PreparedStatement(parsed.text, parsed)
    (query,) = queries
    return PreparedStatement(parsed.text, None, catalog=query)


def _executes(statement: PreparedStatement) -> bool:
    """True for an EXECUTE, whose name may mean another statement each time."""
    return statement.parsed is not None and isinstance(statement.parsed.statement, Execute)


def _types(columns: Sequence[ResultColumn] | None) -> list[str]:
    return [column.type for column in columns or ()]
