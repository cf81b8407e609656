"""Replicas of several sources as the parts of one table, which is a view at their target.

    source: the package of a part has the part's name and property
    target: the view is made anew in the transaction that publishes a part

The view has the rows of all parts with a column that says of which. It is there only while it can
have all of them: where the columns of parts differ it goes, and every part can still be read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, DropRelation, PutRelation
from journal.model.replica_parts import REPLICA_PART, Partition, ReplicaPart, part_of
from journal.model.schema import CatalogSnapshot, Table, View, fold
from journal.model.store_session import RecordSession
from journal.records.replicas import ReplicaRole, load_replicas
from journal.records.schema import TRANSACTIONS
from journal.sql.relations import column, ident, union_all
from spark_compaction.programs.replica_package import ReplicaPackage

_TABLES = TRANSACTIONS.names.index("tables")


def package_as(package: ReplicaPackage, partition: Partition | None) -> ReplicaPackage:
    """A package as a target is to have it: as a part; or whole, also of what is a part here."""
    definitions = tuple((v, _table_as(t, partition)) for v, t in package.definitions)
    pairs = zip(package.definitions, definitions, strict=True)
    named = {str(old.name): str(new.name) for (_, old), (_, new) in pairs}
    if all(old == new for old, new in named.items()):
        return replace(package, definitions=definitions)
    commits = tuple(
        tuple(
            [named.get(n, n) for n in value or ()] if i == _TABLES else value
            for i, value in enumerate(row)
        )
        for row in package.transactions
    )
    return replace(package, definitions=definitions, transactions=commits)


def _table_as(table: Table, partition: Partition | None) -> Table:
    was = part_of(table)
    whole = table.name if was is None else was.whole
    kept = tuple(p for p in table.properties if p[0] != REPLICA_PART)
    if partition is None:
        return replace(table, name=whole, properties=kept)
    part = ReplicaPart(whole, partition)
    return replace(table, name=part.name, properties=(*kept, part.property))


@dataclass(frozen=True, slots=True)
class Union:
    """What becomes of the view of some parts: changes of definitions, and what is to be told.

    ``digest`` is of the view as it is then, by which the next run knows it again; empty without.
    """

    changes: tuple[CatalogChange, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str = ""


def union_of_parts(session: RecordSession, catalog: CatalogSnapshot, table: Table) -> Union:
    """How the view of a part is to change where the catalog has the part as it is to be."""
    part = part_of(table)
    if part is None:
        return Union()
    rows = [r for r in load_replicas(session) if r.role == ReplicaRole.REPLICA]
    parts = _parts(catalog, part, {r.table_id for r in rows} | {table.id})
    known = {json.loads(r.detail).get("union") for r in rows} - {None, ""}
    present = catalog.get(part.whole)
    if present is not None and not (isinstance(present, View) and _digest(present) in known):
        return Union((), (f"the target has another {part.whole}: read the parts by their names",))
    why = _why_not(parts)
    if why is not None:
        gone = () if present is None else (DropRelation(part.whole),)
        return Union(gone, (f"there is no view {part.whole}: {why}",))
    first = parts[0]
    names = (*(c.name for c in first.columns), part.partition.column)
    query = union_all([_rows(p, first) for p in parts]).sql(dialect="duckdb")
    made = View(part.whole, query, names)
    if isinstance(present, View):
        made = replace(present, query=query, columns=names)
    return Union(() if made == present else (PutRelation(made),), (), _digest(made))


def check_new_part(session: RecordSession, catalog: CatalogSnapshot, table: Table) -> None:
    """Raise REPLICATION for a part that cannot be one row set with those that are there."""
    part = part_of(table)
    if part is None:
        return
    same = [p for p in _parts(catalog, part, None) if _partition(p).key == part.partition.key]
    if same:
        raise PalimpsestError(
            Code.REPLICATION,
            f"the target has the part {part.partition} of {part.whole}, of another source",
            advice="give each source a value of its own in PARTITION",
        )
    union = union_of_parts(session, catalog.with_relation(table), table)
    if union.notes:
        raise PalimpsestError(
            Code.REPLICATION,
            f"{part.partition} cannot be a part of {part.whole}: {union.notes[0]}",
            advice="make the tables of all sources alike, or replicate without PARTITION into"
            " schemas of their own",
        )


def check_same_part(there: Table, given: Table) -> None:
    """Raise REPLICATION where a replica would become another part than it is."""
    was, now = part_of(there), part_of(given)
    if was == now:
        return
    raise PalimpsestError(
        Code.REPLICATION,
        f"{there.name} is {'whole' if was is None else f'the part {was.partition}'} at the target,"
        f" and would be {'whole' if now is None else f'the part {now.partition}'}",
        advice="state the PARTITION that it has; or promote it there, drop it, and replicate anew",
    )


def _parts(catalog: CatalogSnapshot, part: ReplicaPart, ids: Collection[int] | None) -> list[Table]:
    """The parts of a table, of those tables, in the order of their values."""
    found = [
        t
        for t in catalog.relations.values()
        if isinstance(t, Table)
        and (ids is None or t.id in ids)
        and (its := part_of(t)) is not None
        and its.whole.key == part.whole.key
    ]
    return sorted(found, key=lambda t: (_partition(t).key, t.id))


def _partition(table: Table) -> Partition:
    found = part_of(table)
    assert found is not None
    return found.partition


def _why_not(parts: Sequence[Table]) -> str | None:
    """Why some parts are not one table; None if they are."""
    first = parts[0]
    shape, by = _shape(first), fold(_partition(first).column)
    for part in parts:
        partition = _partition(part)
        if fold(partition.column) in _shape(part):
            return f"{part.name} has a column {partition.column} of its own"
        if fold(partition.column) != by:
            return f"{first.name} is told by {_partition(first).column}, {part.name} by another"
        differing = sorted(dict(shape.items() ^ _shape(part).items()))
        if differing:
            return f"{first.name} and {part.name} differ in {', '.join(differing)}"
    return None


def _shape(table: Table) -> dict[str, str]:
    return {fold(c.name): c.type for c in table.columns}


def _rows(part: Table, first: Table) -> exp.Select:
    named = {fold(c.name): c.name for c in part.columns}
    value = exp.cast(exp.Literal.string(_partition(part).value), "VARCHAR", dialect="duckdb")
    said = exp.alias_(value, ident(_partition(part).column))
    source = exp.Table(this=ident(part.name.name), db=ident(part.name.schema))
    return exp.select(*[column(named[fold(c.name)]) for c in first.columns], said).from_(source)


def _digest(view: View) -> str:
    said = json.dumps([view.query, view.columns])
    return hashlib.sha256(said.encode()).hexdigest()
