"""Finds tables and files filled from what a statement drops, and reports or refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from gateway.lineage.node_names import NodeNames
from journal.model.errors import Code, PalimpsestError
from journal.model.lineage import DIRECT, WHOLE, ColumnNode, node_of, view_of
from journal.model.plan import Change, DropRelation, PutRelation, StatementPlan
from journal.model.schema import CatalogSnapshot, Table
from journal.model.store_session import RecordSession
from journal.model.visibility import visible_to
from journal.records.lineage import edges_beside
from journal.transactions.protocol import OpenJournal

_NAMED_MAX = 10


def check_dropped(
    journal: OpenJournal,
    plan: StatementPlan,
    ast: exp.Expr | None,
    catalog: CatalogSnapshot,
    role: int | None,
) -> tuple[str, ...]:
    """Notices of tables that were filled from the tables or columns that a plan drops.

    Raises DEPENDENT_OBJECTS where the statement says RESTRICT.
    """
    dropped = list(_dropped(plan, catalog))
    if not dropped:
        return ()
    names = NodeNames(visible_to(catalog, catalog.rights_of(role)))
    notices = []
    drops = () if ast is None else ast.find_all(exp.Drop)
    is_restricted = any(drop.args.get("restrict") for drop in drops)
    own = {column.node for column in dropped if column.column == WHOLE}
    with journal.reading_session() as session:
        for column in dropped:
            filled = [n for n in _filled_from(session, column, catalog) if n not in own]
            if not filled:
                continue
            what = _label(column, catalog)
            told = f"{what} has filled {_listed(filled, names)}"
            if is_restricted:
                raise PalimpsestError(
                    Code.DEPENDENT_OBJECTS,
                    told,
                    advice=f"leave out RESTRICT, and they stay as they are; palimpsest lineage"
                    f" impact {what} shows what comes from them",
                )
            notices.append(f"{told}, which stay as they are")
    return tuple(notices)


def _dropped(plan: StatementPlan, catalog: CatalogSnapshot) -> Iterable[ColumnNode]:
    put = {
        step.change.relation.id
        for step in plan.steps
        if isinstance(step, Change)
        and isinstance(step.change, PutRelation)
        and isinstance(step.change.relation, Table)
    }
    for step in plan.steps:
        change = step.change if isinstance(step, Change) else None
        if isinstance(change, DropRelation):
            found = catalog.get(change.name)
            if isinstance(found, Table) and not catalog.is_own(found.name) and found.id not in put:
                yield ColumnNode(node_of(found), WHOLE)
        elif isinstance(change, PutRelation) and isinstance(change.relation, Table):
            before = catalog.by_id(change.relation.id)
            kept = {column.physical for column in change.relation.columns}
            for column in before.columns if before is not None else ():
                if column.physical not in kept:
                    yield ColumnNode(node_of(change.relation), column.physical)


def _filled_from(
    session: RecordSession, column: ColumnNode, catalog: CatalogSnapshot
) -> Sequence[str]:
    """The tables and files to which values of a column go, or of a whole table."""
    there = NodeNames(catalog)
    found = {
        row.edge.target: None
        for row in edges_beside(session, [column.node], downstream=True)
        if row.edge.kind == DIRECT
        and column.column in (WHOLE, row.edge.source_column)
        and row.edge.target != column.node
        and view_of(row.edge.target) is None
        and there.shows(row.edge)
    }
    return list(found)


def _label(column: ColumnNode, catalog: CatalogSnapshot) -> str:
    names = NodeNames(catalog)
    name = names.name(column.node)
    return str(name) if column.column == WHOLE else f"{name}.{names.column(column)}"


def _listed(nodes: Sequence[str], names: NodeNames) -> str:
    shown = sorted(str(name) for node in nodes if (name := names.name(node)) is not None)
    told = shown[:_NAMED_MAX]
    left = len(nodes) - len(told)
    if left:
        told.append(f"{left} more")
    return ", ".join(told)
