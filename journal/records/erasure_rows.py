"""Rows of erasures: requests, the suppression list and the audit log, alike in every store.

None of these rows holds an identifier or a key of an erased row: only counts, names of tables, and
keyed hashes. The audit log only grows: an entry is one INSERT.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.store_session import Parameters, RecordSession, StoreSession
from journal.model.version import Version
from journal.records.schema import AUDIT, ERASURES, SUPPRESSIONS
from journal.records.statements import (
    RecordStatement,
    Where,
    add_rows,
    by,
    count,
    delete,
    execute,
    insert,
    maximum,
    newest,
    select,
)

CHANGED = "changed"
"""The kind of entries that suppress nothing: columns of a table were changed in its past."""
_ROWS_MAX = 100
"""How many rows one statement adds to a database beside the store."""
_REMOVE_ERASURE = delete(ERASURES, by("id"))
_ERASURES = select(ERASURES, order=["accepted", "id"])
_SUPPRESSIONS = select(SUPPRESSIONS, order=["since", "hash"])
_KINDS = select(SUPPRESSIONS, ["kind", "table_id"], distinct=True)
_NEWEST = maximum(SUPPRESSIONS, "since")
_BY_REQUEST, _BY_HASH = by("request"), by("hash")
_OF_REQUEST, _DROP_REQUEST = count(SUPPRESSIONS, _BY_REQUEST), delete(SUPPRESSIONS, _BY_REQUEST)
_OF_HASH, _DROP_HASH = count(SUPPRESSIONS, _BY_HASH), delete(SUPPRESSIONS, _BY_HASH)
_REQUESTS_OF_HASH = select(SUPPRESSIONS, ["request"], _BY_HASH, distinct=True)
_HASHES = select(SUPPRESSIONS, ["hash"], by("request", "kind"))
_DROP_KIND = delete(SUPPRESSIONS, by("request", "kind"))
_DROP_TABLE_KIND = delete(SUPPRESSIONS, by("request", "kind", "table_id"))
_BY_EXPIRED: Where = {"expires": exp.LTE}
_OF_EXPIRED, _DROP_EXPIRED = count(SUPPRESSIONS, _BY_EXPIRED), delete(SUPPRESSIONS, _BY_EXPIRED)
_ENTRY_BY_HASH = select(AUDIT, ["seq"], by("hash"))
_AUDIT, _LAST_ENTRY = select(AUDIT, order=["seq"]), newest(AUDIT, "seq")


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """A request as it is stored."""

    id: str
    state: str
    accepted: Version
    updated: Version
    detail: dict[str, Any]


def put_erasure(session: RecordSession, row: ErasureRow) -> None:
    """Store a request in its present state."""
    execute(session, _REMOVE_ERASURE, [row.id])
    values = [row.id, row.state, row.accepted, row.updated, json.dumps(row.detail)]
    execute(session, insert(ERASURES), values)


def load_erasures(session: RecordSession) -> list[ErasureRow]:
    """Every request, oldest first."""
    rows = execute(session, _ERASURES)
    return [ErasureRow(r[0], r[1], r[2], r[3], json.loads(r[4])) for r in rows]


def add_suppressions(session: StoreSession, rows: exp.Query, parameters: Parameters) -> None:
    """Add entries to the suppression list: rows of a query of the store, columns in order."""
    if not session.dialect.is_beside:
        session.execute(Query.of(add_rows(SUPPRESSIONS, rows)), parameters)
        return
    found = session.arrow_rows(session.arrow(Query.of(rows), parameters))
    for start in range(0, len(found), _ROWS_MAX):
        some = found[start : start + _ROWS_MAX]
        execute(session, insert(SUPPRESSIONS, len(some)), [v for row in some for v in row])


def load_suppressions(session: RecordSession) -> list[tuple[Any, ...]]:
    """The whole list, as rows."""
    return execute(session, _SUPPRESSIONS)


def copy_suppressions(session: RecordSession, rows: Sequence[Sequence[Any]]) -> None:
    """Add entries as they are."""
    for start in range(0, len(rows), _ROWS_MAX):
        some = rows[start : start + _ROWS_MAX]
        execute(session, insert(SUPPRESSIONS, len(some)), [v for row in some for v in row])


def load_fences(session: RecordSession) -> list[tuple[str, int | None]]:
    """Kinds and tables for which anything is suppressed, or was until it expired."""
    return [(kind, table_id) for kind, table_id in execute(session, _KINDS)]


def newest_fence(session: RecordSession) -> Version:
    """When the last entry was made; 0 if there is none."""
    return int(execute(session, _NEWEST)[0][0] or 0)


def suppressed_hashes(session: RecordSession, request: str, kind: str) -> set[str]:
    """What a request suppresses of a kind, as hashes."""
    return {row[0] for row in execute(session, _HASHES, [request, kind])}


def requests_of(session: RecordSession, hashes: Iterable[str]) -> set[str]:
    """The requests that suppress values of these hashes."""
    return {row[0] for value in hashes for row in execute(session, _REQUESTS_OF_HASH, [value])}


def drop_suppressions(session: RecordSession, request: str) -> int:
    """Let whatever a request suppressed be written again; how many entries it had."""
    (counted,) = execute(session, _OF_REQUEST, [request])
    execute(session, _DROP_REQUEST, [request])
    return int(counted[0])


def drop_keys(session: RecordSession, request: str) -> None:
    """Forget which keys a request suppresses, and which it spares; its identifiers stay."""
    for kind in ("key", "spared"):
        execute(session, _DROP_KIND, [request, kind])


def drop_table_keys(session: RecordSession, request: str, table_id: int) -> None:
    """Forget which keys of a table a request suppresses, and which it spares."""
    for kind in ("key", "spared"):
        execute(session, _DROP_TABLE_KIND, [request, kind, table_id])


def add_changed(session: RecordSession, table_id: int, request: str, since: Version) -> None:
    """Note that rows of a table were changed in the past, from when on nobody may rely on them."""
    execute(session, insert(SUPPRESSIONS), [CHANGED, table_id, "", request, since, None])


def drop_hashes(session: RecordSession, hashes: Iterable[str]) -> int:
    """Let values of these hashes be written again; how many entries there were."""
    dropped = 0
    for value in hashes:
        (counted,) = execute(session, _OF_HASH, [value])
        execute(session, _DROP_HASH, [value])
        dropped += int(counted[0])
    return dropped


def drop_expired(session: RecordSession, now: Version) -> int:
    """Forget entries whose time is over; how many there were."""
    (counted,) = execute(session, _OF_EXPIRED, [now])
    if counted[0]:
        execute(session, _DROP_EXPIRED, [now])
    return int(counted[0])


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One entry of the audit log; ``hash`` is over all the rest."""

    seq: int
    at: Version
    actor: str
    action: str
    object: str
    detail: str
    previous: str
    hash: str


def load_audit(session: RecordSession) -> list[AuditRow]:
    """The whole log, oldest first."""
    return [AuditRow(*row) for row in execute(session, _AUDIT)]


def audit_page(session: RecordSession, after: int, most: int) -> list[AuditRow]:
    """At most so many entries behind a number, the oldest first."""
    return [AuditRow(*row) for row in execute(session, _audit_page(most), [after])]


@lru_cache(maxsize=64)
def _audit_page(most: int) -> RecordStatement:
    return select(AUDIT, (), {"seq": exp.GT}, ["seq"], limit=most)


def last_audit(session: RecordSession) -> AuditRow | None:
    """The newest entry."""
    rows = execute(session, _LAST_ENTRY)
    return AuditRow(*rows[0]) if rows else None


def has_entry(session: RecordSession, digest: str) -> bool:
    """True if an entry has this hash."""
    return bool(execute(session, _ENTRY_BY_HASH, [digest]))


def add_audit(session: RecordSession, row: AuditRow) -> None:
    """Append an entry."""
    execute(session, insert(AUDIT), astuple(row))
