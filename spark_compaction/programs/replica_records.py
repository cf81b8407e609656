"""Checks and changes the target's records for a package.

Definitions are recorded under the versions that they have at the source, so that the past of the
replica is that of the source. Suppressions and legal holds concern the replica alone here. Runs in
the session it is given; commits nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from journal.erasure.audit_marks import has_marks
from journal.erasure.holds import hashes_here
from journal.identity.key_ring import key_id, labelled, parted
from journal.identity.suppression_list import PRESENT_KIND, SPARED_KIND
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import CatalogChange, PutRelation, PutSchema
from journal.model.schema import CatalogSnapshot, Table, fold
from journal.model.store_session import StoreSession
from journal.model.version import Version, to_datetime
from journal.records import catalog as records
from journal.records import erasure_rows
from journal.records import maintenance as rows_of
from journal.records.replicas import ReplicaRole, ReplicaRow, ReplicaState, load_replicas
from journal.records.schema import HOLDS, SUPPRESSIONS
from journal.transactions.reading import committed_state
from journal.transactions.state import JournalState, TableState
from spark_compaction.programs.replica_package import ReplicaPackage, definition_there
from spark_compaction.programs.replica_parts import check_new_part, check_same_part
from spark_compaction.programs.replica_store import LeftOut, ReplicaStore

_STORE_CHARS = 8
_KIND = SUPPRESSIONS.names.index("kind")
_UNKEYED = frozenset({PRESENT_KIND, SPARED_KIND, erasure_rows.CHANGED})
"""Kinds of entries that are compared with other entries, or not at all, so no label is on them."""


@dataclass(frozen=True, slots=True)
class ReplicaTarget:
    """A replica as it is before a run; ``before`` and ``row`` are None where it is to be made."""

    table_id: int
    row: ReplicaRow | None = None
    before: TableState | None = None

    @property
    def detail(self) -> Mapping[str, Any]:
        """What the last run noted for the next."""
        found: dict[str, Any] = json.loads("{}" if self.row is None else self.row.detail)
        return found


def find_target(store: ReplicaStore, package: ReplicaPackage) -> ReplicaTarget:
    """The replica that a package is for; raises REPLICATION where this store cannot have it."""
    name, journal = package.table.name, store.journal
    if package.kind != store.kind:
        raise _refused(
            f"{journal.place} is another kind of store than {package.place}, and"
            " replicas need the same kind",
            f"name a {package.kind}, or a bucket as s3://bucket/folder",
        )
    if package.store == store.store_id():
        raise _refused(f"{journal.place} is the source itself", f"name another {store.kind}")
    if package.table.materialized is not None:
        raise _refused(
            f"{name} is a materialized view", "replicate its tables, and make it at the target"
        )
    with journal.reading_session() as session:
        found = load_replicas(session)
    of_source = (ReplicaRole.REPLICA, package.store, package.table.id)
    row = next((r for r in found if (r.role, r.other_store, r.other_table) == of_source), None)
    state = committed_state(journal)
    there = None if row is None else state.catalog.by_id(row.table_id)
    if row is not None and there is not None:
        _check_follows(row, package)
        check_same_part(there, package.table)
        return ReplicaTarget(row.table_id, row, state.tables[row.table_id])
    with journal.reading_session() as session:
        check_new_part(session, state.catalog, package.table)
    _check_name_is_free(store, package, state)
    store.pass_table_ids(max(t.layout for _, t in package.definitions))
    return ReplicaTarget(journal.counters.new_table_id())


def _check_follows(row: ReplicaRow, package: ReplicaPackage) -> None:
    if row.state == ReplicaState.PROMOTED:
        raise PalimpsestError(
            Code.REPLICATION,
            f"{row.table_name} was promoted at the target, and takes writes of its own there",
            advice="`palimpsest replica demote` lets it follow again, where nothing was written",
        )
    if package.version < row.version:
        raise PalimpsestError(
            Code.DIVERGED,
            f"the replica of {row.table_name} has version {row.version}, and its source only"
            f" {package.version}: the source is an older copy of itself",
            advice="promote the replica, or drop it and replicate anew",
        )


def _check_name_is_free(store: ReplicaStore, package: ReplicaPackage, state: JournalState) -> None:
    first, name = package.definitions[0][0], package.table.name
    past = [c for v, c in state.history if v >= first]
    for catalog in (*past, state.catalog):
        if catalog.get(name) is not None:
            raise _refused(
                f"the target has, or had, another {name}",
                f"replicate into another {store.kind}, or one that never had a table of that name;"
                " tables of several sources need PARTITION, or schemas of their own",
            )


def share_secrets(store: ReplicaStore, package: ReplicaPackage) -> None:
    """Know what the package's suppressions and holds are hashed with, so that they mean here what
    they mean at its source.

    A store that has hashed nothing yet, and follows no other, takes the source's secret as its own;
    any other keeps it beside its own.
    """
    for secret in (package.secret, *package.kept_secrets):
        store.journal.keep_secret(secret)
    if store.secret() == package.secret:
        return
    value = rows_of.HOLD.index("subject_value")

    def may(session: StoreSession) -> bool:
        held = any(row[value] is not None for row in rows_of.holds(session))
        follows = any(r.role == ReplicaRole.REPLICA for r in load_replicas(session))
        hashed = held or has_marks(session) or bool(erasure_rows.load_fences(session))
        return not (hashed or follows)

    store.adopt_secret(package.secret, may)


def parents_here(session: StoreSession, store: str) -> dict[int, int]:
    """The ids of the replicas of a store's tables, by the ids there."""
    return {
        r.other_table: r.table_id
        for r in load_replicas(session)
        if r.role == ReplicaRole.REPLICA and r.other_store == store and r.other_table is not None
    }


def definition_changes(
    package: ReplicaPackage,
    target: ReplicaTarget,
    catalog: CatalogSnapshot,
    parents: dict[int, int],
) -> list[tuple[Version, CatalogChange]]:
    """The definitions that the target lacks, under their versions at the source."""
    after = target.detail.get("defined", -1)
    known = dict(parents) | {package.table.id: target.table_id}
    previous = catalog.by_id(target.table_id)
    changes: list[tuple[Version, CatalogChange]] = []
    schemas = set(catalog.schemas)
    for version, told in package.definitions:
        if version <= after:
            continue
        table = definition_there(told, package.store, target.table_id, known)
        if fold(table.name.schema) not in schemas:
            schemas.add(fold(table.name.schema))
            changes.append((version, PutSchema(table.name.schema)))
        moved = previous is not None and previous.name.key != table.name.key
        if moved and catalog.get(table.name) is not None:
            raise _refused(f"the target has another {table.name}", "rename one of them")
        old = previous.name if moved and previous is not None else None
        changes.append((version, PutRelation(table, old)))
        previous = table
    return changes


def latest_definition(
    package: ReplicaPackage, target: ReplicaTarget, parents: Mapping[int, int]
) -> Table:
    """The table as the target is to define it now."""
    known = dict(parents) | {package.table.id: target.table_id}
    return definition_there(package.table, package.store, target.table_id, known)


def is_redefined_later(session: StoreSession, table_id: int, version: Version) -> bool:
    """True if the log of the target defines a table after a version."""
    return any(
        isinstance(change, PutRelation)
        and isinstance(change.relation, Table)
        and change.relation.id == table_id
        for _, change in records.load_changes(session, version)
    )


def last_commit(package: ReplicaPackage, target: ReplicaTarget) -> Version:
    """The version of the newest commit to the table that the replica knows of; 0 if of none."""
    newest = max((row[0] for row in package.transactions), default=0)
    return max(int(newest), int(target.detail.get("commit", 0)))


def suppressions_here(
    store: ReplicaStore, package: ReplicaPackage, table_id: int
) -> list[tuple[Any, ...]]:
    """The suppressions of the source as the target records them: of the replica alone."""
    place, request = SUPPRESSIONS.names.index("table_id"), SUPPRESSIONS.names.index("request")
    mine = _prefix(package.store, table_id)
    changed: dict[int, Callable[[Any], object]] = {
        place: lambda _: table_id,
        request: lambda value: f"{mine}{value}",
        _KIND: partial(_kind_here, _own_key(store), key_id(package.secret)),
    }
    return [
        tuple(changed[i](value) if i in changed else value for i, value in enumerate(row))
        for row in package.suppressions
    ]


def _own_key(store: ReplicaStore) -> str | None:
    secret = store.secret()
    return None if secret is None else key_id(secret)


def _kind_here(own: str | None, source: str, label: str) -> str:
    """A kind as this store labels it: by the id of the key, unless that is its own."""
    kind, key = parted(label)
    if kind in _UNKEYED:
        return kind
    key = key or source
    return labelled(kind, None if key == own else key)


def carry_suppressions(
    store: ReplicaStore, session: StoreSession, package: ReplicaPackage, target: ReplicaTarget
) -> tuple[str, bool]:
    """Record them instead of those of the last run; their digest, and whether they changed."""
    rows = suppressions_here(store, package, target.table_id)
    text = json.dumps(sorted(rows, key=str))
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest == target.detail.get("suppressions", hashlib.sha256(b"[]").hexdigest()):
        return digest, False
    request, mine = SUPPRESSIONS.names.index("request"), _prefix(package.store, target.table_id)
    known = {r[request] for r in erasure_rows.load_suppressions(session)}
    for name in known:
        if name.startswith(mine):
            erasure_rows.drop_suppressions(session, name)
    erasure_rows.copy_suppressions(session, rows)
    return digest, True


def carry_holds(
    store: ReplicaStore,
    session: StoreSession,
    package: ReplicaPackage,
    target: ReplicaTarget,
    by: str,
    now: Version,
) -> tuple[list[str], bool]:
    """Place the holds of the source on the replica, release those that it has released; the ids of
    those in force, and whether any changed."""
    known = set(target.detail.get("holds", ()))
    own, source = _own_key(store), key_id(package.secret)
    wanted: dict[str, dict[str, Any]] = {}
    for row in package.holds:
        values = dict(zip(HOLDS.names, row, strict=True))
        name = f"{_prefix(package.store, target.table_id)}{values['id']}"
        said = values["subject_value"]
        hashes = None if said is None else hashes_here(said, source, own)
        wanted[name] = {
            **values,
            "id": name,
            "table_id": target.table_id,
            "subject_value": hashes,
        }
    for name in known - wanted.keys():
        rows_of.release_hold(session, name, by, to_datetime(now))
    for name in wanted.keys() - known:
        rows_of.add_hold(session, wanted[name])
    return sorted(wanted), known != wanted.keys()


def left_out_of(
    store: ReplicaStore, session: StoreSession, package: ReplicaPackage, table_id: int
) -> LeftOut:
    """What the replica must not hold, by the source and by this warehouse."""
    carried = suppressions_here(store, package, table_id)
    mine = _prefix(package.store, table_id)
    request, of = SUPPRESSIONS.names.index("request"), SUPPRESSIONS.names.index("table_id")
    known = [r for r in erasure_rows.load_suppressions(session) if r[of] in {None, table_id}]
    own = [r for r in known if not r[request].startswith(mine)]
    earlier = tuple({r[request] for r in known if r[request].startswith(mine)})
    text = json.dumps([sorted(carried, key=str), sorted(own, key=str), package.masks])
    masks = tuple(map(package.path_of, package.masks))
    return LeftOut(masks, tuple(carried), earlier, hashlib.sha256(text.encode()).hexdigest())


def _prefix(store: str, table_id: int) -> str:
    return f"{store[:_STORE_CHARS]}/{table_id}/"


def _refused(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.REPLICATION, message, advice=advice)
