"""A package taken into a store as a replica: pieces first, then all of it in one transaction.

    match -> stage, less what was erased -> check holds -> records, manifest, commit -> reap

A reader sees the replica as it was before or after. Killed anywhere, it is one of both. What the
source has no more goes at once: no grace keeps rows that were erased there. How pieces are copied
and listed is the store's: see ``replica_store``.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace

from sqlglot import exp

from journal.erasure import audit, holds
from journal.model.catalog import apply
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation
from journal.model.schema import CatalogSnapshot, Table
from journal.model.version import to_datetime
from journal.records import catalog as records
from journal.records.replicas import ReplicaRole, ReplicaRow, ReplicaState, put_replica
from journal.sql.relations import column
from journal.transactions.state import TableState
from journal.transactions.transaction_rows import TransactionRow
from spark_compaction.programs import replica_records as here
from spark_compaction.programs.replica_package import Reception, ReplicaPackage, ReplicaResult
from spark_compaction.programs.replica_parts import union_of_parts
from spark_compaction.programs.replica_records import ReplicaTarget
from spark_compaction.programs.replica_store import (
    Changes,
    LeftOut,
    MatchedPieces,
    ReplicaSection,
    ReplicaStore,
    StagedPieces,
)

_APPLICATION = "palimpsest replicate"


@dataclass(frozen=True, slots=True)
class _Reception:
    """One package on its way into a store, and what it comes to there.

    ``table`` is defined as the target is to have it; ``parents`` are the ids there of the tables
    that it may refer to.
    """

    store: ReplicaStore
    package: ReplicaPackage
    target: ReplicaTarget
    table: Table
    parents: dict[int, int]
    leaving: LeftOut
    pieces: MatchedPieces

    @property
    def result(self) -> ReplicaResult:
        """What comes of it, where nothing changes but what is to be copied."""
        copied = self.pieces.lacking_volume
        return ReplicaResult(
            *(self.target.table_id, self.store.store_id(), bool(copied.files), False),
            *(copied.files, copied.rows, copied.bytes, self.pieces.reused),
            made=self.target.before is None,
            notes=_notes(self.package.table, self.table),
        )


def receive(store: ReplicaStore, package: ReplicaPackage, given: Reception) -> ReplicaResult:
    """Make the replica what the package says; raises REPLICATION where the target cannot be that.

    Raises SEGMENT_DAMAGED if a piece is not what it was, HELD if a legal hold here covers rows that
    the source has removed, and JOB_BUSY while another run is at it.
    """
    with ExitStack() as stack:
        name = f"replica:{package.store}:{package.table.id}"
        if not stack.enter_context(store.journal.exclusive(name)):
            raise _busy(package.table, "another run replicates it")
        target = here.find_target(store, package)
        if given.dry_run:
            return _matched_package(store, package, target).result
        here.share_secrets(store, package)
        if target.before is not None:
            stack.enter_context(store.lock(target.before.layouts[-1]))
        result = _receive(_matched_package(store, package, target), given)
    return replace(result, is_clean=store.reap(result.table_id))


def lacking_pieces(store: ReplicaStore, package: ReplicaPackage) -> tuple[str, ...]:
    """The names of those pieces of a package that the target lacks.

    Raises REPLICATION where the target cannot have the replica.
    """
    target = here.find_target(store, package)
    return _matched_package(store, package, target).pieces.lacking_names


def _matched_package(
    store: ReplicaStore, package: ReplicaPackage, target: ReplicaTarget
) -> _Reception:
    with store.journal.reading_session() as session:
        parents = here.parents_here(session, package.store)
        leaving = here.left_out_of(store, session, package, target.table_id)
    table = here.latest_definition(package, target, parents)
    pieces = store.matched_pieces(package, table, target.before, target.detail, leaving.under)
    return _Reception(store, package, target, table, parents, leaving, pieces)


def _receive(asked: _Reception, given: Reception) -> ReplicaResult:
    store, before = asked.store, asked.target.before
    staging = store.staging(
        *(asked.package, asked.table, before, asked.pieces, asked.leaving, given)
    )
    with staging as staged:
        _check_holds(asked, staged)
        changed, notes = staged.publish(lambda section: _publish(asked, given, section))
        told = (*asked.result.notes, *notes)
        return replace(asked.result, changed=changed, suppressed=staged.suppressed, notes=told)


def _publish(
    asked: _Reception, given: Reception, section: ReplicaSection
) -> tuple[bool, tuple[str, ...]]:
    """Record all that changes, and commit it; False if nothing but the run does. What is to be
    told."""
    journal, package, target = asked.store.journal, asked.package, asked.target
    session, committed, before = section.session, section.committed, target.before
    if not journal.clock.pass_by(package.version):
        raise PalimpsestError(
            Code.VERSION_AHEAD,
            f"the source's version {package.version} lies too far ahead of this machine's clock",
            advice="set the clocks of both machines",
        )
    _check_unchanged(asked, committed.tables.get(target.table_id))
    own = asked.store
    if here.left_out_of(own, session, package, target.table_id).under != asked.leaving.under:
        raise _busy(asked.table, "somebody was erased here while files were copied")
    version = journal.clock.next()
    changes = here.definition_changes(package, target, committed.catalog, asked.parents)
    last = package.definitions[-1][0]
    current = committed.catalog.by_id(target.table_id)
    if before is not None and (
        here.is_redefined_later(session, target.table_id, last)
        if changes
        else current != asked.table
    ):
        renamed = current is not None and current.name != asked.table.name
        old = current.name if renamed and current is not None else None
        changes.append((version, PutRelation(asked.table, old)))
    state = section.defined_state(before, changes)
    union = union_of_parts(session, _catalog_then(committed.catalog, changes), asked.table)
    changes += [(version, change) for change in union.changes]
    digest, is_fenced = here.carry_suppressions(own, session, package, target)
    held, is_held = here.carry_holds(own, session, package, target, given.by, version)
    listed = section.listing_state(
        state, asked.pieces.segments, max(state.manifest.floor, package.floor)
    )
    same = before is not None and listed.manifest == before.manifest
    detail = {
        "defined": last,
        "ledger": package.ledger,
        "commit": here.last_commit(package, target),
        "filtered": asked.pieces.filtered,
        "suppressions": digest,
        "holds": held,
        "under": asked.leaving.under,
        "union": union.digest,
    }
    put_replica(session, _row(asked, given, json.dumps(detail)))
    if not (changes or not same or is_fenced or is_held):
        session.commit()
        return False, union.notes
    manifest = replace(listed.manifest, generation=listed.manifest.generation + 1)
    listed = replace(listed, manifest=manifest)
    if before is not None:
        section.retire(target.table_id, before, listed, given.job_id)
    section.write(version, changes, target.table_id, listed, package.counters)
    if package.transactions:
        records.copy_commits(session, package.transactions)
    told = f"replica of {package.table.name} up to version {package.version}"
    row = TransactionRow(
        *(version, version, given.by, _APPLICATION, 0, ""),
        *(told, (str(asked.table.name),), 0),
    )
    records.add_transactions(session, [row])
    if is_fenced or is_held:
        counts = {"suppressions": len(package.suppressions), "holds": len(held)}
        audit.record(journal, session, given.by, "erase.carry", str(asked.table.name), counts)
    section.commit(version)
    return True, union.notes


def _catalog_then(catalog: CatalogSnapshot, changes: Changes) -> CatalogSnapshot:
    for _, change in changes:
        catalog = apply(catalog, change)
    return catalog


def _check_unchanged(asked: _Reception, now: TableState | None) -> None:
    before = None if asked.target.before is None else asked.target.before.manifest
    if before != (None if now is None else now.manifest):
        raise _busy(asked.table, "something changed it while files were copied")


def _row(asked: _Reception, given: Reception, detail: str) -> ReplicaRow:
    package, now = asked.package, asked.store.journal.clock.now()
    copied = asked.pieces.lacking_volume
    return ReplicaRow(
        table_id=asked.target.table_id,
        role=ReplicaRole.REPLICA,
        place=package.place,
        table_name=str(asked.table.name),
        profile=None,
        state=ReplicaState.FOLLOWING,
        other_store=package.store,
        other_table=package.table.id,
        version=package.version,
        read_at=to_datetime(package.read_version),
        read_version=package.read_version,
        job_id=given.job_id,
        started_at=to_datetime(package.read_version),
        ended_at=to_datetime(now),
        milliseconds=max(0, now - package.read_version) // 1000,
        files=copied.files,
        rows=copied.rows,
        bytes=copied.bytes,
        detail=detail,
    )


def _check_holds(asked: _Reception, staged: StagedPieces) -> None:
    """Raise HELD if a hold of this store covers rows that would go with the source's."""
    store, table, before = asked.store, asked.table, asked.target.before
    carried = set(asked.target.detail.get("holds", ()))
    own = [h for h in holds.active(store.journal, table) if h.id not in carried]
    if before is None or not own:
        return
    removed = store.removed_pieces(before, asked.pieces.segments)
    condition = holds.held_condition(store.journal, table, own)
    if not removed or condition is None:
        return
    names = (*table.key, table.format.version_column)
    old = store.rows(table, store.live_pieces(before))
    keys = exp.select(*[column(k) for k in table.key]).from_(old.subquery("o")).where(condition)
    same = [exp.EQ(this=column(k, "g"), expression=column(k, "h")) for k in table.key]
    lost = exp.select(*[column(n, "g") for n in names]).from_(
        store.rows(table, removed).subquery("g")
    )
    lost = lost.join(keys.distinct().subquery("h"), on=exp.and_(*same))
    kept = exp.select(*[column(n, "n") for n in names]).from_(
        store.rows(table, asked.pieces.segments).subquery("n")
    )
    left = exp.Except(this=lost, expression=kept, distinct=True)
    count = staged.count(exp.select(exp.Count(this=exp.Star())).from_(left.subquery("l")))
    if count:
        raise PalimpsestError(
            Code.HELD,
            f"{own[0].description()} covers {count} row versions of the replica of {table.name}"
            " that its source has removed",
            advice="nothing was changed; release the hold here, or place it at the source in time",
        )


def _notes(source: Table, made: Table) -> tuple[str, ...]:
    left = {k.name for k in source.foreign_keys} - {k.name for k in made.foreign_keys}
    return tuple(f"the foreign key {name} is left out: its table is no replica" for name in left)


def _busy(table: Table, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_BUSY,
        f"the replica of {table.name} cannot be written now: {why}",
        advice="nothing was changed; run it again",
    )
