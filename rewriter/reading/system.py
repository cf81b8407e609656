"""The relations that describe the warehouse: schema ``system``, and ``information_schema``.

What the store keeps itself (transactions, jobs, backups, reject files, erasures) is read there.
The rest the gateway supplies as rows when a plan names it; ``SUPPLIED`` says under which relation.
Pure.
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.plan import P_SNAPSHOT, STORE_SCHEMA
from journal.model.schema import TableName, fold
from journal.sql.relations import column, ident
from rewriter.name_resolution import missing_relation

SUPPLIED = {
    ("system", "tables"): "sys_tables",
    ("system", "columns"): "sys_columns",
    ("system", "journals"): "sys_journals",
    ("system", "segments"): "sys_segments",
    ("system", "sequences"): "sys_sequences",
    ("system", "types"): "sys_types",
    ("system", "macros"): "sys_macros",
    ("system", "materialized_views"): "sys_materialized",
    ("system", "settings"): "sys_settings",
    ("system", "holds"): "sys_holds",
    ("system", "policies"): "sys_policies",
    ("system", "access_policies"): "sys_access_policies",
    ("system", "tags"): "sys_tags",
    ("system", "roles"): "sys_roles",
    ("system", "privileges"): "sys_privileges",
    ("system", "sessions"): "sys_sessions",
    ("system", "statements"): "sys_statements",
    ("system", "indexes"): "sys_indexes",
    ("system", "lineage"): "sys_lineage",
    ("system", "column_lineage"): "sys_column_lineage",
    ("system", "usage"): "sys_usage",
    ("information_schema", "schemata"): "info_schemata",
    ("information_schema", "tables"): "info_tables",
    ("information_schema", "columns"): "info_columns",
    ("information_schema", "sequences"): "info_sequences",
    ("information_schema", "views"): "info_views",
    ("information_schema", "table_constraints"): "info_table_constraints",
    ("information_schema", "key_column_usage"): "info_key_column_usage",
    ("information_schema", "referential_constraints"): "info_referential_constraints",
    ("information_schema", "check_constraints"): "info_check_constraints",
    ("information_schema", "constraint_column_usage"): "info_constraint_columns",
    ("information_schema", "character_sets"): "info_character_sets",
}
"""Relation names by folded schema and name."""
_TRANSACTIONS = {
    "version": "version",
    "first_version": "first_version",
    "committed_at": "committed_at",
    "user_name": "user",
    "application": "application",
    "statements": "statements",
    "statement_digest": "statement_digest",
    "message": "message",
    "tables": "tables",
    "rows_written": "rows_written",
    "transaction_id": "transaction_id",
}
_ATTEMPTS = "instance n run step state owner started_at ended_at error_code error log metrics"
_SAME_NAMES = {
    "jobs": (
        "id kind table_name state attempt dry_run cause user_name options started_at ended_at"
        " rows_read rows_written rows_removed bytes_read bytes_written bytes_removed"
        " error_code error report log"
    ),
    "service_levels": "kind entity nominal_time mark due_at missed_at met_at",
    "backups": "name kind table_name version rows bytes made_by made_at expires_at",
    "replicas": (
        "table_name role place profile state version read_at job_id started_at ended_at"
        " milliseconds files rows bytes error"
    ),
    "privacy_requests": (
        "id submission external_id regulation action state reason requested_by approved_by"
        " received_at due_at updated_at batch"
    ),
    "reject_files": "id table_name source host path rows made_by made_at expires_at",
    "instance_data": "instance use dataset first_at last_at",
    "attempts": _ATTEMPTS,
}
_LOGINS = "seq first_at last_at user_name address front_end outcome detail attempts"
_ENTITIES = "kind name version definition user_name began_at ended_at"
_EVENTS = "seq happened_at name status entity_kind entity nominal_time user_name duration_us data"
_SAFE_MODE = "seq is_on changed_at user_name reason"
_SCHEDULES = "kind name state next_at changed_at user_name"
_INSTANCES = (
    "id kind entity nominal life_cycle state version runs tries fence owner missing consumed"
    " produced created_at waiting_since not_before started_at deadline ended_at check_at user_name"
    " error_code error profile"
)
_ERASURES = {"id": "id", "state": "state", "accepted": "accepted", "updated": "updated"}
STORED = {
    "transactions": _TRANSACTIONS,
    "erasures": {**_ERASURES, "detail": "receipt"},
    **{
        table: {n: "user" if n == "user_name" else n for n in names.split()}
        for table, names in {
            "logins": _LOGINS,
            "entities": _ENTITIES,
            "events": _EVENTS,
            "safe_mode": _SAFE_MODE,
        }.items()
    },
    "logins": {n: "user" if n == "user_name" else n for n in _LOGINS.split()},
    "entities": {n: "user" if n == "user_name" else n for n in _ENTITIES.split()},
    "entity_schedules": {n: "user" if n == "user_name" else n for n in _SCHEDULES.split()},
    "instances": {n: "user" if n == "user_name" else n for n in _INSTANCES.split()},
    **{table: {n: n for n in names.split()} for table, names in _SAME_NAMES.items()},
}
"""Tables of the store that schema ``system`` shows: its columns by the store's."""


def system_names(schema: str) -> list[str]:
    """The relations of ``system`` or ``information_schema``; none for other schemas."""
    found = [name for of, name in SUPPLIED if of == fold(schema)]
    return sorted([*found, *(STORED if fold(schema) == "system" else ())])


def system_relation(name: TableName, node: exp.Table) -> tuple[str | None, exp.Query]:
    """The query of a system relation, and the name under which the gateway supplies its rows."""
    if name.key[0] == "system" and name.key[1] in STORED:
        shown = STORED[name.key[1]]
        outputs = [exp.alias_(column(old), ident(new)) for old, new in shown.items()]
        rows = exp.select(*outputs).from_(exp.table_(name.key[1], db=STORE_SCHEMA))
        if name.key[1] == "transactions":
            # Like the tables: what others commit is not seen before the next transaction.
            snapshot = exp.Placeholder(this=P_SNAPSHOT)
            rows = rows.where(exp.LTE(this=column("version"), expression=snapshot))
        return None, rows
    relation = SUPPLIED.get(name.key)
    if relation is None:
        known = [f"{s}.{n}" for s, n in (*SUPPLIED, *(("system", t) for t in STORED))]
        raise missing_relation(name, known, node)
    return relation, exp.select("*").from_(relation)
