"""Two warehouses, of which one replicates tables to the other, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.runs import JobRun, run_named
from gateway.procedures import requests
from gateway.session.operations import no_progress
from journal.erasure.requests import ErasureRequest
from journal.model.suppression import Suppression
from journal.records.replicas import ReplicaRow, load_replicas

PEOPLE = "hr.people"
IDENTITIES = "email AS email LOWER"


def url_of(folder: Path) -> str:
    """The URL of a warehouse in a folder."""
    return f"palimpsest:///{folder}"


def opened(folder: Path) -> Connection:
    """A connection to the warehouse in a folder, which is made."""
    return gateway.connect(url_of(folder), autocommit=True)


def with_people(source: Connection, rows: int = 100) -> int:
    """Make ``hr.people`` of some rows, changed and deleted from; the version before the changes."""
    source.execute("CREATE SCHEMA hr")
    source.execute(
        "CREATE TABLE hr.people (id INTEGER PRIMARY KEY, email VARCHAR, dept INTEGER)"
        f" WITH (erasure = '{IDENTITIES}')"
    )
    source.execute(
        f"INSERT INTO hr.people SELECT i, 'p' || i || '@x.org', i % 3 FROM range({rows}) r(i)"
    )
    before = last_version(source)
    source.execute("UPDATE hr.people SET dept = 9 WHERE id < 10")
    source.execute("DELETE FROM hr.people WHERE id = 20")
    return before


def replicated(
    source: Connection, target: Path | str, table: str = PEOPLE, **options: object
) -> dict[str, Any]:
    """Replicate a table; what the report says of the target. Raises the run's error."""
    run = replication(source, target, table, **options)
    if run.error is not None:
        raise run.error
    assert run.report is not None
    (told,) = run.report.details["targets"]
    found: dict[str, Any] = told
    return found


def replication(
    source: Connection, target: Path | str, table: str = PEOPLE, **options: object
) -> JobRun:
    """The run of a replication to a folder's warehouse, or to the store of a URL."""
    given = {"to": target if isinstance(target, str) else url_of(target), **options}
    (run,) = run_named(source.session, no_progress, "replicate", given, [table])
    return run


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return [tuple(row) for row in connection.execute(sql).fetchall()]


def last_version(connection: Connection) -> int:
    """The version of the last commit."""
    ((found,),) = rows(connection, "SELECT max(version) FROM system.transactions")
    return int(found)


def replica_rows(connection: Connection) -> list[ReplicaRow]:
    """The replicas on record."""
    with connection.session.journal.reading_session() as records:
        return load_replicas(records)


def submit_erasure(connection: Connection, email: str) -> ErasureRequest:
    """The request to erase whoever has an email address, whom no later row may name."""
    return requests.submit(
        connection.session,
        no_progress,
        {"email": [email]},
        [],
        reason=None,
        expires_us=None,
        dependents=None,
        suppression=Suppression.IDENTIFIER,
        dry_run=False,
    )


def purge_one(connection: Connection) -> ErasureRequest:
    """Purge what waits, which is one request."""
    (found,), _ = requests.purge(connection.session, no_progress, [])
    return found
