"""Accepting a request to erase in a Hive store, which removes the rows before it returns.

    turn    the leases of all tables it is about: nobody else commits to them meanwhile
    find    the keys of who is meant, in any version and layout
    stage   each table that holds one
    swap    all tables, suppressions, the request and its audit entries: one transaction

Who a legal hold covers is not erased: the request is refused as a whole. Identifiers are held in
memory, and go to the server as literals. A dry run writes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from journal import holds
from journal.erasure import audit
from journal.erasure.guard import load_fence
from journal.erasure.matching import Matcher
from journal.erasure.requests import Outcome, Request, State, Target
from journal.erasure.suppressing import Suppressor
from journal.erasure.wanted import Aim, Subjects, Wanted, aims
from journal.errors import Code, PalimpsestError
from journal.hive import erasing, keeping
from journal.hive.erasing import rows_with
from journal.hive.journal import HiveJournal
from journal.hive.leases import Held
from journal.hive.pieces import pieces
from journal.hive.rewriting import Staged, staging
from journal.hive.session import HiveSession
from journal.hive.statement import HiveStatement
from journal.protocol import OpenStatement
from journal.state import JournalState, TableState
from journal.stores import erasure_rows
from journal.stores import hive_layout as layout
from journal.stores import sql_catalog as rows_of
from journal.stores.duckdb import DuckDBSession
from journal.stores.hive_text import rendered
from journal.version import Version

KEYS_MAX = 100_000
"""How many keys of a table one erasure takes: they go to the server as a literal."""
_PIECE = "erase_piece"
_KEYS = "erase_keys"


@dataclass(slots=True)
class _Sought:
    """One table a request is about."""

    aim: Aim
    state: TableState
    keys: pa.Table | None = None
    staged: Staged | None = None
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        table, why = self.aim.table, self.aim.why_not
        outcome = Outcome.PENDING if why is None else Outcome.NOT_SEARCHED
        self.target = Target(table.id, str(table.name), outcome, why or "")


def accept(journal: HiveJournal, wanted: Wanted, by: str) -> Request:
    """Erase who is meant; the request, PURGED. Raises ERASURE when no table could hold them, HELD
    when a legal hold keeps them, and what the server raises, with nothing changed.
    """
    wanted.check()
    names = [f"table:{a.table.id}" for a in _aims(journal, wanted) if a.why_not is None]
    with journal.leases.holding(names) as held, staging(journal) as made:
        with journal.statement(journal.begin(read_only=True)) as statement:
            found = _search(journal, statement, wanted)
            for sought in found:
                if sought.keys is not None:
                    _check_holds(journal, statement.session, sought)
                    sought.staged = erasing.stage(
                        *(journal, statement.session, sought.aim.table, sought.state),
                        *(sought.keys, made),
                    )
        request = _write(journal, held, found, wanted, by)
    for sought in found:
        if sought.staged is not None:
            journal.held.forget([s.files[0].path for s in sought.staged.replaced])
    if journal.views is not None:
        _, state = journal.look()
        journal.views.refresh(state)
    return request


def dry_run(journal: HiveJournal, wanted: Wanted) -> Request:
    """What accepting would find: keys and versions by table; nothing is written."""
    wanted.check()
    with journal.statement(journal.begin(read_only=True)) as statement:
        found = _search(journal, statement, wanted)
        for sought in found:
            if sought.keys is not None:
                versions = _versions(journal, statement.session, sought)
                keys = sought.keys.num_rows
                sought.target = replace(sought.target, keys=keys, versions_removed=versions)
    now = journal.clock.now()
    targets = tuple(s.target for s in found)
    return Request("dry-run", State.ACCEPTED, now, now, "", wanted.reason, wanted.types, targets)


def cancel(journal: HiveJournal, request: Request, _by: str) -> Request:
    """Refused, as the rows are gone when a request is accepted."""
    return request.moved(State.CANCELLED, journal.clock.now())


def keys_of(statement: OpenStatement, aim: Aim, subjects: Subjects) -> list[pa.Table]:
    """The keys of a table's rows that name somebody, as a statement sees them."""
    assert isinstance(statement, HiveStatement)
    session, state = statement.session, statement.committed.tables[aim.table.id]
    matcher = Matcher(session, aim.table, aim.identities, subjects)
    searched = keeping.with_backups(session, aim.table, state)
    for number, piece in enumerate(pieces(searched.manifest.segments)):
        name = f"{_PIECE}_{aim.table.id}_{number}"
        session.put_remote(name, layout.rows_of(statement.names, piece.paths))
        matcher.rows(exp.to_table(name), piece.fields)
    return matcher.keys


def _aims(journal: HiveJournal, wanted: Wanted) -> list[Aim]:
    _, state = journal.look()
    with journal.reading_session() as session:
        return aims(session, state, wanted)


def _search(journal: HiveJournal, statement: HiveStatement, wanted: Wanted) -> list[_Sought]:
    committed = statement.committed
    found = [
        _Sought(aim, committed.tables[aim.table.id])
        for aim in aims(statement.session, committed, wanted)
    ]
    for sought in found:
        if sought.aim.why_not is not None:
            continue
        table_id = sought.aim.table.id
        keys = [find() for i, find in wanted.rows.items() if i == table_id]
        if not wanted.rows:
            keys = keys_of(statement, sought.aim, wanted.subjects)
        sought.keys = _distinct(keys)
        searched = len(sought.state.manifest.segments)
        outcome = Outcome.PENDING if sought.keys is not None else Outcome.SEARCHED_NONE
        sought.target = replace(sought.target, outcome=outcome, files_searched=searched)
    return found


def _distinct(found: Sequence[pa.Table]) -> pa.Table | None:
    """All keys, once each; None if there are none."""
    keys = [k for k in found if k.num_rows]
    if not keys:
        return None
    together = pa.concat_tables(keys, promote_options="permissive")
    together = together.group_by(together.column_names).aggregate([])
    if together.num_rows > KEYS_MAX:
        raise PalimpsestError(
            Code.ERASURE,
            f"{together.num_rows:,} keys of a table are to be erased, at most {KEYS_MAX:,} are"
            " taken at once",
            advice="erase them in several requests",
        )
    return together


def _versions(journal: HiveJournal, session: HiveSession, sought: _Sought) -> int:
    assert sought.keys is not None
    session.show_arrow(erasing.ERASED, sought.keys)
    count = 0
    searched = keeping.with_backups(session, sought.aim.table, sought.state)
    for piece in pieces(searched.manifest.segments):
        rows = rows_with(journal, sought.aim.table, piece, "SEMI").subquery("r")
        query = session.in_spark(exp.select(exp.Count(this=exp.Star())).from_(rows))
        count += int(session.connection.run(rendered(query))[0][0])
    return count


def _check_holds(journal: HiveJournal, session: HiveSession, sought: _Sought) -> None:
    """Raise HELD if a hold covers a version of a row that is to go."""
    assert sought.keys is not None
    table = sought.aim.table
    for hold in holds.active(journal, table):
        is_held = holds.whole_table([hold]) is not None
        condition = None if is_held else holds.covered(journal, table, [hold])
        if condition is not None:
            session.show_arrow(erasing.ERASED, sought.keys)
            searched = keeping.with_backups(session, table, sought.state)
            for piece in pieces(searched.manifest.segments):
                rows = rows_with(journal, table, piece, "SEMI").subquery("r")
                query = exp.select(exp.Count(this=exp.Star())).from_(rows).where(condition.copy())
                found = session.connection.run(rendered(session.in_spark(query)))
                is_held = is_held or bool(found[0][0])
        if is_held:
            raise PalimpsestError(
                Code.HELD,
                f"rows of {table.name} that are to be erased are kept by {hold.told()}",
                advice="release the hold first; nothing was erased",
            )


def _write(
    journal: HiveJournal, held: Held, found: list[_Sought], wanted: Wanted, by: str
) -> Request:
    """Swap all tables, and record suppressions, the request and its audit entries."""
    with journal.catalog.writing(rows_of.STATE, rows_of.RECORDS) as connection:
        held.check(connection)
        row, committed = journal.look_in(connection)
        following = replace(row, generation=row.generation + 1, fence=row.generation + 1)
        states: dict[int, TableState] = {}
        with journal.recording(connection) as session:
            for sought in found:
                table, staged = sought.aim.table, sought.staged
                if sought.keys is None or staged is None:
                    continue
                now = committed.tables[table.id]
                if now.manifest != sought.state.manifest:
                    raise PalimpsestError(
                        Code.JOB_BUSY,
                        f"{table.name} changed while rows were erased from it",
                        advice="erase them again",
                    )
                keys = sought.keys.num_rows
                sought.target = erasing.receipt(sought.target, now, keys, staged)
                states[table.id] = erasing.swap(
                    journal, connection, session, following.generation, table, now, staged
                )
            since = journal.clock.next()
            request = _recorded(journal, session, found, wanted, by, since)
            fence = load_fence(session)
            session.commit()
        rows_of.put_state(connection, following)
    state: JournalState = committed.with_tables(states, fence)
    journal.keep(following, state)
    return request


def _recorded(
    journal: HiveJournal,
    session: DuckDBSession,
    found: list[_Sought],
    wanted: Wanted,
    by: str,
    now: Version,
) -> Request:
    request_id = uuid.uuid4().hex[:12]
    expires = None if wanted.expires_us is None else now + wanted.expires_us
    entries = Suppressor(session, request_id, now, expires, journal.make_secret())
    for sought in found:
        if sought.keys is not None:
            shown = f"{_KEYS}_{sought.aim.table.id}"
            session.show_arrow(shown, sought.keys)
            entries.keys(sought.aim.table, exp.select("*").from_(shown))
    reached: list[int | None] = [None]
    if wanted.tables is not None:
        reached = [s.aim.table.id for s in found if s.aim.why_not is None]
    entries.identifiers(wanted.subjects, reached)
    targets = tuple(s.target for s in found)
    accepted = Request(
        *(request_id, State.ACCEPTED, now, now, by, wanted.reason, wanted.types, targets),
        expires=expires,
    )
    audit.accepted(journal, session, accepted)
    request = accepted.moved(State.PURGED, now)
    erasure_rows.put_erasure(session, request.to_row())
    audit.purged(journal, session, request, by)
    return request
