"""The schema of the records, declared once: every table that a store keeps besides journal rows.

A warehouse and a PostgreSQL database have them in schema ``_palimpsest``, a Hive store in the
database beside it, as ``palimpsest_<name>``. Each table and column names the format that brought it
(``since``): opening a store of an older format adds exactly what came later. Values; no SQL.
"""

from __future__ import annotations

from journal.records.governance_tables import (
    EVENT_COUNTS,
    EVENTS,
    IDEMPOTENCY,
    INSTANCE_FENCES,
    NOTIFICATIONS,
    OPERATIONS,
    SAFE_MODE,
    SERVICE_LEVELS,
)
from journal.records.record_types import RecordTable, columns

FORMAT = 23
"""The format this version reads and writes. Databases had 1 to 7, the other stores 1, before it."""
_ERASURES = 3
"""The format that brought jobs which replace pieces, and erasures."""

META = RecordTable("meta", columns("key text, value text"), ("key",))
"""Properties of the store: its id, its format, and outside of warehouses its secrets."""
STATE = RecordTable(
    "state",
    columns(
        "generation bigint required, version bigint required, settled bigint required, "
        "catalog bigint required, fence bigint required 3"
    ),
)
"""One row that every commit replaces: who reads it knows at once whether anything has changed."""
CATALOG_LOG = RecordTable(
    "catalog_log",
    columns("version bigint, ordinal integer, change text"),
    ("version", "ordinal"),
    append_only=True,
)
"""Every change of definitions, as JSON."""
JOURNALS = RecordTable(
    "journals",
    columns(
        "table_id bigint, changed bigint required, manifest text required, last_version "
        "bigint required, open_rows bigint required 8, closing_rows bigint required 8, "
        "tombstones bigint required 8"
    ),
    ("table_id",),
    indexed=("changed",),
)
"""What is true of each journal, in stores that several gateways write; rows are those of heads."""
MANIFESTS = RecordTable("manifests", columns("table_id bigint, generation bigint, manifest text"))
"""The live manifest of each journal of a warehouse."""
COUNTERS = RecordTable(
    "counters",
    columns("table_id bigint, column_name text, value numeric"),
    ("table_id", "column_name"),
)
"""The next value of each generated number; in a warehouse the highest row counts."""
TRANSACTIONS = RecordTable(
    "transactions",
    columns(
        "version bigint, first_version bigint, committed_at moment 8, user_name text, "
        "application text, statements integer, statement_digest text, message text, "
        "tables texts, rows_written bigint, transaction_id text 9"
    ),
    ("version",),
    append_only=True,
)
"""One row for each commit.

``transaction_id`` is the name that a client gave the transaction, so that it can find out what
became of it after it lost the process that ran it.
"""
RETIRED = RecordTable(
    "retired",
    columns(
        "id text, table_id bigint, segment text 8, generation bigint 8, since bigint, "
        "until bigint, bytes bigint 8, job_id text, job_kind text 8, reason text 8, "
        "replaced_by bigint 8"
    ),
    ("id",),
    since=_ERASURES,
)
"""Pieces that no manifest lists any more, until when they stay, and which job replaced them.

``segment`` is the piece as JSON where its files are the warehouse's own, ``generation`` the last
one that listed it, ``replaced_by`` the number of the server's transaction that replaced it.
"""
EPOCHS = RecordTable(
    "epochs",
    columns("table_id bigint, epoch bigint, began_at moment, erased boolean required"),
    ("table_id", "epoch"),
    since=_ERASURES,
)
"""When pieces of a journal were replaced, and whether rows were erased, in a database."""
HOLDS = RecordTable(
    "holds",
    columns(
        "id text, scope text, table_id bigint, predicate text, subject_column text, "
        "subject_value text, reason text, placed_by text, placed_at moment, released_by "
        "text, released_at moment"
    ),
    ("id",),
    since=2,
)
"""Legal holds; what one named is forgotten when it is released."""
JOBS = RecordTable(
    "jobs",
    columns(
        "id text, kind text, table_id bigint, table_name text, state text, attempt "
        "integer, dry_run boolean, cause text, user_name text, options text, started_at "
        "moment, ended_at moment, rows_read bigint, rows_written bigint, rows_removed "
        "bigint, bytes_read bigint, bytes_written bigint, bytes_removed bigint, "
        "error_code text, error text, report text, log texts"
    ),
    ("id",),
    since=2,
    indexed=("state",),
)
"""Runs of jobs; a run's row is written again when it ends."""
BACKUPS = RecordTable(
    "backups",
    columns(
        "name text, kind text, table_id bigint, table_name text, version bigint, rows "
        "bigint, bytes bigint, segments text, made_by text, made_at moment, expires_at "
        "moment"
    ),
    ("table_id", "name"),
    since=2,
)
"""Backups, as lists of segments."""
REJECT_FILES = RecordTable(
    "reject_files",
    columns(
        "id text, table_id bigint, table_name text, source text, host text, path text, rows "
        "bigint, made_by text, made_at moment, expires_at moment"
    ),
    ("id",),
    since=12,
)
"""Files with rows of bulk loads that no column could take, so that erasures find them."""
ERASURES = RecordTable(
    "erasures",
    columns("id text, state text, accepted bigint, updated bigint, detail text"),
    ("id",),
    since=_ERASURES,
)
"""Requests to erase, with their receipts as JSON."""
SUPPRESSIONS = RecordTable(
    "suppressions",
    columns("kind text, table_id bigint, hash text, request text, since bigint, expires bigint"),
    since=_ERASURES,
    indexed=("hash",),
)
"""Keyed hashes of what may not be written again."""
AUDIT = RecordTable(
    "audit",
    columns(
        "seq bigint, happened bigint, actor text, action text, object text, detail text, "
        "previous text, hash text"
    ),
    ("seq",),
    since=_ERASURES,
    append_only=True,
)
"""Who asked for what, each entry chained to the one before."""
LOGINS = RecordTable(
    "logins",
    columns(
        "seq bigint, first_at moment, last_at moment, user_name text, address text, "
        "front_end text, outcome text, detail text, attempts bigint"
    ),
    ("seq",),
    since=12,
    indexed=("outcome",),
)
"""The newest logins and refusals of servers, like ones of a few seconds as one row."""
CLAIMS = RecordTable(
    "claims", columns("version bigint, table_id bigint, claims text"), ("version", "table_id")
)
"""Which keys recent commits of a Hive store have written, as JSON."""
LEASES = RecordTable(
    "leases",
    columns("name text, holder text, token bigint required, expires_us bigint required"),
    ("name",),
)
"""Who may write a table of a Hive store now, under which fencing token, until when."""
SHOWN = RecordTable("shown", columns("name text, stands_for text required"), ("name",))
"""What the views in the metastore of a Hive store stand for."""
INLINED_ROWS = RecordTable(
    "inlined_rows",
    columns("table_id bigint, version bigint, rows text"),
    ("table_id", "version"),
    since=16,
)
"""Rows of small commits to a Hive store, by the version of the commit, until a flush."""
LINEAGE_STATEMENTS = RecordTable(
    "lineage_statements",
    columns(
        "id text, digest text, tag text, statement text, user_name text, application text, "
        "first_version bigint, last_seen moment, runs bigint required 13"
    ),
    ("id",),
    since=13,
)
"""Statements that made edges of lineage, each once however often it runs, without its values.

``digest`` is what statements of one text have in common; of one text there are several where names
meant other tables. ``runs`` and ``last_seen`` are noted about once a minute.
"""
LINEAGE = RecordTable(
    "lineage",
    columns(
        "statement text, target text, target_column text, source text, source_column text, "
        "kind text, subtype text, masking boolean, unknown text, since bigint required 13, "
        "until bigint required 13"
    ),
    since=13,
    indexed=("statement", "target", "source"),
)
"""Edges from columns to columns, each once for a statement; see ``NodeEdge``.

``since`` is the version that brought it, ``until`` the one that gave its view another query or
dropped it; 0 while none has. Whether the tables are still there, the catalog says.
"""
USAGE = RecordTable(
    "usage",
    columns(
        "day text, node text, column_name text, reads bigint required 13, "
        "writes bigint required 13, last_read moment, last_written moment"
    ),
    ("day", "node", "column_name"),
    since=13,
)
"""How many statements read and wrote a column on a day of UTC; an empty column is the table."""
ENTITIES = RecordTable(
    "entities",
    columns(
        "kind text, name text, version integer required 14, definition text, user_name text, "
        "began_at moment, ended_at moment"
    ),
    ("kind", "name", "version"),
    since=14,
)
"""Every version of each declared profile, dataset and process, as JSON.

The one without ``ended_at`` counts; an entity that was deleted has none.
"""
REPLICAS = RecordTable(
    "replicas",
    columns(
        "table_id bigint, role text, place text, table_name text, profile text, state text, "
        "other_store text, other_table bigint, version bigint required, read_at moment, "
        "read_version bigint required, job_id text, started_at moment, ended_at moment, "
        "milliseconds bigint, files bigint, rows bigint, bytes bigint, error text, detail text"
    ),
    ("table_id", "role", "place"),
    since=15,
)
"""Replicas, at both ends: the last ``version`` that one has, and when its source was read."""

ENTITY_SCHEDULES = RecordTable(
    "entity_schedules",
    columns("kind text, name text, state text, next_at moment, changed_at moment, user_name text"),
    ("kind", "name"),
    since=15,
)
"""Which datasets and processes are scheduled or suspended; those without a row are submitted."""
INSTANCES = RecordTable(
    "instances",
    columns(
        "id text, kind text, entity text, nominal moment, life_cycle text, state text, "
        "version integer, runs integer required 15, tries integer required 15, "
        "fence bigint required 15, owner text, missing texts, consumed text, produced text, "
        "created_at moment, waiting_since moment, not_before moment, started_at moment, "
        "deadline moment, ended_at moment, check_at moment, checks integer required 15, "
        "user_name text, forced boolean, error_code text, error text, profile text 17, "
        "unsettled boolean 17"
    ),
    ("id",),
    since=15,
    indexed=("entity", "state", "check_at", "nominal"),
)
"""One row for each entity, nominal time and life cycle that was asked for by then.

``runs`` counts how often it began anew, ``tries`` its attempts since, ``fence`` all of them.
``profile`` is where it runs, NULL in this store; ``unsettled``: what its attempts there have
committed is not known here yet.
"""
INSTANCE_DATA = RecordTable(
    "instance_data",
    columns("instance text, use text, dataset text, first_at moment, last_at moment"),
    since=15,
    indexed=("instance", "dataset"),
)
"""Which instances of datasets an instance reads (``input``) and fills (``output``)."""
ATTEMPTS = RecordTable(
    "attempts",
    columns(
        "instance text, n bigint required 15, run integer, step text, state text, owner text, "
        "started_at moment, ended_at moment, error_code text, error text, log texts, metrics text"
    ),
    ("instance", "n"),
    since=15,
    indexed=("state",),
)
"""One row for each time that an instance was begun; ``n`` is the fence it had."""
SCHEDULER_LEASES = RecordTable(
    "scheduler_leases",
    columns("name text, owner text, fence bigint required 15, taken_at moment"),
    ("name",),
    since=15,
)
"""Who ran the scheduler last; what an earlier one has begun to record is refused."""
PRIVACY_REQUESTS = RecordTable(
    "privacy_requests",
    columns(
        "id text, submission text, external_id text, idempotency_key text, regulation text, "
        "action text, state text, reason text, requested_by text, approved_by text, "
        "received_at moment, due_at moment, updated_at moment, batch text, detail text"
    ),
    ("id",),
    since=15,
    indexed=("state", "batch"),
)
"""Requests of people, as a privacy desk follows them; ``detail`` is JSON, and names nobody."""
PRIVACY_IDENTITIES = RecordTable(
    "privacy_identities",
    columns("request text, type text, digest text, sealed text"),
    since=15,
    indexed=("request", "digest"),
)
"""Whom requests name: a keyed hash each, and the value encrypted for as long as it is needed."""
PRIVACY_BATCHES = RecordTable(
    "privacy_batches",
    columns(
        "id text, action text, step text, requests integer required 15, made_at moment, "
        "updated_at moment, detail text"
    ),
    ("id",),
    since=15,
)
"""Requests that share a scan: how far they are, and what was found and removed, as JSON."""
PRIVACY_POLICIES = RecordTable(
    "privacy_policies",
    columns("version integer required 15, definition text, user_name text, began_at moment"),
    ("version",),
    since=15,
    append_only=True,
)
"""Each policy that the privacy desk had, as JSON; the newest counts."""
PRIVACY_EXPORTS = RecordTable(
    "privacy_exports",
    columns(
        "id text, request text, host text, path text, digest text, rows bigint, bytes bigint, "
        "made_by text, made_at moment, expires_at moment, removed_at moment, moved_from text"
    ),
    ("id",),
    since=15,
    indexed=("request",),
)
"""Files with what tables hold about somebody, so that they expire and erasures reach them."""

_EVERYWHERE = (
    META,
    CATALOG_LOG,
    COUNTERS,
    TRANSACTIONS,
    RETIRED,
    HOLDS,
    JOBS,
    BACKUPS,
    REJECT_FILES,
    ERASURES,
    SUPPRESSIONS,
    AUDIT,
    LOGINS,
    LINEAGE_STATEMENTS,
    LINEAGE,
    USAGE,
    ENTITIES,
    EVENTS,
    EVENT_COUNTS,
    SAFE_MODE,
    ENTITY_SCHEDULES,
    INSTANCES,
    INSTANCE_DATA,
    ATTEMPTS,
    SCHEDULER_LEASES,
    INSTANCE_FENCES,
    IDEMPOTENCY,
    REPLICAS,
    NOTIFICATIONS,
    PRIVACY_REQUESTS,
    PRIVACY_IDENTITIES,
    PRIVACY_BATCHES,
    PRIVACY_POLICIES,
    PRIVACY_EXPORTS,
    SERVICE_LEVELS,
    OPERATIONS,
)
OF_WAREHOUSE = (*_EVERYWHERE, MANIFESTS)
OF_DATABASE = (*_EVERYWHERE, STATE, JOURNALS, EPOCHS)
OF_HIVE_CATALOG = (*_EVERYWHERE, STATE, JOURNALS, CLAIMS, LEASES, SHOWN, INLINED_ROWS)
