"""What may not be written again to an adopted journal after an erasure by a condition."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt
from tests.database.test_adopt import CLASSIC
from tests.support import suppressing
from tests.support.suppressing import Run, runner

pytestmark = pytest.mark.stores

_COLUMNS = {
    "p": "id INTEGER NOT NULL, email TEXT, phone BIGINT, n INTEGER",
    "q": "k INTEGER NOT NULL, mail TEXT",
    "r": "k INTEGER NOT NULL, mail TEXT",
    "old": "k INTEGER NOT NULL, mail TEXT, n INTEGER",
}


@pytest.fixture
def made(con: Connection, admin: Any) -> Run:
    """The tables, as journals of a classic tool."""
    run = runner(con)
    for name in ("p", "q", "r"):
        _adopt(con, admin, name)
    suppressing.fill(run)
    return run


def _adopt(con: Connection, admin: Any, name: str) -> list[str]:
    columns = _COLUMNS[name]
    key = columns.partition(" ")[0]
    admin.execute(
        f"CREATE TABLE {name}_journal ({columns}, version_number TIMESTAMPTZ NOT NULL,"
        f" subsequent_version_number TIMESTAMPTZ, PRIMARY KEY ({key}, version_number))"
    )
    return adopt(con.session, name, (), CLASSIC, run=True)


def test_identifiers_in_a_condition_do_not_come_back(made: Run) -> None:
    suppressing.check_named(made)


def test_other_conditions_suppress_keys_alone(made: Run) -> None:
    suppressing.check_keys_alone(made)


def test_what_others_hold_is_told_and_left_as_it_is(made: Run) -> None:
    suppressing.check_shared(made)
    suppressing.check_left_as_is(made)


def test_bulk_loads_refuse_or_skip(made: Run, con: Connection) -> None:
    suppressing.check_bulk(made, con.execute)


def test_a_table_with_somebody_who_was_erased_is_not_onboarded(made: Run, con: Connection) -> None:
    suppressing.check_onboarding(made, con)


def test_an_adopted_table_with_somebody_who_was_erased_is_not_onboarded(
    con: Connection, admin: Any
) -> None:
    run = runner(con)
    suppressing.make(run)
    run("ERASE FROM p WHERE email IN ('f@x.example')")

    def create() -> None:
        assert "people were erased here before" in _adopt(con, admin, "old")[-1]

    suppressing.check_onboarding(run, con, create)


def test_a_classic_tool_may_leave_an_identifier_as_it_is(con: Connection, admin: Any) -> None:
    """It writes whole rows anew, and the fence looks for the row before in the journal."""
    for name in ("p", "q", "r"):
        _adopt(con, admin, name)
    run = runner(con)
    suppressing.fill(run)
    run("INSERT INTO p VALUES (300, 'g@x.example', 77, 0), (301, 'g@x.example', 88, 0)")
    run("INSERT INTO p VALUES (302, 'g@x.example', 99, 0)")
    run("ERASE FROM p WHERE email = 'g@x.example' AND phone = 77 SCOPE ALL")
    write = "INSERT INTO p_journal (id, email, phone, n, version_number{}) VALUES {}"
    now = "clock_timestamp() + interval '{} s'"
    first, second = now.format(1), now.format(2)
    for values in (
        f"(900, 'g@x.example', 1, 1, {first})",
        f"(300, 'new', 1, 1, {first})",
        f"(900, 'G@x.example', 1, 1, {first}), (900, 'g@x.example', 1, 1, {second})",
        f"(301, 'g@x.example', 88, 1, {first}), (6, 'g@x.example', 66, 1, {first})",
    ):
        with pytest.raises(psycopg.errors.RestrictViolation, match="was erased"):
            admin.execute(write.format("", values))
    admin.execute(write.format("", f"(301, ' G@x.example', 88, 2, {first})"))
    admin.execute("UPDATE p_journal SET n = 5 WHERE id = 301")
    with pytest.raises(psycopg.errors.RestrictViolation, match="was erased"):
        admin.execute("UPDATE p_journal SET email = 'g@x.example' WHERE id = 6")
    assert "erased" not in {p.kind for p in con.session.executor.upkeep.verify().problems}
    ended = f"(302, 'g@x.example', 99, 0, {first}, {first})"
    admin.execute(write.format(", subsequent_version_number", ended.replace(first, "'2100-01-01'")))
    with pytest.raises(psycopg.errors.RestrictViolation, match="was erased"):
        admin.execute(write.format("", "(302, 'g@x.example', 99, 0, '2100-01-02')"))


def test_a_dropped_table_does_not_bring_them_back(made: Run) -> None:
    suppressing.check_undropped(made)


def test_what_others_had_before_is_no_damage(made: Run, con: Connection) -> None:
    made(f"INSERT INTO q VALUES (70, '{suppressing.MAIL}')")
    made("UPDATE q SET mail = 'changed' WHERE k = 70")
    told = suppressing.remarks(made(f"ERASE FROM p WHERE email = '{suppressing.MAIL}'"))
    assert suppressing.HELD not in told
    suppressing.refused(made, f"UPDATE q SET mail = '{suppressing.MAIL}' WHERE k = 70")
    assert con.session.executor.upkeep.verify().is_clean
