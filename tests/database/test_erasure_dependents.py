"""What becomes of rows that refer to erased ones in a database: the checks of every store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg
import pytest

from gateway.procedures.adopting import adopt
from spark_compaction.erasure import acceptance
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import dependents
from tests.support.client import Client
from tests.support.dependents import Stage
from tests.support.dependents_by_date import (
    check_refusals_and_counts,
    check_that_it_looks_again,
)
from tests.support.dependents_model import SEEDS, check_any_history
from tests.support.dependents_writers import check_that_no_child_is_left
from tests.support.meanwhile import once_after
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores


@pytest.mark.parametrize("check", dependents.CHECKS, ids=lambda check: check.__name__)
def test_as_in_every_store(stage: Stage, check: Callable[[Stage], None]) -> None:
    check(stage)


@pytest.mark.parametrize("check", dependents.CHECKS_OF_COPIES, ids=lambda check: check.__name__)
def test_copies_as_in_every_store(
    stage: Stage, tmp_path: Path, check: Callable[[Stage, Path], None]
) -> None:
    check(stage, tmp_path)


def test_rows_that_come_while_it_is_accepted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    dependents.rows_that_come_while_it_is_accepted_go_as_well(stage, monkeypatch)


@pytest.mark.timeout(300)
def test_an_erasure_leaves_no_child_that_writers_add_meanwhile(stage: Stage) -> None:
    check_that_no_child_is_left(stage)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.timeout(300)
def test_erasures_leave_no_dependents_in_random_histories(url: str, seed: int) -> None:
    run = Client(url)
    check_any_history(run, seed)
    run.close()


def test_retention_refuses_or_counts(stage: Stage) -> None:
    check_refusals_and_counts(stage)


def test_retention_looks_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_it_looks_again(stage, partial(once_after, monkeypatch, RetentionInSql, "stage"))


def test_adopted_journals_are_followed(
    url: str, cluster: Cluster, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From rows that others wrote to rows that others write while the request is accepted."""
    run = Client(url)
    names = ("_journal", "version_number", "subsequent_version_number")
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as admin:
        for table in ("p", "c"):
            admin.execute(
                f"CREATE TABLE {table}_journal (a INTEGER, x INTEGER, version_number BIGINT,"
                " subsequent_version_number BIGINT)"
            )
            adopt(run.connection.session, table, ("a",), names, run=True)
        run("ALTER TABLE c ADD FOREIGN KEY (x) REFERENCES p")
        admin.execute("INSERT INTO p_journal VALUES (1, 0, 10, NULL), (2, 0, 10, NULL)")
        run("INSERT INTO c VALUES (11, 1), (12, 2), (13, NULL)")
        run("UPDATE c SET x = 2 WHERE a = 11")

        def write() -> None:
            admin.execute("INSERT INTO c_journal VALUES (14, 1, 20, NULL)")

        once_after(monkeypatch, acceptance, "_search", write)
        rows = run("ERASE FROM p WHERE a = 1 ON DEPENDENTS CASCADE")
    assert {row[2]: row[4] for row in rows} == {"public.p": 1, "public.c": 2}
    assert run.sorted("SELECT a FROM c") == [(12,), (13,)]
    assert run.sorted("SELECT a FROM c_journal") == [(12,), (13,)]
    run.close()
