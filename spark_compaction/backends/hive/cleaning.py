"""Removes from Hive what nobody reads: retired segments, and what ended gateways left behind.

A partition that no manifest lists and that is not retired was written by a transaction that did not
commit; it goes once it is older than any transaction may be. What is listed is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records import backups
from journal.records import retired as retired_rows
from journal.records.retired import RetiredRow
from journal.records.schema import RETIRED
from journal.stores.hive import layout
from journal.stores.hive.adopt import plain as hive_plain
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.object_names import made_us
from journal.stores.hive.store import HiveConnection

REAPING = "reaping"
"""The lease of whoever drops retired segments, or has one kept that might go."""
FORSAKEN_US = 24 * 3600 * 1_000_000
"""How old rows must be that no transaction can be about to commit."""


Chosen = Callable[[Sequence[RetiredRow]], Sequence[RetiredRow]]
"""Which retired segments of a table go, those first that were replaced first."""


def droppable(
    journal: HiveJournal,
    table_id: int | None = None,
    chosen: Chosen | None = None,
    ignored: frozenset[str] = frozenset(),
) -> list[RetiredRow]:
    """The retired segments that may go: those whose grace is over, or those ``chosen``.

    What a backup keeps is not among them, unless its name is ``ignored``.
    """
    with journal.catalog.reading() as reading:
        found = retired_rows.load_retired(reading, table_id)
    # A backup lists what is live when it is made, so none that is made now lists one of these.
    with journal.reading_session() as session:
        pinned = backups.pinned_paths(session, ignored)
    now = journal.now()
    due = [r for r in found if r.is_over(now)] if chosen is None else chosen(found)
    # What hides rows goes after them.
    due = sorted(due, key=lambda r: r.id.startswith(journal.names.masks))
    return [r for r in due if r.id not in pinned]


def reap(
    journal: HiveJournal,
    connection: HiveConnection,
    table_id: int | None = None,
    chosen: Chosen | None = None,
) -> list[str]:
    """Drop retired segments that may go, see ``droppable``; their paths."""
    done: list[RetiredRow] = []
    with journal.leases.holding([REAPING]):
        found = droppable(journal, table_id, chosen)
        if found:
            # Whoever reads them at a manifest of before learns it from the catalog.
            with journal.catalog.writing(RETIRED) as writing:
                _end_grace(writing, [r.id for r in found], journal.now())
        for retired in found:
            try:
                if layout.is_adopted(journal.names, retired.id):
                    hive_plain.remove(connection, journal.names, retired.id)
                else:
                    journal.drop_segment(connection, retired.id)
            except PalimpsestError:
                # It stays retired, and is dropped the next time.
                continue
            done.append(retired)
        if done:
            with journal.catalog.writing(RETIRED, rows_of.RECORDS) as writing:
                retired_rows.forget(writing, [r.id for r in done])
                with journal.recording(writing) as session:
                    for retired in done:
                        backups.forget_without(session, retired.table_id, [retired.id])
                    session.commit()
    return [r.id for r in done]


def _end_grace(connection: RecordSession, paths: Iterable[str], until: Version) -> None:
    late = {r.id for r in retired_rows.load_retired(connection) if (r.until or 0) > until}
    retired_rows.keep_until(connection, [path for path in paths if path in late], until)


def remove_forsaken(
    journal: HiveJournal, connection: HiveConnection, older_us: int = FORSAKEN_US
) -> list[str]:
    """Drop partitions and tables of transactions that ended without a word; what they were."""
    gone: list[str] = []
    for name in forsaken(journal, connection, journal.now() - older_us):
        if name in journal.staged:
            continue
        if "/" in name:
            journal.drop_segment(connection, name)
        else:
            drop = exp.Drop(tables=[journal.names.table(name)], kind="TABLE", exists=True)
            connection.execute(drop)
        gone.append(name)
    return gone


def forsaken(
    journal: HiveJournal, connection: HiveConnection, before_us: int, table_id: int | None = None
) -> list[str]:
    """Partitions that nothing lists, and tables of staged rows, made before a moment.

    Of one table's journals, or of all; whose the staged rows are does not show.
    """
    _, state = journal.read_committed()
    with journal.catalog.reading() as reading:
        known = {r.id for r in retired_rows.load_retired(reading)}
    for state_of in state.tables.values():
        known |= {s.files[0].path for s in state_of.manifest.segments}
        known |= set(state_of.manifest.key_lists)
    own = journal.names.journal_database
    found = [
        name
        for name in connection.tables_of(own, f"{journal.names.staging}*")
        if _is_older(name.removeprefix(journal.names.staging), before_us)
    ]
    of = "" if table_id is None else f"t{table_id}_"
    names = connection.tables_of(own, f"{journal.names.journals}{of}*")
    for name in (*names, *connection.tables_of(own, f"{journal.names.masks}{of}*")):
        for segment in connection.partitions_of(own, name):
            path = f"{name}/{segment}"
            if path not in known and _is_older(segment, before_us):
                found.append(path)
    return found


def _is_older(name: str, before_us: int) -> bool:
    made = made_us(name)
    return made is not None and made < before_us
