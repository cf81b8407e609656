"""The embedded store: one session on a DuckDB database file.

Only this module, ``duckdb_file`` and ``duckdb_errors`` import duckdb. It runs queries; what the
rows mean, which versions they carry and whether they may be committed is decided above it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from journal.local_engine.errors import mapped, python_values, translate
from journal.local_engine.plan_nodes import explain_clause, plan_of
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.session_defaults import arrow_of, count_of, nothing_known
from journal.model.store_plan import ExplainOptions, StorePlan
from journal.model.store_session import Parameters, RecordDialect
from journal.sql import dialects
from journal.sql.lowering.limits import spell_shares
from journal.sql.network_parameters import BoundAddresses
from journal.sql.network_sql import CONCERNED, keep_as_texts

DIALECT = "duckdb"
_BUSY_POLL_S = 0.01
_CLOSE_WAIT_S = 10.0
_BATCH_ROWS = 131_072
_DURABLE = "COMMIT succeeded and is durable"
"""What DuckDB says of a commit that is in its log, when the checkpoint after it had no room."""
_ADDRESSES = "addresses"
"""Under which name a query keeps its parameters that are addresses."""
_CONSTANT: dict[str, Any] = {}
"""Parsed statements of the texts that this program itself consists of."""


def render(query: Query) -> str:
    """The text of a query in the store's dialect; kept on the query, since plans are reused."""

    def text() -> str:
        tree = spell_shares(query.ast, query.nodes)
        if query.nodes is None or not query.nodes.by_type.keys().isdisjoint(CONCERNED):
            bound = BoundAddresses()
            tree = keep_as_texts(tree, bound)
            if bound.named:
                query.memo[_ADDRESSES] = bound
        return dialects.text(tree, query.nodes if tree is query.ast else None, DIALECT)

    return query.once("duckdb", text)


def _parsed(
    connection: duckdb.DuckDBPyConnection, text: str, kept: dict[str, Any], name: str
) -> str | duckdb.Statement:
    """The statement of a text, kept under a name; the text itself where it is not just one.

    DuckDB takes a quarter of a short query's time to parse it.
    """
    found: str | duckdb.Statement | None = kept.get(name)
    if found is None:
        statements = connection.extract_statements(text)
        found = kept[name] = statements[0] if len(statements) == 1 else text
    return found


def _staging(name: str, query: Query) -> Query:
    target = exp.Create(
        this=exp.to_table(name),
        kind="TABLE",
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        expression=query.ast,
    )
    return Query(target, query.parameters)


class DuckDBSession:
    """One DuckDB connection; transactions here are short and belong to one statement."""

    dialect = RecordDialect.DUCKDB
    arrow, count = arrow_of, count_of
    rows_at_hand = server_text = nothing_known

    def __init__(self, connection: duckdb.DuckDBPyConnection, root: Path) -> None:
        self._connection = connection
        self.root = root
        self._tracked = False
        self._shown: list[str] = []
        self._staged: list[str] = []
        self._begun = False
        self.before_commit: Callable[[], None] | None = None
        """What else must happen for the transaction to be committed; forgotten with it."""
        self.check_commit: Callable[[], None] | None = None
        """What refuses each commit that would go nowhere."""
        self.after_commit: Callable[[], None] | None = None
        """What follows each commit; it cannot fail."""
        self.after_breakdown: Callable[[], None] | None = None
        """Who is told that the database refuses to go on before it is opened again."""
        self._zone: str | None = None
        self.marked: dict[str, bytes] = {}
        """What the session's variables with marks on sealed rows hold."""
        self.kept_views: dict[int, tuple[object, int]] = {}
        """By table what its view of sealed rows that outlives transactions was made for."""

    def use_zone(self, name: str | None) -> None:
        """Read and show timestamps in a time zone; None: in that of the process."""
        if name == self._zone:
            return
        change = "RESET TimeZone"
        if name is not None:
            change = f"SET TimeZone = {exp.Literal.string(name).sql(dialect=DIALECT)}"
        try:
            self._connection.execute(change)
        except (duckdb.NotImplementedException, duckdb.InvalidInputException) as error:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f'there is no time zone "{name}"',
                advice="give the name of a zone, such as Europe/Berlin or UTC",
            ) from error
        self._zone = name

    def begin(self) -> None:
        self._run("BEGIN TRANSACTION")
        self._begun = True

    def commit(self) -> None:
        if self.before_commit is not None:
            self.before_commit()
        try:
            if self.check_commit is not None:
                self.check_commit()
            for name in self._staged:
                self._drop(name, "TABLE")
            self._connection.execute(self._constant("COMMIT"))
            self._begun = False
            if self.after_commit is not None:
                self.after_commit()
        except duckdb.Error as error:
            if isinstance(error, duckdb.FatalException) and self.after_breakdown is not None:
                self.after_breakdown()
            if _DURABLE in str(error):
                # Only working it into the file failed: whoever takes it back would lose rows.
                self._begun = False
                return
            mapped = translate(error)
            raise PalimpsestError(
                Code.STORE_WRITE,
                f"the store did not commit: {mapped.message}",
                advice="free space or fix permissions, then repeat; nothing was changed",
            ) from error
        finally:
            self._forget()

    def rollback(self) -> None:
        if not self._begun:
            return
        try:
            self._roll_back()
        except (duckdb.TransactionException, duckdb.FatalException, duckdb.ConnectionException):
            # DuckDB has ended the transaction itself, for example after a failed commit.
            pass
        finally:
            self._begun = False
            self._forget()

    def _roll_back(self) -> None:
        while True:
            try:
                self._connection.execute(self._constant("ROLLBACK"))
                return
            except duckdb.InterruptException:
                # Meant for the statement before, or the store closes, which the next try tells.
                pass

    def _forget(self) -> None:
        self._staged.clear()
        self.before_commit = None
        shown, self._shown = self._shown, []
        with suppress(duckdb.FatalException, duckdb.ConnectionException):
            for name in shown:
                self._connection.unregister(name)

    def _bound(
        self, query: Query, parameters: Parameters, *, strict: bool = True
    ) -> dict[str, Any] | None:
        if not query.parameters:
            return None
        addresses = query.memo.get(_ADDRESSES)
        if addresses is not None:
            found: dict[str, Any] = addresses.values(parameters, strict=strict)
            return found
        return {name: parameters[name] for name in query.parameters}

    def _statement(self, query: Query) -> str | duckdb.Statement:
        return _parsed(self._connection, render(query), query.memo, "statement")

    def _constant(self, sql: str) -> str | duckdb.Statement:
        return _parsed(self._connection, sql, _CONSTANT, sql)

    def _run(self, sql: str) -> None:
        with mapped():
            self._connection.execute(self._constant(sql))

    def execute(self, query: Query, parameters: Parameters) -> None:
        with mapped():
            self._connection.execute(self._statement(query), self._bound(query, parameters))

    def stream(self, query: Query, parameters: Parameters) -> None:
        self.execute(query, parameters)

    def explain(self, query: Query, parameters: Parameters, options: ExplainOptions) -> StorePlan:
        """The store's plan of a query, which runs only to be measured."""
        with mapped():
            word, bound = explain_clause(options), self._bound(query, parameters)
            rows = self._connection.execute(f"{word} {render(query)}", bound).fetchall()
            return plan_of([str(row[1]) for row in rows], options)

    def text(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run constant SQL of the catalog; never anything that came from a client."""
        with mapped():
            return self._connection.execute(self._constant(sql), list(values)).fetchall()

    def columns(self) -> list[ResultColumn]:
        described = self._connection.description or []
        return [ResultColumn(d[0], str(d[1])) for d in described]

    def fetch_many(self, size: int) -> list[tuple[Any, ...]]:
        with python_values():
            return self._connection.fetchmany(size)

    def arrow_reader(
        self, query: Query, parameters: Parameters, batch_rows: int = _BATCH_ROWS
    ) -> pa.RecordBatchReader:
        with mapped():
            relation = self._connection.sql(
                self._statement(query), params=self._bound(query, parameters) or {}
            )
            return relation.to_arrow_reader(batch_rows)

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        self.execute(query.once("stage", lambda: _staging(name, query)), parameters)
        self._staged.append(name)

    def show_arrow(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        with mapped():
            self._connection.register(name, rows)
        self._shown.append(name)

    def hide(self, *names: str) -> None:
        """Take back what ``show`` made readable."""
        for name in names:
            if name in self._shown:
                self._shown.remove(name)
                self._connection.unregister(name)
            else:
                self._drop(name, "VIEW")

    def _drop(self, name: str, kind: str) -> None:
        drop = exp.Drop(tables=[exp.to_table(name)], kind=kind)
        self._connection.execute(drop.sql(dialect=DIALECT))

    def rest_as_arrow(self) -> pa.Table:
        """The rows of the query executed last that were not fetched yet."""
        with mapped(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self._connection.to_arrow_table()

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        with mapped():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                reader: Any = self._connection.to_arrow_reader(rows)
            yield next(reader, None) or pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader

    def arrow_rows(self, table: pa.Table) -> list[tuple[Any, ...]]:
        """Arrow rows as the Python values a query would give."""
        with python_values():
            return self._connection.from_arrow(table).fetchall()

    def threads(self) -> int:
        """How many threads its database works with."""
        ((found,),) = self.text("SELECT current_setting('threads')")
        return int(found)

    def row(self, query: Query, parameters: Parameters) -> tuple[Any, ...]:
        """The single row of a query, which is finished then."""
        self.execute(query, parameters)
        with python_values():
            (found,) = self._connection.fetchall()
        return tuple(found)

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        """The columns a query would have; it is not run."""
        described = Query(exp.Describe(this=query.ast.copy()), query.parameters)
        with mapped():
            statement = self._statement(described)
            bound = self._bound(described, parameters, strict=False)
            self._connection.execute(statement, bound)
            rows = self._connection.fetchall()
        return [ResultColumn(row[0], row[1]) for row in rows]

    def holds(self, name: str) -> bool:
        """True for the name of a relation staged in this transaction."""
        return name in self._staged

    def interrupt(self) -> None:
        self._connection.interrupt()

    def track_progress(self) -> None:
        if not self._tracked:
            self.text("SET enable_progress_bar_print = false")
            self.text("SET enable_progress_bar = true")
            self._tracked = True

    def progress(self) -> float | None:
        percent = self._connection.query_progress()
        return percent / 100 if percent >= 0 else None

    def close(self) -> None:
        """Close the connection; what another thread still does in it is interrupted."""
        until = time.monotonic() + _CLOSE_WAIT_S
        while True:
            try:
                self._connection.close()
                return
            except duckdb.ResourceInUseException as error:
                # Say, the thread that gives back what clients forgot is rolling it back.
                if time.monotonic() >= until:
                    raise translate(error) from error
                self._connection.interrupt()
                time.sleep(_BUSY_POLL_S)
