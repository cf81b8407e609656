"""Definitions that change while a job runs: PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.dbapi.connection import Connection
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import redefined


@pytest.fixture
def other(con: Connection, connect: Callable[..., Connection]) -> Connection:
    return connect()


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> redefined.During:
    def call_in(kind: str, then: Callable[[], None]) -> None:
        job = CompactionInSql if kind == "compact" else RetentionInSql
        redefined.once_after(monkeypatch, job, "stage", then)

    return call_in


@pytest.mark.parametrize("name", redefined.CHANGES)
@pytest.mark.parametrize("kind", redefined.JOBS)
def test_a_change_in_the_midst(
    con: Connection, other: Connection, kind: str, name: str, during: redefined.During
) -> None:
    redefined.check_change(con, other, kind, name, during)


@pytest.mark.parametrize("name", redefined.CHANGES)
@pytest.mark.parametrize("kind", redefined.JOBS)
def test_a_change_that_began_before(
    con: Connection, other: Connection, kind: str, name: str
) -> None:
    redefined.check_open_change(con, other, kind, name)


def test_a_policy_that_is_taken_away(
    con: Connection, other: Connection, during: redefined.During
) -> None:
    redefined.check_policy(con, other, during)


@pytest.mark.parametrize("kind", redefined.JOBS)
def test_a_table_that_is_dropped(
    con: Connection, other: Connection, kind: str, during: redefined.During
) -> None:
    redefined.check_dropped(con, other, kind, during)
