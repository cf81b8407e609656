"""A package taken into a warehouse as a replica: files first, then all of it in one transaction.

    match -> copy -> leave out what was erased -> check holds -> records, manifest, commit -> reap

A reader sees the replica as it was before or after. Killed anywhere, it is one of both: files that
nothing lists go when the warehouse is opened. What the source has no more goes at once: no grace
keeps rows that were erased there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from sqlglot import exp

from journal.erasure import audit, holds
from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import apply
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.places import safe_name
from journal.model.plan import CatalogChange, PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment
from journal.model.version import Version, to_datetime
from journal.records import catalog as records
from journal.records import retired
from journal.records.replicas import ReplicaRole, ReplicaRow, ReplicaState, put_replica
from journal.sql.relations import column, union_all
from journal.stores.embedded import catalog_tables, retired_files
from journal.stores.embedded import commit as section
from journal.stores.embedded.journal import Journal
from journal.stores.embedded.table_lock import job_turn
from journal.transactions.state import TableState
from journal.transactions.transaction_rows import TransactionRow
from spark_compaction.backends.embedded import replica_records as here
from spark_compaction.backends.embedded.maintenance import staged_folders
from spark_compaction.backends.embedded.replica_files import (
    LeftOut,
    ReplicaFiles,
    copy_wanted,
    matched,
    without_erased,
)
from spark_compaction.backends.embedded.replica_records import ReplicaTarget
from spark_compaction.backends.embedded.replica_source import store_id
from spark_compaction.backends.embedded_erasure.completion import tidy
from spark_compaction.contract import Replacement
from spark_compaction.programs.replica_package import Reception, ReplicaPackage, ReplicaResult

_APPLICATION = "palimpsest replicate"


@dataclass(frozen=True, slots=True)
class Receiving:
    """One package on its way into a warehouse, and how it is taken."""

    journal: Journal
    package: ReplicaPackage
    given: Reception


def receive(journal: Journal, package: ReplicaPackage, given: Reception) -> ReplicaResult:
    """Make the replica what the package says; raises REPLICATION where the target cannot be that.

    Raises SEGMENT_DAMAGED if a file is not what it was, HELD if a legal hold here covers rows that
    the source has removed, and JOB_BUSY while another run is at it.
    """
    asked, store = Receiving(journal, package, given), store_id(journal)
    with ExitStack() as stack:
        name = f"replica:{package.store}:{package.table.id}"
        if not stack.enter_context(journal.exclusive(name)):
            raise _busy(package.table, "another run replicates it")
        target = here.find_target(journal, package, store)
        if given.dry_run:
            return _planned(asked, target, store)
        here.share_secret(journal, package.secret)
        if target.before is not None:
            stack.enter_context(job_turn(journal, target.table_id))
        result = _receive(asked, target, store)
    reaped = retired_files.reap(journal, journal.clock.now(), result.table_id)
    with journal.reading_session() as session:
        waits = retired.load(session, result.table_id)
    is_tidy = tidy(journal, wait_s=0)
    return replace(result, is_clean=not reaped.in_use and not waits and is_tidy)


def _receive(asked: Receiving, target: ReplicaTarget, store: str) -> ReplicaResult:
    journal, package, given = asked.journal, asked.package, asked.given
    found, table, parents, leaving = _matched(asked, target)
    copied = found.paths
    engine = given.workers.files(sum(f["bytes"] for f in found.wanted))
    rows = sum(f.rows for s in found.segments for f in s.files if f.path in copied)
    reused = sum(len(s.files) for s in found.segments) - len(copied)
    place = f"{safe_name(table.name.schema)}/{safe_name(table.journal_name.name)}"
    fresh = f"{place}/{journal.new_segment_id()}"
    with staged_folders(journal, [*found.folders, fresh]):
        copy_wanted(journal, found, given, engine)
        state = target.before or TableState(Manifest(1, ()), 0, RowCounts(), (table,))
        suppressed = without_erased(
            *(journal, table, state, found, leaving, fresh),
            *(engine, given.progress),
        )
        _check_holds(journal, table, target, found.segments)
        changed = _publish(asked, target, found, table, parents)
    return ReplicaResult(
        table_id=target.table_id,
        store=store,
        changed=changed,
        is_clean=False,
        files=len(copied),
        rows=rows,
        bytes=sum(f["bytes"] for f in found.wanted),
        reused=reused,
        suppressed=suppressed,
        made=target.before is None,
        notes=_notes(package.table, table),
    )


def _matched(
    asked: Receiving, target: ReplicaTarget
) -> tuple[ReplicaFiles, Table, dict[int, int], LeftOut]:
    """What of the package is there, the table as it is to be, the ids of its parents here, and what
    must not be in it."""
    journal, package = asked.journal, asked.package
    with journal.reading_session() as session:
        parents = here.parents_here(session, package.store)
        leaving = here.left_out_of(session, package, target.table_id)
    table = here.latest_definition(package, target, parents)
    live = () if target.before is None else target.before.manifest.segments
    filtered = target.detail.get("filtered", {})
    found = matched(package, journal.root, table, live, filtered, leaving.under)
    return found, table, parents, leaving


def _planned(asked: Receiving, target: ReplicaTarget, store: str) -> ReplicaResult:
    found, table, *_ = _matched(asked, target)
    copied = found.paths
    files = [f for s in found.segments for f in s.files]
    return ReplicaResult(
        *(target.table_id, store, bool(copied), False, len(copied)),
        rows=sum(f.rows for f in files if f.path in copied),
        bytes=sum(f["bytes"] for f in found.wanted),
        reused=len(files) - len(copied),
        made=target.before is None,
        notes=_notes(asked.package.table, table),
    )


def _publish(
    asked: Receiving,
    target: ReplicaTarget,
    found: ReplicaFiles,
    table: Table,
    parents: dict[int, int],
) -> bool:
    """Record all that changes, and publish it in one commit; False if nothing but the run does."""
    journal, package = asked.journal, asked.package
    if not journal.clock.pass_by(package.version):
        raise PalimpsestError(
            Code.VERSION_AHEAD,
            f"the source's version {package.version} lies too far ahead of this machine's clock",
            advice="set the clocks of both machines",
        )
    with journal.exclusive_session() as session:
        committed, before = journal.state, target.before
        _check_unchanged(target, committed.tables.get(target.table_id), table)
        version = journal.clock.next()
        changes = here.definition_changes(package, target, committed.catalog, parents)
        last = package.definitions[-1][0]
        current = committed.catalog.by_id(target.table_id)
        if before is not None and (
            here.is_redefined_later(session, target.table_id, last) if changes else current != table
        ):
            old = current.name if current is not None and current.name != table.name else None
            changes.append((version, PutRelation(table, old)))
        state = redefined_state(session, before, changes)
        digest, is_fenced = here.carry_suppressions(session, package, target)
        held, is_held = here.carry_holds(session, package, target, asked.given.by, version)
        manifest = replace(
            state.manifest,
            segments=found.segments,
            floor=max(state.manifest.floor, package.floor),
        )
        same = before is not None and manifest == before.manifest
        changed = bool(changes) or not same or is_fenced or is_held
        detail = {
            "defined": last,
            "ledger": package.ledger,
            "filtered": found.filtered,
            "suppressions": digest,
            "holds": held,
        }
        put_replica(session, _row(asked, target, table, detail, found))
        if not changed:
            session.commit()
            return False
        _retire(session, asked, target, found, version, manifest.generation + 1)
        manifest = replace(manifest, generation=manifest.generation + 1)
        catalog = committed.catalog
        for _, change in changes:
            catalog = apply(catalog, change)
        states = {target.table_id: replace(state, manifest=manifest)}
        section.write_catalog(journal.warehouse, session, committed, catalog, changes, states)
        for name, value in package.counters:
            catalog_tables.put_counter(session, target.table_id, name, value)
        if package.transactions:
            records.copy_commits(session, package.transactions)
        records.add_transactions(session, [_commit_row(asked, table, version, found)])
        if is_fenced or is_held:
            counts = {"suppressions": len(package.suppressions), "holds": len(held)}
            audit.record(journal, session, asked.given.by, "erase.carry", str(table.name), counts)
        journal.publish_records(session)
        journal.counters.take(target.table_id, dict(package.counters))
        for file in (f for s in found.segments for f in s.files if f.path in found.paths):
            journal.checker.trust(file)
    return True


def redefined_state(
    session: DuckDBSession,
    before: TableState | None,
    changes: Sequence[tuple[Version, CatalogChange]],
) -> TableState:
    """The journal as the changes define it, with a head that takes such rows."""
    state = before
    for version, change in changes:
        if isinstance(change, PutRelation) and isinstance(change.relation, Table):
            state = section.defined(session, state, change.relation, version)
    assert state is not None, "a package has a definition"
    return state


def _check_unchanged(target: ReplicaTarget, now: TableState | None, table: Table) -> None:
    before = None if target.before is None else target.before.manifest
    if before != (None if now is None else now.manifest):
        raise _busy(table, "something changed it while files were copied")


def _retire(
    session: DuckDBSession,
    asked: Receiving,
    target: ReplicaTarget,
    found: ReplicaFiles,
    now: Version,
    generation: int,
) -> None:
    live = () if target.before is None else target.before.manifest.segments
    gone = Replacement(live, found.segments).removed_segments()
    why = "the source has it no more"
    end = retired.Retirement(asked.given.job_id, retired.PURGE, why, now, now)
    retired.record(session, target.table_id, generation, gone, end)


def _row(
    asked: Receiving, target: ReplicaTarget, table: Table, detail: object, found: ReplicaFiles
) -> ReplicaRow:
    package, now = asked.package, asked.journal.clock.now()
    return ReplicaRow(
        table_id=target.table_id,
        role=ReplicaRole.REPLICA,
        place=package.place,
        table_name=str(table.name),
        profile=None,
        state=ReplicaState.FOLLOWING,
        other_store=package.store,
        other_table=package.table.id,
        version=package.version,
        read_at=to_datetime(package.read_version),
        read_version=package.read_version,
        job_id=asked.given.job_id,
        started_at=to_datetime(package.read_version),
        ended_at=to_datetime(now),
        milliseconds=max(0, now - package.read_version) // 1000,
        files=len(found.wanted),
        rows=sum(f.rows for s in found.segments for f in s.files if f.path in found.paths),
        bytes=sum(f["bytes"] for f in found.wanted),
        detail=json.dumps(detail),
    )


def _commit_row(
    asked: Receiving, table: Table, version: Version, found: ReplicaFiles
) -> TransactionRow:
    package = asked.package
    told = f"replica of {package.table.name} up to version {package.version}"
    return TransactionRow(
        *(version, version, asked.given.by, _APPLICATION, 0, ""),
        *(told, (str(table.name),), 0),
    )


def _check_holds(
    journal: Journal, table: Table, target: ReplicaTarget, segments: Sequence[Segment]
) -> None:
    """Raise HELD if a hold of this warehouse covers rows that would go with the source's."""
    before = target.before
    carried = set(target.detail.get("holds", ()))
    own = [h for h in holds.active(journal, table) if h.id not in carried]
    if before is None or not own:
        return
    gone = Replacement(before.manifest.segments, tuple(segments)).removed_segments()
    condition = holds.held_condition(journal, table, own)
    if not gone or condition is None:
        return
    names = (*table.key, table.format.version_column)
    old = _rows(journal, table, before.manifest.segments)
    keys = exp.select(*[column(k) for k in table.key]).from_(old.subquery("o")).where(condition)
    same = [exp.EQ(this=column(k, "g"), expression=column(k, "h")) for k in table.key]
    lost = exp.select(*[column(n, "g") for n in names]).from_(
        _rows(journal, table, gone).subquery("g")
    )
    lost = lost.join(keys.distinct().subquery("h"), on=exp.and_(*same))
    kept = exp.select(*[column(n, "n") for n in names]).from_(
        _rows(journal, table, segments).subquery("n")
    )
    left = exp.Except(this=lost, expression=kept, distinct=True)
    counted = exp.select(exp.Count(this=exp.Star())).from_(left.subquery("l"))
    with journal.reading_session() as session:
        (count,) = session.row(Query.of(counted), {})
    if count:
        raise PalimpsestError(
            Code.HELD,
            f"{own[0].description()} covers {count} row versions of the replica of {table.name}"
            " that its source has removed",
            advice="nothing was changed; release the hold here, or place it at the source in time",
        )


def _rows(journal: Journal, table: Table, segments: Sequence[Segment]) -> exp.Query:
    manifest = Manifest(0, (), tuple(segments))
    empty = exp.select(*[exp.alias_(exp.cast(exp.null(), c.type, dialect="duckdb"), c.physical)
                         for c in table.stored])  # fmt: skip
    found = layout.written_rows(table, manifest, journal.root)
    return union_all(found) if found else empty.where(exp.false())


def _notes(source: Table, made: Table) -> tuple[str, ...]:
    left = {k.name for k in source.foreign_keys} - {k.name for k in made.foreign_keys}
    return tuple(f"the foreign key {name} is left out: its table is no replica" for name in left)


def _busy(table: Table, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.JOB_BUSY,
        f"the replica of {table.name} cannot be written now: {why}",
        advice="nothing was changed; run it again",
    )
