"""``CALL system.<kind>(table => .., ..)``: a job's run, and its report as a row for each table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gateway.jobs import kinds
from gateway.jobs.arguments import Arguments
from gateway.jobs.runs import JobRun, Request, prepare, run_all
from gateway.procedures.procedures import bind_arguments, named_tables
from gateway.session.outcome import StatementOutcome
from journal.model.errors import Code, PalimpsestError
from journal.records.report import NUMBERS

if TYPE_CHECKING:
    from gateway.session.session import Session

_COLUMNS = [
    *((name, pa.string()) for name in ("job", "kind", "table", "state")),
    *((name, pa.int64()) for name in NUMBERS),
    *((name, pa.string()) for name in ("why", "report")),
]


def call_job(session: Session, name: str, arguments: Mapping[str, Any]) -> StatementOutcome:
    """Run a kind of job; raises the error of the only table, or JOB_FAILED for several."""
    if session.transaction is not None and session.transaction.writes:
        raise PalimpsestError(
            Code.ACTIVE_TRANSACTION,
            f"system.{name} cannot run inside a transaction that has written",
            advice="COMMIT or ROLLBACK first: a job commits by itself",
        )
    if session.transaction is not None and not session.transaction.explicit:
        # What it has read is over; the next statement shall see what the job has done.
        session.rollback()
    kind = kinds.find_kind(name)
    given = bind_arguments(f"system.{name}", arguments, ("table", *kind.options, "dry_run"))
    dry_run = Arguments({"dry_run": given.pop("dry_run", False)}).flag("dry_run")
    options = {n: value for n, value in given.items() if n != "table"}
    request = Request(name, options, dry_run=dry_run, named="table" in given)
    prepare(session, request, [str(n) for n in (given.get("table"),) if n is not None])
    tables = named_tables(session, given)
    runs = run_all(session, request, tables)
    raise_failed(runs)
    return session.executor.table_outcome("CALL", _rows(runs))


def raise_failed(runs: Sequence[JobRun]) -> None:
    """Raise if any run failed: what the only one raised, or which ones did; first, if stopped."""
    failed = [r for r in runs if r.error is not None]
    for run in failed:
        if run.error is not None and (len(runs) == 1 or run.state == "CANCELLED"):
            raise run.error
    if failed:
        named = ", ".join(r.table for r in failed)
        raise PalimpsestError(
            Code.JOB_FAILED,
            f"{failed[0].kind} failed for {len(failed)} of {len(runs)} tables: {named}",
            advice="SELECT * FROM system.jobs WHERE state = 'FAILED' says why; the others are done",
        )


def _rows(runs: Sequence[JobRun]) -> pa.Table:
    made = [_row(r) for r in runs]
    arrays = [pa.array([row[i] for row in made], kind) for i, (_, kind) in enumerate(_COLUMNS)]
    return pa.table(arrays, schema=pa.schema(_COLUMNS))


def _row(run: JobRun) -> tuple[Any, ...]:
    report = run.report
    assert report is not None
    return (
        *(run.id, run.kind, run.table, run.state),
        *report.numbers().values(),
        *(report.why or None, json.dumps(report.to_json())),
    )
