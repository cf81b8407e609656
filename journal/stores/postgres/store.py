"""PostgreSQL: sessions over pooled connections, one short transaction of the store at a time.

With ``postgres_pool`` and ``postgres_cursor`` the only module that imports psycopg. It runs queries
and keeps temporary relations; what the rows mean, which versions they carry and whether they may be
committed is decided above it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import pq
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.session_defaults import arrow_of, count_of, nothing_known, row_of
from journal.model.store_plan import ExplainOptions, StorePlan
from journal.model.store_session import LongWay, Parameters, RecordDialect
from journal.model.version import Version
from journal.sql.lowering.select import result_names
from journal.sql.relations import ident
from journal.stores.postgres.arrow import intervals, whole_numbers
from journal.stores.postgres.brief_queries import note_run
from journal.stores.postgres.copied_rows import copied_text, query_of_no_rows
from journal.stores.postgres.cursor import (
    BEGIN_STATEMENT,
    SPENT,
    Alone,
    ChunkCursor,
    Output,
    Rows,
    in_python,
    mapped,
    names_of_columns,
    span,
    translated,
    whole_number,
)
from journal.stores.postgres.dialect.enums import Enums
from journal.stores.postgres.dialect.pivot import with_values
from journal.stores.postgres.dialect.text import (
    EpochOf,
    Text,
    cached_text,
    numbered,
    render,
    rendered,
    temporary,
    unreplaced,
)
from journal.stores.postgres.dialect.types import oids_of_numbers, stored_type
from journal.stores.postgres.errors import lost_at_commit, rolled_back, unknown_outcome
from journal.stores.postgres.fetching import FetchedRows
from journal.stores.postgres.few_rows import (
    FEW_ROWS_MAX,
    ColumnValues,
    FewRows,
    columns_of_arrow,
    query_of_values,
    quoted_name,
)
from journal.stores.postgres.outcome import Outcomes, leaves_open
from journal.stores.postgres.pipeline_cursor import (
    CHUNK_ROWS,
    CommitFailed,
    FirstRow,
    Sent,
    TooManyRows,
    first_row,
)
from journal.stores.postgres.plan_nodes import explain_clause, plan_of
from journal.stores.postgres.server import POSTGRESQL, Abilities

_CONNECTED, _IDLE = int(pq.ConnStatus.OK), int(pq.TransactionStatus.IDLE)
"""As the library's connection has them: each statement asks, and its own words for them cost."""
BEGIN_SECTION = "BEGIN ISOLATION LEVEL READ COMMITTED"


def no_types(enums: Enums) -> None:
    """Leave it to the server to say which types it lacks."""


class PostgresSession(FetchedRows):
    """One connection; transactions here are short and belong to one statement."""

    dialect = RecordDialect.POSTGRES
    arrow, row, count = arrow_of, row_of, count_of
    track_progress = progress = server_text = nothing_known

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        outcomes: Outcomes,
        able: Abilities = POSTGRESQL,
        have_types: Callable[[Enums], None] = no_types,
    ) -> None:
        self._connection = connection
        self._outcomes = outcomes
        self.abilities = able
        self.have_types = have_types
        self._cursor = ChunkCursor(connection)
        self._chunks: Iterator[Rows] | None = None
        self._ahead: Rows = []
        self._names: tuple[str, ...] = ()
        self._staged: dict[str, list[str]] = {}
        self._few = FewRows()
        self._epoch_of: EpochOf = unreplaced
        self._definitions: Version | None = None
        self._alone: Alone | None = None
        self.database = connection.info.dbname
        self.used_at = time.monotonic()

    @property
    def place(self) -> psycopg.ConnectionInfo:
        """Where the connection goes, and as whom."""
        return self._connection.info

    @property
    def is_usable(self) -> bool:
        """False once the connection is known to be gone."""
        return self._connection.pgconn.status == _CONNECTED

    @property
    def is_quiet(self) -> bool:
        """True while nothing waits to be read."""
        return self._cursor.is_quiet

    def begin(self, how: str = BEGIN_STATEMENT) -> None:
        with mapped():
            self._plain(how)

    def begin_with(self, how: str, sql: str) -> list[tuple[Any, ...]]:
        """Begin and run constant SQL without parameters, in one round trip."""
        with mapped():
            self._finish()
            self._cursor.run(f"{how}; {sql}")
            while self._cursor.nextset():
                continue
            return self._cursor.fetchall()

    def commit(self) -> None:
        """Commit; what became of it is asked when the connection is cut meanwhile."""
        ((number,),) = self.text(self.abilities.asks_number)
        if number is not None:
            self._outcomes.keep(number)
        try:
            self.commit_unasked()
        except PalimpsestError as error:
            if error.code is not Code.OUTCOME_UNKNOWN:
                raise
            # What has no number has written nothing.
            if number is None or not self._outcomes.of(number, error):
                raise lost_at_commit() from error

    def commit_unasked(self) -> None:
        """Commit in one round trip; raises OUTCOME_UNKNOWN when the connection is cut meanwhile."""
        try:
            self._plain("COMMIT")
        except psycopg.Error as error:
            raise self._error_at_commit(error) from error
        if self._cursor.statusmessage == "ROLLBACK":
            raise rolled_back()

    def _error_at_commit(self, error: psycopg.Error) -> PalimpsestError:
        if leaves_open(error.sqlstate) or not self.is_usable:
            return unknown_outcome(str(error).strip())
        return translated(error)

    def run_together(self, statements: Sequence[Sent]) -> list[FirstRow]:
        """Run statements in one trip, the last of which commits; the first row of each, as text.

        What fails before is rolled back. Raises OUTCOME_UNKNOWN when the connection is cut.
        """
        self._finish()
        try:
            with mapped():
                return list(map(first_row, self._cursor.run_together(statements)))
        except CommitFailed as failed:
            raise self._error_at_commit(failed.error) from failed.error

    def rollback(self) -> None:
        self._staged.clear()
        self._few.clear()
        self._epoch_of = unreplaced
        self._definitions = self._alone = None
        if not self.is_usable:
            return
        with suppress(psycopg.Error):
            if self._connection.pgconn.transaction_status != _IDLE:
                self._finish()
                self._cursor.roll_back()

    def _plain(self, sql: str) -> None:
        self._finish()
        self._cursor.run(sql)

    def _finish(self) -> None:
        """Let go of a result that nobody reads on."""
        if self._alone is not None:
            raise LongWay
        chunks, self._chunks = self._chunks, None
        self._ahead = []
        if isinstance(chunks, Generator):
            chunks.close()

    def _sent(self, text: Text, parameters: Parameters) -> tuple[str, list[Any] | None]:
        """A text and its values as the server gets them, with the few rows that it reads."""
        sql, values = self._few.given_with(text, [parameters[name] for name in text.parameters])
        return sql, values or None

    def execute(self, query: Query, parameters: Parameters, *, often: bool = False) -> None:
        """Run a query to its end; its rows are held by the client library.

        The server keeps the plan of one that comes ``often``, as long as definitions stay.
        """
        query = self._with_values(query, parameters)
        text = self._with_types(render(query, self._epoch_of))
        sql, values = self._sent(text, parameters)
        often = often or self._alone is not None
        if often and self._definitions is not None and text.is_lasting:
            # The types of its parameters are found once, so other definitions are another text.
            sql = f"{sql} /* {self._definitions} */"
        else:
            often = False
        with mapped():
            if self._alone is not None:
                self._run_alone(self._alone, query, (sql, values), is_kept=often)
            else:
                self._finish()
                self._cursor.run(sql, values, often=often)
        self._names = text.names or self._names_of(query)

    def _run_alone(self, alone: Alone, query: Query, sent: Sent, *, is_kept: bool) -> None:
        self._alone = None
        self._finish()
        self._alone = SPENT
        if not is_kept:
            raise LongWay
        began, rows = time.monotonic(), None
        try:
            rows = self._cursor.run_alone_for_rows(alone, *sent)
        except TooManyRows as error:
            raise LongWay from error
        finally:
            note_run(query, began, is_whole=rows is not None)
        if rows is None:
            raise LongWay
        self._ahead, self._chunks = rows, iter(())

    def _with_values(self, query: Query, parameters: Parameters) -> Query:
        def ask(wanted: Query) -> list[tuple[Any, ...]]:
            self.execute(wanted, parameters)
            return self.fetch_all()

        return with_values(query, self._staged, ask)

    def _names_of(self, query: Query) -> tuple[str, ...]:
        if not self._staged or not isinstance(query.ast, exp.Query):
            return ()
        return tuple(result_names(query.ast, self._staged) or ())

    def stream(self, query: Query, parameters: Parameters) -> None:
        """Run a query; its rows come from the server in chunks as they are fetched."""
        if self._alone is not None:
            self.execute(query, parameters)
            return
        query = self._with_values(query, parameters)
        text = self._with_types(render(query, self._epoch_of))
        began = time.monotonic()
        with mapped():
            self._finish()
            chunks = self._cursor.chunks(*self._sent(text, parameters))
            first = next(chunks, [])
        has_ended = len(first) < CHUNK_ROWS
        note_run(query, began, is_whole=has_ended and text.is_lasting)
        self._ahead = first
        self._chunks = iter(()) if has_ended else chunks
        self._names = text.names or self._names_of(query)

    def use_zone(self, name: str | None) -> None:
        """Read and show timestamps in a time zone until the transaction ends; None: as it is."""
        if name is None:
            return
        try:
            self.text("SELECT set_config('TimeZone', ?, true)", [name])
        except PalimpsestError as error:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f'there is no time zone "{name}"',
                advice="give the name of a zone, such as Europe/Berlin or UTC",
            ) from error

    def explain(self, query: Query, parameters: Parameters, options: ExplainOptions) -> StorePlan:
        """The store's plan of a query, which runs only to be measured."""
        query = self._with_values(query, parameters)
        text = self._with_types(render(query, self._epoch_of))
        with mapped():
            self._finish()
            sql, values = self._sent(text, parameters)
            self._cursor.run(f"{explain_clause(options)} {sql}", values)
            return plan_of(self._cursor.fetchall(), options)

    def text(
        self, sql: str, values: Sequence[Any] = (), *, often: bool = False
    ) -> list[tuple[Any, ...]]:
        """Run constant SQL of the catalog; never anything that came from a client."""
        sql = numbered(sql, len(values))
        with mapped():
            self._finish()
            self._cursor.run(sql, list(values) or None, often=often)
            return self._cursor.fetchall() if self._cursor.description else []

    def read_epochs(self, epoch_of: EpochOf) -> None:
        """Read tiers in these epochs until the transaction ends."""
        self._epoch_of = epoch_of

    def run_alone(self, alone: Alone) -> None:
        """Run the one query up to ``rollback`` in a transaction of its own, in one trip.

        It raises LongWay where what is assumed does not hold, and so does all else that is asked.
        """
        self._alone = alone

    def know_definitions(self, version: Version) -> None:
        """Of which version all definitions are until the transaction ends; nobody changes them."""
        # Plans for all segments of Greenplum depend on the values: they are made each time.
        self._definitions = None if self.abilities.distributes else version

    def rendered(self, ast: exp.Expr) -> Text:
        """The text of a tree, with the tiers of the epochs this session reads."""
        return self._with_types(rendered(ast, self._epoch_of))

    def _with_types(self, text: Text) -> Text:
        """A text whose types the server has."""
        if text.enums:
            self.have_types(text.enums)
        return text

    def run(self, ast: exp.Expr, ending: str = "") -> None:
        """Run a statement that has neither parameters nor rows, with constant text at its end."""
        text = self.rendered(ast)
        sql, values = self._sent(replace(text, sql=text.sql + ending), {})
        with mapped():
            self._finish()
            self._cursor.run(sql, values)

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        query = self._with_values(query, parameters)
        text = cached_text(
            query,
            "_postgres_stage",
            self._epoch_of,
            lambda: temporary(name, self.rendered(query.ast)),
        )
        self.put(text, parameters)
        self._know_size(name)
        if isinstance(query.ast, exp.Query):
            self._staged[name.casefold()] = list(result_names(query.ast, self._staged) or ())

    def changed(self) -> int:
        """How many rows the statement executed last has written."""
        return self._cursor.rowcount

    def put(self, text: Text, parameters: Parameters) -> int:
        """Run a statement without rows; how many rows it wrote."""
        self._with_types(text)
        with mapped():
            self._finish()
            self._cursor.run(*self._sent(text, parameters))
        return self._cursor.rowcount

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        self.show_columns(name, columns_of_arrow(rows))

    def show_values(self, name: str, columns: Sequence[ColumnValues]) -> None:
        """Let queries of this transaction, not its constant SQL, read columns of values.

        A few rows go with each query that reads them: the server takes several times as long to
        make a temporary table as to run a query over few rows.
        """
        if len(columns[0].values) <= FEW_ROWS_MAX and not self.abilities.distributes:
            self._few.show(name, columns)
        else:
            self.show_columns(name, columns)

    def show_columns(self, name: str, columns: Sequence[ColumnValues]) -> None:
        """Let queries of this transaction read columns of values as a temporary table."""
        rows = copied_text(columns)
        if rows is None:
            given = {f"c{i}": column.values for i, column in enumerate(columns)}
            self.put(temporary(name, Text(query_of_values(columns), tuple(given))), given)
        else:
            self.put(temporary(name, Text(query_of_no_rows(columns), ())), {})
            with mapped():
                self._cursor.copy_rows(f"COPY {quoted_name(name.casefold())} FROM STDIN", rows)
        self._know_size(name)

    def _know_size(self, name: str) -> None:
        """Or the server would guess at thousands of rows, and read whole journals for a few."""
        with mapped():
            self._plain(f"ANALYZE {ident(name.casefold()).sql(dialect='postgres')}")

    def hide(self, *names: str) -> None:
        """Take back what ``show_arrow`` made readable."""
        for name in names:
            if not self._few.hide(name):
                self.run(exp.Drop(tables=[exp.to_table(name)], kind="TABLE"))

    def arrow_rows(self, table: pa.Table) -> list[tuple[Any, ...]]:
        """Arrow rows as the Python values a query would give."""
        columns = [column.to_pylist() for column in table.columns]
        rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
        shown = dict.fromkeys(whole_numbers(table), whole_number)
        shown |= dict.fromkeys(intervals(table), span)
        return in_python(rows, shown)

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        """The columns a query would have; it is not run."""
        found = self._outputs(query, parameters)
        return [ResultColumn(name, stored_type(oid, mod)) for name, oid, mod in found]

    def _outputs(self, query: Query, given: Parameters) -> list[Output]:
        """Name, type and modifier of each column a query would have, as the server says."""
        text = self._with_types(render(query, self._epoch_of))
        self._finish()
        sql, values = self._sent(text, {n: given.get(n) for n in text.parameters})
        with mapped():
            result = self._cursor.described(sql, oids_of_numbers(values))
        names = names_of_columns(text.names, result.nfields)
        return [
            (names[i] or (result.fname(i) or b"").decode(), result.ftype(i), result.fmod(i))
            for i in range(result.nfields)
        ]

    def interrupt(self) -> None:
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=5.0)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
