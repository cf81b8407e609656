"""Rows that refer to erased ones in a warehouse: what every store does with them, and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from journal.erasure.requests import State
from journal.model.dependents import Dependents
from journal.model.errors import Code, PalimpsestError
from spark_compaction.erasure import purging
from spark_compaction.programs.retention import Retention
from tests.support import dependents
from tests.support.client import Client
from tests.support.dependents import SETUP, TABLES, TOKEN, Stage, others
from tests.support.dependents_by_date import (
    check_refusals_and_counts,
    check_that_it_looks_again,
)
from tests.support.dependents_model import SEEDS, check_any_history
from tests.support.dependents_writers import check_that_no_child_is_left
from tests.support.meanwhile import once_after
from tests.support.prepared_warehouse import prepared_warehouse
from tests.support.traces import holders


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    prepared_warehouse(tmp_path / "warehouse", SETUP)
    client = Client(tmp_path / "warehouse")
    yield client
    client.close()


@pytest.fixture
def stage(run: Client) -> Stage:
    """The tables in a warehouse."""
    return Stage(run, partial(Client, run.root), partial(holders, run.root), "main")


@pytest.mark.first(1)
@pytest.mark.parametrize("check", dependents.CHECKS, ids=lambda check: check.__name__)
def test_as_in_every_store(stage: Stage, check: Callable[[Stage], None]) -> None:
    check(stage)


@pytest.mark.long
@pytest.mark.parametrize("check", dependents.CHECKS_OF_COPIES, ids=lambda check: check.__name__)
def test_copies_as_in_every_store(
    stage: Stage, tmp_path: Path, check: Callable[[Stage, Path], None]
) -> None:
    check(stage, tmp_path)


def test_rows_that_come_while_it_is_accepted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    dependents.rows_that_come_while_it_is_accepted_go_as_well(stage, monkeypatch)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_an_erasure_leaves_no_child_that_writers_add_meanwhile(stage: Stage) -> None:
    check_that_no_child_is_left(stage)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_erasures_leave_no_dependents_in_random_histories(tmp_path: Path, seed: int) -> None:
    run = Client(tmp_path / "warehouse")
    check_any_history(run, seed)
    run.close()


@pytest.mark.long
def test_a_purge_that_fails_between_tables_goes_on_with_the_next_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stage.run
    before = others(run)
    stage.accept(Dependents.CASCADE)
    purge_table = purging.purge_table

    def fail(*given: Any) -> Any:
        if given[1].id == max(t.table_id for t in stage.requests()[0].targets if t.mask):
            raise PalimpsestError(Code.JOB_FAILED, "stopped")
        return purge_table(*given)

    monkeypatch.setattr(purging, "purge_table", fail)
    assert run.error("CALL system.purge()")[0] == "PAL-701"
    assert stage.requests()[0].state is State.ACCEPTED
    assert [run(f"SELECT count(*) FROM {t}")[0][0] for t in TABLES] == [2, 3, 1, 2]
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    monkeypatch.undo()
    run("CALL system.purge()")
    assert stage.requests()[0].state is State.COMPLETED
    assert others(run) == before
    assert holders(run.root, TOKEN) == []


@pytest.mark.long
def test_retention_refuses_or_counts(stage: Stage) -> None:
    check_refusals_and_counts(stage)


def test_retention_looks_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_it_looks_again(stage, partial(once_after, monkeypatch, Retention, "verify"))
