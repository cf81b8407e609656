"""What jobs of a PostgreSQL store share: locks, retired tables, epochs, manifests.

Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.segment import Manifest, RowCounts
from journal.model.version import Version, to_datetime
from journal.model.wall_clock import wall_clock_us
from journal.records import retired as rows_of
from journal.records.catalog import load_journal
from journal.records.retired import RetiredRow
from journal.records.schema import EPOCHS
from journal.records.statements import count, execute, insert_new
from journal.stores.postgres.store import PostgresSession

_TURNS = 5283_1905_7735 << 16
"""Where the advisory locks begin that jobs take turns by, one for each table."""
_XIDS = 1 << 32
"""So many numbers of transactions there are."""
_BEGIN_EPOCH = insert_new(EPOCHS)
_ERASED = count(EPOCHS, {"table_id": exp.EQ, "epoch": exp.GT, "erased": exp.EQ})
_OLDEST = (
    "SELECT backend_xmin::text::bigint FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL ORDER BY age(backend_xmin) DESC"
    " LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class RetiredTable:
    """A table that no manifest lists since a moment; ``epoch`` was the last one that did.

    It is ``in_use`` while a transaction of the server is open that began before.
    """

    name: str
    table_id: int
    epoch: int
    since: Version
    until: Version
    bytes: int = 0
    rows: int = 0
    in_use: bool = False
    job_id: str = ""
    job_kind: str = ""


def take_turn(session: PostgresSession, table_id: int) -> bool:
    """Whether this session is the one that may replace pieces of a table, until ``end_turn``."""
    return bool(session.text("SELECT pg_try_advisory_lock(?::bigint)", [_TURNS + table_id])[0][0])


def end_turn(session: PostgresSession, table_id: int) -> None:
    """Let others replace pieces."""
    session.text("SELECT pg_advisory_unlock(?::bigint)", [_TURNS + table_id])


def retire(
    session: PostgresSession, piece: RetiredTable, job_id: str, kind: str, size: int
) -> None:
    """Record that a table is not listed any more, in the transaction that makes it so."""
    # Asked by itself: a segment of Greenplum would count its own transactions.
    ((number,),) = session.text("SELECT txid_current() % ?::bigint", [_XIDS])
    row = RetiredRow(
        id=piece.name,
        table_id=piece.table_id,
        since=piece.since,
        until=piece.until,
        job_id=job_id,
        job_kind=kind,
        generation=piece.epoch,
        bytes=size,
        replaced_by=number,
    )
    rows_of.retire(session, [row])


def retired(session: PostgresSession, table_id: int | None = None) -> list[RetiredTable]:
    """The retired tables of a journal or of all, oldest first.

    Snapshots of other roles are not shown to everybody; those count as ended.
    """
    rows = rows_of.load_retired(session, table_id)
    oldest = session.text(_OLDEST) if rows else []
    return [
        RetiredTable(
            *(r.id, r.table_id, r.generation, r.since, r.until or 0, r.bytes),
            in_use=_is_seen(oldest, r.replaced_by or 0),
            job_id=r.job_id,
            job_kind=r.job_kind,
        )
        for r in rows
    ]


def _is_seen(oldest: Sequence[tuple[int]], by: int) -> bool:
    """Whether the oldest snapshot began before a transaction ended; their numbers go round."""
    return any((by - xmin) % _XIDS < _XIDS // 2 for (xmin,) in oldest)


def end_grace(
    session: PostgresSession, table_id: int, moment: Version, kept: Iterable[str]
) -> None:
    """Let the retired tables of a journal but those ``kept`` go as soon as nobody reads them."""
    rows_of.end_grace(session, table_id, moment, frozenset(kept))


def forget(session: PostgresSession, name: str) -> None:
    """Take a table that was dropped off the list."""
    rows_of.forget(session, [name])


def relations(session: PostgresSession, kind: str) -> list[str]:
    """Names of our schema's relations of a kind: r(elations with rows) or v(iews)."""
    rows = session.text(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = '_palimpsest' AND c.relkind::text = ANY(?::text[]) ORDER BY 1",
        [["r", "p"] if kind == "r" else [kind]],
    )
    return [name for (name,) in rows]


def heads(session: PostgresSession, table_id: int) -> tuple[Manifest, RowCounts]:
    """The manifest of a journal as the transaction sees it, and the rows its heads should hold."""
    row = load_journal(session, table_id)
    assert row is not None, "a journal that is read is on record"
    return row.manifest, row.counts


def replaced(session: PostgresSession, table_id: int, epoch: int, *, erased: bool = False) -> None:
    """Record that an epoch of a journal began: who does not see this must not read its tables."""
    execute(session, _BEGIN_EPOCH, [table_id, epoch, to_datetime(wall_clock_us()), erased])


def was_erased(session: PostgresSession, table_id: int, after: int) -> bool:
    """Whether rows of a journal were erased in an epoch after the one given."""
    return execute(session, _ERASED, [table_id, after, True]) != [(0,)]
