"""Rows of erasures in the catalog: requests, the suppression list and the audit log.

Constant SQL over schema ``_palimpsest``, the same in every store that has one, run inside a given
transaction. None of these rows holds an identifier or a key of an erased row: only counts, names of
tables, and keyed hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from journal.model.store_session import StoreSession
from journal.model.version import Version

_TABLES = (
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.erasures (id VARCHAR, state VARCHAR,"
        " accepted BIGINT, updated BIGINT, detail VARCHAR)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.suppressions (kind VARCHAR, table_id BIGINT,"
        " hash VARCHAR, request VARCHAR, since BIGINT, expires BIGINT)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS _palimpsest.audit (seq BIGINT, happened BIGINT, actor VARCHAR,"
        " action VARCHAR, object VARCHAR, detail VARCHAR, previous VARCHAR, hash VARCHAR)"
    ),
)


def ensure(session: StoreSession, kind: str = "") -> None:
    """Make the tables in a warehouse that has none yet; ``kind`` is what its SQL ends with."""
    for statement in _TABLES:
        session.text(statement + kind)


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """A request as it is stored."""

    id: str
    state: str
    accepted: Version
    updated: Version
    detail: dict[str, Any]


def put_erasure(session: StoreSession, row: ErasureRow) -> None:
    """Store a request in its present state."""
    session.text("DELETE FROM _palimpsest.erasures WHERE id = ?", [row.id])
    session.text(
        "INSERT INTO _palimpsest.erasures VALUES (?, ?, ?, ?, ?)",
        [row.id, row.state, row.accepted, row.updated, json.dumps(row.detail)],
    )


def load_erasures(session: StoreSession) -> list[ErasureRow]:
    """Every request, oldest first."""
    rows = session.text(
        "SELECT id, state, accepted, updated, detail FROM _palimpsest.erasures"
        " ORDER BY accepted, id"
    )
    return [ErasureRow(r[0], r[1], r[2], r[3], json.loads(r[4])) for r in rows]


def load_fences(session: StoreSession) -> list[tuple[str, int | None]]:
    """Kinds and tables for which anything is suppressed, or was until it expired."""
    rows = session.text("SELECT DISTINCT kind, table_id FROM _palimpsest.suppressions")
    return [(kind, table_id) for kind, table_id in rows]


def newest_fence(session: StoreSession) -> Version:
    """When the last entry was made; 0 if there is none."""
    rows = session.text("SELECT coalesce(max(since), 0) FROM _palimpsest.suppressions")
    return int(rows[0][0])


def drop_suppressions(session: StoreSession, request: str) -> int:
    """Let whatever a request suppressed be written again; how many entries it had."""
    (counted,) = session.text(
        "SELECT count(*) FROM _palimpsest.suppressions WHERE request = ?", [request]
    )
    session.text("DELETE FROM _palimpsest.suppressions WHERE request = ?", [request])
    return int(counted[0])


def drop_keys(session: StoreSession, request: str) -> None:
    """Forget which keys a request suppresses, and which it spares; its identifiers stay."""
    session.text(
        "DELETE FROM _palimpsest.suppressions WHERE request = ? AND kind IN ('key', 'spared')",
        [request],
    )


def drop_hashes(session: StoreSession, hashes: Iterable[str]) -> int:
    """Let values of these hashes be written again; how many entries there were."""
    dropped = 0
    for value in hashes:
        (counted,) = session.text(
            "SELECT count(*) FROM _palimpsest.suppressions WHERE hash = ?", [value]
        )
        session.text("DELETE FROM _palimpsest.suppressions WHERE hash = ?", [value])
        dropped += int(counted[0])
    return dropped


def drop_expired(session: StoreSession, now: Version) -> None:
    """Forget entries whose time is over."""
    session.text("DELETE FROM _palimpsest.suppressions WHERE expires <= ?", [now])


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


def load_audit(session: StoreSession) -> list[AuditRow]:
    """The whole log, oldest first."""
    rows = session.text(
        "SELECT seq, happened, actor, action, object, detail, previous, hash FROM _palimpsest.audit"
        " ORDER BY seq"
    )
    return [AuditRow(*row) for row in rows]


def last_audit(session: StoreSession) -> AuditRow | None:
    """The newest entry."""
    rows = session.text(
        "SELECT seq, happened, actor, action, object, detail, previous, hash FROM _palimpsest.audit"
        " ORDER BY seq DESC LIMIT 1"
    )
    return AuditRow(*rows[0]) if rows else None


def add_audit(session: StoreSession, row: AuditRow) -> None:
    """Append an entry."""
    session.text(
        "INSERT INTO _palimpsest.audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [row.seq, row.at, row.actor, row.action, row.object, row.detail, row.previous, row.hash],
    )
