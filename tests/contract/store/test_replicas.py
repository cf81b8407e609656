"""Replicas in another store of the same kind: exact in the past, clean of who was erased (F41)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.jobs.runs import run_named
from gateway.procedures import requests
from gateway.procedures.replicas import demote_replica, promote_replica
from gateway.session.operations import no_progress
from journal.erasure.requests import State
from journal.model.errors import Code, PalimpsestError
from spark_compaction.programs import replica_receiving
from tests.support.meanwhile import once_after
from tests.support.replicated import (
    PEOPLE,
    last_version,
    purge_one,
    replica_rows,
    replicated,
    replication,
    rows,
    submit_erasure,
    with_people,
)
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.needs(Capability.REPLICAS),
    pytest.mark.also_on("hive"),
    pytest.mark.timeout(600),
]

ALL = "SELECT * FROM hr.people ORDER BY id"


@pytest.fixture
def source(store: Store) -> Iterator[Connection]:
    with store.connect() as connection:
        yield connection


@pytest.fixture
def target(other_store: Store) -> Iterator[Connection]:
    with other_store.connect() as connection:
        yield connection


def _compact(connection: Connection) -> None:
    (run,) = run_named(connection.session, no_progress, "compact", {}, [PEOPLE])
    assert run.error is None


def _refused(connection: Connection, code: str, *statements: str) -> None:
    for statement in statements:
        with pytest.raises(Error) as caught:
            connection.execute(statement)
        assert caught.value.code == code, statement


@pytest.mark.also_on("postgres")
def test_more_rows_than_a_statement_takes_come_whole(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    many = "SELECT 1000 + i, 'p' || i || '@x.example', i % 7 FROM range(45000) r(i)"
    source.execute(f"INSERT INTO hr.people {many}")
    told = replicated(source, other_store.url)
    assert told["made"]
    for query in ("SELECT count(*), sum(id), min(email), max(email) FROM hr.people", ALL):
        assert rows(target, query) == rows(source, query)


@pytest.mark.also_on("postgres")
def test_f41_a_replica_is_made_with_keys_policy_and_past(
    source: Connection, target: Connection, other_store: Store
) -> None:
    before = with_people(source)
    source.execute("ALTER TABLE hr.people SET POLICY (HISTORY = 7 YEARS)")
    told = replicated(source, other_store.url)
    assert told["made"]
    assert told["files"] > 0
    for query in (ALL, f"SELECT * FROM hr.people VERSION AS OF {before} ORDER BY id"):
        assert rows(target, query) == rows(source, query)
    for query in ("SHOW POLICY hr.people", "DESCRIBE hr.people"):
        assert rows(target, query) == rows(source, query)
    _refused(
        target,
        "PAL-640",
        "INSERT INTO hr.people VALUES (1000, 'x', 1)",
        "UPDATE hr.people SET dept = 1",
        "DELETE FROM hr.people WHERE id = 1",
        "DROP TABLE hr.people",
        "ALTER TABLE hr.people ADD COLUMN x INTEGER",
        "ALTER TABLE hr.people RESET (replica_of)",
        "TRUNCATE hr.people",
        "CALL system.restore('hr.people')",
        "CALL system.backup('hr.people', name => 'b')",
    )
    assert rows(target, ALL) == rows(source, ALL)
    target.execute("CALL system.verify('hr.people')")  # It raises what is damaged.


@pytest.mark.also_on("postgres")
def test_an_unchanged_table_is_not_copied_again_and_a_changed_one_in_parts(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source, 300)
    _compact(source)
    replicated(source, other_store.url)
    told = replicated(source, other_store.url)
    assert (told["changed"], told["files"], told["bytes"]) == (False, 0, 0)
    assert told["reused"] > 0
    source.execute("UPDATE hr.people SET dept = 5 WHERE id = 30")
    told = replicated(source, other_store.url)
    assert (told["rows"], told["reused"] > 0) == (2, True)
    source.execute("ALTER TABLE hr.people ADD COLUMN age INTEGER DEFAULT 3")
    source.execute("UPDATE hr.people SET age = 40 WHERE id = 31")
    replicated(source, other_store.url)
    assert rows(target, ALL) == rows(source, ALL)
    _compact(source)
    replicated(source, other_store.url)
    assert rows(target, ALL) == rows(source, ALL)
    target.execute("CALL system.verify('hr.people')")


def test_time_travel_answers_as_at_the_source_for_whoever_reads(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    versions = [last_version(source)]
    for number in range(3):
        source.execute(f"UPDATE hr.people SET dept = {number} WHERE id < {10 * number + 1}")
        versions.append(last_version(source))
        if number == 1:
            source.execute("ALTER TABLE hr.people RENAME COLUMN dept TO unit")
            source.execute("ALTER TABLE hr.people RENAME COLUMN unit TO dept")
            replicated(source, other_store.url)
            assert rows(target, ALL) == rows(source, ALL)
            target.execute("CREATE TABLE between_runs (a INTEGER PRIMARY KEY)")
    source.execute("ALTER TABLE hr.people RENAME COLUMN dept TO unit")
    _compact(source)
    replicated(source, other_store.url)
    commits = "SELECT version, user FROM system.transactions WHERE rows_written > 0"
    with other_store.connect() as again:
        for reader in (target, again):
            for version in versions:
                query = f"SELECT * FROM hr.people VERSION AS OF {version} ORDER BY id"
                assert rows(reader, query) == rows(source, query)
            assert rows(reader, ALL) == rows(source, ALL)
            assert rows(reader, commits) == rows(source, commits)
            assert rows(reader, "SELECT * FROM between_runs") == []


@pytest.mark.needs(Capability.FOREIGN_KEYS)
@pytest.mark.also_on("postgres")
def test_tables_of_one_transaction_keep_their_keys_between_them(
    source: Connection, target: Connection, other_store: Store
) -> None:
    source.execute("BEGIN")
    source.execute("CREATE TABLE depts (id INTEGER PRIMARY KEY, name VARCHAR)")
    source.execute("CREATE TABLE staff (id INTEGER PRIMARY KEY, dept INTEGER REFERENCES depts)")
    source.execute("INSERT INTO depts VALUES (1, 'a')")
    source.execute("INSERT INTO staff VALUES (1, 1)")
    source.execute("COMMIT")
    replicated(source, other_store.url, "depts")
    replicated(source, other_store.url, "staff")
    for name in ("depts", "staff"):
        assert rows(target, f"SELECT * FROM {name}") == rows(source, f"SELECT * FROM {name}")
        promote_replica(target.session, no_progress, name)
    with pytest.raises(Error) as caught:
        target.execute("INSERT INTO staff VALUES (2, 9)")
    assert caught.value.sqlstate == "23503"


def test_p1_an_erasure_waits_for_its_replica_and_is_carried_to_it(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    replicated(source, other_store.url)
    assert other_store.holders("p33@x.org")
    request = submit_erasure(source, "p33@x.org")
    assert request.state is State.ACCEPTED
    purged = purge_one(source)
    assert purged.state is State.PURGED
    assert "replica of hr.people" in (purged.waits_for or "")
    replicated(source, other_store.url)
    done = requests.request_of(source.session, no_progress, request.id)
    assert done.state is State.COMPLETED
    assert rows(target, ALL) == rows(source, ALL)
    assert not other_store.holders("p33@x.org")


@pytest.mark.long
@pytest.mark.also_on("postgres")
def test_p1_what_is_hidden_at_the_source_is_gone_before_the_purge_and_back_if_cancelled(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    _compact(source)
    replicated(source, other_store.url)
    before = rows(source, ALL)
    request = submit_erasure(source, "p33@x.org")
    told = replicated(source, other_store.url)
    assert told["suppressed"] > 0
    assert rows(target, ALL) == rows(source, ALL) != before
    assert not other_store.holders("p33@x.org")
    again = replicated(source, other_store.url)
    assert (again["changed"], again["files"]) == (False, 0)
    requests.cancel(source.session, no_progress, request.id)
    replicated(source, other_store.url)
    assert rows(target, ALL) == rows(source, ALL) == before
    submit_erasure(source, "p34@x.org")
    replicated(source, other_store.url)
    purge_one(source)
    replicated(source, other_store.url)
    assert rows(target, ALL) == rows(source, ALL)
    assert not other_store.holders("p34@x.org")


@pytest.mark.long
@pytest.mark.also_on("postgres")
def test_p1_who_was_erased_is_not_written_to_a_promoted_replica(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    # The key of hashes was read before the replica brought that of its source.
    target.execute("CREATE TABLE early (id INTEGER PRIMARY KEY, email VARCHAR)")
    replicas = target.session.executor.maintenance.replicas
    assert replicas is not None
    replicas.journal.make_secret()
    submit_erasure(source, "p33@x.org")
    purge_one(source)
    replicated(source, other_store.url)
    promote_replica(target.session, no_progress, PEOPLE)
    _refused(target, "PAL-306", "INSERT INTO hr.people VALUES (5000, 'p33@x.org', 1)")


@pytest.mark.also_on("postgres")
def test_p1_who_is_erased_at_the_target_while_a_run_copies_does_not_come(
    source: Connection, target: Connection, other_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_people(source)
    replicated(source, other_store.url)
    source.execute("INSERT INTO hr.people VALUES (3000, 'late@x.org', 1)")
    erase = partial(submit_erasure, target, "late@x.org")
    once_after(monkeypatch, replica_receiving, "_check_holds", erase)
    run = replication(source, other_store.url)
    assert run.error is not None
    assert run.error.code is Code.JOB_BUSY
    replicated(source, other_store.url)
    assert rows(target, "SELECT count(*) FROM hr.people WHERE id = 3000") == [(0,)]


def test_a_replica_is_promoted_written_and_followed_back(
    source: Connection, target: Connection, store: Store, other_store: Store
) -> None:
    with_people(source)
    replicated(source, other_store.url)
    promote_replica(target.session, no_progress, PEOPLE)
    refused = replication(source, other_store.url)
    assert refused.error is not None
    assert refused.error.code is Code.REPLICATION
    target.execute("INSERT INTO hr.people VALUES (2000, 'new@x.org', 2)")
    with pytest.raises(PalimpsestError) as caught:
        demote_replica(target.session, no_progress, PEOPLE)
    assert caught.value.code is Code.DIVERGED
    demote_replica(source.session, no_progress, PEOPLE)
    told = replicated(target, store.url)
    assert (told["rows"], told["made"]) == (1, False)
    assert rows(source, ALL) == rows(target, ALL)
    _refused(source, "PAL-640", "DELETE FROM hr.people")
    promote_replica(source.session, no_progress, PEOPLE)
    source.execute("INSERT INTO hr.people VALUES (2001, 'back@x.org', 2)")
    demote_replica(target.session, no_progress, PEOPLE)
    replicated(source, other_store.url)
    assert rows(source, ALL) == rows(target, ALL)
    for one in (source, target):
        one.execute("CALL system.verify('hr.people')")


@pytest.mark.also_on("postgres")
def test_both_changed_is_refused_with_both_versions(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    replicated(source, other_store.url)
    promote_replica(target.session, no_progress, PEOPLE)
    target.execute("DELETE FROM hr.people WHERE id = 50")
    source.execute("DELETE FROM hr.people WHERE id = 51")
    own = last_version(source)
    with pytest.raises(PalimpsestError) as caught:
        demote_replica(source.session, no_progress, PEOPLE)
    assert caught.value.code is Code.DIVERGED
    assert str(own) in caught.value.message


@pytest.mark.also_on("postgres")
def test_a_hold_at_the_target_stops_the_removal_of_its_rows(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    replicated(source, other_store.url)
    target.execute("PLACE HOLD ON hr.people WHERE id = 33 REASON 'matter 1'")
    source.execute("UPDATE hr.people SET dept = 8 WHERE id = 34")
    replicated(source, other_store.url)  # It removes no row.
    submit_erasure(source, "p33@x.org")
    run = replication(source, other_store.url)
    assert run.error is not None
    assert run.error.code is Code.HELD
    assert rows(target, "SELECT count(*) FROM hr.people WHERE id = 33") == [(1,)]


@pytest.mark.also_on("postgres")
def test_a_hold_at_the_target_stops_the_removal_of_its_last_row(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source, 1)
    replicated(source, other_store.url)
    target.execute("PLACE HOLD ON hr.people WHERE id = 0 REASON 'matter 1'")
    submit_erasure(source, "p0@x.org")
    run = replication(source, other_store.url)
    assert run.error is not None
    assert run.error.code is Code.HELD
    assert rows(target, "SELECT count(*) FROM hr.people") == [(1,)]


@pytest.mark.also_on("postgres")
def test_f44_metrics_of_a_run_are_on_record_at_both_ends(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    told = replicated(source, other_store.url)
    query = "SELECT table_name, role, state, files, bytes, milliseconds > 0 FROM system.replicas"
    for connection, role in ((source, "source"), (target, "replica")):
        ((*found, took),) = rows(connection, query)
        assert found == [PEOPLE, role, "FOLLOWING", told["files"], told["bytes"]]
        assert took
    assert [r.version for r in replica_rows(source)] == [r.version for r in replica_rows(target)]


@pytest.mark.also_on("postgres")
def test_a_table_that_the_target_has_is_refused_and_not_recorded(
    source: Connection, target: Connection, other_store: Store
) -> None:
    with_people(source)
    target.execute("CREATE SCHEMA hr")
    target.execute("CREATE TABLE hr.people (a INTEGER PRIMARY KEY)")
    run = replication(source, other_store.url)
    assert run.error is not None
    assert run.error.code is Code.REPLICATION
    assert not replica_rows(source)


@pytest.mark.also_on("postgres")
def test_numbers_go_on_where_the_source_was(
    source: Connection, target: Connection, other_store: Store
) -> None:
    source.execute("CREATE TABLE n (id INTEGER GENERATED ALWAYS AS IDENTITY, v VARCHAR)")
    source.execute("INSERT INTO n (v) VALUES ('a'), ('b')")
    replicated(source, other_store.url, "n")
    promote_replica(target.session, no_progress, "n")
    target.execute("INSERT INTO n (v) VALUES ('c')")
    assert rows(target, "SELECT id, v FROM n ORDER BY id") == [(1, "a"), (2, "b"), (3, "c")]
