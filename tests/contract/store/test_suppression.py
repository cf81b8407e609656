"""What may not be written again after an erasure by a condition."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from tests.support import suppressing
from tests.support.stores.store import Capability, Store
from tests.support.suppressing import Run, runner

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]


@pytest.fixture
def con(store: Store) -> Connection:
    """One connection."""
    return store.connect()


@pytest.fixture
def made(con: Connection) -> Run:
    """The tables, and what runs statements about them."""
    run = runner(con)
    suppressing.make(run)
    return run


def test_identifiers_in_a_condition_do_not_come_back(made: Run) -> None:
    suppressing.check_named(made)


@pytest.mark.also_on("hive")
def test_other_conditions_suppress_keys_alone(made: Run) -> None:
    suppressing.check_keys_alone(made)


@pytest.mark.also_on("hive")
def test_what_others_hold_is_reported_and_left_as_it_is(made: Run) -> None:
    suppressing.check_shared(made)
    suppressing.check_left_as_is(made)


@pytest.mark.also_on("hive")
@pytest.mark.parametrize("memory_rows", [50_000, 1])
def test_bulk_loads_refuse_or_skip(made: Run, con: Connection, memory_rows: int) -> None:
    made(f"SET memory_rows = {memory_rows}")
    suppressing.check_bulk(made, con.execute)
    table = "CREATE TABLE made (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')"
    assert con.execute(table).skipped == 0


@pytest.mark.also_on("hive")
def test_a_table_with_somebody_who_was_erased_is_not_onboarded(made: Run, con: Connection) -> None:
    suppressing.check_onboarding(made, con)


@pytest.mark.also_on("hive")
def test_a_dropped_table_does_not_bring_them_back(made: Run) -> None:
    suppressing.check_undropped(made)


@pytest.mark.also_on("hive")
def test_what_others_had_before_is_no_damage(made: Run, con: Connection) -> None:
    made(f"INSERT INTO q VALUES (70, '{suppressing.MAIL}')")
    made("UPDATE q SET mail = 'changed' WHERE k = 70")
    told = suppressing.remarks(made(f"ERASE FROM p WHERE email = '{suppressing.MAIL}'"))
    assert suppressing.HELD not in told
    suppressing.refused(made, f"UPDATE q SET mail = '{suppressing.MAIL}' WHERE k = 70")
    assert con.session.executor.upkeep.verify().is_clean
