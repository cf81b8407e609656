"""Erasing inside the database: every version of some keys goes, from every table that holds one.

    settle  appends go to a fresh head
    find    the keys, in any version
    stage   each table that holds one of them is written anew without, and compared
    swap    the new tables are listed; rows written meanwhile under the keys: once more
    drop    what was replaced, now or by earlier jobs, goes as soon as nobody can read it

When ``erase`` returns no statement that begins sees the rows, at no point in time. Transactions
that began before cannot commit changes of the table. The receipt holds counts, never a key.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from journal.database import pieces, replacing
from journal.database.compaction import hashed
from journal.database.journal import DatabaseJournal
from journal.database.pieces import Inputs
from journal.erasure.requests import Outcome, Request, State, Target
from journal.errors import Code, PalimpsestError
from journal.plan import STORE_SCHEMA, Query
from journal.schema import Table
from journal.segment import Fields, Head, RowCounts, Segment, Tier
from journal.state import JournalState, TableState
from journal.stores import postgres_jobs as rows_of
from journal.stores import postgres_layout as layout
from journal.stores.duckdb_erasure import put_erasure
from journal.stores.postgres import PostgresSession
from journal.version import Version

_ROUNDS_MAX = 5
_WAITS = "a transaction of the server is open that began before"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be erased: ``find`` gives the keys, as columns named like the table's key."""

    table: Table
    find: Callable[[], pa.Table]
    reason: str | None
    by: str


def erase(journal: DatabaseJournal, wanted: Wanted) -> Request:
    """Erase rows; the receipt. Raises JOB_BUSY and what the server raises, with nothing changed."""
    table = wanted.table
    replacing.refuse_adopted(table, "eject the table, and remove the rows from what is left")
    now = journal.clock.now()
    target = Target(table.id, str(table.name), Outcome.PENDING)
    request = Request(
        *(uuid.uuid4().hex[:8], State.ACCEPTED, now, now, wanted.by, wanted.reason, {}, (target,))
    )
    with replacing.turn(journal, table) as session:
        replacing.remove_litter(session, journal, table.id)
        for _ in range(_ROUNDS_MAX):
            try:
                request = _once(journal, session, wanted, request)
                break
            except replacing.Replan:
                session.rollback()
        else:
            raise PalimpsestError(
                Code.JOB_BUSY,
                f"rows that are to be erased from {table.name} are written again and again",
                advice="stop what writes them, and erase them then",
            )
    return complete(journal, request)


def _once(
    journal: DatabaseJournal, session: PostgresSession, wanted: Wanted, request: Request
) -> Request:
    settled = replacing.settle(journal, wanted.table)
    keys = wanted.find()
    table, state = settled.table, settled.state
    if not keys.num_rows:
        return _found_none(journal, request)
    staged = _stage(session, journal, table, state, keys, settled.version)
    session.commit()
    receipt = replace(
        request.targets[0],
        outcome=Outcome.ERASED,
        keys=keys.num_rows,
        files_searched=len(state.manifest.segments) + len(state.manifest.heads) - 1,
        files_rewritten=len(staged.segments),
        versions_removed=staged.removed,
        manifest_before=_digest(state),
        manifest_after=_digest(
            staged.inputs.replaced_by(state, staged.segments, staged.head_counts)
        ),
        others=staged.others,
    )
    done = request.moved(State.PURGED, journal.clock.now(), targets=(receipt,))

    def alongside(section: PostgresSession, committed: JournalState) -> None:
        if _written_since(section, table, committed.tables[table.id], keys):
            raise replacing.Replan("rows were written under the keys meanwhile")
        rows_of.replaced(section, table.id, state.manifest.epoch + 1, erased=True)
        rows_of.end_grace(section, table.id, journal.clock.now())
        put_erasure(section, done.to_row())

    why = replacing.Why(request.id, "purge", 0)
    replacing.swap(
        *(journal, table, staged.inputs, staged.segments, staged.head_counts, why, alongside)
    )
    return done


def _found_none(journal: DatabaseJournal, request: Request) -> Request:
    now = journal.clock.now()
    receipt = replace(request.targets[0], outcome=Outcome.SEARCHED_NONE)
    done = request.moved(State.PURGED, now, targets=(receipt,)).moved(State.COMPLETED, now)
    with journal.exclusive_session() as session:
        put_erasure(session, done.to_row())
        session.commit()
    return done


@dataclass(frozen=True, slots=True)
class _Staged:
    inputs: Inputs
    segments: tuple[Segment, ...]
    head_counts: RowCounts
    removed: int
    others: str


def _stage(
    session: PostgresSession,
    journal: DatabaseJournal,
    table: Table,
    state: TableState,
    keys: pa.Table,
    version: Version,
) -> _Staged:
    """Write what holds the keys anew without them, inside the session's transaction."""
    session.begin()
    session.show_arrow(pieces.ERASED, keys)
    manifest = state.manifest
    heads = [h for h in manifest.heads[:-1] if _holds(session, table, _head(table, h), h.fields)]
    segments = [
        s for s in manifest.segments if _holds(session, table, layout.segment_table(s), s.fields)
    ]
    inputs = Inputs(tuple(heads), tuple(segments))
    head_counts, removed, total = RowCounts(), 0, 0
    made: list[Segment] = []
    found: list[Head | Segment] = [*heads, *segments]
    for piece in found:
        if isinstance(piece, Segment):
            source, tier = layout.segment_table(piece), piece.tier
        else:
            source, tier = _head(table, piece), Tier.DELTA
            head_counts += layout.count_rows(session, table, source)
        target = exp.table_(pieces.new_name(table.id, len(made)), db=STORE_SCHEMA)
        layout.create_rows(session, table, target, piece.fields)
        kept = pieces.kept_rows(table, source, piece.fields)
        session.run(layout.insert_fields(table, target, piece.fields, kept))
        gone, left = _compared(session, table, source, target, piece.fields)
        removed, total = removed + gone, total + left
        counts = layout.count_rows(session, table, target)
        layout.index_rows(session, table, target, piece.fields)
        session.text(f"ANALYZE {session.rendered(target).sql}")
        made.append(Segment(target.name, tier, (), piece.fields, counts, 0, version))
    others = f"{total} rows beside them are unchanged"
    return _Staged(inputs, tuple(made), head_counts, removed, others)


def _head(table: Table, piece: Head) -> exp.Table:
    return layout.head_table(table.id, piece)


def _holds(session: PostgresSession, table: Table, source: exp.Table, fields: Fields) -> bool:
    """True if a table of journal rows holds one of the keys."""
    session.execute(Query(pieces.erased_rows(table, source, fields).limit(1), ()), {})
    return bool(session.fetch_many(1))


def _written_since(
    session: PostgresSession, table: Table, state: TableState, keys: pa.Table
) -> bool:
    """True if rows have come to the last head, under the keys, since they were looked for."""
    session.show_arrow(pieces.ERASED, keys)
    last = state.manifest.heads[-1]
    return _holds(session, table, layout.head_table(table.id, last), last.fields)


def _compared(
    session: PostgresSession, table: Table, old: exp.Table, new: exp.Table, fields: Fields
) -> tuple[int, int]:
    """Rows that went and rows that are left; raises unless they are together what there was."""
    gone = hashed(session, pieces.erased_rows(table, old, fields))
    before, after = (hashed(session, pieces.all_rows(table, s, fields)) for s in (old, new))
    if (before[0] - gone[0], before[1] - gone[1]) != after:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"rewriting {old.name} without the erased rows would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return gone[0], after[0]


def _digest(state: TableState) -> str:
    text = json.dumps(state.manifest.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def complete(journal: DatabaseJournal, request: Request) -> Request:
    """Drop what the erasure has replaced; COMPLETED once nothing of it is left."""
    if request.state is not State.PURGED:
        return request
    left = [
        name
        for target in request.targets
        for name in replacing.reap(journal, target.table_id).in_use
    ]
    now = journal.clock.now()
    if left:
        following = replace(request, waits_for=f"{_WAITS}, and may read {', '.join(left)}")
    else:
        following = request.moved(State.COMPLETED, now, waits_for="")
    with journal.exclusive_session() as session:
        put_erasure(session, following.to_row())
        session.commit()
    return following
