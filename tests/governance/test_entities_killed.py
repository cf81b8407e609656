"""A process that is killed while it changes an entity leaves it as it was before or after (F10)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import gateway
from gateway.governance.entity import EntityKind
from gateway.governance.entity_operations import entity_history, update_entities
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from journal.erasure import audit_check
from journal.erasure.seam import ErasureJournal
from tests.support.declared import dataset
from tests.support.killed_step import run_killed
from tests.support.tiers import in_tiers

OPERATIONS = "gateway.governance.entity_operations"
STEPS = {
    "before the old one ends": (f"{OPERATIONS}.entity_rows", "end_entity", 0),
    "after the old one ended": (f"{OPERATIONS}.entity_rows", "end_entity", 1),
    "before the new one": (f"{OPERATIONS}.entity_rows", "add_entity", 0),
    "after the new one": (f"{OPERATIONS}.entity_rows", "add_entity", 1),
    "after the audit log": ("gateway.governance.audit_entries.audit", "record", 1),
    "after the event": (OPERATIONS, "record_event", 1),
    "after the commit": (OPERATIONS, "commit_with_policy", 1),
}
QUICK = {"after the old one ended", "after the new one", "after the commit"}
PROGRAM = """
import sys
import gateway
from gateway.governance import entity_operations
from gateway.governance.entity_schema import read_entity
from gateway.session.operations import no_progress
from tests.architecture.sources import ROOT
from tests.support.declared import dataset
from tests.support.killed_step import die_at

url, place, name, after = sys.argv[1:]

with gateway.connect(url, autocommit=True) as con:
    con.execute("CREATE TABLE t (a INTEGER)")
    entity_operations.submit_entities(con.session, no_progress, [read_entity(dataset("t"))])
    die_at(place, name, after)
    changed = read_entity(dataset("t", owner="ops"))
    entity_operations.update_entities(con.session, no_progress, [changed])
"""


@pytest.mark.parametrize("step", in_tiers(STEPS, QUICK))
def test_f10_a_killed_update_has_happened_or_not(tmp_path: Path, step: str) -> None:
    kill_an_update(f"palimpsest:///{tmp_path}/warehouse", step)


def kill_an_update(url: str, step: str) -> None:
    """Kill a process at a step of an update in a store, and look what is there."""
    place, name, after = STEPS[step]
    run_killed(PROGRAM, url, place, name, str(after))
    with gateway.connect(url, autocommit=True) as con:
        versions = entity_history(con.session, no_progress, EntityKind.DATASET, "t")
        live = [row.version for row in versions if row.ended_at is None]
        assert live == ([2] if step == "after the commit" else [1])
        assert len(versions) == live[0]
        changed = read_entity(dataset("t", owner="ops"))
        (result,) = update_entities(con.session, no_progress, [changed])
        assert result.outcome == ("UNCHANGED" if live == [2] else "UPDATED")
        assert con.execute("SELECT count(*) FROM system.entities").fetchall() == [(2,)]
        assert audit_check.verify(cast("ErasureJournal", con.session.journal)).problems == ()
