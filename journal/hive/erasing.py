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
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure import audit
from journal.erasure.erased import Erased
from journal.erasure.requests import Outcome, Request, State, Target
from journal.erasure.wanted import requests
from journal.hive import cleaning, keeping, rewriting
from journal.hive.journal import HiveJournal
from journal.hive.pieces import Piece
from journal.hive.rewriting import Kept, Rows, Staged, Why
from journal.hive.session import HiveSession
from journal.jobs import backups
from journal.relations import column
from journal.schema import Table
from journal.state import TableState
from journal.stores import erasure_rows, sql_retired
from journal.stores.duckdb import DuckDBSession
from journal.stores.hive import HiveConnection
from journal.stores.row_layout import present_keys
from journal.stores.sql_engine import CatalogConnection

ERASED = "erased_keys"
"""What the relation of keys is called that go."""


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

    def rows(kind: str) -> Rows:
        return lambda piece: rows_with(journal, table, piece, kind)

    both = (rows("SEMI"), rows("ANTI"))
    kept = Kept(keeping.beside(session, table, state), keeping.listed_in(session, table))
    return rewriting.rewrite(journal, session, table, state, both, made, kept)


def rows_with(journal: HiveJournal, table: Table, piece: Piece, kind: str) -> exp.Select:
    """The rows of a piece with one of the keys (SEMI), or with none of them (ANTI)."""
    same = [
        exp.EQ(this=value, expression=column(name, "e"))
        for name, value in zip(table.key, present_keys(table, piece.fields), strict=True)
    ]
    rows = rewriting.all_rows(journal, table, piece)
    erased = exp.alias_(exp.to_table(ERASED), "e", table=True)
    rows.append("joins", exp.Join(this=erased, kind=kind, on=exp.and_(*same)))
    return rows


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
        manifest_after=_digest(staged.in_place(state)),
        others=f"{staged.kept} rows beside them are unchanged",
    )


def swap(
    journal: HiveJournal,
    connection: CatalogConnection,
    session: DuckDBSession,
    generation: int,
    table: Table,
    state: TableState,
    staged: Staged,
) -> TableState:
    """List the new partitions, let backups follow, and the grace of all that was replaced end.

    ``session`` writes records in the same transaction.
    """
    following, now = staged.in_place(state), journal.now()
    rewriting.swap(connection, generation, table, following, staged, Why("", now, now))
    keeping.follow(session, connection, table, staged, now)
    return following


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
        retired = {r.path for r in sql_retired.load_retired(reading, table_id)}
    with journal.reading_session() as session:
        retired -= keeping.names_in(backups.load(session, table_id))
    return [*sorted(retired), *cleaning.forsaken(journal, connection, before, table_id)]
