"""Rows of the privacy desk: requests of people, whom they name, batches, policies and exports.

No row holds an identifier in the clear: a keyed hash, and the value encrypted until the request is
done. Thousands of requests come and move on in a few statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, field
from datetime import datetime
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, Query
from journal.model.store_session import RecordSession, StoreSession
from journal.records.record_types import RecordTable, RecordType
from journal.records.schema import (
    PRIVACY_BATCHES,
    PRIVACY_EXPORTS,
    PRIVACY_IDENTITIES,
    PRIVACY_POLICIES,
    PRIVACY_REQUESTS,
)
from journal.records.statements import (
    RecordStatement,
    add_rows,
    by,
    delete,
    execute,
    insert,
    is_among,
    newest,
    parts,
    select,
    update,
)

_ROWS_MAX, _VALUES_MAX = 100, 1000
"""How many rows one statement adds to a database beside the store, and how many it looks for."""
_ARROW = {
    RecordType.TEXT: pa.string(),
    RecordType.INTEGER: pa.int32(),
    RecordType.BIGINT: pa.int64(),
    RecordType.MOMENT: pa.timestamp("us", "UTC"),
}
_MOVED = ["state", "reason", "approved_by", "due_at", "updated_at", "batch", "detail"]
_MOVE = update(PRIVACY_REQUESTS, _MOVED, by("id"))
_MOVE_BATCH = update(PRIVACY_REQUESTS, ["state", "updated_at"], by("batch", "state"))
_ALL = select(PRIVACY_REQUESTS, order=["received_at", "id"])
_BY_STATE = select(PRIVACY_REQUESTS, (), by("state"), ["due_at", "received_at", "id"])
_IDS_BY_STATE = select(PRIVACY_REQUESTS, ["id"], by("state"))
_DUE = select(
    PRIVACY_REQUESTS,
    (),
    {"state": exp.EQ, "due_at": exp.LTE},
    ["due_at", "received_at", "id"],
)
_BY_BATCH = select(PRIVACY_REQUESTS, (), by("batch"), ["due_at", "received_at", "id"])
_BY_KEY = select(PRIVACY_REQUESTS, (), by("idempotency_key"), ["received_at", "id"])
_BY_ID = select(PRIVACY_REQUESTS, (), by("id"))
_IDENTITIES = select(PRIVACY_IDENTITIES, (), by("request"), ["type", "digest"])
_FORGET = update(PRIVACY_IDENTITIES, ["sealed"], by("request"))
_FORGET_BATCH = update(PRIVACY_IDENTITIES, ["sealed"])
_FORGET_BATCH.ast.set(
    "where",
    exp.Where(
        this=exp.In(
            this=exp.column("request"),
            query=exp.Subquery(this=select(PRIVACY_REQUESTS, ["id"], by("batch")).ast),
        )
    ),
)
_ADD_BATCH, _DROP_BATCH = insert(PRIVACY_BATCHES), delete(PRIVACY_BATCHES, by("id"))
_ALL_BATCHES = select(PRIVACY_BATCHES, order=["made_at", "id"])
_ADD_POLICY, _LAST_POLICY = insert(PRIVACY_POLICIES), newest(PRIVACY_POLICIES, "version")
_POLICIES = select(PRIVACY_POLICIES, order=["version"])

_ADD_EXPORT, _DROP_EXPORT = insert(PRIVACY_EXPORTS), delete(PRIVACY_EXPORTS, by("id"))
_EXPORTS = select(PRIVACY_EXPORTS, order=["made_at", "id"])


@dataclass(frozen=True, slots=True)
class PrivacyRequest:
    """One request; ``detail`` holds counts, names of tables and decisions, never an identifier.

    ``batch`` is the batch it is executed in, empty as long as it waits.
    """

    id: str
    submission: str
    external_id: str | None
    idempotency_key: str | None
    regulation: str
    action: str
    state: str
    reason: str | None
    requested_by: str
    approved_by: str | None
    received_at: datetime
    due_at: datetime
    updated_at: datetime
    batch: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealedIdentity:
    """Somebody whom a request names; ``sealed`` is the value encrypted, None once it is gone."""

    request: str
    type: str
    digest: str
    sealed: str | None


@dataclass(frozen=True, slots=True)
class PrivacyBatch:
    """Requests that share a scan; ``step`` is the state that they are in together."""

    id: str
    action: str
    step: str
    requests: int
    made_at: datetime
    updated_at: datetime
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One version of the desk's policy, as JSON."""

    version: int
    definition: str
    user_name: str
    began_at: datetime


@dataclass(frozen=True, slots=True)
class PrivacyExport:
    """A file with what tables hold about whoever a request names; ``host`` has it.

    ``moved_from`` is where it lies as well while it is handed over at ``path``.
    """

    id: str
    request: str
    host: str
    path: str
    digest: str
    rows: int
    bytes: int
    made_by: str
    made_at: datetime
    expires_at: datetime
    removed_at: datetime | None = None
    moved_from: str | None = None

    @property
    def is_there(self) -> bool:
        """False once it was removed."""
        return self.removed_at is None


def put_export(session: RecordSession, export: PrivacyExport) -> None:
    """Store an export as it is now."""
    execute(session, _DROP_EXPORT, [export.id])
    execute(session, _ADD_EXPORT, list(astuple(export)))


def all_exports(session: RecordSession) -> list[PrivacyExport]:
    """Every export, also those that were removed, the oldest first."""
    return [PrivacyExport(*row) for row in execute(session, _EXPORTS)]


def exports_of(session: RecordSession, requests: Sequence[str]) -> list[PrivacyExport]:
    """The exports of some requests, also those that were removed."""
    found: list[PrivacyExport] = []
    for some in parts(requests, _VALUES_MAX):
        chosen = _chosen(PRIVACY_EXPORTS, is_among("request", len(some)))
        found += [PrivacyExport(*row) for row in execute(session, chosen, some)]
    return found


def add_requests(session: StoreSession, requests: Sequence[PrivacyRequest]) -> None:
    """Add requests, in the session's transaction."""
    _add_all(session, PRIVACY_REQUESTS, [_values(r) for r in requests])


def add_identities(session: StoreSession, found: Sequence[SealedIdentity]) -> None:
    """Add whom requests name."""
    _add_all(session, PRIVACY_IDENTITIES, [(i.request, i.type, i.digest, i.sealed) for i in found])


def put_request(session: RecordSession, request: PrivacyRequest) -> None:
    """Store a request as it is now."""
    values = [
        *(request.state, request.reason, request.approved_by, request.due_at, request.updated_at),
        *(request.batch, json.dumps(request.detail, sort_keys=True), request.id),
    ]
    execute(session, _MOVE, values)


def move_batch(
    session: RecordSession, batch: str, state: str, following: str, at: datetime
) -> None:
    """Give all requests of a batch that are in a state another one."""
    execute(session, _MOVE_BATCH, [following, at, batch, state])


def join_batch(
    session: RecordSession, ids: Sequence[str], batch: str, state: str, at: datetime
) -> None:
    """Put requests into a batch, in the state that it is in."""
    for some in parts(ids, _VALUES_MAX):
        changed = update(PRIVACY_REQUESTS, ["batch", "state", "updated_at"])
        changed.ast.set("where", exp.Where(this=is_among("id", len(some))))
        execute(session, changed, [batch, state, at, *some])


def all_requests(session: RecordSession) -> list[PrivacyRequest]:
    """Every request, in the order in which they came."""
    return [_request(row) for row in execute(session, _ALL)]


def requests_with(session: RecordSession, name: str) -> list[PrivacyRequest]:
    """The requests whose detail has something of a name."""
    has = exp.Like(this=exp.column("detail"), expression=exp.Literal.string(f'%"{name}": %'))
    found = execute(session, _chosen(PRIVACY_REQUESTS, has))
    return [r for r in map(_request, found) if name in r.detail]


def requests_in(session: RecordSession, state: str) -> list[PrivacyRequest]:
    """The requests in a state, those first that are due first."""
    return [_request(row) for row in execute(session, _BY_STATE, [state])]


def ids_in(session: RecordSession, state: str) -> set[str]:
    """The ids of the requests in a state."""
    return {row[0] for row in execute(session, _IDS_BY_STATE, [state])}


def requests_due(session: RecordSession, state: str, until: datetime) -> list[PrivacyRequest]:
    """The requests in a state that are to be answered until a time."""
    return [_request(row) for row in execute(session, _DUE, [state, until])]


def requests_of(session: RecordSession, batch: str) -> list[PrivacyRequest]:
    """The requests of a batch."""
    return [_request(row) for row in execute(session, _BY_BATCH, [batch])]


def request_by_id(session: RecordSession, request_id: str) -> PrivacyRequest | None:
    """The request of an id."""
    rows = execute(session, _BY_ID, [request_id])
    return _request(rows[0]) if rows else None


def requests_by_key(session: RecordSession, idempotency_key: str) -> list[PrivacyRequest]:
    """The requests that were submitted under a key."""
    return [_request(row) for row in execute(session, _BY_KEY, [idempotency_key])]


def requests_called(session: RecordSession, names: Sequence[str]) -> list[PrivacyRequest]:
    """The requests of some external ids, in the order in which they came."""
    return _requests_among(session, "external_id", names)


def requests_by_ids(session: RecordSession, ids: Sequence[str]) -> list[PrivacyRequest]:
    """The requests of some ids, in the order in which they came."""
    return _requests_among(session, "id", ids)


def _requests_among(
    session: RecordSession, column: str, values: Sequence[str]
) -> list[PrivacyRequest]:
    found: list[PrivacyRequest] = []
    for some in parts(values, _VALUES_MAX):
        chosen = _chosen(PRIVACY_REQUESTS, is_among(column, len(some)))
        found += map(_request, execute(session, chosen, some))
    return sorted(found, key=lambda r: (r.received_at, r.id))


def identities_of(session: RecordSession, requests: Sequence[str]) -> list[SealedIdentity]:
    """Whom requests name."""
    if len(requests) == 1:
        return [SealedIdentity(*row) for row in execute(session, _IDENTITIES, requests)]
    found: list[SealedIdentity] = []
    for some in parts(requests, _VALUES_MAX):
        chosen = _chosen(PRIVACY_IDENTITIES, is_among("request", len(some)))
        found += [SealedIdentity(*row) for row in execute(session, chosen, some)]
    return found


def requests_naming(session: RecordSession, digests: Sequence[str]) -> list[SealedIdentity]:
    """What requests name somebody with one of these digests."""
    found: list[SealedIdentity] = []
    for some in parts(digests, _VALUES_MAX):
        chosen = _chosen(PRIVACY_IDENTITIES, is_among("digest", len(some)))
        found += [SealedIdentity(*row) for row in execute(session, chosen, some)]
    return found


def forget_identities(session: RecordSession, requests: Sequence[str]) -> None:
    """Destroy the encrypted values of requests; their digests stay."""
    if len(requests) == 1:
        execute(session, _FORGET, [None, *requests])
        return
    for some in parts(requests, _VALUES_MAX):
        changed = update(PRIVACY_IDENTITIES, ["sealed"])
        changed.ast.set("where", exp.Where(this=is_among("request", len(some))))
        execute(session, changed, [None, *some])


def forget_batch(session: RecordSession, batch: str) -> None:
    """Destroy the encrypted values of all requests of a batch; their digests stay."""
    execute(session, _FORGET_BATCH, [None, batch])


def put_batch(session: RecordSession, batch: PrivacyBatch) -> None:
    """Store a batch as it is now."""
    values = [batch.id, batch.action, batch.step, batch.requests, batch.made_at, batch.updated_at]
    execute(session, _DROP_BATCH, [batch.id])
    execute(session, _ADD_BATCH, [*values, json.dumps(batch.detail, sort_keys=True)])


def all_batches(session: RecordSession) -> list[PrivacyBatch]:
    """Every batch, the oldest first."""
    rows = execute(session, _ALL_BATCHES)
    return [PrivacyBatch(*(*row[:6], json.loads(row[6]))) for row in rows]


def add_policy(session: RecordSession, row: PolicyRow) -> None:
    """Add a version of the policy; from then on it counts."""
    execute(session, _ADD_POLICY, [row.version, row.definition, row.user_name, row.began_at])


def last_policy(session: RecordSession) -> PolicyRow | None:
    """The policy that counts."""
    rows = execute(session, _LAST_POLICY)
    return PolicyRow(*rows[0]) if rows else None


def all_policies(session: RecordSession) -> list[PolicyRow]:
    """Every version of the policy, the oldest first."""
    return [PolicyRow(*row) for row in execute(session, _POLICIES)]


def _values(request: PrivacyRequest) -> tuple[Any, ...]:
    r = request
    return (
        *(r.id, r.submission, r.external_id, r.idempotency_key, r.regulation, r.action, r.state),
        *(r.reason, r.requested_by, r.approved_by, r.received_at, r.due_at, r.updated_at, r.batch),
        json.dumps(r.detail, sort_keys=True),
    )


def _request(row: tuple[Any, ...]) -> PrivacyRequest:
    return PrivacyRequest(*(*row[:14], json.loads(row[14])))


def _add_all(session: StoreSession, table: RecordTable, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add many rows at once: as a relation where the store has the records itself."""
    if session.dialect.is_beside or len(rows) < _ROWS_MAX:
        for some in parts(rows, _ROWS_MAX):
            execute(session, insert(table, len(some)), [v for row in some for v in row])
        return
    name = f"{table.name}_new"
    columns = {
        c.name: pa.array([row[i] for row in rows], _ARROW[c.type])
        for i, c in enumerate(table.columns)
    }
    session.show_arrow(name, pa.table(columns))
    shown = exp.select(*[exp.column(c, quoted=True) for c in table.names]).from_(name)
    session.execute(Query.of(add_rows(table, shown)), {})
    session.hide(name)


def _chosen(table: RecordTable, condition: exp.Expr) -> RecordStatement:
    names: Iterable[exp.Expr] = [exp.column(n) for n in table.names]
    query = exp.select(*names).from_(exp.table_(table.name, db=STORE_SCHEMA)).where(condition)
    return RecordStatement(query, tuple(map(table.type_of, table.names)))
