"""Fences for instances of another store's scheduler: only the newest attempt can commit.

    open   this attempt is the newest: none before it commits any more
    run    its statements, in one transaction, whose commit leaves a mark, or is refused
    close  no attempt up to this one commits any more; or the mark, if one has
    clear  the scheduler's store has recorded the end: the mark goes

All of these are asked by the scheduler, through a session of the data's store; each is one
transaction, and may be asked again (ADR 0163).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gateway.governance.audit_entries import enter_audit
from gateway.governance.entity import Entity
from gateway.governance.process_sessions import process_session
from gateway.governance.process_statements import run_statements
from gateway.procedures.procedures import find_tables
from gateway.session.operations import Advance, operation
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.model.version import Version, to_datetime
from journal.records.fence_rows import (
    CLOSED,
    COMMITTED,
    OPEN,
    FenceRow,
    load_fence,
    load_fences,
    put_fence,
    remove_fence,
)
from journal.transactions.transaction import Transaction

if TYPE_CHECKING:
    from gateway.session.session import Session


@dataclass(frozen=True, slots=True)
class FencedAttempt:
    """An attempt of an instance: the id of the scheduler's store, and its numbers there."""

    control: str
    instance: str
    fence: int
    run: int


@dataclass(frozen=True, slots=True)
class FencedStatements:
    """What an attempt runs: statements of a process, with the values of their parameters.

    ``tables`` are those that it reads in this store, by dataset; ``detail`` is what the mark says
    besides what the commit knows: versions of other tables, and when to look for late data.
    """

    process: Entity
    text: str
    values: Mapping[str, Any]
    tables: Mapping[str, str]
    detail: Mapping[str, Any]


@operation
def open_fence(session: Session, _advance: Advance, attempt: FencedAttempt) -> FenceRow | None:
    """Let an attempt commit, and none before it; or the mark, if one of its run has committed.

    Raises INSTANCE_FENCED where a later attempt has begun, or this one was stopped.
    """
    with session.journal.exclusive_session() as records:
        row = load_fence(records, attempt.control, attempt.instance)
        if row is not None and (row.state, row.run) == (COMMITTED, attempt.run):
            return row
        if row is not None and _is_over(attempt, row):
            raise fenced(attempt)
        put_fence(records, _row(session, attempt, OPEN))
        records.commit()
    return None


@operation
def close_fence(session: Session, _advance: Advance, attempt: FencedAttempt) -> FenceRow | None:
    """Let no attempt up to this one commit any more; the mark, if one of its run has committed."""
    with session.journal.exclusive_session() as records:
        row = load_fence(records, attempt.control, attempt.instance)
        if row is not None and (row.state, row.run) == (COMMITTED, attempt.run):
            return row
        if row is None or row.fence <= attempt.fence:
            put_fence(records, _row(session, attempt, CLOSED))
            records.commit()
    return None


@operation
def run_fenced(
    session: Session, advance: Advance, attempt: FencedAttempt, statements: FencedStatements
) -> tuple[int, FenceRow | None]:
    """Run the statements of an attempt; how many rows changed, and the mark of the commit.

    There is no mark where nothing was written. ``advance`` is given lines for the log. Raises
    INSTANCE_FENCED, having committed nothing, where the attempt may not commit any more.
    """
    known = {name: _table_id(session, table) for name, table in statements.tables.items()}
    tables = {name: table for name, table in known.items() if table is not None}
    log: list[str] = []

    def add_line(line: str) -> None:
        log.append(line)
        advance(line)

    def alongside(transaction: Transaction) -> Callable[[RecordSession, Version], None]:
        def leave_mark(records: RecordSession, version: Version) -> None:
            row = load_fence(records, attempt.control, attempt.instance)
            if row is None or _numbers(row) != (attempt.fence, attempt.run, OPEN):
                raise fenced(attempt)
            versions = {**statements.detail.get("versions", {}), **_read(transaction, tables)}
            written = transaction.buffered_tables()
            versions |= {name: version for name, table in tables.items() if table in written}
            detail = {**statements.detail, "versions": versions, "log": log}
            mark = _row(session, attempt, COMMITTED)
            put_fence(records, replace(mark, version=version, detail=json.dumps(detail)))
            said = {"store": attempt.control, "attempt": attempt.fence, "version": version}
            enter_audit(session, records, "instance.commit", attempt.instance, said)

        return leave_mark

    with process_session(session, statements.process, instance=attempt.instance) as own:
        own.cancellation = session.cancellation
        with session.cancellation.running():
            values = dict(statements.values)
            changed = run_statements(own, statements.text, values, alongside, add_line)
    with session.journal.reading_session() as records:
        row = load_fence(records, attempt.control, attempt.instance)
    is_ours = row is not None and _numbers(row) == (attempt.fence, attempt.run, COMMITTED)
    return changed, row if is_ours else None


@operation
def clear_fences(session: Session, _advance: Advance, rows: Sequence[FenceRow]) -> None:
    """Remove fences whose instances have ended, unless they are others by now."""
    with session.journal.exclusive_session() as records:
        for row in rows:
            remove_fence(records, row)
        records.commit()


@operation
def list_fences(session: Session, _advance: Advance, control: str) -> list[FenceRow]:
    """The fences of a store's instances."""
    with session.journal.reading_session() as records:
        return load_fences(records, control)


def fenced(attempt: FencedAttempt) -> PalimpsestError:
    """The error of an attempt that may not commit any more."""
    return PalimpsestError(
        Code.INSTANCE_FENCED,
        f"attempt {attempt.fence} of {attempt.instance} is over, and commits nothing",
        advice="palimpsest instance status shows where the instance stands",
    )


def _is_over(attempt: FencedAttempt, row: FenceRow) -> bool:
    is_stopped = row.fence == attempt.fence and row.state != OPEN
    return row.fence > attempt.fence or row.run > attempt.run or is_stopped


def _numbers(row: FenceRow) -> tuple[int, int, str]:
    return row.fence, row.run, row.state


def _row(session: Session, attempt: FencedAttempt, state: str) -> FenceRow:
    now: datetime = to_datetime(session.journal.clock.now())
    numbers = (attempt.control, attempt.instance, attempt.fence, attempt.run)
    return FenceRow(*numbers, state, changed_at=now)


def _table_id(session: Session, name: str) -> int | None:
    try:
        return find_tables(session, name)[0].id
    except PalimpsestError:
        return None  # What reads it says so.


def _read(transaction: Transaction, tables: Mapping[str, int]) -> dict[str, Version]:
    states = transaction.snapshot.tables
    return {n: 0 if t not in states else states[t].last_version for n, t in tables.items()}
