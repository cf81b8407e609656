"""What may not be written again after an erasure by a condition, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.adopting import adopt
from gateway.dbapi.connection import Connection
from tests.database.test_adopt import CLASSIC
from tests.support import suppressing
from tests.support.suppressing import Run, runner

Make = Callable[[], Run]
_COLUMNS = {
    "p": "id INTEGER NOT NULL, email TEXT, phone BIGINT, n INTEGER",
    "q": "k INTEGER NOT NULL, mail TEXT",
    "r": "k INTEGER NOT NULL, mail TEXT",
}


@pytest.fixture(params=["tiered", "adopted"])
def made(request: pytest.FixtureRequest, con: Connection, admin: Any) -> Run:
    """The tables, as journals of ours or as those of a classic tool."""
    run = runner(con)
    if request.param == "tiered":
        suppressing.make(run)
        return run
    for name, columns in _COLUMNS.items():
        key = columns.partition(" ")[0]
        admin.execute(
            f"CREATE TABLE {name}_journal ({columns}, version_number TIMESTAMPTZ NOT NULL,"
            f" subsequent_version_number TIMESTAMPTZ, PRIMARY KEY ({key}, version_number))"
        )
        adopt(con.session, name, (), CLASSIC, run=True)
    suppressing.fill(run)
    return run


def test_identifiers_in_a_condition_do_not_come_back(made: Run) -> None:
    suppressing.check_named(made)


def test_other_conditions_suppress_keys_alone(made: Run) -> None:
    suppressing.check_keys_alone(made)


def test_what_others_hold_is_told_and_left_as_it_is(made: Run) -> None:
    suppressing.check_shared(made)
    suppressing.check_left_as_is(made)
