"""Policies of schemas and of the database on every store: jobs and schedules obey them."""

from __future__ import annotations

import json

import pytest

from gateway.jobs.due_jobs import planned_jobs
from gateway.procedures.requests import audit_entries
from tests.support import aged
from tests.support.aged import FRESH, retain, rows
from tests.support.stores.store import Capability, Store

pytestmark = pytest.mark.timeout(900)


@pytest.mark.needs(Capability.ERASURE)
@pytest.mark.also_on("hive")
def test_jobs_obey_the_nearest_scope_and_a_hold_beats_it(store: Store) -> None:
    con = store.connect()
    aged.make(con)
    ((schema,),) = rows(con, "SELECT DISTINCT schema FROM system.journals WHERE \"table\" = 't'")
    con.execute("ALTER DATABASE SET POLICY (RETENTION = 1 DAY ON COLUMN ds, BACKUP = 1 DAY)")
    con.execute(f"ALTER SCHEMA {schema} SET POLICY (RETENTION = 30 DAYS ON COLUMN ds)")
    con.execute("ALTER TABLE t SET POLICY (RETENTION = NONE)")
    assert retain(con)[3] == "NOTHING", "the table's own word counts"
    con.execute("ALTER TABLE t UNSET POLICY")
    jobs = con.client_session.perform(planned_jobs)
    assert "retain" in {job.kind for job in jobs if job.table == f"{schema}.t"}
    ((hold, *_),) = rows(con, "PLACE HOLD ON t REASON 'matter 2'")
    assert retain(con)[3] == "NOTHING"
    shown = rows(con, "SHOW EFFECTIVE POLICY t")
    assert [row[0] for row in shown[:2]] == ["HOLD", "RETENTION"]
    con.execute(f"RELEASE HOLD '{hold}'")
    assert retain(con)[3] == "SUCCEEDED"
    assert rows(con, f"SELECT count(*) FROM t WHERE NOT {FRESH}") == [(0,)]
    other = store.connect()
    assert ("RETENTION", "schema") in [
        (row[0], row[2]) for row in rows(other, "SHOW EFFECTIVE POLICY t")
    ]
    entries = con.client_session.perform(audit_entries)
    changed = {e.object: json.loads(e.detail) for e in entries if e.action == "policy.change"}
    assert changed["database"]["policy_backup"] == "1 DAY"
    assert changed[f"schema {schema}"]["policy_retention"] == "30 DAYS"
