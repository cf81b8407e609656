"""Tags that follow the data: what a statement writes has the tags of the columns it comes from.

    resolved tree -> DIRECT sources of what it writes, less masked ones -> their tags -> PutTags

A column of a view has the tags of what it shows. Where it cannot be told what a column comes from,
it may come from anything that is read, and has the tags of all of that. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.access import PutTags, TableTag
from journal.model.lineage import WHOLE
from journal.model.plan import Change, StatementPlan
from journal.model.schema import Relation, Table, View, fold, relation_key
from journal.sql.dialects import stored
from rewriter.context import RewriteContext
from rewriter.definitions.shown_columns import columns_showing, columns_shown
from rewriter.lineage.executed.relations_made import named_as_made, relations_made
from rewriter.lineage.executed.targets_written import UNTRACEABLE, targets_written
from rewriter.lineage.scope import Scope
from rewriter.lineage.session_tables import SessionTables, full_name, without_history_calls
from rewriter.lineage.sources import DIRECT, ColumnSource
from rewriter.lineage.targets import ColumnTarget
from rewriter.lineage.trigger_tags import passed_by_triggers
from rewriter.name_resolution import table_name

_FILLING = (exp.Insert, exp.Update, exp.Merge, exp.MultitableInserts, exp.Create, exp.Copy)
"""Statements that put values into columns."""
_VIEW_DEPTH_MAX = 32


@dataclass(frozen=True, slots=True, order=True)
class TagSource:
    """A tag, and the column that has it, or the table where that is as a whole meant."""

    tag: str
    table_id: int
    column: str


def trace_writes(
    ast: exp.Expr, context: RewriteContext
) -> tuple[tuple[ColumnTarget, ...], Mapping[str, Relation]]:
    """What a statement writes, by the tree that its rule takes apart; none where no table has tags.

    With it come the relations that it names. Where the tree cannot be followed, that is unknown of
    all columns that it names.
    """
    if not any(access.tags for access in context.catalog.access.objects.values()):
        return (), {}
    if not isinstance(ast, _FILLING) and not (isinstance(ast, exp.Query) and ast.find(exp.DML)):
        return (), {}
    tables = SessionTables(context)
    return targets_written(ast, tables), tables.found


def converted_columns(ast: exp.Expr, context: RewriteContext) -> tuple[ColumnTarget, ...]:
    """The columns of a table whose ALTER .. TYPE .. USING fills one with what others show."""
    node = ast.find(exp.Table) if isinstance(ast, exp.Alter) else None
    table = None if node is None else context.catalog.get(table_name(node, context))
    if not isinstance(table, Table):
        return ()
    name, sources = full_name(table.name), dict[str, tuple[ColumnSource, ...]]()
    for action in ast.args.get("actions") or ():
        using = action.args.get("using") if isinstance(action, exp.AlterColumn) else None
        if isinstance(using, exp.Expr):
            used = {fold(c.name) for c in columns_shown(using)} - {fold(action.name)}
            sources[fold(action.name)] = tuple(ColumnSource(name, c) for c in sorted(used))
    if not any(sources.values()):
        return ()
    columns = [fold(c.name) for c in table.columns]
    return tuple(ColumnTarget(name, column, sources.get(column, ())) for column in columns)


def with_inherited_tags(
    plan: StatementPlan, traced: Sequence[ColumnTarget], context: RewriteContext
) -> StatementPlan:
    """The plan with the change that gives its targets the tags of their sources, and notices."""
    if not traced:
        return plan
    reader = TagReader(context)
    made = relations_made(plan)
    added: dict[str, dict[TableTag, None]] = {}
    for written in named_as_made(traced, made):
        target = made.get(written.table) or reader.relation(written.table)
        # Views have the tags of what they show, without having any themselves.
        if isinstance(target, Table) and target.materialized is None:
            for tag in _missing(written, target, plan, reader):
                added.setdefault(written.table, {})[tag] = None
    for name in dict.fromkeys(written.table for written in traced):
        target = reader.relation(name)
        if isinstance(target, Table) and target.triggers:
            for tag in passed_by_triggers(target, tuple(added.get(name, {})), context):
                added.setdefault(name, {})[tag] = None
    if not added:
        return plan
    steps, notices = list(plan.steps), list(plan.notices)
    for name, tags in added.items():
        target = made.get(name) or reader.relation(name)
        assert isinstance(target, Table)
        steps.append(Change(PutTags(relation_key(target), tuple(tags))))
        notices += dict.fromkeys(_notice(target, tag, context) for tag in tags)
    # Short ways run no change of the catalog.
    return replace(plan, steps=tuple(steps), notices=tuple(notices), plain=None, bounded=False)


@dataclass(frozen=True, slots=True)
class TagReader:
    """Reads the tags of columns, those behind views with them."""

    context: RewriteContext

    def relation(self, name: str) -> Relation | None:
        """The relation of a whole name as lineage has it."""
        schema, _, bare = name.rpartition(".")
        return self.context.catalog.relations.get((schema, bare))

    def tags_of(self, name: str, column: str, depth: int = 0) -> frozenset[TagSource]:
        """The tags of a column of a table or view; ``WHOLE``: of any of its columns."""
        found = self.relation(name)
        if found is None or depth > _VIEW_DEPTH_MAX:
            return frozenset()
        if isinstance(found, Table) and found.materialized is None:
            return self._of_table(found, column)
        shown = self.tags_of_view(found, depth + 1)
        return frozenset(t for name, t in shown if WHOLE in (column, name) or column == name)

    def tags_of_view(self, found: Relation, depth: int = 0) -> frozenset[tuple[str, TagSource]]:
        """The columns of a view by folded name, each with a tag that it has; ``WHOLE``: any."""
        return frozenset(
            (name, tag)
            for name, source in _sources_of_view(found, self.context)
            for tag in self.tags_of(source.table, source.column, depth)
        )

    def _of_table(self, table: Table, column: str) -> frozenset[TagSource]:
        tags = self.context.catalog.access.of(relation_key(table)).tags
        physical = {fold(c.name): c.physical for c in table.columns}.get(column)
        if physical is None:
            return frozenset(TagSource(t.tag, table.id, t.column) for t in tags)
        meant = [t for t in tags if not t.column or physical in columns_showing(table, t.column)]
        if self.context.catalog.is_own(table.name):
            # A temporary table is gone soon: what comes of it comes from where its rows came from.
            return frozenset(TagSource(t.tag, t.source, t.source_column) for t in meant)
        return frozenset(TagSource(t.tag, table.id, t.column or physical) for t in meant)

    def of_all(self, tables: Iterable[int]) -> frozenset[TagSource]:
        """The tags of all tables of some ids."""
        found = [self.context.catalog.by_id(table) for table in tables]
        names = [full_name(table.name) for table in found if table is not None]
        return frozenset(tag for name in names for tag in self.tags_of(name, WHOLE))


def _sources_of_view(
    found: Relation, context: RewriteContext
) -> Iterator[tuple[str, ColumnSource]]:
    """The columns of a view, each with what it shows; ``WHOLE`` where that cannot be told."""
    tables = SessionTables(context.in_schema(found.name.schema))
    if isinstance(found, View):
        shown, text = list(found.columns), found.query
    else:
        assert found.materialized is not None
        shown, text = [c.name for c in found.columns], found.materialized.query
    query = without_history_calls(stored(text))
    try:
        rows = tables.reader().read(query, Scope()).named([fold(name) for name in shown])
        unknown = any(cell.unknown for cell in rows.cells) or bool(rows.open)
        pairs = list(zip(rows.names, rows.cells, strict=True))
    except UNTRACEABLE:
        unknown, pairs = True, []
    for name, cell in pairs:
        yield from ((name, source) for source in cell.sources if _shows(source))
    if unknown:
        for node in query.find_all(exp.Table):
            yield WHOLE, ColumnSource(tables.name(node), WHOLE)


def _shows(source: ColumnSource) -> bool:
    """Whether a value shows what its source holds."""
    return source.kind == DIRECT and not source.masking


def _missing(
    written: ColumnTarget, target: Table, plan: StatementPlan, reader: TagReader
) -> Iterator[TableTag]:
    """The tags of what a column comes from that it has not got."""
    found: set[TagSource] = set()
    for source in written.sources:
        if _shows(source):
            found |= reader.tags_of(source.table, source.column)
            if reader.relation(source.table) is None:
                found |= reader.of_all(_tables_read(plan))
    if written.unknown is not None:
        found |= reader.of_all(_tables_read(plan))
    column = next((c.physical for c in target.columns if fold(c.name) == written.column), "")
    known = reader.context.catalog.access.of(relation_key(target)).tags
    has = {fold(t.tag) for t in known if t.column in ("", column)}
    for source_tag in sorted(found):
        if fold(source_tag.tag) not in has:
            yield TableTag(column, source_tag.tag, source_tag.table_id, source_tag.column)


def _tables_read(plan: StatementPlan) -> set[int]:
    return set(plan.tables) | {row.table_id for row in plan.keyed}


def _notice(target: Table, tag: TableTag, context: RewriteContext) -> str:
    source, origin = context.catalog.by_id(tag.source), "a table behind a view"
    if source is not None and context.rights.sees(relation_key(source)):
        origin = _place(source, tag.source_column)
    return f"{_place(target, tag.column)} gets tag {tag.tag} from {origin}"


def _place(table: Table, physical: str) -> str:
    name = next((c.name for c in table.columns if c.physical == physical), None)
    return str(table.name) if name is None else f'column "{name}" of {table.name}'
