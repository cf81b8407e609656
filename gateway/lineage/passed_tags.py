"""Passes a new tag on to the columns that were filled from the tagged one.

    SET TAG -> DIRECT edges that mask nothing, of commits and of this transaction -> PutTags each

Statements that run later pass tags on by themselves (``rewriter.lineage.inherited_tags``). Files
and views get none: a view has the tags of what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gateway.lineage.node_names import NodeNames
from gateway.lineage.walks import LEVELS_MAX, Beside, EdgeStep, walk
from journal.model.access import PutTags, TableTag
from journal.model.lineage import DIRECT, WHOLE, ColumnNode, NodeEdge, node_of
from journal.model.plan import Change, StatementPlan
from journal.model.schema import CatalogSnapshot, Table, fold, relation_key
from journal.model.visibility import visible_to
from journal.records.lineage import EdgeRow, edges_beside
from journal.transactions.protocol import OpenJournal


def with_passed_tags(
    journal: OpenJournal,
    plan: StatementPlan,
    catalog: CatalogSnapshot,
    role: int | None,
    uncommitted: Sequence[NodeEdge],
) -> StatementPlan:
    """The plan, which may set tags, with those that go on to other tables, and notices of them.

    ``uncommitted`` are the edges of what the transaction has run so far. A table whose name the
    role does not see gets its tags without a notice that names it.
    """
    changes = [step.change for step in plan.steps if isinstance(step, Change)]
    puts = [change for change in changes if isinstance(change, PutTags)]
    passed: dict[int, dict[TableTag, None]] = {}
    for put in puts:
        table = catalog.by_id(put.key.id)
        own = [tag for tag in put.added if not tag.source]
        if table is not None and own:
            for found, tag in _passed(journal, table, own, catalog, uncommitted):
                passed.setdefault(found, {})[tag] = None
    if not passed:
        return plan
    names = NodeNames(visible_to(catalog, catalog.rights_of(role)))
    steps, notices = list(plan.steps), list(plan.notices)
    for table_id, tags in passed.items():
        target = catalog.by_id(table_id)
        assert target is not None
        steps.append(Change(PutTags(relation_key(target), tuple(tags))))
        notices += dict.fromkeys(_notice(target, tag, catalog, names) for tag in tags)
    return replace(plan, steps=tuple(steps), notices=tuple(notices))


def _passed(
    journal: OpenJournal,
    table: Table,
    tags: Sequence[TableTag],
    catalog: CatalogSnapshot,
    uncommitted: Sequence[NodeEdge],
) -> Iterator[tuple[int, TableTag]]:
    """The tables that get tags of a column, or of a whole table, each with one that it lacks."""
    start = ColumnNode(node_of(table), tags[0].column or WHOLE)
    with journal.reading_session() as session:

        def edges_from(nodes: Sequence[str]) -> Iterator[EdgeRow]:
            for row in edges_beside(session, nodes, downstream=True):
                if _shows(row.edge):
                    yield row
            for edge in uncommitted:
                if edge.source in nodes and _shows(edge):
                    yield EdgeRow("", edge, 0, 0)

        steps = walk(start, _once(edges_from), LEVELS_MAX, downstream=True)
    for target, column, source in _filled(steps, table, start.column, catalog):
        known = catalog.access.of(relation_key(target)).tags
        has = {fold(t.tag) for t in known if t.column in ("", column)}
        if target.id == table.id:
            has |= {fold(t.tag) for t in tags if t.column in ("", column)}
        for tag in tags:
            if fold(tag.tag) not in has:
                yield target.id, TableTag(column, tag.tag, *source)


def _once(beside: Beside) -> Beside:
    """The same edges, those alike of several statements once."""

    def distinct(nodes: Sequence[str]) -> Iterator[EdgeRow]:
        found = {row.edge: row for row in beside(nodes)}
        yield from found.values()

    return distinct


def _filled(
    steps: Sequence[EdgeStep], table: Table, column: str, catalog: CatalogSnapshot
) -> Iterator[tuple[Table, str, tuple[int, str]]]:
    """The tables of a walk, a column of each, and from which table and column it was filled."""
    start = (table.id, "" if column == WHOLE else column)
    came: dict[ColumnNode, tuple[int, str]] = {}
    for step in steps:
        edge = step.row.edge
        assert edge.source is not None and edge.source_column is not None  # noqa: PT018
        source, place = _table(edge.source, catalog), edge.source_column
        if source is None:
            origin = came.get(ColumnNode(edge.source, place), start)
        else:
            origin = (source.id, "" if place == WHOLE else place)
        came.setdefault(ColumnNode(edge.target, edge.target_column), origin)
        target = _table(edge.target, catalog)
        if target is not None and not catalog.is_own(target.name):
            yield target, "" if edge.target_column == WHOLE else edge.target_column, origin


def _table(node: str, catalog: CatalogSnapshot) -> Table | None:
    """The table that a node is, if it has tags of its own: materialized views have none."""
    found = NodeNames(catalog).relation(node)
    return found if isinstance(found, Table) and found.materialized is None else None


def _shows(edge: NodeEdge) -> bool:
    """Whether a value shows what its source holds."""
    return edge.kind == DIRECT and not edge.masking


def _notice(target: Table, tag: TableTag, catalog: CatalogSnapshot, names: NodeNames) -> str:
    if names.name(node_of(target)) is None:
        return f"tag {tag.tag} goes on to tables that you do not see"
    source = catalog.by_id(tag.source)
    seen = source is not None and names.name(node_of(source)) is not None
    origin = _place(source, tag.source_column) if seen and source else "a table behind a view"
    return f"{_place(target, tag.column)} gets tag {tag.tag} from {origin}, which has filled it"


def _place(table: Table, physical: str) -> str:
    name = next((c.name for c in table.columns if c.physical == physical), None)
    return str(table.name) if name is None else f'column "{name}" of {table.name}'
