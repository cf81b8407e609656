"""What may not be written again after an erasure by a condition, behind Hive."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.hive.conftest import ThriftServer
from tests.support import suppressing

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def con(server: ThriftServer, tmp_path: Path) -> Iterator[Connection]:
    url = server.url(f"p{uuid.uuid4().hex[:8]}_", tmp_path / "catalog.db")
    with gateway.connect(url, autocommit=True) as found:
        yield found


def test_what_a_condition_names_does_not_come_back(con: Connection) -> None:
    run = suppressing.runner(con)
    suppressing.make(run)
    suppressing.check_named(run)


def test_what_others_hold_is_told_and_left_as_it_is(con: Connection) -> None:
    run = suppressing.runner(con)
    suppressing.make(run)
    suppressing.check_shared(run)
    suppressing.check_left_as_is(run)


@pytest.mark.parametrize("memory_rows", [50_000, 1])
def test_bulk_loads_refuse_or_skip(con: Connection, memory_rows: int) -> None:
    run = suppressing.runner(con)
    suppressing.make(run)
    run(f"SET memory_rows = {memory_rows}")
    suppressing.check_bulk(run, con.execute)


def test_a_table_with_somebody_who_was_erased_is_not_onboarded(con: Connection) -> None:
    run = suppressing.runner(con)
    suppressing.make(run)
    suppressing.check_onboarding(run, con)
    suppressing.check_undropped(run)
