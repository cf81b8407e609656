"""The conflict check: has another transaction written the same keys since the snapshot?

First committer wins per key. Two transactions conflict on a table when their journal rows share a
key, or when both add open rows with the same values of a further unique key. Pure: compares few
rows itself; for many it builds the queries that the commit section runs over the two sets of rows.
Definitions are held to the same rule: who changed a table that another changed first has lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import pyarrow as pa
from sqlglot import exp

from journal.model.access import AccessControl, DropRole, PutAccess, PutRole, PutTags
from journal.model.catalog import touched
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import CatalogChange, PutRelation, Query
from journal.model.policy_scope import PutScopedPolicy, ScopedPolicy, ScopeKind
from journal.model.replication import replica_refusal, replica_source
from journal.model.schema import CatalogSnapshot, Table, TableName, fold
from journal.model.store_session import MemoryRows, RowSet, StoreSession
from journal.model.version import Version
from journal.sql.relations import column, version_value
from journal.sql.unique_keys import UniqueKey, further_keys
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction

MINE, THEIRS = exp.to_table("conflict_mine"), exp.to_table("conflict_theirs")
"""Relations in which rows are shown that may conflict."""
Claim = tuple[object, ...]
"""Names of columns, and the values in them that a commit lays claim to."""
_FEW_ROWS = 1000


def claims(table: Table, sets: Iterable[RowSet]) -> frozenset[Claim] | None:
    """What others must not have written too; None where only the store can tell.

    Only for few rows in memory, with columns whose values are equal in Python when they are equal
    in SQL.
    """
    found: set[Claim] = set()
    end = table.format.subsequent_column
    for rows in sets:
        if not isinstance(rows, MemoryRows) or rows.rows.num_rows > _FEW_ROWS:
            return None
        for columns, only_open in _claimed(table):
            if columns is None or any(not _is_plain(rows.rows, name) for name in columns):
                return None
            values = zip(*[rows.rows.column(c).to_pylist() for c in columns], strict=True)
            if only_open:
                ends = rows.rows.column(end).is_null().to_pylist()
                found |= {
                    (columns, v) for v, o in zip(values, ends, strict=True) if o and None not in v
                }
            else:
                found |= {(columns, v) for v in values}
    return frozenset(found)


def _claimed(table: Table) -> list[tuple[tuple[str, ...] | None, bool]]:
    """The columns of the key, and those of unique keys, which concern open rows only.

    None for a key over expressions, whose values only the store can tell.
    """
    further = [(k.columns if k.is_plain else None, True) for k in further_keys(table)]
    return [(table.key, False), *further]


def _is_plain(rows: pa.Table, name: str) -> bool:
    place = rows.schema.get_field_index(name)
    if place < 0:
        return False
    kind = rows.schema.field(place).type
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date32(kind))


def clash(mine: frozenset[Claim], theirs: Sequence[frozenset[Claim]]) -> bool:
    """True if others lay claim to the same."""
    return any(not mine.isdisjoint(other) for other in theirs)


def overlap_query(table: Table, mine: exp.Expr, theirs: exp.Expr) -> Query:
    """A query that returns a row if the rows of two relations conflict."""
    end = table.format.subsequent_column
    branches = [_overlap(UniqueKey("", table.key), None, mine, theirs)]
    branches += [_overlap(key, end, mine, theirs) for key in further_keys(table)]
    united = branches[0] if len(branches) == 1 else exp.union(*branches, distinct=False)
    return Query(exp.select("*").from_(united.subquery("found")).limit(1), ())


def written_after(table: Table, rows: exp.Query, version: Version) -> exp.Subquery:
    """Those of a journal's rows that commits after a version have written."""
    end, start = column(table.format.subsequent_column), column(table.format.version_column)
    written = exp.Coalesce(this=end, expressions=[start])
    limit = version_value(table, exp.Literal.number(version))
    later = exp.GT(this=written, expression=limit)
    return exp.select("*").from_(rows.subquery("j")).where(later).subquery()


def check_rows(session: StoreSession, table: Table, mine: exp.Expr, theirs: exp.Expr) -> None:
    """Raise SERIALIZATION if rows that a transaction wrote conflict with those of others."""
    session.execute(overlap_query(table, mine, theirs), {})
    if session.fetch_many(1):
        raise conflict(table)


def _overlap(
    key: UniqueKey, open_marker: str | None, mine: exp.Expr, theirs: exp.Expr
) -> exp.Select:
    pairs = zip(*[key.values(partial(column, of=alias)) for alias in "mt"], strict=True)
    same: list[exp.Expr] = [exp.EQ(this=ours, expression=others) for ours, others in pairs]
    if open_marker is not None:
        same += [exp.Is(this=column(open_marker, a), expression=exp.Null()) for a in ("m", "t")]
    return (
        exp.select(exp.alias_(exp.Literal.number(1), "found"))
        .from_(exp.alias_(mine, "m", table=True))
        .join(exp.alias_(theirs, "t", table=True), on=exp.and_(*same))
    )


def conflict(table: Table) -> PalimpsestError:
    """The error of the transaction that comes second."""
    return PalimpsestError(
        Code.SERIALIZATION,
        f"could not serialize access: rows of {table.name} that this transaction changed were"
        " changed by another one that committed first",
        advice="roll back and run the transaction again",
    )


def check_catalog(transaction: Transaction, committed: JournalState) -> None:
    """Raise if a table the transaction wrote or changed was changed by somebody else."""
    began = transaction.snapshot.catalog
    now = committed.catalog
    _check_replicas(transaction, now)
    check_validated(transaction, committed)
    _check_relied_on(transaction, committed)
    _check_sources(transaction, committed)
    if now is began:
        return
    for _, change in transaction.changes():
        _check_access(change, began.access, now.access)
        if isinstance(change, PutScopedPolicy):
            _check_scope(change.policy, began, now)
        for index in _put_indexes(change):
            if began.index(index) is None and now.index(index) is not None:
                raise _changed(str(index))
        for name in touched(change):
            if name.name and began.get(name) != now.get(name):
                raise _changed(str(name))
            if not name.name and (name.key[0] in began.schemas) != (name.key[0] in now.schemas):
                raise _changed(name.schema)
    for table_id in transaction.buffered_tables():
        before, after = began.by_id(table_id), now.by_id(table_id)
        if before is not None and before != after:
            raise _changed(str(before.name))


def _check_replicas(transaction: Transaction, now: CatalogSnapshot) -> None:
    """Raise REPLICA if a client has changed a replica, however it came by it."""
    written = {now.by_id(i) for i in transaction.buffered_tables()}
    for _, change in transaction.changes():
        for name in touched(change):
            found = now.get(name) if name.name else None
            written.add(found if isinstance(found, Table) else None)
    for table in written:
        if table is not None and replica_source(table) is not None:
            raise replica_refusal(table)


def _check_access(change: CatalogChange, began: AccessControl, now: AccessControl) -> None:
    """Raise if somebody else changed the same role, or who may do what with the same object."""
    match change:
        case PutAccess(access):
            if began.objects.get(access.key) != now.objects.get(access.key):
                raise _changed(f"who may use a {access.key.kind}")
        case PutTags(key):
            if began.of(key).tags != now.of(key).tags:
                raise _changed("the tags of a table")
        case PutRole(role):
            is_taken = began.by_name(role.name) is None and now.by_name(role.name) is not None
            of = {m.role for m in role.memberships} & began.roles.keys()
            is_changed = began.roles.get(role.id) != now.roles.get(role.id)
            if is_changed or is_taken or not of <= now.roles.keys():
                raise _changed(f"role {role.name}")
        case DropRole(role_id):
            gone = [(a.owner, a.grants, a.named_policies) for a in began.named_by(role_id)]
            left = [(a.owner, a.grants, a.named_policies) for a in now.named_by(role_id)]
            if gone != left:
                raise _changed("a role")


def _check_scope(policy: ScopedPolicy, began: CatalogSnapshot, now: CatalogSnapshot) -> None:
    """Raise if somebody else changed what a scope states, or has dropped the schema."""
    is_gone = policy.kind is ScopeKind.SCHEMA and fold(policy.name) not in now.schemas
    if is_gone or began.policies.get(policy.key) != now.policies.get(policy.key):
        raise _changed(f"the policy of {policy}")


def _check_relied_on(transaction: Transaction, committed: JournalState) -> None:
    """Raise if others changed a table by whose rows a row policy let rows be written."""
    for table_id in transaction.relied_on:
        if transaction.is_pinned(table_id, committed):
            raise PalimpsestError(
                Code.SERIALIZATION,
                "could not serialize access: rows that a row policy reads were changed by another"
                " transaction, and who may write what may have changed with them",
                advice="roll back and run the transaction again",
            )


def _check_sources(transaction: Transaction, committed: JournalState) -> None:
    """Raise if rows of a materialised view were read before somebody was erased.

    Nobody could tell which of the rows to be stored are of whom. A store that purges at once has
    no list of keys any more, so what may not be written since is looked at, too.
    """
    for _, change in transaction.changes():
        table = change.relation if isinstance(change, PutRelation) else None
        if not isinstance(table, Table) or table.materialized is None:
            continue
        lists = (
            [s.tables[i].manifest.key_lists for i in table.materialized.sources if i in s.tables]
            for s in (transaction.snapshot, committed)
        )
        before, after = lists
        if before != after or transaction.snapshot.fence.newest != committed.fence.newest:
            raise PalimpsestError(
                Code.SERIALIZATION,
                f"could not serialize access: rows that {table.name} is made of were erased",
                advice="roll back and run the transaction again",
            )


def _put_indexes(change: CatalogChange) -> list[TableName]:
    """The names of the indexes of a table that a change puts into the catalog."""
    if not isinstance(change, PutRelation) or not isinstance(change.relation, Table):
        return []
    table = change.relation
    return [TableName(table.name.schema, index.name) for index in table.indexes]


def check_validated(transaction: Transaction, committed: JournalState) -> None:
    """Raise if rows were written that a changed definition was not checked against."""
    for _, change in transaction.changes():
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            if transaction.is_pinned(change.relation.id, committed):
                raise PalimpsestError(
                    Code.SERIALIZATION,
                    f"could not serialize access: rows of {change.relation.name}, whose definition"
                    " this transaction changed, were changed by another one that committed first",
                    advice="roll back and run the transaction again",
                )


def check_schemas(changes: Iterable[CatalogChange], after: CatalogSnapshot) -> None:
    """Raise SERIALIZATION if what is in the catalog after some changes lies in no schema.

    One of two transactions drops the schema in which the other makes something.
    """
    named = {name.key[0] for change in changes for name in touched(change)}
    gone = named - after.schemas.keys() - {after.own}
    if not gone:
        return
    held = {key[0] for key in (*after.relations, *after.sequences)}
    held |= {schema for _, schema, _ in after.definitions}
    for schema in sorted(gone & held):
        raise _changed(f"schema {schema}")


def _changed(name: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SERIALIZATION,
        f"could not serialize access: the definition of {name} was changed by another transaction",
        advice="roll back and run the transaction again",
    )
