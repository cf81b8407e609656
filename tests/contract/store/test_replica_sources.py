"""Several sources in one target, each of which erases people: every part obeys its own (F40)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.dbapi.connection import Connection
from gateway.errors import Error
from gateway.procedures.replicas import demote_replica, promote_replica
from gateway.session.operations import no_progress
from spark_compaction.erasure.readmission import readmit_subjects
from tests.support.replicated import PEOPLE, purge_one, replicated, rows, submit_erasure
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.needs(Capability.REPLICAS),
    pytest.mark.also_on("hive", "postgres"),
    pytest.mark.timeout(900),
]

SAME = "both@x.org"
"""Somebody whom both sources know."""
OTHERS = "west.people"


@pytest.fixture
def source(store: Store) -> Iterator[Connection]:
    with store.connect() as connection:
        yield connection


@pytest.fixture
def other_source(third_store: Store) -> Iterator[Connection]:
    with third_store.connect() as connection:
        yield connection


@pytest.fixture
def target(other_store: Store) -> Iterator[Connection]:
    with other_store.connect() as connection:
        yield connection


def _with_rows(connection: Connection, table: str, name: str) -> None:
    connection.execute(f"CREATE SCHEMA {table.partition('.')[0]}")
    connection.execute(
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, email VARCHAR)"
        " WITH (erasure = 'email AS email LOWER')"
    )
    values = f"(1, '{name}@x.org'), (2, '{SAME}'), (3, 'stays-{name}@x.org')"
    connection.execute(f"INSERT INTO {table} VALUES {values}")


def _erase(connection: Connection, email: str) -> None:
    submit_erasure(connection, email)
    purge_one(connection)


def _emails(connection: Connection, table: str) -> list[str]:
    return [email for (email,) in rows(connection, f"SELECT email FROM {table} ORDER BY id")]


def _insert(connection: Connection, table: str, number: int, email: str) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({number}, '{email}')")


def _refused(connection: Connection, table: str, email: str) -> None:
    """See that somebody who was erased is not written."""
    with pytest.raises(Error) as caught:
        _insert(connection, table, 99, email)
    assert caught.value.code == "PAL-306"


@pytest.mark.long
def test_f40_each_source_erases_in_its_part_and_nowhere_else(
    source: Connection, other_source: Connection, target: Connection, other_store: Store
) -> None:
    _with_rows(source, PEOPLE, "a")
    _with_rows(other_source, OTHERS, "b")
    _erase(source, "a@x.org")
    replicated(source, other_store.url)
    replicated(other_source, other_store.url, OTHERS)
    _erase(other_source, SAME)
    replicated(other_source, other_store.url, OTHERS)
    assert _emails(target, PEOPLE) == [SAME, "stays-a@x.org"]
    assert _emails(target, OTHERS) == ["b@x.org", "stays-b@x.org"]
    told = replicated(other_source, other_store.url, OTHERS)
    assert not told["changed"]
    for table in (PEOPLE, OTHERS):
        promote_replica(target.session, no_progress, table)
    _refused(target, PEOPLE, "a@x.org")
    _refused(target, OTHERS, SAME.upper())
    _insert(target, OTHERS, 12, "a@x.org")
    _insert(target, PEOPLE, 12, SAME)
    erasure = target.session.executor.maintenance.erasure
    assert erasure is not None
    readmit_subjects(erasure().journal, {"email": [SAME]}, "me")
    _insert(target, OTHERS, 13, SAME)
    _refused(target, PEOPLE, "a@x.org")


@pytest.mark.long
def test_f40_a_target_that_erases_itself_takes_a_source_and_both_lists_go_back(
    source: Connection, target: Connection, store: Store, other_store: Store
) -> None:
    _with_rows(target, OTHERS, "b")
    _erase(target, "b@x.org")
    _with_rows(source, PEOPLE, "a")
    _erase(source, "a@x.org")
    replicated(source, other_store.url)
    assert _emails(target, PEOPLE) == [SAME, "stays-a@x.org"]
    promote_replica(target.session, no_progress, PEOPLE)
    _erase(target, SAME)
    _refused(target, PEOPLE, "a@x.org")
    demote_replica(source.session, no_progress, PEOPLE)
    replicated(target, store.url)
    assert _emails(source, PEOPLE) == ["stays-a@x.org"]
    promote_replica(source.session, no_progress, PEOPLE)
    _refused(source, PEOPLE, "a@x.org")
    _refused(source, PEOPLE, SAME)
    # The target erased this one in all of its tables, before it had this one.
    _refused(source, PEOPLE, "b@x.org")
    _insert(source, PEOPLE, 14, "new@x.org")


@pytest.mark.long
def test_f40_a_person_whom_a_second_source_holds_is_held_in_its_part(
    source: Connection, other_source: Connection, target: Connection, other_store: Store
) -> None:
    _with_rows(source, PEOPLE, "a")
    _with_rows(other_source, OTHERS, "b")
    _erase(source, "a@x.org")
    replicated(source, other_store.url)
    other_source.execute(f"PLACE HOLD FOR SUBJECT email = '{SAME}' REASON 'matter 1'")
    replicated(other_source, other_store.url, OTHERS)
    for table in (PEOPLE, OTHERS):
        promote_replica(target.session, no_progress, table)
    _erase(target, SAME)
    assert _emails(target, PEOPLE) == ["stays-a@x.org"]
    assert _emails(target, OTHERS) == ["b@x.org", SAME, "stays-b@x.org"]
