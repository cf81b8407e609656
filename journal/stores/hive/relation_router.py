"""Decides where each relation of a query is read: Spark, the gateway, or the catalog.

    tier of a journal                    -> its segments' partitions, in Spark
    rows that a catalog holds            -> the same as those in the gateway
    rows that are in the gateway         -> a literal where Spark runs the query
    the catalog's own relations          -> filled in the gateway when first read, then the same

What Spark runs is a query over its own tables and literals only. Decides nothing about versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table, fold
from journal.model.segment import Manifest
from journal.model.store_session import Parameters, RecordSession, ServerText
from journal.sql.substitution import put_in_place
from journal.stores.hive import layout, shown_catalog
from journal.stores.hive.dialect.current_views import ease_reading
from journal.stores.hive.dialect.enums import has_enum, is_enum
from journal.stores.hive.dialect.json import note_json
from journal.stores.hive.dialect.known_types import KnownTypes, has_nested
from journal.stores.hive.dialect.moment_parts import note_moments
from journal.stores.hive.dialect.nested import note_types
from journal.stores.hive.dialect.numbers import note_numbers
from journal.stores.hive.dialect.text import Template, readable, rendered
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.partition_pruning import Needed, needed
from journal.stores.hive.queries import CATALOG, HELD, is_cte
from journal.stores.hive.rows import HeldRelation, held_relation
from journal.stores.hive.tiers import SeenTiers
from journal.transactions.inlined_rows import InlinedRows


class RelationRouter:
    """Those of one statement; ``local`` gives the session of the gateway's own."""

    def __init__(
        self,
        tiers: SeenTiers,
        local: Callable[[], DuckDBSession],
        records: RecordSession,
        engine: HiveEngine,
    ) -> None:
        self.tiers = tiers
        self._local = local
        self._engine = engine
        self._records = records
        self._supplied: set[str] = set()
        self._remote: dict[str, exp.Query] = {}
        self._held: dict[str, HeldRelation] = {}
        self._inlined: dict[str, exp.Query] = {}
        self._names: set[str] = set()

    def is_remote(self, query: Query) -> bool:
        """True for a query that Spark must run."""
        if kept_text(query, self.tiers) is not None:
            return True
        return any(self._place(table) is not None for table in query.ast.find_all(exp.Table))

    def reads_remote_rows(self, query: Query) -> bool:
        """True if a query reads rows of this statement's that are in Spark."""
        if not self._remote:
            return False
        return any(fold(t.name) in self._remote for t in query.ast.find_all(exp.Table))

    def put_remote(self, name: str, rows: exp.Query) -> None:
        """Let queries read rows that are in Spark as relation ``name``."""
        self._remote[fold(name)] = rows

    def note_local(self, name: str) -> None:
        """Let queries that run in Spark read a relation of the local session too."""
        self._names.add(fold(name))
        self._held.pop(fold(name), None)

    def is_local(self, name: str) -> bool:
        """True for a relation of the gateway's own session."""
        return name in self._names

    def text(self, query: Query, parameters: Parameters) -> tuple[str, Needed]:
        """What Spark is sent for a query, and the partitions that must be there.

        It is kept on the query while the journals it reads stay the same.
        """
        # What Apache Hive reads into a text that is compared depends on the text.
        is_told_apart = self._engine is HiveEngine.APACHE and any(
            isinstance(value, str) for value in parameters.values()
        )
        kept = None if is_told_apart else kept_text(query, self.tiers) or self._keep(query)
        if kept is None:
            ast = self.in_spark(query.ast)
            return rendered(ast, parameters, self._engine), needed(self.tiers.names, ast)
        return kept.template.filled(parameters), kept.needed

    def readable(self, query: Query, shown: Callable[[str], str]) -> ServerText:
        """What the server is sent for a query, in lines; parameters as ``shown`` has them."""
        text = readable(self.in_spark(query.ast), shown, self._engine)
        return ServerText(self._engine.dialect, text)

    def _keep(self, query: Query) -> KeptText | None:
        """The text of a query that reads nothing but journals, for the next time as well."""
        names: list[str] = []
        for table in query.ast.find_all(exp.Table):
            if fold(table.db) == STORE_SCHEMA and self.tiers.find(table.name) is not None:
                names.append(table.name)
            elif table.db or not is_cte(table):
                return None
        if not names:
            return None
        ast = self.in_spark(query.ast)
        template = Template.of(ast, self._engine)
        if template is None:
            return None
        return KeptText.keep(query, self.tiers, names, template, needed(self.tiers.names, ast))

    def in_spark(self, ast: exp.Expr) -> exp.Expr:
        """A copy of a tree over what Spark has: segments, and literals for the rows held here."""
        holder = exp.Paren(this=ast.copy())
        self._note_types(holder)
        if self._engine is HiveEngine.SPARK:
            ease_reading(holder, self.tiers)
        for table in list(holder.find_all(exp.Table)):
            place = self._place(table)
            rows = self._local_rows(table) if place is None else self._with_own_rows(place.copy())
            if rows is not None:
                put_in_place(table, rows)
        found = holder.this
        assert isinstance(found, exp.Expr)
        found.pop()
        return found

    def _note_types(self, holder: exp.Expr) -> None:
        """Note what works on lists and structs, where there are any."""
        found = {id(t): self._columns(t) for t in holder.find_all(exp.Table)}
        columns = found.values()
        is_told = any(has_nested(c) or has_enum(c) for c in columns) or _names_enum(holder)
        if is_told or holder.find(exp.Array, exp.ArrayAgg, exp.Struct):
            note_types(holder, lambda table: found.get(id(table)))
        note_json(holder, lambda table: found.get(id(table)))
        known = KnownTypes(lambda table: found.get(id(table)))
        note_numbers(holder, known)
        note_moments(holder, known)

    def enums(self, ast: exp.Expr) -> dict[str, str]:
        """The enums of a query's columns, by folded names; Spark gives them as texts."""
        found = {id(t): self._columns(t) for t in ast.find_all(exp.Table)}
        if not any(map(has_enum, found.values())) and not _names_enum(ast):
            return {}
        outputs = KnownTypes(lambda table: found.get(id(table))).outputs(ast)
        return {name: kind.sql(dialect="duckdb") for name, kind in outputs.items() if is_enum(kind)}

    def _columns(self, table: exp.Table) -> dict[str, exp.DataType]:
        if fold(table.db) == STORE_SCHEMA:
            seen = self.tiers.find(table.name)
            named = [] if seen is None else [(c.physical, c.type) for c in seen[0].stored]
        elif table.db or is_cte(table) or fold(table.name) not in self._names:
            named = []
        else:
            named = [(c.name, c.type) for c in self._held_rows(table).columns]
        return {fold(name): exp.DataType.build(kind, dialect="duckdb") for name, kind in named}

    def _place(self, table: exp.Table) -> exp.Query | None:
        """What Spark reads for a relation; None for one that is local, or is the client's own."""
        if fold(table.db) == STORE_SCHEMA:
            return None if table.name in CATALOG else self._tier(table.name)
        if table.db or is_cte(table):
            return None
        return self._remote.get(fold(table.name))

    def _tier(self, name: str) -> exp.Query | None:
        """What Spark reads for a tier: partitions, or a literal of rows that the catalog holds."""
        found = self.tiers.inlined(name)
        if found is None:
            return self.tiers.in_spark(name)
        made = self._inlined.get(name)
        if made is None:
            table, inlined = found
            shown = show_inlined(self._local(), table, name, inlined)
            made = held_relation(self._local(), shown, self._engine).query()
            if masks := self.tiers.masks_of(name):
                made = layout.unmasked(self.tiers.names, table, made, masks)
            self._inlined[name] = made
        return made

    def _with_own_rows(self, rows: exp.Query) -> exp.Query:
        """Rows in Spark, of which some may be in the gateway."""
        for table in list(rows.find_all(exp.Table)):
            held = self._local_rows(table)
            if held is not None:
                put_in_place(table, held)
        return rows

    def _local_rows(self, table: exp.Table) -> exp.Query | None:
        if fold(table.db) == STORE_SCHEMA and table.name in CATALOG:
            self.show_records(table)
            name = f"{STORE_SCHEMA}.{table.name}"
            return held_relation(self._local(), name, self._engine).query()
        if table.db or is_cte(table) or fold(table.name) not in self._names:
            return None
        return self._held_rows(table).query()

    def _held_rows(self, table: exp.Table) -> HeldRelation:
        name = fold(table.name)
        held = self._held.get(name)
        if held is None:
            held = self._held[name] = held_relation(self._local(), table.name, self._engine)
        return held

    def show_records(self, ast: exp.Expr) -> None:
        """Make the records that a tree names readable, each once."""
        named = {t.name for t in ast.find_all(exp.Table) if fold(t.db) == STORE_SCHEMA}
        fresh = sorted((named & CATALOG) - self._supplied)
        if fresh:
            # DuckDB takes no relation while a result waits to be read on.
            self._local().text("SELECT 1")
            shown_catalog.show(self._records, self._local(), fresh, self.tiers.committed.version)
            self._supplied.update(fresh)


def show_inlined(local: DuckDBSession, table: Table, name: str, inlined: InlinedRows) -> str:
    """Let the gateway's own session read rows that the catalog holds; the relation's name."""
    shown = f"{HELD}{name}"
    # DuckDB takes no relation while a result waits to be read on.
    local.text("SELECT 1")
    show_rows(local, table, shown, inlined.pieces)
    return shown


def _names_enum(tree: exp.Expr) -> bool:
    return any(is_enum(kind) for kind in tree.find_all(exp.DataType))


_PLACE = "text"


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text, what it was made for (by tier the table, and its manifest or inlined rows), and the
    partitions that it needs.
    """

    template: Template
    needed: Needed
    made_for: tuple[tuple[str, Table, Manifest | InlinedRows], ...]

    @staticmethod
    def keep(
        query: Query, tiers: SeenTiers, names: Sequence[str], template: Template, needed: Needed
    ) -> KeptText:
        """Keep a text that reads just these tiers on its query."""
        made_for = tuple((name, *tiers.source_of(name)) for name in names)
        kept = query.memo[_PLACE] = KeptText(template, needed, made_for)
        return kept


def kept_text(query: Query, tiers: SeenTiers) -> KeptText | None:
    """The text of a query that was made for what a statement sees; None if there is none yet."""
    kept: KeptText | None = query.memo.get(_PLACE)
    if kept is None:
        return None
    for name, table, source in kept.made_for:
        now = tiers.source_of(name)
        if now[0] is not table or now[1] is not source:
            return None
    return kept
