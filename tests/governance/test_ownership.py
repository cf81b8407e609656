"""Who may do what with an entity, and as whom what they declare runs (rows F56 and F57)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.entity_operations import (
    delete_entity,
    entity_history,
    list_entities,
    submit_entities,
    update_entities,
)
from gateway.governance.entity_scheduling import schedule_entities, touch_entities
from gateway.governance.ownership import EntityRight, has_right, role_to_run
from gateway.governance.process_sessions import process_session
from gateway.session.operations import no_progress
from gateway.session.roles import with_role
from journal.model.errors import Code, PalimpsestError

READ, CHANGE, RUN = EntityRight


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        for text in (
            "CREATE TABLE t (a INTEGER)",
            *(
                f"CREATE ROLE {name}"
                for name in ("ann", "bob", "carl", "analysts", "loader", "ops")
            ),
            "GRANT analysts TO bob",
            "GRANT loader TO ann",
            "GRANT ADMIN ON SYSTEM TO ops",
            "GRANT CREATE ON SYSTEM TO ann, bob, carl",
            "GRANT POLICY ON t TO ann",
        ):
            con.execute(text)
        yield con


def _as(con: Connection, role: str) -> Any:
    session = con.session
    value = exp.to_identifier(role) if role != "none" else None
    session.settings = with_role(session.settings, value, session.catalog, session.user)
    return session


def _process(**more: str) -> Entity:
    fields = {"every": "1 DAY", "start": "2013-01-01T00:00:00+00:00", "sql": "SELECT 1"}
    return Entity.of(EntityKind.PROCESS, "daily", {**fields, **more})


@pytest.mark.parametrize(
    ("permission", "role", "rights"),
    [
        (None, "ann", {READ, CHANGE, RUN}),
        (None, "bob", {READ, RUN}),
        (None, "carl", set()),
        ("640", "ann", {READ, CHANGE}),
        ("640", "bob", {READ}),
        ("771", "carl", {RUN}),
        ("000", "ann", set()),
        ("000", "ops", {READ, CHANGE, RUN}),
        ("000", None, {READ, CHANGE, RUN}),
    ],
)
def test_f56_owner_group_and_others(
    con: Connection, permission: str | None, role: str | None, rights: set[EntityRight]
) -> None:
    more = {} if permission is None else {"permission": permission}
    entity = _process(owner="Ann", group="analysts", **more)
    catalog = con.session.catalog
    found = None if role is None else catalog.access.by_name(role)
    number = None if found is None else found.id
    assert {r for r in EntityRight if has_right(catalog, number, entity, r)} == rights


def test_f56_what_a_role_declares_runs_with_no_more_than_its_rights(con: Connection) -> None:
    session = _as(con, "ann")
    for given, said in (
        ({"run_as": "ops"}, 'to let process daily run as "ops"'),
        ({"run_as": "nobody"}, 'run as "nobody"'),
        ({"owner": "bob"}, 'to give process daily to "bob"'),
    ):
        with pytest.raises(PalimpsestError, match=said) as refused:
            submit_entities(session, no_progress, [_process(**given)])
        assert refused.value.code is Code.PRIVILEGE
    submit_entities(session, no_progress, [_process(run_as="loader", group="analysts")])
    row = list_entities(session, no_progress, None)[0]
    stored = Entity(EntityKind.PROCESS, row.name, row.definition)
    loader = session.catalog.access.by_name("loader")
    assert loader is not None
    assert role_to_run(session.catalog, stored) == loader.id


def test_f56_a_group_that_may_change_does_not_get_the_owners_rights(con: Connection) -> None:
    submitted = _process(owner="ann", group="analysts", permission="770")
    submit_entities(_as(con, "none"), no_progress, [submitted])
    session = _as(con, "bob")
    changed = _process(owner="ann", group="analysts", permission="770", description="mine")
    update_entities(session, no_progress, [changed])
    row = entity_history(session, no_progress, EntityKind.PROCESS, "daily")[-1]
    stored = Entity(EntityKind.PROCESS, row.name, row.definition)
    assert stored.fields["run_as"] == "bob"
    assert stored.fields["owner"] == "ann"


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "profile", "url": "palimpsest:///w"},
        {"kind": "process", "spark": {"application": "x.py"}, "every": "1 DAY"},
        {"kind": "process", "job": {"kind": "compact", "tables": ["t"]}, "every": "1 DAY"},
        {"kind": "dataset", "table": "t", "every": "1 DAY", "start": "2013-01-01T00:00:00+00:00"},
    ],
    ids=lambda fields: "-".join(fields)[:20],
)
def test_f56_what_takes_more_than_create(con: Connection, fields: dict[str, Any]) -> None:
    kind = EntityKind(fields.pop("kind"))
    with pytest.raises(PalimpsestError) as refused:
        submit_entities(_as(con, "carl"), no_progress, [Entity.of(kind, "x", fields)])
    assert refused.value.code is Code.PRIVILEGE


def test_f56_running_and_changing_are_rights_of_their_own(con: Connection) -> None:
    submit_entities(
        _as(con, "none"), no_progress, [_process(owner="ann", group="analysts", permission="751")]
    )
    key = (EntityKind.PROCESS, "daily")
    for role, runs, changes in (("carl", True, False), ("bob", True, False), ("ann", True, True)):
        session = _as(con, role)
        acts = (
            (runs, partial(schedule_entities, session, no_progress, [key])),
            (changes, partial(touch_entities, session, no_progress, [key])),
            (role != "carl", partial(entity_history, session, no_progress, *key)),
        )
        for may, act in acts:
            if may:
                act()
                continue
            with pytest.raises(PalimpsestError) as refused:
                act()
            assert refused.value.code is Code.PRIVILEGE
    assert delete_entity(_as(con, "ann"), no_progress, *key).outcome == "DELETED"


def test_f57_the_audit_log_has_both_names(con: Connection) -> None:
    session = _as(con, "ann")
    session.user, session.proxy = "ann", "superset"
    submit_entities(session, no_progress, [_process()])
    con.execute("SET ROLE ops")
    assert con.execute('SELECT "user" FROM system.events').fetchall() == [("ann (by superset)",)]


def test_f56_a_statement_gets_no_rights_by_resetting_its_role(con: Connection) -> None:
    process = _process(run_as="carl")
    with process_session(con.session, process) as own:
        for text in ("SELECT * FROM t", "RESET ROLE", "SET ROLE NONE"):
            with suppress(PalimpsestError):
                own.execute(text).close()
        assert own.settings.role == role_to_run(con.session.catalog, process)
        assert own.recorded_user == f"carl (by {con.session.user})"
        with pytest.raises(PalimpsestError):
            own.execute("SELECT * FROM t").close()
