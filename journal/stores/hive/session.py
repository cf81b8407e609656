"""Runs the queries of one statement: over journals in Spark, all others in the gateway.

    query --reads a journal? --yes--> Spark, own rows inlined --> rows
                              --no--> DuckDB in this process  --> rows

So rows that a transaction has not committed are small local relations, and a statement that reads
no journal costs no round trip. It decides nothing about versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.schema import fold
from journal.model.segment import Fields
from journal.model.session_defaults import arrow_of, count_of, nothing_known, row_of
from journal.model.store_plan import ExplainOptions, StorePlan
from journal.model.store_session import (
    MemoryRows,
    Parameters,
    RecordDialect,
    RecordSession,
    ServerText,
    batches_of,
)
from journal.sql.relations import column, ident
from journal.sql.sql import cast
from journal.stores.hive.client.connection import HiveConnection, Row
from journal.stores.hive.client.cursor import Column
from journal.stores.hive.dialect.literal_kinds import LiteralKinds, literal_kinds
from journal.stores.hive.dialect.type_check import bound, check_zone, kinds_told
from journal.stores.hive.dialect.types import (
    INSTANT,
    HiveType,
    instants_in_zone,
    kind_of,
    whole_type,
)
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.held_segments import HeldSegments
from journal.stores.hive.missing_tables import NOT_FOUND, explained
from journal.stores.hive.partition_check import Presence
from journal.stores.hive.partition_pruning import Needed
from journal.stores.hive.plan_nodes import plan_of
from journal.stores.hive.queries import HELD, as_json, failing_for_zero, labels_of, renamed
from journal.stores.hive.relation_router import RelationRouter
from journal.stores.hive.store import HiveStore
from journal.stores.hive.tiers import SeenTiers

_INCOMING = "incoming_rows"
_NEAR = "rows_brought_near"
_KINDS_MAX = 64
"""For how many kinds of parameters the types of one query's results are remembered."""


class HiveSession:
    """See the module's head; inside one stay in the store."""

    arrow, row, count = arrow_of, row_of, count_of
    track_progress = progress = rows_at_hand = nothing_known

    def __init__(
        self,
        store: HiveStore,
        local: DuckDBSession,
        tiers: SeenTiers,
        segments: HeldSegments,
        held_rows: int,
        records: RecordSession,
        presence: Presence,
    ) -> None:
        self._presence = presence
        self._records = records
        self._store = store
        self._local = local
        self._begins = False
        self._tiers = tiers
        self._places = RelationRouter(tiers, lambda: self.local, records, store.engine)
        self._segments = segments
        self._held_rows = held_rows
        self._shown: set[str] = set()
        self._connection: HiveConnection | None = None
        self._kinds: list[tuple[str, HiveType]] | None = None
        self._zone: str | None = None

    @property
    def dialect(self) -> RecordDialect:
        """How statements about records are written."""
        return self._records.dialect

    @property
    def local(self) -> DuckDBSession:
        """The session of the gateway's own, whose transaction begins when it is first needed."""
        if self._begins:
            self._begins = False
            self._local.begin()
        return self._local

    @property
    def connection(self) -> HiveConnection:
        """The connection to the server, made when it is first needed."""
        if self._connection is None:
            self._connection = self._store.acquire()
        zone = self._zone or "UTC"
        if self._connection.zone != zone and self._store.engine is HiveEngine.SPARK:
            self._connection.execute(_set_zone(zone))
            self._connection.zone = zone
        return self._connection

    def begin(self) -> None:
        self._begins = True

    def commit(self) -> None:
        self.local.commit()

    def rollback(self) -> None:
        self._begins = False
        self._local.rollback()

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._store.release(connection)

    def local_query(self, query: Query, rows_max: int | None = None) -> Query | None:
        """A query as it runs in the gateway; None where Spark must run it.

        What reads a journal runs here if the segments it reads have at most ``rows_max`` rows.
        """
        if not self._places.is_remote(query):
            self._places.show_records(query.ast)
            return query.once("local", lambda: failing_for_zero(query))
        limit = self._held_rows if rows_max is None else rows_max
        if not limit:
            return None
        kept = query.once("renamed", lambda: renamed(query))
        found = [(name, self._tiers.find(name)) for name in sorted(kept[1])]
        segments = [s for _, tier in found if tier is not None for s in tier[1]]
        if self._places.reads_remote_rows(query):
            return None
        if any(tier is not None and self._tiers.masks_of(name) for name, tier in found):
            return None
        inlined = {name: of[1].pieces for name, _ in found if (of := self._tiers.inlined(name))}
        counted = [s.counts for s in segments]
        counted += [p.counts for pieces in inlined.values() for p in pieces]
        if sum(counts.total for counts in counted) > limit:
            return None
        if any(f"{HELD}{name}" not in self._shown for name, _ in found):
            # DuckDB takes no relation while a result waits to be read on.
            self.local.text("SELECT 1")
        for name, tier in found:
            if tier is not None and f"{HELD}{name}" not in self._shown:
                rows: Sequence[MemoryRows] | None = inlined.get(name)
                if rows is None:
                    rows = self._segments.rows(self, self._tiers.names, *tier)
                show_rows(self.local, tier[0], f"{HELD}{name}", rows)
                self._shown.add(f"{HELD}{name}")
        return kept[0].once("local", lambda: failing_for_zero(kept[0]))

    def put_remote(self, name: str, rows: exp.Query) -> None:
        """Let queries read rows that are in Spark as relation ``name``."""
        self._places.put_remote(name, rows)

    def in_spark(self, ast: exp.Expr) -> exp.Expr:
        """A copy of a tree over what Spark has: segments, and literals for the rows held here."""
        return self._places.in_spark(ast)

    def execute(self, query: Query, parameters: Parameters) -> None:
        here = self.local_query(query)
        if here is None:
            self._run(query, parameters)
            return
        self._kinds = None
        self.local.execute(here, parameters)

    def stream(self, query: Query, parameters: Parameters) -> None:
        self.execute(query, parameters)

    def _run(self, query: Query, parameters: Parameters, known: Sequence[str] = ()) -> None:
        try:
            self._ask(query, parameters, known)
        except PalimpsestError as error:
            if error.code not in NOT_FOUND:
                raise
            raise explained(error, self.connection, self._tiers, query.ast) from error

    def _ask(self, query: Query, parameters: Parameters, known: Sequence[str]) -> None:
        known = self._bound(query, parameters) or known
        found: dict[LiteralKinds, list[tuple[str, HiveType]]]
        found = query.once("columns", dict)
        of_literals = literal_kinds(query.parameters, parameters)
        kept = found.get(of_literals)
        if kept is not None:
            self._run_checked(as_json(query, [kind for _, kind in kept]), parameters)
            self._kinds = kept
            return
        text = self._run_checked(query, parameters)
        described = self.connection.described()
        if self._store.engine is HiveEngine.APACHE:
            kinds = kinds_told([kind for _, kind in self.connection.types()], known)
        else:
            kinds = self._kinds_found(text)
            if any(kind.is_nested for kind in kinds):
                self._run_checked(as_json(query, kinds), parameters)
        names = labels_of(query, self.local) or [""] * len(described)
        labels = [given or name for given, (name, _) in zip(names, described, strict=False)]
        if len(found) >= _KINDS_MAX:
            found.clear()
        self._kinds = found[of_literals] = list(zip(labels, kinds, strict=True))

    def _run_checked(self, query: Query, parameters: Parameters) -> str:
        """Run a query, and see that what it reads is there; its text."""
        text, wanted = self._places.text(query, parameters)
        try:
            self._asked_once(text, wanted)
        except PalimpsestError as error:
            if error.code is not Code.SEGMENT_DAMAGED or not wanted:
                raise
            # The server's session may remember files as they were before somebody mended them.
            with suppress(PalimpsestError):
                self._presence.refresh(self.connection, wanted)
            self._asked_once(text, wanted)
        return text

    def _asked_once(self, text: str, wanted: Needed) -> None:
        connection = self.connection
        look = self._presence.due_query(connection, wanted, self._tiers)
        told = connection.execute(text, beside=() if look is None else look.beside)
        if look is not None:
            self._presence.check(connection, look, told)
        self._presence.check_kept(wanted, self._tiers.committed)

    def _bound(self, query: Query, parameters: Parameters) -> list[str]:
        """The types of a query's columns as the gateway itself sees them, where the server is lax;
        none where only the server knows."""
        if self._store.engine is not HiveEngine.APACHE:
            return []
        check_zone(self._zone)
        found = bound(self.local, self._tiers, self._places.is_local, query, parameters)
        return [column.type for column in found or ()]

    def _kinds_found(self, text: str) -> list[HiveType]:
        """The types of a result, for which a description is asked only where they need one."""
        told = [whole_type(word, kind) for word, kind in self.connection.types()]
        if "" in told:
            told = [str(row[1]) for row in self.connection.short_query(f"DESCRIBE QUERY {text}")]
        return [kind_of(kind) for kind in told]

    def _described(self, text: str) -> list[tuple[str, str]]:
        if self._store.engine is HiveEngine.APACHE:
            self.connection.execute(f"SELECT * FROM ({text}) q LIMIT 0")  # noqa: S608
            names = [name.removeprefix("q.") for name, _ in self.connection.described()]
            return [(n, kind) for n, (_, kind) in zip(names, self.connection.types(), strict=True)]
        rows = self.connection.run(f"DESCRIBE QUERY {text}")
        return [(str(row[0]), str(row[1])) for row in rows]

    def text(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._records.text(sql, values)

    def columns(self) -> list[ResultColumn]:
        if self._kinds is None:
            return self.local.columns()
        return [ResultColumn(name, kind.name) for name, kind in self._kinds]

    def fetch_many(self, size: int) -> list[Row]:
        if self._kinds is None:
            return self.local.fetch_many(size)
        return list(zip(*self._fetched(size), strict=True))

    def _fetched(self, size: int | None = None) -> list[Column]:
        """The values of the next rows, or of all that are left, by column."""
        assert self._kinds is not None
        connection = self.connection
        columns = connection.columns(size) or [[] for _ in self._kinds]
        found = [kind.values(c) for (_, kind), c in zip(self._kinds, columns, strict=True)]
        if connection.zone != "UTC":
            # Spark writes instants in the zone of its session, and does not say which that is.
            for place, (_, kind) in enumerate(self._kinds):
                if kind == INSTANT:
                    found[place] = instants_in_zone(found[place], connection.zone)
        return found

    def rest_as_arrow(self) -> pa.Table:
        if self._kinds is None:
            return self.local.rest_as_arrow()
        return _arrow(self._kinds, self._fetched())

    def rest_as_batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        if self._kinds is None:
            yield from self.local.rest_as_batches(rows)
            return
        found = _arrow(self._kinds, self._fetched(rows))
        yield from batches_of(found)
        while found.num_rows:
            found = _arrow(self._kinds, self._fetched(rows))
            yield from found.to_batches()

    def arrow_rows(self, table: pa.Table) -> list[Row]:
        return self.local.arrow_rows(table)

    def describe(self, query: Query, parameters: Parameters) -> list[ResultColumn]:
        here = self.local_query(query)
        if here is not None:
            return self.local.describe(here, parameters)
        found = self._described(self._places.text(query, parameters)[0])
        names = labels_of(query, self.local) or [""] * len(found)
        return [
            ResultColumn(given or name, kind_of(kind).name)
            for given, (name, kind) in zip(names, found, strict=False)
        ]

    def server_text(self, query: Query, shown: Callable[[str], str]) -> ServerText | None:
        """What the server is sent for a query; None where the gateway runs it itself."""
        here = self.local_query(query)
        return self._places.readable(query, shown) if here is None else None

    def explain(self, query: Query, parameters: Parameters, options: ExplainOptions) -> StorePlan:
        here = self.local_query(query)
        if here is not None:
            return self.local.explain(here, parameters, options)
        text, _ = self._places.text(query, parameters)
        if options.analyze:
            self.connection.run(text)
        return plan_of(self.connection.run(f"EXPLAIN FORMATTED {text}"), options)

    def use_zone(self, name: str | None) -> None:
        self._local.use_zone(name)
        self._zone = name

    def stage(self, name: str, query: Query, parameters: Parameters) -> None:
        """Keep a query's rows, which are few, in the gateway."""
        here = self.local_query(query)
        if here is None:
            rows = self.arrow(query, parameters)
            enums = self._places.enums(query.ast)
            if enums:
                self._show_enums(name, rows, enums)
            else:
                self.show_arrow(name, rows)
            return
        self.local.stage(name, here, parameters)
        self._places.note_local(name)

    def _show_enums(self, name: str, rows: pa.Table, enums: Mapping[str, str]) -> None:
        """Show rows of which some columns are texts there, and are to compare as enums here."""
        self.local.show_arrow(_INCOMING, rows)
        outputs: list[exp.Expr] = []
        for found in rows.schema.names:
            kind = enums.get(fold(found))
            value = column(found) if kind is None else cast(column(found), kind)
            outputs.append(exp.alias_(value, ident(found)))
        self.local.stage(name, Query(exp.select(*outputs).from_(_INCOMING), ()), {})
        self.local.hide(_INCOMING)
        self.note_local(name)

    def show_arrow(self, name: str, rows: pa.Table) -> None:
        self.local.show_arrow(name, rows)
        self.note_local(name)

    def hide(self, *names: str) -> None:
        """Take back relations that were shown to the local session."""
        self.local.hide(*names)

    def note_local(self, name: str) -> None:
        """Let queries that run in Spark read a relation of the local session too."""
        self._places.note_local(name)

    def from_spark(self, ast: exp.Query, columns: Fields = ()) -> pa.Table:
        """The rows of a query over the store's own tables; ``columns`` are known to be its own."""
        self._run(Query(ast, ()), {}, [kind for _, kind in columns])
        try:
            return self.rest_as_arrow()
        finally:
            self._kinds = None

    def batches_from_spark(self, ast: exp.Query, columns: Fields, size: int) -> Iterator[pa.Table]:
        """The same, so many rows at a time."""
        self._run(Query(ast, ()), {}, [kind for _, kind in columns])
        kinds = self._kinds
        assert kinds is not None
        while (sent := self._fetched(size))[0]:
            yield _arrow(kinds, sent)
            self._kinds = kinds
        self._kinds = None

    def typed(self, rows: pa.Table, columns: Fields) -> pa.Table:
        """Rows that came from Spark in exactly the types of a journal's columns."""
        self.local.show_arrow(_INCOMING, _as_instants(rows, columns))
        try:
            outputs = [
                exp.alias_(exp.cast(column(name), kind, dialect="duckdb"), ident(name))
                for name, kind in columns
            ]
            return self.local.arrow(Query(exp.select(*outputs).from_(_INCOMING), ()), {})
        finally:
            self.local.hide(_INCOMING)

    def comparable_rows(self, fields: Fields, rows: exp.Query) -> exp.Table:
        """Rows of these columns as a relation of the gateway's own, to be compared with it."""
        self.show_arrow(_NEAR, self.typed(self.arrow(Query.of(rows), {}), fields))
        return exp.to_table(_NEAR)

    def interrupt(self) -> None:
        self._local.interrupt()
        connection = self._connection
        if connection is not None:
            connection.interrupt()


def _as_instants(rows: pa.Table, columns: Fields) -> pa.Table:
    """Rows whose timestamps are in UTC where a zone is wanted and none was told."""
    for place, (_, kind) in enumerate(columns):
        found = rows.field(place)
        wanted = exp.DataType.build(kind, dialect="duckdb").this
        if wanted is exp.DType.TIMESTAMPTZ and found.type == pa.timestamp("us"):
            instants = pc.assume_timezone(rows.column(place), "UTC")
            rows = rows.set_column(place, found.name, instants)
    return rows


def _arrow(kinds: Sequence[tuple[str, HiveType]], columns: Sequence[list[Any]]) -> pa.Table:
    try:
        arrays = [
            pa.array(values, kind.arrow) for (_, kind), values in zip(kinds, columns, strict=True)
        ]
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise PalimpsestError(
            Code.DATA,
            f"a value does not fit its type: {error}",
            advice="CAST it to a wider type in the query, or fix the value",
        ) from error
    return pa.table(arrays, names=[name for name, _ in kinds])


def _set_zone(zone: str) -> str:
    return f"SET TIME ZONE {exp.Literal.string(zone).sql(dialect='spark')}"
