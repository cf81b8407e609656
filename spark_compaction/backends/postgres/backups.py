"""Backups of a table in a database: lists of tables of journal rows, live and retired.

Appends go to a fresh head, and what was there is listed; nothing is copied. Of an adopted journal,
which others write too, the current rows are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA
from journal.model.schema import Table
from journal.model.segment import Manifest, RowCounts, Segment, SegmentFile, Tier
from journal.records import backups
from journal.records.backups import Backup, BackupKind, Naming
from journal.records.retired import Reaped
from journal.sql.relations import Reader, column
from journal.sql.relations_flat import FLAT, is_flat
from journal.sql.row_layout import fields_of
from journal.stores.postgres import as_committed, backup_segments, jobs, layout, pieces
from journal.stores.postgres.adopt.guards import guard
from journal.stores.postgres.journal import DatabaseJournal
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.backends.postgres.backup_transport import DatabaseTransport
from spark_compaction.backends.postgres.table_backups import pieces_of, with_file
from spark_compaction.programs.backup_store import Chosen, PiecesHere


@dataclass(frozen=True, slots=True)
class DatabaseBackups:
    """How a database keeps backups of one table."""

    journal: DatabaseJournal
    table: Table
    has_files: bool = False

    @property
    def transport(self) -> DatabaseTransport:
        """How pieces become files."""
        return DatabaseTransport(self.journal, self.table)

    def record(self, naming: Naming, *, is_whole: bool) -> Backup | None:
        """Record the tables that the journal consists of; a head that was altered is refused."""
        if is_flat(self.table):
            return self._copy_current_rows(naming)
        journal = self.journal
        settled = segment_swap.settle(journal, self.table)
        then = settled.state.manifest
        with journal.reading_session() as session:
            session.begin()
            as_committed.check_heads(session, settled.table)
            found = pieces_of(session, settled.table, settled.state, then.heads[:-1])
        backup = naming.backup(settled.table, found, settled.version)
        with journal.commit_section() as (session, committed, _):
            now = committed.tables[self.table.id].manifest
            same = now.segments == then.segments and now.masks == then.masks
            if not same or now.heads[: len(then.heads)] != then.heads:
                return None
            backups.add(session, backup)
            session.commit()
        return backup

    def planned(self, naming: Naming) -> tuple[Backup, bool]:
        """The tables that the journal consists of; of an adopted one how many rows are current."""
        table = self.table
        with self.journal.statement(self.journal.begin(read_only=True)) as statement:
            committed, session = statement.committed, statement.session
            state = committed.tables[table.id]
            if not is_flat(table):
                found = pieces_of(session, table, state, state.manifest.heads)
                return naming.backup(table, found, committed.version), True
            rows = Reader(table, state.tiers).current([(column(c), c) for c in table.key])
            count = pieces.count_and_hash(session, rows)[0]
        file, counts = SegmentFile("", 0, count, 0), RowCounts(open=count)
        copy = Segment("", Tier.BASE, (file,), fields_of(table), counts, 0, committed.version)
        return naming.backup(table, (copy,), committed.version), True

    def _copy_current_rows(self, naming: Naming) -> Backup:
        """Copy the current rows of an adopted journal; what is being erased is not among them."""
        journal, table = self.journal, self.table
        with segment_swap.table_lock(journal, table) as session:
            segment_swap.remove_litter(session, table.id)
            with journal.statement(journal.begin(read_only=True)) as statement:
                committed = statement.committed
            state, version = committed.tables[table.id], committed.version
            session.begin()
            session.read_epochs(committed.epoch_of)
            target = exp.table_(pieces.new_name(table.id, 0), db=STORE_SCHEMA)
            fields = fields_of(table)
            names = [name for name, _ in fields] + list(table.ends)
            rows = Reader(table, frozenset({Tier.BASE})).current([(column(n), n) for n in names])
            layout.create_rows(session, table, target, fields)
            session.run(layout.insert_fields(table, target, fields, rows))
            guard(session, session.rendered(target).sql)
            counts = layout.count_rows(session, table, target)
            size = pieces.size(session, target)
            session.commit()
            made = Segment(target.name, Tier.BASE, (), fields, counts, 0, version)
            backup = naming.backup(table, (with_file(made, size),), version)
            with journal.commit_section() as (section, now, _):
                if now.tables[table.id].manifest.masks != state.manifest.masks:
                    raise PalimpsestError(
                        Code.SERIALIZATION,
                        f"rows of {table.name} were erased while they were copied",
                        advice="run it again",
                    )
                since = journal.clock.now()
                retired = jobs.RetiredTable(target.name, table.id, 0, since, since)
                jobs.retire(section, retired, "", BackupKind.NAMED.value, size)
                backups.add(section, backup)
                section.commit()
            return backup

    def pieces(self) -> PiecesHere:
        """Tables, live and retired; those that hold rows are what is current."""
        table = self.table
        with self.journal.statement(self.journal.begin(read_only=True)) as statement:
            state = statement.committed.tables[table.id]
            there = {r.name for r in jobs.retired(statement.session, table.id)}
            live = backup_segments.live_names(table, state.manifest)
            filled = pieces_of(statement.session, table, state, state.manifest.heads)
        return PiecesHere(live | there, frozenset(f.path for s in filled for f in s.files))

    def no_reaping(self) -> AbstractContextManager[None]:
        """A table is dropped only after a look at which backups list it."""
        return nullcontext()

    def check(self, backup: Backup) -> None:
        """Rows are counted."""
        with self.journal.reading_session() as session:
            session.begin()
            for segment in backup_segments.tables_of(backup):
                source = layout.segment_table(segment)
                rows = layout.count_rows(session, self.table, source).total
                backups.check_rows(backup, segment.id, rows, segment.counts.total)

    def as_table(
        self, table_id: int, backup: Backup, masks: tuple[str, ...]
    ) -> tuple[Table, Manifest]:
        """A journal of the tables of the backup, which is not adopted."""
        properties = tuple((n, v) for n, v in self.table.properties if n != FLAT)
        table = replace(self.table, id=table_id, properties=properties)
        return table, Manifest(0, (), backup_segments.tables_of(backup), masks)

    def due(self, chosen: Chosen | None, ignored: Collection[str]) -> Reaped:
        """Retired tables."""
        found = segment_swap.retired(self.journal, self.table.id, chosen, frozenset(ignored))
        names = tuple(r.name for r in found if not r.in_use)
        in_use = tuple(r.name for r in found if r.in_use)
        return Reaped(names, in_use, bytes=sum(r.bytes for r in found if not r.in_use))

    def reap(self, chosen: Chosen | None = None) -> Reaped:
        """The same, dropped."""
        return segment_swap.reap(self.journal, self.table.id, chosen)

    def clear(self) -> Collection[str]:
        """Nothing: the server undoes what ends without a commit."""
        return ()

    def archived(self) -> list[Backup]:
        """Archives are backups of their own."""
        with self.journal.reading_session() as session:
            return backups.archives(session, self.table.id)

    def release(self, found: Sequence[Backup]) -> None:
        """They are forgotten."""
        with self.journal.exclusive_session() as session:
            backups.drop(session, self.table.id, [b.name for b in found])
            session.commit()


def overdue(journal: DatabaseJournal) -> set[int]:
    """The tables of journals of which something retired may be dropped."""
    return {r.table_id for r in segment_swap.retired(journal) if not r.in_use}
