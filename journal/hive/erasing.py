"""Erasing in a Hive store: partitions that hold a version of some keys are written anew without.

    stage   what holds one of the keys, in any tier and layout; compared
    swap    the catalog lists the new partitions; their tables' manifests get another epoch, so that
            transactions that began before cannot commit to them
    drop    what was replaced, now or by earlier jobs, past the file system's trash

Whoever calls knows who is meant, and sees to it that nobody else commits to the tables meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit
from journal.erasure.erased import Erased
from journal.erasure.requests import Outcome, Request, State, Target
from journal.erasure.wanted import requests
from journal.errors import Code, PalimpsestError
from journal.hive import cleaning
from journal.hive.compaction import fingerprint
from journal.hive.journal import HiveJournal
from journal.hive.session import HiveSession
from journal.relations import column
from journal.schema import Table
from journal.segment import Fields, RowCounts, Segment, Tier
from journal.sql import cast
from journal.state import TableState
from journal.stores import erasure_rows
from journal.stores import hive_layout as layout
from journal.stores import sql_catalog as rows_of
from journal.stores.catalog_format import JournalRow
from journal.stores.hive import HiveConnection
from journal.stores.hive_text import rendered
from journal.stores.sql_engine import CatalogConnection

ERASED = "erased_keys"
"""What the relation of keys is called that go."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Segments of one tier that lie in one place in the same columns, and what they hold."""

    tier: Tier
    fields: Fields
    segments: tuple[Segment, ...]

    @property
    def paths(self) -> list[str]:
        return [s.files[0].path for s in self.segments]


@dataclass(frozen=True, slots=True)
class Staged:
    """What takes the place of the pieces, and the rows that went and that are left beside them."""

    segments: tuple[Segment, ...]
    replaced: tuple[Segment, ...]
    removed: int
    kept: int


def pieces(segments: Sequence[Segment]) -> list[Piece]:
    """Segments by tier, columns and place."""
    groups: dict[tuple[Tier, Fields, str], list[Segment]] = {}
    for segment in segments:
        place = segment.files[0].path.partition("/")[0]
        groups.setdefault((segment.tier, segment.fields, place), []).append(segment)
    return [Piece(tier, fields, tuple(found)) for (tier, fields, _), found in groups.items()]


def stage(
    journal: HiveJournal,
    session: HiveSession,
    table: Table,
    state: TableState,
    keys: pa.Table,
    made: list[str],
) -> Staged:
    """Write what holds the keys anew without them, and compare; what is written is in ``made``."""
    session.show_arrow(ERASED, keys)
    segments: list[Segment] = []
    replaced: list[Segment] = []
    removed = kept = 0
    for whole in pieces(state.manifest.segments):
        held = _holding(journal, session, table, whole)
        if not held:
            continue
        piece = replace(whole, segments=tuple(s for s in whole.segments if s.id in held))
        replaced += piece.segments
        path = journal.new_segment(table, session.connection, piece.fields)
        made.append(path)
        rows = session.in_spark(rows_with(journal, table, piece, "ANTI"))
        session.connection.execute(rendered(layout.insert_rows(journal.names, path, rows)))
        gone, left = _compared(journal, session, table, piece, path)
        removed, kept = removed + gone, kept + left
        counts = journal.count_rows(session.connection, table, path)
        if counts.total:
            segments.append(_segment(piece, path, counts))
        else:
            journal.drop_segments([path])
    return Staged(tuple(segments), tuple(replaced), removed, kept)


def _segment(piece: Piece, path: str, counts: RowCounts) -> Segment:
    return Segment(
        path.partition("/")[2],
        piece.tier,
        (layout.segment_file(path, counts.total),),
        piece.fields,
        counts,
        min(s.min_version for s in piece.segments),
        max(s.max_version for s in piece.segments),
    )


def rows_with(journal: HiveJournal, table: Table, piece: Piece, kind: str) -> exp.Select:
    """The rows of a piece with one of the keys (SEMI), or with none of them (ANTI)."""
    source = layout.rows_of(journal.names, piece.paths)
    written, same = dict(piece.fields), []
    for name in table.key:
        value: exp.Expr = column(name, "p")
        kind_now = table.by_physical(name).type
        if written.get(name) != kind_now:
            value = exp.TryCast(this=value, to=cast(exp.Null(), kind_now).args["to"])
        same.append(exp.EQ(this=value, expression=column(name, "e")))
    names = [n for n, _ in layout.journal_fields(table, piece.fields)]
    rows = exp.select(*[column(n, "p") for n in names]).from_(source.subquery("p"))
    erased = exp.alias_(exp.to_table(ERASED), "e", table=True)
    rows.append("joins", exp.Join(this=erased, kind=kind, on=exp.and_(*same)))
    return rows


def _holding(
    journal: HiveJournal, session: HiveSession, table: Table, piece: Piece
) -> frozenset[str]:
    """The segments of a piece that hold one of the keys."""
    rows = rows_with(journal, table, piece, "SEMI")
    rows.set("expressions", [column(layout.PARTITION, "p")])
    return frozenset(
        str(r[0]) for r in session.connection.run(rendered(session.in_spark(rows.distinct())))
    )


def _compared(
    journal: HiveJournal, session: HiveSession, table: Table, piece: Piece, path: str
) -> tuple[int, int]:
    """Rows that went and rows that are left; raises unless they are together what there was."""
    names = [n for n, _ in layout.journal_fields(table, piece.fields)]

    def summed(rows: exp.Query) -> tuple[int, int]:
        return fingerprint(session.connection, session.in_spark(rows), names)

    before = summed(layout.rows_of(journal.names, piece.paths))
    after = summed(layout.rows_of(journal.names, [path]))
    gone = summed(rows_with(journal, table, piece, "SEMI"))
    if (before[0] - gone[0], before[1] - gone[1]) != after:
        raise PalimpsestError(
            Code.JOB_VERIFICATION,
            f"rewriting {table.name} without the erased rows would change others",
            advice="nothing was changed; palimpsest verify tells whether the journal is whole",
        )
    return gone[0], after[0]


def _replaced(state: TableState, staged: Staged) -> TableState:
    gone = {s.id for s in staged.replaced}
    kept = tuple(s for s in state.manifest.segments if s.id not in gone)
    manifest = replace(
        state.manifest,
        generation=state.manifest.generation + 1,
        epoch=state.manifest.epoch + 1,
        segments=(*kept, *staged.segments),
    )
    return replace(state, manifest=manifest)


def _digest(state: TableState) -> str:
    text = json.dumps(state.manifest.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def receipt(target: Target, state: TableState, keys: int, staged: Staged) -> Target:
    """What was done to one table."""
    return replace(
        target,
        outcome=Outcome.ERASED,
        keys=keys,
        files_searched=len(state.manifest.segments),
        files_rewritten=len(staged.segments),
        versions_removed=staged.removed,
        manifest_before=_digest(state),
        manifest_after=_digest(_replaced(state, staged)),
        others=f"{staged.kept} rows beside them are unchanged",
    )


def swap(
    journal: HiveJournal,
    connection: CatalogConnection,
    generation: int,
    table: Table,
    state: TableState,
    staged: Staged,
) -> TableState:
    """List the new partitions, and let the grace of all that was replaced end now."""
    after = _replaced(state, staged)
    listed = JournalRow(table.id, after.manifest, after.last_version, RowCounts())
    rows_of.put_journal(connection, listed, generation)
    now = journal.now()
    rows_of.retire(connection, table.id, [s.files[0].path for s in staged.replaced], now)
    rows_of.end_grace(connection, table.id, now)
    rows_of.forget_claims_of(connection, table.id)
    return after


def purge(journal: HiveJournal, by: str, only: Sequence[str] | None) -> Erased:
    """Drop what erasures have replaced; requests are COMPLETED once nothing of it is left."""
    done = Erased()
    for request in requests(journal):
        if only is None or request.id in only:
            done.requests.append(_complete(journal, request, by))
    return done


def _complete(journal: HiveJournal, request: Request, by: str) -> Request:
    if request.state is not State.PURGED:
        return request
    left: list[str] = []
    with journal.store.connection() as connection:
        cleaning.reap(journal, connection)
        for target in request.targets:
            left += _left(journal, connection, target.table_id, request.updated)
    if left:
        why = f"rows of transactions that did not end may be in {', '.join(left)}"
        following = replace(request, waits_for=why)
    else:
        following = request.moved(State.COMPLETED, journal.clock.now(), waits_for="")
    with journal.exclusive_session() as session:
        erasure_rows.put_erasure(session, following.to_row())
        if following.state is State.COMPLETED:
            audit.completed(journal, session, following, by)
        session.commit()
    return following


def _left(
    journal: HiveJournal, connection: HiveConnection, table_id: int, before: int
) -> list[str]:
    """Retired segments of a table, and partitions and tables that nobody has listed since."""
    with journal.catalog.reading() as reading:
        retired = rows_of.retired_of(reading, table_id)
    return [*retired, *cleaning.forsaken(journal, connection, before, table_id)]
