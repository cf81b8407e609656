"""Backups in a database: the tables a journal consisted of at a moment, as a list.

    make     appends go to a fresh head, and what was there is listed; nothing is copied
    keep     tables that a backup lists outlast their retirement, until it expires
    purge    those that hold the erased are written anew without them, and backups follow

Of an adopted journal, which others write too, the current rows are copied. A table behind a backup
is live or retired; which backups are in force is said by ``journal.records.backups``. Nothing here
decides what is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Fields, Head, Manifest, RowCounts, Segment, SegmentFile, Tier
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.report import Work
from journal.sql.relations import Reader, column
from journal.sql.relations_flat import FLAT, is_flat
from journal.sql.row_layout import fields_of
from journal.stores.postgres import as_committed, backup_segments, layout, pieces
from journal.stores.postgres import jobs as rows_of
from journal.stores.postgres.guards import guard
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.backends.postgres import rewriting, segment_swap

_ROUNDS_MAX = 5
FIRST_NUMBER = 10_000
"""Where the numbers of tables of backups begin that one job writes anew beside live ones."""
_FIRST_ARCHIVED = 20_000
"""Where the numbers of tables begin that hold what one job archives."""


def make(journal: DatabaseJournal, table: Table, naming: Naming) -> Backup:
    """Record what a table consists of now; raises BACKUP if the name is taken."""
    with journal.reading_session() as session:
        _refuse_taken(session, table, naming.name)
    if is_flat(table):
        return _copied(journal, table, naming)
    for _ in range(_ROUNDS_MAX):
        settled = segment_swap.settle(journal, table)
        backup = _listed(journal, settled, naming)
        with journal.commit_section() as (session, committed, _):
            now = committed.tables[table.id].manifest
            then = settled.state.manifest
            same = now.segments == then.segments and now.masks == then.masks
            if same and now.heads[: len(then.heads)] == then.heads:
                backups.add(session, backup)
                session.commit()
                return backup
    raise PalimpsestError(
        Code.JOB_FAILED,
        f"other jobs replaced parts of {table.name} whenever it was to be backed up",
        advice="run it again when fewer jobs run",
    )


def planned(journal: DatabaseJournal, table: Table, naming: Naming) -> Backup:
    """What a backup would hold now; nothing is written."""
    transaction = journal.begin(read_only=True)
    try:
        with journal.statement(transaction) as statement:
            committed, session = statement.committed, statement.session
            state = committed.tables[table.id]
            if not is_flat(table):
                found = _pieces(session, table, state, state.manifest.heads)
                return naming.backup(table, found, committed.version)
            rows = Reader(table, state.tiers).current([(column(c), c) for c in table.key])
            count = pieces.hashed(session, rows)[0]
            file = SegmentFile("", 0, count, 0)
            counts = RowCounts(open=count)
            copy = Segment("", Tier.BASE, (file,), fields_of(table), counts, 0, committed.version)
            return naming.backup(table, (copy,), committed.version)
    finally:
        journal.rollback(transaction)


def _refuse_taken(session: StoreSession, table: Table, name: str) -> None:
    """Before anything is done; ``backups.add`` looks again."""
    if any(b.name == name for b in backups.load(session, table.id)):
        raise backups.taken(str(table.name), name)


def _listed(journal: DatabaseJournal, settled: segment_swap.SettledTable, naming: Naming) -> Backup:
    with journal.reading_session() as session:
        session.begin()
        as_committed.check_heads(session, settled.table)
        state = settled.state
        found = _pieces(session, settled.table, state, state.manifest.heads[:-1])
    return naming.backup(settled.table, found, settled.version)


def left_by(
    session: PostgresSession, settled: segment_swap.SettledTable, naming: Naming
) -> Callable[[PostgresSession], None]:
    """What records, in the transaction of a job that removes rows, what was there before."""
    state = settled.state
    found = _pieces(session, settled.table, state, state.manifest.heads[:-1])
    backup = naming.backup(settled.table, found, settled.version)

    def record(section: PostgresSession) -> None:
        if all(b.name != naming.name for b in backups.load(section, backup.table_id)):
            backups.add(section, backup)

    return record


def _pieces(
    session: PostgresSession, table: Table, state: TableState, heads: Iterable[Head]
) -> tuple[Segment, ...]:
    """Heads and segments as a backup lists them: each with the name and size of its table."""
    found: list[Segment] = []
    consists_of: list[Head | Segment] = [*heads, *state.manifest.segments]
    for piece in consists_of:
        source = backup_segments.source_of(table, piece)
        if isinstance(piece, Segment):
            listed = piece
        else:
            counts = layout.count_rows(session, table, source)
            listed = Segment(source.name, Tier.DELTA, (), piece.fields, counts, 0, 0)
        if listed.counts.total:
            size = pieces.size(session, source)
            found.append(_with_file(listed, size))
    return tuple(found)


def _with_file(segment: Segment, size: int) -> Segment:
    """A segment as a backup lists it: its table stands for a file."""
    return replace(segment, files=(SegmentFile(segment.id, size, segment.counts.total, 0),))


def _copied(journal: DatabaseJournal, table: Table, naming: Naming) -> Backup:
    """Copy the current rows of an adopted journal; what is being erased is not among them."""
    with segment_swap.turn(journal, table) as session:
        segment_swap.remove_litter(session, table.id)
        with journal.statement(journal.begin(read_only=True)) as statement:
            committed = statement.committed
        state, version = committed.tables[table.id], committed.version
        session.begin()
        session.read_epochs(committed.epoch_of)
        target = exp.table_(pieces.new_name(table.id, 0), db=STORE_SCHEMA)
        fields = fields_of(table)
        names = [name for name, _ in fields] + list(pieces.ends(table))
        rows = Reader(table, frozenset({Tier.BASE})).current([(column(n), n) for n in names])
        layout.create_rows(session, table, target, fields)
        session.run(layout.insert_fields(table, target, fields, rows))
        guard(session, session.rendered(target).sql)
        counts = layout.count_rows(session, table, target)
        size = pieces.size(session, target)
        session.commit()
        made = Segment(target.name, Tier.BASE, (), fields, counts, 0, version)
        backup = naming.backup(table, (_with_file(made, size),), version)
        with journal.commit_section() as (section, now, _):
            if now.tables[table.id].manifest.masks != state.manifest.masks:
                raise PalimpsestError(
                    Code.SERIALIZATION,
                    f"rows of {table.name} were asked to be erased while they were copied",
                    advice="run it again",
                )
            since = journal.clock.now()
            retired = rows_of.RetiredTable(target.name, table.id, 0, since, since)
            rows_of.retire(section, retired, "", BackupKind.NAMED.value, size)
            backups.add(section, backup)
            section.commit()
        return backup


Archived = Callable[[exp.Table, Fields], exp.Query | None]
"""The rows of a table, in the columns it was written in, that are to be kept; None: none at all."""


def archived(
    session: PostgresSession,
    table: Table,
    inputs: pieces.Inputs,
    rows: Archived,
    version: Version,
) -> tuple[Segment, ...]:
    """Copy some rows of what a job replaces into tables of their own, as a backup lists them."""
    found: list[Segment] = []
    replaced: list[Head | Segment] = [*inputs.heads, *inputs.segments]
    for number, piece in enumerate(replaced, _FIRST_ARCHIVED):
        source = backup_segments.source_of(table, piece)
        query = rows(source, piece.fields)
        if query is None or not pieces.hashed(session, query)[0]:
            continue
        target = exp.table_(pieces.new_name(table.id, number), db=STORE_SCHEMA)
        layout.create_rows(session, table, target, piece.fields)
        session.run(layout.insert_fields(table, target, piece.fields, query))
        guard(session, session.rendered(target).sql)
        counts = layout.count_rows(session, table, target)
        tier = piece.tier if isinstance(piece, Segment) else Tier.DELTA
        made = Segment(target.name, tier, (), piece.fields, counts, 0, version)
        found.append(_with_file(made, pieces.size(session, target)))
    return tuple(found)


def keep_archived(journal: DatabaseJournal, session: PostgresSession, backup: Backup) -> None:
    """Record archived rows, in the swap's transaction; they stay until the record goes."""
    since = journal.clock.now()
    for segment in backup.segments:
        retired = rows_of.RetiredTable(segment.id, backup.table_id, 0, since, since)
        rows_of.retire(session, retired, "", BackupKind.ARCHIVE.value, segment.bytes)
    backups.add(session, backup)


def shown(
    table: Table, table_id: int, backup: Backup, masks: tuple[str, ...]
) -> tuple[Table, Manifest]:
    """A backup as a table of its own, of that id, with what it consists of."""
    properties = tuple((n, v) for n, v in table.properties if n != FLAT)
    found = replace(table, id=table_id, properties=properties)
    return found, Manifest(0, (), backup_segments.tables_of(backup), masks)


def names_in(found: Iterable[Backup]) -> frozenset[str]:
    """The tables that backups list."""
    return frozenset(path for b in found for path in b.paths)


def filled_names(session: PostgresSession, table: Table, state: TableState) -> frozenset[str]:
    """Those of them that hold rows."""
    found = _pieces(session, table, state, state.manifest.heads)
    return frozenset(f.path for s in found for f in s.files)


def with_backups(session: StoreSession, table: Table, state: TableState) -> TableState:
    """A state in which rows of backups can be searched like live ones; never committed."""
    manifest = state.manifest
    segments = (*manifest.segments, *backup_segments.backup_only_segments(session, table, state))
    return replace(state, manifest=replace(manifest, segments=segments))


@dataclass(frozen=True, slots=True)
class PurgedBackups:
    """What became of tables that only backups list."""

    moved: Mapping[str, Segment | None]
    work: Work


def purge(
    session: PostgresSession,
    table: Table,
    state: TableState,
    erased: exp.Table,
    version: Version,
    why: str,
    copy: rewriting.Copy = rewriting.by_server,
) -> PurgedBackups:
    """Write what backups list besides live tables anew without the rows of some keys."""
    moved: dict[str, Segment | None] = {}
    work = Work()
    for number, piece in enumerate(
        backup_segments.backup_only_segments(session, table, state), FIRST_NUMBER
    ):
        done = rewriting.rewrite_piece(
            *(session, table, piece, number),
            lambda source, fields: pieces.erased_rows(table, source, fields, erased),
            lambda source, fields: pieces.kept_rows(table, source, fields, erased),
            *(version, why, copy),
        )
        if done is None:
            work += rewriting.left_alone(backup_segments.source_of(table, piece))
            continue
        moved[piece.id] = done.made
        work += done.work
    return PurgedBackups(moved, work)


def follow(
    session: PostgresSession,
    table: Table,
    moved: Mapping[str, Segment | None],
    made_beside: Mapping[str, Segment | None],
    now: Version,
) -> None:
    """Let backups list what a purge has made of tables, in the swap's transaction.

    ``made_beside`` are those among ``moved`` that no manifest lists: each stays as long as the one
    it stands for. What no backup lists any more goes as soon as nobody reads it.
    """
    known = {r.name: r for r in rows_of.retired(session, table.id)}
    for name, made in made_beside.items():
        if name not in known:
            raise segment_swap.TableReplan(f"{name} was dropped meanwhile")
        if made is not None:
            size = pieces.size(session, layout.segment_table(made))
            old = replace(known[name], name=made.id)
            rows_of.retire(session, old, old.job_id, old.job_kind, size)
    files = {
        name: None if made is None else _with_file(made, made.bytes).files[0]
        for name, made in moved.items()
    }
    backups.follow(session, files)
    kept = names_in(backups.load(session, table.id))
    rows_of.end_grace(session, table.id, now, kept)
