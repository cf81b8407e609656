"""Rows of the catalog: definitions, journals, numbers and commits, read and written in a session.

In a warehouse one process knows what is true, and its catalog keeps what it needs to open again: a
manifest for each journal. Where several gateways write, ``state`` and ``journals`` say what is true
now, and every commit replaces the one row of ``state``. Decides nothing; commits nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlglot import exp

from journal.identity.key_ring import key_id
from journal.model.catalog import change_from_json, change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import CatalogChange
from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import RecordSession
from journal.model.version import Version
from journal.records.catalog_format import (
    JournalRow,
    StateRow,
    check_format,
    get_meta,
    make_tables,
    put_format,
    put_meta,
    stored_format,
)
from journal.records.lineage import add_lineage
from journal.records.record_types import RecordTable, RecordType
from journal.records.schema import CATALOG_LOG, JOURNALS, STATE, TRANSACTIONS
from journal.records.statements import (
    RecordStatement,
    by,
    count,
    execute,
    insert,
    maximum,
    select,
    update,
    upsert,
)
from journal.transactions.commit_plan import CommitPlan
from journal.transactions.state import JournalState, TableState
from journal.transactions.transaction import Transaction
from journal.transactions.transaction_rows import Author, TransactionRow, transaction_row

_SECRET, _SECRET_BYTES = "secret", 32
PAST = "past"
"""The property of a store that says in which version definitions of the past were last recorded."""
_CHANGES = select(
    CATALOG_LOG, ["version", "change"], {"version": exp.GT}, order=["version", "ordinal"]
)
_CHANGES_AT = select(CATALOG_LOG, ["ordinal"], by("version"))
_LAST_CHANGE, _LAST_COMMIT = maximum(CATALOG_LOG, "version"), maximum(TRANSACTIONS, "version")
_TOLD = [n for n in JOURNALS.names if n != "changed"]
_CHANGED, _JOURNAL = (
    select(JOURNALS, _TOLD, where) for where in ({"changed": exp.GT}, by("table_id"))
)
_PUT_JOURNAL = upsert(JOURNALS)
_FIRST_STATE = insert(STATE)
PUT_STATE = update(STATE, STATE.names)
_SETTLE = update(STATE, ["settled"], {"settled": exp.LT})
_COMMITS = count(TRANSACTIONS, by("version"))
_ROWS_OF = select(TRANSACTIONS, ["rows_written"], by("version"))
_NAMED = select(TRANSACTIONS, ["rows_written"], by("transaction_id"))
_LATER = select(TRANSACTIONS, (), {"version": exp.GT}, ["version"])
_FIRST_COMMIT = select(TRANSACTIONS, ["version"], order=["version"], limit=1)
_SPANNING = select(
    TRANSACTIONS,
    ["first_version", "version"],
    {"first_version": exp.LTE, "version": exp.GTE},
)


def _state_now() -> RecordStatement:
    query = select(STATE)
    assert isinstance(query.ast, exp.Select)
    return RecordStatement(query.ast.select(stored_format()), (*query.gives, RecordType.TEXT))


STATE_NOW = _state_now()
"""With the format, so that no statement goes on in a catalog that another version has upgraded."""


def state_row(rows: Sequence[Sequence[Any]], what: str) -> StateRow:
    """The state that ``STATE_NOW`` has found in ``what``; raises WAREHOUSE_FORMAT for another
    format."""
    if len(rows) != 1:
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            f"{what} is damaged: its table state must hold one row",
            advice="restore the catalog from a backup",
        )
    *numbers, format_now = rows[0]
    check_format(format_now, what)
    return StateRow(*numbers)


def state_values(row: StateRow) -> list[int]:
    """The values of ``PUT_STATE``."""
    return [row.generation, row.version, row.settled, row.catalog, row.fence]


def create_catalog(session: RecordSession, tables: Iterable[RecordTable]) -> None:
    """Make the records of a new store, in which nothing is committed, with its secret."""
    make_tables(session, tables)
    execute(session, _FIRST_STATE, state_values(StateRow(1, 0, 0, 0)))
    put_format(session)
    make_secret(session)


def put_state(session: RecordSession, row: StateRow) -> None:
    """Replace the state."""
    execute(session, PUT_STATE, state_values(row))


def settle(session: RecordSession, version: Version) -> None:
    """Note that a query of the past up to ``version`` was answered."""
    execute(session, _SETTLE, [version, version])


def load_changes(
    session: RecordSession, after: Version = -1
) -> list[tuple[Version, CatalogChange]]:
    """Catalog changes made after a version, in order."""
    rows = execute(session, _CHANGES, [after])
    return [(version, change_from_json(json.loads(text))) for version, text in rows]


def add_changes(session: RecordSession, changes: Iterable[tuple[Version, CatalogChange]]) -> None:
    """Append catalog changes to the log."""
    for ordinal, (version, change) in enumerate(changes):
        text = json.dumps(change_to_json(change))
        execute(session, insert(CATALOG_LOG), [version, ordinal, text])


def load_journals(session: RecordSession, after: int) -> list[JournalRow]:
    """The journals that changed after a generation of the state."""
    return _journal_rows(execute(session, _CHANGED, [after]))


def load_journal(session: RecordSession, table_id: int) -> JournalRow | None:
    """What is true of one journal."""
    found = execute(session, _JOURNAL, [table_id])
    return _journal_rows(found)[0] if found else None


def _journal_rows(rows: Iterable[Sequence[Any]]) -> list[JournalRow]:
    return [
        JournalRow(i, Manifest.from_json(json.loads(m)), v, RowCounts(o, c, t))
        for i, m, v, o, c, t in rows
    ]


def put_journal(session: RecordSession, row: JournalRow, generation: int) -> None:
    """Say what is true of a journal from a generation of the state on."""
    manifest, counts = json.dumps(row.manifest.to_json()), row.counts
    values = [row.table_id, generation, manifest, row.last_version]
    execute(session, _PUT_JOURNAL, [*values, counts.open, counts.closing, counts.tombstone])


def add_transactions(session: RecordSession, rows: Sequence[TransactionRow]) -> None:
    """Record commits, with the lineage that they bring, and what else belongs to them."""
    execute(session, insert(TRANSACTIONS, len(rows)), [v for row in rows for v in row.values])
    add_lineage(session, rows)
    for row in rows:
        if row.alongside is not None:
            row.alongside(session, row.version)


def record_commit(
    session: RecordSession,
    row: StateRow,
    plan: CommitPlan,
    committed: JournalState,
    tables: Mapping[int, TableState],
    by: tuple[Transaction, Author],
) -> StateRow:
    """Record a commit on top of ``row``: journals, definitions, transaction and state; the state.

    ``tables`` are the journals it has changed, ``by`` is the transaction and who commits.
    """
    is_redefined = plan.catalog is not committed.catalog
    following = replace(
        row,
        generation=row.generation + 1,
        version=plan.version,
        catalog=plan.version if is_redefined else row.catalog,
    )
    _put_states(session, tables, following.generation)
    if is_redefined:
        add_changes(session, plan.changes)
    add_transactions(session, [transaction_row(plan.writes, *by, plan.catalog)])
    put_state(session, following)
    return following


def record_states(
    session: RecordSession,
    row: StateRow,
    tables: Mapping[int, TableState],
    *,
    is_fenced: bool = False,
) -> StateRow:
    """Record on top of ``row`` what is true of some journals, without a commit; the state.

    ``is_fenced``: what may not be written was changed as well.
    """
    following = replace(row, generation=row.generation + 1)
    if is_fenced:
        following = replace(following, fence=following.generation)
    _put_states(session, tables, following.generation)
    put_state(session, following)
    return following


def record_past(
    session: RecordSession,
    row: StateRow,
    version: Version,
    changes: Sequence[tuple[Version, CatalogChange]],
    tables: Mapping[int, TableState],
) -> StateRow:
    """Record on top of ``row`` definitions of any version, up to that of a commit, and journals.

    The state, after which everybody reads anew what may not be written, and, where there are
    changes, every definition; the last change is of ``version``.
    """
    following = replace(row, generation=row.generation + 1, version=version)
    following = replace(following, fence=following.generation)
    if changes:
        assert changes[-1][0] == version, "the log ends with the newest change"
        following = replace(following, catalog=version)
        put_meta(session, PAST, str(version))
    for at, some in groupby(sorted(changes, key=itemgetter(0)), key=itemgetter(0)):
        known = len(execute(session, _CHANGES_AT, [at]))
        for ordinal, (_, change) in enumerate(some, known):
            text = json.dumps(change_to_json(change))
            execute(session, insert(CATALOG_LOG), [at, ordinal, text])
    _put_states(session, tables, following.generation)
    put_state(session, following)
    return following


def _put_states(session: RecordSession, tables: Mapping[int, TableState], generation: int) -> None:
    for table_id, state in tables.items():
        found = JournalRow(table_id, state.manifest, state.last_version, state.head_counts)
        put_journal(session, found, generation)


def commits_after(session: RecordSession, version: Version) -> list[tuple[Any, ...]]:
    """The rows of the transactions that were committed after a version, oldest first."""
    return execute(session, _LATER, [version])


def copy_commits(session: RecordSession, rows: Sequence[Sequence[Any]]) -> None:
    """Record commits of another store that this one has the rows of; those on record stay."""
    known = {row[0] for row in execute(session, _LATER, [min(row[0] for row in rows) - 1])}
    for row in rows:
        if row[0] not in known:
            execute(session, insert(TRANSACTIONS), list(row))


def was_committed(session: RecordSession, version: Version) -> bool:
    """Whether a commit of that version is durable."""
    return execute(session, _COMMITS, [version]) == [(1,)]


def rows_of_commit(session: RecordSession, version: Version) -> int:
    """How many rows the commit of a version has changed."""
    return sum(int(rows or 0) for (rows,) in execute(session, _ROWS_OF, [version]))


def lacks_commit(session: RecordSession, version: Version) -> bool:
    """True if no commit of that version is on record, though an older one is."""
    if was_committed(session, version):
        return False
    return any(oldest < version for (oldest,) in execute(session, _FIRST_COMMIT))


def rows_committed(session: RecordSession, transaction_id: str) -> int | None:
    """How many rows the transaction that a client gave a name has changed; None: none such."""
    found = execute(session, _NAMED, [transaction_id])
    return int(found[0][0] or 0) if found else None


def last_version(session: RecordSession) -> Version:
    """The highest version ever committed; 0 in a new store."""
    found = [execute(session, s)[0][0] for s in (_LAST_CHANGE, _LAST_COMMIT)]
    return max(int(version or 0) for version in found)


def commits_across(session: RecordSession, version: Version) -> list[tuple[Version, Version]]:
    """First and last version of the transactions that were at work at a version."""
    rows = execute(session, _SPANNING, [version, version])
    return [(first, last) for first, last in rows]


def make_secret(session: RecordSession) -> None:
    """Make what the keyed hashes of a store are made with, unless it has one."""
    if get_meta(session, _SECRET) is None:
        put_meta(session, _SECRET, os.urandom(_SECRET_BYTES).hex())


def secret_property(key: str | None) -> str:
    """The property that has a secret: the store's own, or that of another store by its id."""
    return _SECRET if key is None else f"{_SECRET} {key}"


def keep_secret(session: RecordSession, secret: str) -> None:
    """Know the secret of another store by its id; whoever has it already writes nothing."""
    name = secret_property(key_id(secret))
    if get_meta(session, name) is None:
        put_meta(session, name, secret)


def replace_secret(session: RecordSession, secret: str) -> None:
    """Hash with the secret of another store from now on; nothing may depend on one before."""
    put_meta(session, _SECRET, secret)


def read_secret(session: RecordSession, key: str | None = None) -> str:
    """What the keyed hashes of a store are made with, or those of another by the id of its key.

    Raises WAREHOUSE_FORMAT if it is gone.
    """
    found = get_meta(session, secret_property(key))
    if found is None or (key is not None and key_id(found) != key):
        raise PalimpsestError(
            Code.WAREHOUSE_FORMAT,
            "the secret in the catalog's table meta is missing: what was erased cannot be told"
            " from what may be written",
            advice="restore the catalog from a backup",
        )
    return found
