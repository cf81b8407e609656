"""Definitions that change while a job runs: Spark behind a Thrift server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.dbapi.connection import Connection
from spark_compaction.programs.compaction_sql import CompactionInSql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import redefined

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def other(con: Connection, connect: Callable[..., Connection]) -> Connection:
    return connect()


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> redefined.During:
    def call_in(kind: str, then: Callable[[], None]) -> None:
        job = CompactionInSql if kind == "compact" else RetentionInSql
        redefined.once_after(monkeypatch, job, "stage", then)

    return call_in


@pytest.mark.parametrize("name", ["add", pytest.param("widen", marks=pytest.mark.slow)])
def test_a_change_amid_a_compaction(
    con: Connection, other: Connection, name: str, during: redefined.During
) -> None:
    redefined.check_change(con, other, "compact", name, during)


@pytest.mark.parametrize(
    ("kind", "name"), [("compact", "rename"), pytest.param("retain", "add", marks=pytest.mark.slow)]
)
def test_a_change_that_began_before(
    con: Connection, other: Connection, kind: str, name: str
) -> None:
    redefined.check_open_change(con, other, kind, name)
