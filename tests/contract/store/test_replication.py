"""What replicates does, and a store that lacks it says so before anything is recorded (F37)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.jobs.runs import last_runs
from gateway.jobs.schedule import triggered_jobs
from tests.support.replicated import opened, replica_rows, rows, url_of
from tests.support.stores.store import Store

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def con(store: Store) -> Connection:
    """A connection that commits each statement."""
    return store.connect()


def _filled(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")


@pytest.mark.also_on("hive")
def test_a_store_refuses_replicas_in_other_kinds_of_stores_before_anything_is_recorded(
    con: Connection, store: Store, tmp_path: Path
) -> None:
    if store.home == "main" and con.session.journal.capabilities.folder is not None:
        pytest.skip("this is the kind that the others are tried with")
    _filled(con)
    with pytest.raises(Error) as caught:
        con.execute(f"CALL system.replicate('t', to => '{url_of(tmp_path / 'target')}')")
    assert caught.value.code in {"PAL-110", "PAL-641"}
    assert not replica_rows(con)
    with opened(tmp_path / "source") as source:
        _filled(source)
        with pytest.raises(Error) as caught:
            source.execute(f"CALL system.replicate('t', to => '{store.url}')")
        assert caught.value.code in {"PAL-110", "PAL-222", "PAL-641"}
        assert not replica_rows(source)


@pytest.mark.also_on("hive")
def test_a_policy_is_stated_and_shown_and_its_instances_are_due_once(
    con: Connection,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    _filled(con)
    target = url_of(tmp_path / "target")
    if con.session.journal.capabilities.replicates_to:
        target = request.getfixturevalue("other_store").url
        before, at, place = target.partition("tester@")
        if at:
            # A policy names no login.
            monkeypatch.setenv("PGUSER", "tester")
            target = f"{before}{place}"
        if "?" in target:
            # Nor an option.
            con.execute(f"CREATE PROFILE there URL '{target}'")
            target = "there"
    clause = f"TO '{target}', EVERY 2 HOURS, DELAY 1 HOUR, PARALLEL 2"
    statement = f"ALTER TABLE t SET POLICY (REPLICATION = ({clause}))"
    if not con.session.journal.capabilities.replicates_to:
        for scope in ("TABLE t", "DATABASE"):
            with pytest.raises(Error, match="cannot replicate its tables") as caught:
                con.execute(statement.replace("TABLE t", scope))
            assert caught.value.code == "PAL-110"
        return
    con.execute(statement)
    ((name, shown),) = rows(con, "SHOW POLICY t")[:1]
    assert name == "REPLICATION"
    assert f"TO '{target}', EVERY 2 HOURS, DELAY 1 HOUR, PARALLEL 2" in shown
    for other, code in (("nosuch", "PAL-262"), ("https://bucket/t", "PAL-110")):
        with pytest.raises(Error) as caught:
            con.execute(f"ALTER TABLE t SET POLICY (REPLICATION = (TO '{other}'))")
        assert caught.value.code == code

    def due() -> list[object]:
        found = triggered_jobs(con.session, last_runs(con.session.journal))
        return [job.options["to"] for job in found if job.kind == "replicate"]

    assert due() == [target]
    con.execute("CALL system.replicate('t')")
    assert due() == []
    con.execute("ALTER TABLE t UNSET POLICY (REPLICATION)")
    assert rows(con, "SHOW POLICY t") == []
