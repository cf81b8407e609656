"""The kind ``replicate``: copies to other stores the segments that they lack.

    name the segments -> package -> target copies and publishes -> record -> complete erasures

A run goes to each target of the table's policy, or to the one named. One that fails does not stop
the others. How far each replica is stands in ``system.replicas``, at both ends.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateway.governance.events import EventName, record_event, record_failure
from gateway.governance.safe_mode import refuse_if_safe
from gateway.jobs.arguments import Arguments, argument_error
from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.replica_operations import (
    CopyLimits,
    known_replica,
    lacking_names,
    take_replica,
)
from gateway.jobs.replica_targets import ReplicaPlace, is_there, open_target, replica_places
from gateway.wording import counted
from journal.erasure.erasure_spec import requests
from journal.erasure.requests import State
from journal.model.effective_policy import effective_policy
from journal.model.errors import Code, PalimpsestError
from journal.model.failures import failures
from journal.model.places import is_file_system
from journal.model.replication import replica_source
from journal.model.schema import CatalogSnapshot, Table
from journal.model.system_user import system_user
from journal.model.version import Version, to_datetime
from journal.records import backups
from journal.records.backups import Backup, BackupKind
from journal.records.catalog import lacks_commit
from journal.records.erasure_rows import has_entry
from journal.records.replicas import (
    ReplicaRole,
    ReplicaRow,
    ReplicaState,
    forget_replica,
    put_replica,
    replica_row,
)
from journal.records.report import JobReport, Volume
from spark_compaction.erasure.purging import complete
from spark_compaction.maintenance import required
from spark_compaction.programs.backup import forget, record
from spark_compaction.programs.bucket_replicas import check_place, follow
from spark_compaction.programs.replica_package import ReplicaPackage, ReplicaResult
from spark_compaction.programs.replica_parts import package_as

if TYPE_CHECKING:
    from gateway.session.client_session import ClientSession

_LISTED = timedelta(days=7)
"""How long segments are kept for a run whose process ends meanwhile."""
_PARALLEL = 4
_MEGABYTE = 1_000_000
_REFUSALS = frozenset({Code.REPLICATION, Code.NOT_SUPPORTED, Code.PRIVILEGE, Code.BACKUP})
"""What is said before a target takes the first byte."""


def _run(context: JobContext) -> JobReport:
    refuse_if_safe(context.session, "replicate")
    places = replica_places(context.session, context.table, context.text("to"))
    done: list[dict[str, Any]] = []
    failed: list[PalimpsestError] = []
    read = Volume()
    for place in places:
        try:
            with failures():
                result = _replicate(context, place)
        except PalimpsestError as error:
            context.log(f"{place.recorded_name}: {error.recorded}")
            failed.append(error)
            continue
        read += Volume(result.files, result.rows, result.bytes)
        done.append(_target_report(place, result))
    if failed:
        raise failed[0]
    if not context.dry_run:
        _complete_erasures(context)
    changed = any(target["changed"] for target in done)
    state = "nothing" if not changed else "planned" if context.dry_run else "done"
    return JobReport(
        id=context.job_id,
        kind="replicate",
        table=str(context.table.name),
        state=state,
        why="" if changed else f"{counted(len(done), 'replica')} up to date",
        read=read,
        written=read,
        details={"targets": done},
    )


def _target_report(place: ReplicaPlace, result: ReplicaResult) -> dict[str, Any]:
    return {
        "target": place.recorded_name,
        "profile": place.profile,
        "changed": result.changed,
        "made": result.made,
        "files": result.files,
        "reused": result.reused,
        "rows": result.rows,
        "bytes": result.bytes,
        "suppressed": result.suppressed,
        "is_clean": result.is_clean,
        "notes": list(result.notes),
    }


def _replicate(context: JobContext, place: ReplicaPlace) -> ReplicaResult:
    """Replicate to one target, and record how that went."""
    _check_place(place)
    role = ReplicaRole.SOURCE if place.is_store else ReplicaRole.COPY
    if role == ReplicaRole.COPY:
        check_place(backup_run(context), place.url)
    began, started = time.perf_counter(), context.session.journal.clock.now()
    row = ReplicaRow(
        table_id=context.table.id,
        role=role,
        place=place.recorded_name,
        table_name=str(context.table.name),
        profile=place.profile,
        state=ReplicaState.FAILED,
        other_store=None,
        other_table=None,
        version=0,
        read_at=None,
        read_version=0,
        job_id=context.job_id,
        started_at=to_datetime(started),
        ended_at=None,
        milliseconds=0,
        files=0,
        rows=0,
        bytes=0,
    )
    with context.session.journal.reading_session() as records:
        known = replica_row(records, row.table_id, role, row.place)
    if known is not None:
        row = replace(
            row,
            **{n: getattr(known, n) for n in ("other_store", "other_table", "version")},
            **{n: getattr(known, n) for n in ("read_at", "read_version")},
        )
    if not context.dry_run:
        # From now on erasures wait for it: the target may have rows of this run, however it ends.
        _record(context, replace(row, error="it has not ended"))
    try:
        with failures():
            send = _send if place.is_store else _follow
            version, read_version, result = send(context, place)
    except PalimpsestError as error:
        if not context.dry_run:
            _record_failure(context, row, began, error, is_new=known is None)
        raise
    if not context.dry_run:
        clean = result.is_clean
        _record(
            context,
            replace(
                _finished_row(context, row, began),
                state=ReplicaState.FOLLOWING,
                other_store=result.store,
                other_table=result.table_id,
                version=version,
                read_at=to_datetime(read_version) if clean else row.read_at,
                read_version=read_version if clean else row.read_version,
                files=result.files,
                rows=result.rows,
                bytes=result.bytes,
            ),
        )
    return result


def _check_place(place: ReplicaPlace) -> None:
    """Raise NOT_SUPPORTED for a place that no replica of the clause can be in."""
    if not place.is_store and not is_file_system(place.url):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{place.recorded_name} is neither a store of a gateway nor a bucket",
            advice="name a warehouse as palimpsest:////folder, or a bucket as s3://bucket/folder",
        )
    if place.clause.partition is not None and not place.is_store:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{place.recorded_name} is a bucket, and a bucket takes no PARTITION",
            advice="leave PARTITION out, and give each source its own folder of the bucket",
        )


def _record_failure(
    context: JobContext, row: ReplicaRow, began: float, error: PalimpsestError, *, is_new: bool
) -> None:
    """Record how a run failed; nothing of a replica that its target has refused from the start."""
    if is_new and error.code in _REFUSALS:
        with context.session.journal.exclusive_session() as records:
            forget_replica(records, row)
            records.commit()
    else:
        _record(context, _finished_row(context, row, began, error=error.recorded))
    name = str(context.table.name)
    record_failure(context.session, EventName.DATA_REPLICATE, None, name, error)


def _finished_row(
    context: JobContext, row: ReplicaRow, began: float, error: str | None = None
) -> ReplicaRow:
    now = to_datetime(context.session.journal.clock.now())
    spent = round((time.perf_counter() - began) * 1000)
    return replace(row, ended_at=now, milliseconds=spent, error=error)


def _record(context: JobContext, row: ReplicaRow) -> None:
    with context.session.journal.exclusive_session() as records:
        put_replica(records, row)
        if row.state == ReplicaState.FOLLOWING:
            data = {"target": row.place, "files": row.files, "rows": row.rows, "bytes": row.bytes}
            spent = row.milliseconds / 1000
            table = row.table_name
            record_event(
                *(context.session, records, EventName.DATA_REPLICATE, None, table),
                duration_s=spent,
                data=data,
            )
        records.commit()


def _follow(context: JobContext, place: ReplicaPlace) -> tuple[Version, Version, ReplicaResult]:
    """Bring the files in a bucket up to what the table consists of now."""
    limits = _limits(context, place)
    read = context.session.journal.clock.now()
    found = follow(backup_run(context), place.url, limits.parallel, limits.bandwidth)
    result = ReplicaResult(
        *(context.table.id, "", found.changed, True, found.put.files, found.put.rows),
        *(found.put.bytes, found.reused),
        made=found.made,
        notes=(f'it is the backup "{found.name}" of the table',),
    )
    return found.version, read, result


def _limits(context: JobContext, place: ReplicaPlace) -> CopyLimits:
    """How many files are copied at once, and how many bytes a second."""
    bandwidth = context.number("bandwidth") or place.clause.bandwidth
    return CopyLimits(
        context.number("parallel") or place.clause.parallel or _PARALLEL,
        None if bandwidth is None else bandwidth * _MEGABYTE,
    )


def _send(context: JobContext, place: ReplicaPlace) -> tuple[Version, Version, ReplicaResult]:
    """Have the target take what the table consists of now; its segments stay meanwhile.

    The version that the replica has then, when it was read, and what was done.
    """
    run = backup_run(context)
    naming = run.naming(
        backups.copying(f"{context.job_id}-{abs(hash(place.url)) % 10_000}"),
        BackupKind.TRASH,
        run.moment + _LISTED,
    )
    if context.dry_run:
        package, result = _take(context, place, run.store.planned(naming)[0])
        return package.version, package.read_version, result
    listing = record(run, naming)
    try:
        package, result = _take(context, place, listing)
        return package.version, package.read_version, result
    finally:
        forget(run, listing.name)
        run.store.reap()


def _take(
    context: JobContext, place: ReplicaPlace, listing: Backup
) -> tuple[ReplicaPackage, ReplicaResult]:
    read = required(
        context.maintenance.replica_source, "replication", context.session.journal.place
    )
    limits = _limits(context, place)
    if context.dry_run and not is_there(place):
        return _planned_anew(read(listing, False, 0))
    with open_target(context, place) as target:
        package = package_as(read(listing, not context.dry_run, 0), place.clause.partition)
        known = target.perform(known_replica, package.store, package.table.id)
        if known is not None:
            _check_no_older_copy(context, known)
            later = tuple(t for t in package.transactions if t[0] > known.version)
            package = replace(package, transactions=later)
        with _with_pieces(context, target, package, limits) as sent:
            result = target.perform_watched(
                context.progress,
                take_replica,
                sent.to_json(),
                context.job_id,
                limits,
                dry_run=context.dry_run,
            )
    return package, result


@contextmanager
def _with_pieces(
    context: JobContext, target: ClientSession, package: ReplicaPackage, limits: CopyLimits
) -> Iterator[ReplicaPackage]:
    """The package with a file for each piece that the target lacks, as long as the block lasts."""
    pieces = context.maintenance.replica_pieces
    if pieces is None or context.dry_run:
        yield package
        return
    lacking = target.perform(lacking_names, package.to_json())
    with pieces(package, lacking, limits.bandwidth) as sent:
        yield sent


def _check_no_older_copy(context: JobContext, known: ReplicaRow) -> None:
    """Raise DIVERGED if the source lacks what the replica knows of its audit log and its commits.

    It is an older copy of itself then, and has forgotten what was written and whom it erased since.
    """
    detail = json.loads(known.detail)
    entry, commit = detail.get("ledger"), detail.get("commit")
    with context.session.journal.reading_session() as records:
        missing = None
        if entry and not has_entry(records, entry):
            missing = "its audit log lacks an entry"
        elif commit and lacks_commit(records, commit):
            missing = "it lacks a commit"
    if missing is not None:
        raise PalimpsestError(
            Code.DIVERGED,
            f"the source of the replica of {context.table.name} is an older copy of itself:"
            f" {missing} that the replica knows",
            advice="promote the replica; or drop it, and replicate into a new store",
        )


def _planned_anew(package: ReplicaPackage) -> tuple[ReplicaPackage, ReplicaResult]:
    """What a run into a store that is not there would copy: everything."""
    files = [f for s in package.segments for f in s.files]
    rows, size = sum(f.rows for f in files), sum(f.bytes for f in files)
    planned = ReplicaResult(
        0, "", True, False, len(files), rows, size, made=True
    )  # fmt: skip
    return package, planned


def _complete_erasures(context: JobContext) -> None:
    """Complete the requests that waited for this replica."""
    erasure = context.maintenance.erasure
    if erasure is None or all(
        r.state is not State.PURGED for r in requests(context.session.journal)
    ):
        return
    complete(erasure(), context.session.recorded_user or system_user())


def _check(given: Arguments) -> None:
    given.text("to")
    for name in ("parallel", "bandwidth"):
        given.number(name)
    if (given.number("parallel") or 1) > 64:
        raise argument_error("parallel is more than 64", "copy up to 64 files at once")


def _concerns(catalog: CatalogSnapshot, table: Table, given: Arguments) -> bool:
    """True for tables that have a target, given or by the policy in force, and are no replica."""
    in_force = effective_policy(catalog, table).replication
    has_target = given.text("to") is not None or bool(in_force)
    return has_target and replica_source(table) is None


KIND = JobKind(
    "replicate",
    "copy what other stores lack of a table, and publish it there",
    _run,
    ("to", "parallel", "bandwidth"),
    _check,
    _concerns,
)
