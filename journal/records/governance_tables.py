"""Tables of records for entities, events, notifications and safe mode."""

from __future__ import annotations

from journal.records.record_types import RecordTable, columns

EVENTS = RecordTable(
    "events",
    columns(
        "seq bigint, happened_at moment, name text, status text, entity_kind text, entity text, "
        "nominal_time moment, user_name text, duration_us bigint, data text"
    ),
    ("seq",),
    since=15,
)
"""The newest events of entities, instances and erasures; ``data`` is JSON without identifiers."""
EVENT_COUNTS = RecordTable(
    "event_counts",
    columns("name text, status text, events bigint, duration_us bigint"),
    ("name", "status"),
    since=15,
)
"""How many events of each name there were, and how long they took, also those that are gone."""
SAFE_MODE = RecordTable(
    "safe_mode",
    columns("seq bigint, is_on boolean, changed_at moment, user_name text, reason text"),
    ("seq",),
    since=15,
    append_only=True,
)
"""Each time that safe mode began or ended; the newest row counts."""
IDEMPOTENCY = RecordTable(
    "idempotency",
    columns(
        "caller text, request_key text, digest text, began_at moment, status integer, "
        "kind text, answer text"
    ),
    ("caller", "request_key"),
    since=15,
)
"""Requests over HTTP that name a key, with their answers: a repeat gets the same answer.

``status`` is NULL while the first runs.
"""
NOTIFICATIONS = RecordTable(
    "notifications",
    columns("channel text, seq bigint, owner text, claimed_until moment, changed_at moment"),
    ("channel",),
    since=15,
)
"""Up to which event each channel was told, and who is telling it now, until when.

A channel is named by a digest of its URL, which may hold a password.
"""
SERVICE_LEVELS = RecordTable(
    "service_levels",
    columns(
        "kind text, entity text, nominal_time moment, mark text, due_at moment, "
        "missed_at moment, met_at moment"
    ),
    ("kind", "entity", "nominal_time", "mark"),
    since=15,
)
"""Marks that passed without what should have been there; ``met_at`` is when it came."""
OPERATIONS = RecordTable(
    "operations",
    columns(
        "id text, name text, state text, user_name text, began_at moment, changed_at moment, "
        "undo text, error text"
    ),
    ("id",),
    since=15,
)
"""Operations of several transactions, with what undoes each of them, as JSON.

``state`` is RUNNING, DONE, UNDONE or UNDO_FAILED; the newest of those that ended are kept.
"""
INSTANCE_FENCES = RecordTable(
    "instance_fences",
    columns(
        "control text, instance text, fence bigint required 17, run integer required 17, "
        "state text, version bigint, detail text, changed_at moment"
    ),
    ("control", "instance"),
    since=17,
)
"""Which attempt of an instance of another store's scheduler may commit here, or has committed.

``control`` is the id of that store; ``state`` is OPEN, CLOSED or COMMITTED, ``version`` that of
the commit, ``detail`` what the other store records of it, as JSON. A row goes when it has.
"""
