"""The lineage of a statement that is to be run, read off its tree when somebody first asks.

    tree before its rule takes it apart, names of the session -> columns written -> edges of nodes

A plan carries the trace, so that a statement which runs often is read once, and a plan that is
only made costs nothing. Where tables have tags, what they have read already is used. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from journal.model.lineage import (
    FILE_META,
    WHOLE,
    ColumnNode,
    CommittedLineage,
    NodeEdge,
    Rename,
    StatementLineage,
    file_node,
    node_of,
    table_node,
    unknown_edge,
    view_node,
)
from journal.model.plan import Change, DropRelation, PutRelation, StatementPlan
from journal.model.schema import CatalogSnapshot, Relation, Table, TableName, View, fold
from journal.model.trees import copy_tree
from journal.sql.dialects import stored
from rewriter.context import RewriteContext, no_scan_info
from rewriter.definitions.macros import expand_macros, has_macros
from rewriter.lineage.executed.relations_made import named_as_made, relations_made
from rewriter.lineage.executed.targets_written import (
    UNTRACEABLE,
    reason,
    targets_written,
    without_values,
)
from rewriter.lineage.scope import Scope
from rewriter.lineage.session_tables import SessionTables, full_name, without_history_calls
from rewriter.lineage.sources import FILTER, INDIRECT, ColumnSource
from rewriter.lineage.targets import ColumnTarget

_VIEW_DEPTH_MAX = 32
_OF_GATEWAY = frozenset({"system", "information_schema", "pg_catalog"})
"""Schemas of relations that the gateway makes up."""
_CHANGING = (exp.DML, exp.MultitableInserts, exp.Create, exp.Copy, exp.Alter)


class StatementTrace:
    """See ``LineageTrace``. ``ast`` must not change any more; of ``context`` only names are kept.

    ``targets`` is what the statement writes, with the relations that it names, where known already.
    """

    __slots__ = (
        *("_ast", "_changes", "_context_names", "_made", "_reads", "_relied_on", "_writes"),
        *("catalog", "known", "names", "targets"),
    )

    def __init__(self, ast: exp.Expr, context: RewriteContext) -> None:
        self.known: CommittedLineage | None = None
        self.targets: tuple[tuple[ColumnTarget, ...], Mapping[str, Relation]] | None = None
        self._ast = ast
        self.catalog = context.catalog
        self._context_names = (context.default_schema, context.path, context.session_schema)
        self.names: tuple[object, ...] = (self._context_names, frozenset())
        self._reads: frozenset[TableName] = frozenset()
        self._relied_on: frozenset[int] = frozenset()
        self._writes: frozenset[TableName] = frozenset()
        self._made: Mapping[str, Relation] = {}
        self._changes: tuple[PutRelation | DropRelation, ...] = ()

    def planned(self, plan: StatementPlan) -> StatementTrace:
        """Keep of a plan what its tree does not say: what it reads and what it defines."""
        self._reads, self._writes = plan.reads, plan.writes
        self._relied_on = plan.relied_on
        self.names = (self._context_names, plan.relied_on)
        changes = [step.change for step in plan.steps if isinstance(step, Change)]
        if changes:
            self._made = relations_made(plan)
            self._changes = tuple(c for c in changes if isinstance(c, PutRelation | DropRelation))
        return self

    def read(self) -> StatementLineage:
        """What the statement reads and writes; what cannot be followed is an UNKNOWN edge.

        A shape that nobody foresaw fails no commit.
        """
        try:
            return self._read()
        except UNTRACEABLE as error:
            named = [self.catalog.get(name) for name in self._writes]
            written = [found for found in (*named, *self._made.values()) if found is not None]
            nodes = dict.fromkeys(map(node_of, written))
            edges = tuple(unknown_edge(node, WHOLE, reason(error)) for node in nodes)
            return StatementLineage(edges, writes=frozenset(map(ColumnNode, nodes)))

    def _read(self) -> StatementLineage:
        schema, path, outer = self._context_names
        context = RewriteContext(
            self.catalog, no_scan_info, default_schema=schema, path=path, session_schema=outer
        )
        tables, found = SessionTables(context), self.targets
        targets: Sequence[ColumnTarget] = ()
        reads: Iterable[ColumnSource] = ()
        if found is not None:
            targets = found[0]
        else:
            ast = self._ast
            if has_macros(context):
                ast = copy_tree(ast)
                expand_macros(ast, context)
            if _only_reads(ast):
                reads = _sources_of_query(ast, tables)
            else:
                targets = targets_written(ast, tables)
        nodes = _Nodes(tables.found if found is None else found[1], self._made)
        targets = list(named_as_made(targets, self._made))
        file = self._ast.meta.get(FILE_META)
        if file is not None:
            whole = (ColumnSource(file, WHOLE),)
            targets = [ColumnTarget(t.table, t.column, whole) for t in targets]
        edges = [edge for target in targets for edge in nodes.edges_of(target)]
        edges += nodes.whole_edges(edges, targets)
        edges += nodes.policy_edges(edges, targets, self._relied_on)
        sources = {s for target in targets for s in target.sources} | set(reads)
        own = {self.catalog.get(name) for name in self._reads}
        return StatementLineage(
            tuple(dict.fromkeys(edges)),
            frozenset(nodes.read(sources, context))
            | {ColumnNode(node_of(found)) for found in own if found is not None},
            frozenset(nodes.targets_of(targets))
            | {ColumnNode(node_of(m)) for m in self._made.values()},
            *_of_views(self._changes, self.catalog),
            frozenset(nodes.temporary(self.catalog)),
        )


class _Nodes:
    """Nodes and physical columns for the names that lineage has."""

    def __init__(self, found: Mapping[str, Relation], made: Mapping[str, Relation]) -> None:
        self._found = found
        self._made = made
        self._physical: dict[str, dict[str, str]] = {}
        """By table the physical name of each column."""

    def _relation(self, name: str) -> Relation | None:
        return self._made.get(name) or self._found.get(name)

    def column(self, name: str, column: str) -> ColumnNode:
        """A column of a table, a view, or else of a file; whole rows for what is no column."""
        found = self._relation(name)
        if found is None:
            of_gateway = name.partition(".")[0] in _OF_GATEWAY
            return ColumnNode(view_node(name) if of_gateway else file_node(name), column)
        if isinstance(found, Table):
            physical = self._physical.get(name)
            if physical is None:
                physical = {fold(c.name): c.physical for c in found.columns}
                self._physical[name] = physical
            return ColumnNode(node_of(found), physical.get(column, WHOLE))
        return ColumnNode(node_of(found), column if column in map(fold, found.columns) else WHOLE)

    def edges_of(self, target: ColumnTarget) -> Iterator[NodeEdge]:
        """The edges of a column; of a file, whole rows are all that can be told."""
        to = self.column(target.table, target.column)
        of_file = False
        for source in target.sources:
            of = self.column(source.table, source.column)
            of_file = of_file or (source.column == WHOLE and self._relation(source.table) is None)
            yield NodeEdge(*to, *of, source.kind, source.subtype, source.masking)
        if target.unknown is not None and not of_file:
            yield unknown_edge(*to, without_values(target.unknown))

    def whole_edges(
        self, edges: Sequence[NodeEdge], targets: Iterable[ColumnTarget]
    ) -> Iterator[NodeEdge]:
        """From tables that are read and of which no column counts, as in ``count(*)``."""
        written = {self.column(target.table, WHOLE).node for target in targets}
        told = {edge.source for edge in edges}
        for found in self._found.values():
            source = node_of(found)
            if source not in told and source not in written:
                for target in sorted(written):
                    yield NodeEdge(target, WHOLE, source, WHOLE, INDIRECT, FILTER)

    def policy_edges(
        self, edges: Sequence[NodeEdge], targets: Iterable[ColumnTarget], relied_on: Iterable[int]
    ) -> Iterator[NodeEdge]:
        """From tables that row policies have read: they decide which rows the statement saw."""
        told = {(edge.target, edge.source) for edge in edges}
        for target in sorted({self.column(target.table, WHOLE).node for target in targets}):
            for source in map(table_node, sorted(relied_on)):
                if source != target and (target, source) not in told:
                    yield NodeEdge(target, WHOLE, source, WHOLE, INDIRECT, FILTER)

    def targets_of(self, targets: Iterable[ColumnTarget]) -> Iterator[ColumnNode]:
        """The columns that are written, and their tables."""
        for target in targets:
            found = self.column(target.table, target.column)
            yield ColumnNode(found.node)
            if found.column != WHOLE:
                yield found

    def read(self, sources: Iterable[ColumnSource], context: RewriteContext) -> set[ColumnNode]:
        """The columns that are read, with those that views read for them."""
        found: set[ColumnNode] = set()
        for source in sources:
            if source.table.partition(".")[0] in _OF_GATEWAY:
                continue
            of = self.column(source.table, source.column)
            found |= {ColumnNode(of.node), of}
            relation = self._relation(source.table)
            if isinstance(relation, View):
                found |= _read_by_view(relation, source.column, context, 0)
        return {n for n in found if n.column != WHOLE}

    def temporary(self, catalog: CatalogSnapshot) -> Iterator[str]:
        """The nodes of the session's own tables."""
        for relation in (*self._made.values(), *self._found.values()):
            if catalog.is_own(relation.name):
                yield node_of(relation)


def _only_reads(ast: exp.Expr) -> bool:
    if isinstance(ast, _CHANGING):
        return False
    clause = ast.args.get("with_")
    return clause is None or not any(isinstance(c.this, exp.DML) for c in clause.expressions)


def _sources_of_query(ast: exp.Expr, tables: SessionTables) -> set[ColumnSource]:
    try:
        found = tables.reader().read(without_history_calls(ast), Scope())
    except UNTRACEABLE:
        return set()  # The names of its tables are known.
    return {s for cell in found.cells for s in cell.sources} | found.influences


def _read_by_view(view: View, column: str, context: RewriteContext, depth: int) -> set[ColumnNode]:
    """The columns of tables that a column of a view shows, or that decide about its rows."""
    if depth > _VIEW_DEPTH_MAX:
        return set()
    inner = context.in_schema(view.name.schema)
    tables = SessionTables(inner)
    try:
        query = without_history_calls(stored(view.query))
        rows = tables.reader().read(query, Scope()).named([fold(name) for name in view.columns])
    except UNTRACEABLE:
        return set()
    cell = rows.by_name.get(column)
    sources = rows.influences | (cell.sources if cell is not None else frozenset())
    nodes, found = _Nodes(tables.found, {}), set[ColumnNode]()
    for source in sources:
        of = nodes.column(source.table, source.column)
        found |= {ColumnNode(of.node), of}
        relation = tables.found.get(source.table)
        if isinstance(relation, View):
            found |= _read_by_view(relation, source.column, inner, depth + 1)
    return found


def _of_views(
    changes: Iterable[PutRelation | DropRelation], catalog: CatalogSnapshot
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Rename, ...]]:
    """Views that get another query, that go, and that are called otherwise from now on.

    Tables keep their ids, so nothing need be said of them.
    """
    ends, gone, renames = [], [], []
    for change in changes:
        if isinstance(change, DropRelation):
            if isinstance(catalog.get(change.name), View):
                gone.append(_view(change.name))
            continue
        before = catalog.get(change.instead_of or change.relation.name)
        if not isinstance(before, View) or not isinstance(change.relation, View):
            continue
        if before.query != change.relation.query:
            ends.append(_view(before.name))
        if change.instead_of is not None and before.name.key != change.relation.name.key:
            renames.append(Rename(_view(before.name), _view(change.relation.name)))
    return tuple(ends), tuple(gone), tuple(renames)


def _view(name: TableName) -> str:
    return view_node(full_name(name))
