"""Reading: every logical table of a query becomes the relation that shows what it shall show.

``Reads`` collects what was read and through which shape. The relation projects just the business
columns under their logical names, so stars need no expansion. Pure: AST in, AST out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import (
    P_FILES,
    P_SNAPSHOT,
    P_TIME,
    PHYSICAL,
    Lookup,
    PointRequest,
    RelationShape,
    StatementKind,
    StatementPlan,
    Step,
)
from journal.model.point_rows import KeyLookup
from journal.model.schema import CatalogSnapshot, Table, TableName, View, fold
from journal.model.segment import Tier
from journal.model.trees import Nodes
from journal.sql import dialects
from journal.sql.relations import Output, Reader, business_outputs, ident, version_value
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import sequence_relation
from rewriter.definitions.user_types import expand_types
from rewriter.dialect_semantics import DIALECTS
from rewriter.functions import check_table_function, function_name
from rewriter.name_resolution import SYSTEM_SCHEMAS, find_relation, table_name
from rewriter.reading.aggregates.changed_aggregates import change_aggregates
from rewriter.reading.aggregates.exists_as_in import name_what_exists
from rewriter.reading.aggregates.star_joins import star_centers
from rewriter.reading.catalog_functions import catalog_function, catalog_name
from rewriter.reading.changed_rows import RowChange, outputs_before, rows_after
from rewriter.reading.client_words import spell_out
from rewriter.reading.described import describe_queries, describe_relations
from rewriter.reading.failing import has_conditions_around, may_fail
from rewriter.reading.key_lookup import NOTHING, Keys, pinned_values
from rewriter.reading.lasting_rows import lasting_rows
from rewriter.reading.materialized import holds_its_rows, view_of
from rewriter.reading.past.history import Past, current_versions
from rewriter.reading.past.history_functions import history_query
from rewriter.reading.past.time_travel import (
    HISTORY_FUNCTIONS,
    Moment,
    Span,
    TimeTravelClause,
    check_versioned,
    clause_of,
    context_at,
    history_call,
    present_view,
    session_point,
)
from rewriter.reading.policies.conditions import PolicyReads, row_security
from rewriter.reading.policies.security import POLICIES, RowSecurity, check_journal, masked_columns
from rewriter.reading.scopes import SOURCE_PARTS, Scopes, is_named, without_schemas
from rewriter.reading.sources import (
    file_function,
    journal_in_the_past,
    nested_too_deep,
    refusal,
    replace_source,
)
from rewriter.reading.system import system_relation

SETTLED = "settled"
"""Mark on table nodes that are physical or staged already, so that no rewrite touches them."""
_VIEW_DEPTH_MAX = 32


@dataclass(slots=True)
class Reads:
    """Rewrites queries under one context and remembers what they read."""

    context: RewriteContext
    several: bool = False
    """Whether they belong to a statement that changes more than one table."""
    changed: dict[int, list[RowChange]] = field(default_factory=dict)
    """What parts of the statement have done to tables by id, where the others see that."""
    tables: dict[int, Table] = field(default_factory=dict)
    names: set[TableName] = field(default_factory=set)
    shapes: list[RelationShape] = field(default_factory=list)
    system: set[str] = field(default_factory=set)
    scans: set[int] = field(default_factory=set)
    lookups: list[Lookup] = field(default_factory=list)
    keyed: list[KeyLookup] = field(default_factory=list)
    points: list[PointRequest] = field(default_factory=list)
    counted: list[int] | None = None
    """Tables whose numbers of rows are asked; None: rows are read."""
    may_fail: bool = False
    for_policies: PolicyReads = field(default_factory=PolicyReads)
    _present: RewriteContext = field(init=False)
    _meets_ended: bool = False
    _is_asked: bool = False
    _centers: frozenset[int] = frozenset()
    _is_center: bool = False
    _moment: Moment | None = None
    _session_moment: Moment | None = None
    _scopes: Scopes | None = None
    _depth: int = 0

    def __post_init__(self) -> None:
        self._present = self.context

    def rewrite(self, query: exp.Expr) -> exp.Expr:
        """``query`` with every logical table replaced; the AST given is changed in place."""
        moment = self._moment or self._of_session()
        expand_types(query, self.context)
        nodes = without_schemas(Nodes.of(query), self.context)
        self.may_fail |= may_fail(nodes, self.context, is_asked=self._is_asked)
        if self.context.capabilities.plans_unions_apart and name_what_exists(nodes, self.context):
            nodes = Nodes.of(query)
        if moment is None and not self.changed and self._change_aggregates(nodes):
            nodes = Nodes.of(query)
        nodes = spell_out(query, nodes, self.context)
        outer, centers = self._scopes, self._centers
        with self._in_the_past(moment):
            describes = describe_relations(nodes, self.context)
            if describes:
                nodes = Nodes.of(query)
            self._scopes = Scopes.of(nodes, self.context)
            self._scopes.resolve()
            if self.context.capabilities.plans_unions_apart:
                self._centers = star_centers(nodes, self.context)
            for table in self._scopes.tables:
                self._replace(table)
            if describes:
                describe_queries(query, self.context, frozenset(self.tables))
        self._scopes, self._centers = outer, centers
        return query

    def point(self, request: PointRequest) -> Moment:
        """A point in time as a parameter of the plan."""
        self.points.append(request)
        return Moment(self.context.times(request), f"{P_TIME}{len(self.points) - 1}")

    def _of_session(self) -> Moment | None:
        if self._session_moment is None and self.context.as_of is not None:
            found = session_point(self.context.as_of, DIALECTS[self.context.dialect])
            self._session_moment = self.point(found)
        return self._session_moment

    def seen_catalog(self) -> CatalogSnapshot:
        """The catalog that the session reads: the current one, or that of its point in time."""
        moment = self._of_session()
        return self.context.catalog if moment is None else moment.point.catalog

    @contextmanager
    def at_session(self) -> Iterator[None]:
        """Resolve names as the session does, for the block."""
        with self._in_the_past(self._of_session()):
            yield

    @contextmanager
    def _in_the_past(self, moment: Moment | None) -> Iterator[None]:
        """Resolve names in the catalog of a moment, for the block; None changes nothing."""
        before, context = self._moment, self.context
        if moment is not None:
            self._moment = moment
            self.context = context_at(context, moment)
        try:
            yield
        finally:
            self._moment, self.context = before, context

    @contextmanager
    def in_the_present(self) -> Iterator[None]:
        """Read what the transaction sees now, whatever moment is read around the block."""
        outer, now = self.context, replace(self._present, as_of=None)
        around = self._moment, self._session_moment, self._is_asked, self._is_center
        self.context, self._moment, self._session_moment = now, None, None
        self._is_asked, self._is_center = True, False
        yield
        self.context = outer
        self._moment, self._session_moment, self._is_asked, self._is_center = around

    def _change_aggregates(self, nodes: Nodes) -> bool:
        """Count by what is on record, and split what can be; True if that was anything."""
        changed = change_aggregates(nodes, self.context, self.counted)
        for table, shape, why in changed.shapes():
            self._shape(table, shape, why)
            self.names.add(table.name)
        self.tables |= changed.split_tables
        self._meets_ended |= bool(changed.split_tables)
        return changed.is_any

    def plan(
        self,
        kind: StatementKind,
        steps: Sequence[Step],
        written: Table | None,
        tag: str,
        *,
        bounded: bool = False,
    ) -> StatementPlan:
        """A plan of these steps with everything that was read so far."""
        writes = frozenset() if written is None else frozenset({written.name})
        return StatementPlan(
            kind,
            tuple(steps),
            frozenset(self.names),
            writes,
            tuple(dict.fromkeys(self.shapes)),
            tag,
            frozenset(self.tables),
            frozenset(self.system),
            bounded and not self.points and not self.for_policies.relied_on,
            points=tuple(self.points),
            lookups=tuple(self.lookups),
            keyed=tuple(self.keyed),
            scans=frozenset(self.scans),
            counted=tuple(self.counted or ()),
            meets_ended=self._meets_ended,
            relied_on=frozenset(self.for_policies.relied_on),
        )

    def relation(
        self,
        table: Table,
        outputs: list[Output],
        keys: Keys | None = None,
        apart: Keys = NOTHING,
        filtered: Keys = NOTHING,
        at: exp.Table | None = None,
    ) -> exp.Query:
        """The current state of a table; with ``keys`` at least that row, if it is ``apart``.

        With ``filtered`` at least the rows that have these values. ``at``: where it is read.
        """
        changes = self.changed.get(table.id, ())
        wanted = outputs_before(changes, table, outputs)
        return rows_after(changes, self._rows(table, wanted, keys, apart, filtered, at), outputs)

    def _rows(
        self,
        table: Table,
        outputs: list[Output],
        keys: Keys | None,
        apart: Keys,
        filtered: Keys,
        at: exp.Table | None,
    ) -> exp.Query:
        self.names.add(table.name)
        if keys is not None:
            self.keyed.append(KeyLookup.of(table, keys, len(self.keyed)))
            if self.context.from_cache:
                return Reader(table, frozenset()).row_from_parameters(outputs, self.keyed[-1].name)
        scan = self.context.scan_info(table.id)
        self.tables[table.id] = table
        is_center = self._is_center or id(at) in self._centers
        reader = Reader(table, scan.tiers, scan.placed, planned_apart=is_center)
        point = version_value(table, exp.Placeholder(this=P_SNAPSHOT)) if scan.pinned else None
        if keys is not None:
            as_of = "" if point is None else ", as of the transaction's snapshot"
            self._shape(table, RelationShape.BY_KEY, f"the whole key is given{as_of}")
            files = {t: self._lookup(table, t, keys[table.key[0]]) for t in sorted(scan.by_file)}
            return reader.by_key(outputs, keys, files, point, apart)
        if point is not None:
            self._shape(table, "as of", "others committed to it since this transaction began")
            return self._without_ended(table, reader.as_of(outputs, point), at)
        if filtered and scan.finds_by_filter:
            name, value = next(iter(filtered.items()))
            files = {t: self._lookup(table, t, value, name) for t in sorted(scan.by_file)}
            reader = Reader(table, scan.tiers, files=files, planned_apart=is_center)
        elif not reader.is_plain():
            self.scans.add(table.id)
        self._shape(table, *reader.shape)
        rows = reader.current(outputs)
        return rows if reader.is_plain() else self._without_ended(table, rows, at)

    def _without_ended(self, table: Table, rows: exp.Query, at: exp.Table | None) -> exp.Query:
        """Rows of a journal, in a careful plan behind a fence; other plans say what they meet."""
        if self.context.careful:
            return lasting_rows(rows, at, table, self.context)
        self._meets_ended = True
        return rows

    def _lookup(self, table: Table, tier: Tier, value: exp.Expr, column: str | None = None) -> str:
        """The parameter that takes the files of a tier which may hold a value."""
        name = f"{P_FILES}{len(self.lookups)}"
        self.lookups.append(Lookup(table.id, tier, name, value, column))
        return name

    def _shape(self, table: Table, shape: str, reason: str) -> None:
        self.shapes.append(RelationShape(table.name, shape, reason))

    def _replace(self, table: exp.Table) -> None:
        if table.meta.get(PHYSICAL) or table.meta.get(SETTLED) or table.args.get("rows_from"):
            return
        unknown = [a for a, v in table.args.items() if v and a not in SOURCE_PARTS]
        if unknown:
            raise refusal(f"{unknown[0].upper()} behind a table", table)
        if not is_named(table):
            self._function(table)
            return
        clause = clause_of(table)
        name = table_name(table, self.context)
        if self._scopes is not None and id(table) in self._scopes.ctes:
            if clause is not None:
                raise refusal("time travel on a CTE", table)
        elif fold(name.schema) in SYSTEM_SCHEMAS:
            if clause is not None:
                raise refusal("time travel on a system relation", table)
            replace_source(table, self._supplied(*system_relation(name, table)))
        elif clause is None:
            replace_source(table, self._relation(table))
        elif clause.span is Span.AS_OF:
            with self._in_the_past(self.point(clause.points[0])):
                replace_source(table, self._relation(table))
        else:
            replace_source(table, self._versions(table, clause))

    def _relation(self, table: exp.Table) -> exp.Query | exp.Table:
        """The relation of a name at the moment that the statement reads."""
        name = table_name(table, self.context)
        catalog = self.context.catalog
        found = catalog.get(name) or present_view(name, self._moment)
        if found is None:
            journal = catalog.by_journal(name)
            if journal is not None:
                return self._journal(journal)
            file = file_function(table)
            if file is not None:
                return file
            supplied = catalog_name(table)
            if supplied is not None:
                return self._supplied(*supplied)
            sequence = sequence_relation(table, self.context) if self._moment is None else None
            if sequence is not None:
                return sequence
            found = find_relation(table, self.context, self._moment.point if self._moment else None)
        if isinstance(found, View):
            return self._view(found, table)
        if not holds_its_rows(found, self.context, past=self._moment is not None):
            return self._view(view_of(found), table)
        return self._table(found, table)

    def _journal(self, journal: Table) -> exp.Query:
        if self._moment is not None:
            raise journal_in_the_past(journal)
        check_journal(journal, self.context)
        scan = self.context.scan_info(journal.id)
        self.tables[journal.id] = journal
        self.names.add(journal.journal_name)
        self._shape(journal, "journal", "the journal itself was named")
        return Reader(journal, scan.tiers).journal()

    def _supplied(self, relation: str | None, query: exp.Query) -> exp.Query:
        """A query of rows that the gateway supplies for the plan, under this name."""
        if relation is not None:
            self.system.add(relation)
        return query

    def _table(self, table: Table, node: exp.Table) -> exp.Query:
        outputs = business_outputs(table.columns)
        if self._scopes is not None and self._scopes.names_version(node, table):
            outputs += current_versions(table)
        if self.context.catalog.is_own(table.name):
            if clause_of(node) is not None:
                check_versioned(table, node, self.context.catalog)
        elif self._moment is not None:
            self._shape(table, "as of", "a point in time was named")
            past = self._past(table).state_at(self._moment.version, outputs)
            past = self._without_ended(table, past, node)
            return self._as_seen(table, node, past, [name for _, name in outputs])
        pinned = pinned_values(node, table, masked_columns(table, self.context), self.context.kinds)
        rows = self.relation(table, outputs, *pinned, at=node)
        return self._as_seen(table, node, rows, [name for _, name in outputs])

    def _as_seen(self, table: Table, at: exp.Table, rows: exp.Query, names: list[str]) -> exp.Query:
        """The rows of a table under the policies that apply to the client."""
        policies = self._policies(table)
        return rows if policies is None else policies.shown_rows(rows, names, at=at)

    def _policies(self, table: Table) -> RowSecurity | None:
        policies = row_security(self, table)
        if policies is not None:
            self._shape(table, POLICIES, "the role sees its rows and columns under policies")
        return policies

    def _past(self, table: Table) -> Past:
        scan = self.context.scan_info(table.id)
        self.tables[table.id] = table
        self.names.add(table.name)
        limit = exp.Placeholder(this=P_SNAPSHOT) if scan.pinned else None
        return Past(table, scan.tiers, limit)

    def _versions(self, node: exp.Table, clause: TimeTravelClause) -> exp.Query:
        """The row versions of a table in a span of time, under the schema of the span's end."""
        moments = [self.point(p) for p in clause.points]
        with self._in_the_past(moments[-1] if moments else None):
            found = find_relation(node, self.context, moments[-1].point if moments else None)
        found = check_versioned(found, node, self.context.catalog, moments)
        self._shape(found, "row versions", f"FOR SYSTEM_TIME {clause.span.value.upper()}")
        versioned = self._scopes is not None and self._scopes.names_version(node, found)
        query = self._past(found).versions_in(clause.span, [m.version for m in moments], versioned)
        return self._as_seen(found, node, query, query.named_selects)

    def _function(self, node: exp.Table) -> None:
        name = function_name(node.this)
        supplied = catalog_function(name, node.this, self.context)
        if supplied is not None:
            replace_source(node, self._supplied(*supplied), name)
            return
        if name not in HISTORY_FUNCTIONS:
            check_table_function(node.this, self.context.capabilities)
            return
        call = history_call(node.this)
        moments = [self.point(p) for p in call.points]
        with self._in_the_past(moments[-1] if moments else None):
            found = find_relation(call.table, self.context, moments[-1].point if moments else None)
        found = check_versioned(found, node, self.context.catalog, moments)
        self._shape(found, "row versions", name)
        points = [m.version for m in moments]
        policies = self._policies(found)
        query = history_query(name, self._past(found), points, policies, by_column=call.by_column)
        replace_source(node, query, name)

    def _view(self, view: View, node: exp.Table) -> exp.Query:
        if self._depth >= _VIEW_DEPTH_MAX:
            raise nested_too_deep(view, node, _VIEW_DEPTH_MAX)
        root = exp.Subquery(this=dialects.stored(view.query))
        outer, self._is_asked = self._is_asked, self._is_asked or has_conditions_around(node)
        around, self._is_center = self._is_center, self._is_center or id(node) in self._centers
        self.rewrite_in(root, view.name.schema)
        self._is_asked, self._is_center = outer, around
        assert isinstance(root.this, exp.Query)
        self.names.add(view.name)
        if view.columns:
            alias = exp.TableAlias(this=ident("v"), columns=[ident(c) for c in view.columns])
            return exp.select("*").from_(exp.Subquery(this=root.this, alias=alias))
        return root.this

    def rewrite_in(self, root: exp.Subquery, schema: str) -> None:
        """Rewrite what stands in a view of that schema, where names without one mean its own."""
        outer, self._depth = self.context, self._depth + 1
        self.context = outer.in_schema(schema)
        self.rewrite(root)
        self.context, self._depth = outer, self._depth - 1
