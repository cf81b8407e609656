"""Legal holds: placed and released in SQL, seen in system.holds, and what they forbid when set."""

from __future__ import annotations

import pytest

from journal.erasure.holds import active, all_holds, held_condition, whole_table
from tests.support.client import Client


@pytest.fixture
def people(run: Client) -> Client:
    run("CREATE SCHEMA hr")
    run("CREATE TABLE hr.people (id INT PRIMARY KEY, email VARCHAR, ds DATE)")
    run("CREATE TABLE hr.other (id INT PRIMARY KEY, n INT)")
    run("INSERT INTO hr.people VALUES (1, 'ada@x.org', '2024-01-01')")
    run("INSERT INTO hr.people VALUES (2, 'bob@x.org', '2024-02-01')")
    return run


def test_a_hold_on_a_table(people: Client) -> None:
    ((hold, scope, table, reason),) = people("PLACE HOLD ON hr.people REASON 'matter 17'")
    assert (scope, table, reason) == ("table", "hr.people", "matter 17")
    assert people("SELECT id, scope, reason, released_at FROM system.holds") == [
        (hold, "table", "matter 17", None)
    ]
    refused = "ALTER TABLE hr.people SET POLICY (RETENTION = 1 DAY ON COLUMN ds)"
    assert people.error(refused) == ("PAL-241", "55000")
    people("ALTER TABLE hr.people SET POLICY (BACKUP = 3 DAYS)")
    assert people(f"RELEASE HOLD '{hold}'")[0][:2] == (hold, "table")
    people(refused)
    assert people.error(f"RELEASE HOLD '{hold}'") == ("PAL-241", "55000")


def test_holds_cover_tables_conditions_and_people(people: Client) -> None:
    journal = people.connection.session.journal
    tables = {t.name.name: t for t in journal.state.catalog.tables()}
    people("PLACE HOLD ON hr.people WHERE ds < DATE '2024-01-15' REASON 'early rows'")
    people("CALL system.hold(subject => 'email=bob@x.org', reason => 'matter 18')")
    found = active(journal, tables["people"])
    assert [h.scope for h in found] == ["predicate", "subject"]
    assert whole_table(found) is None
    condition = held_condition(journal, tables["people"], found)
    assert condition is not None
    assert "bob@x.org" not in condition.sql()
    assert all("bob" not in str(h) for h in found)
    assert active(journal, tables["other"]) == []
    assert held_condition(journal, tables["other"], []) is None


def test_releasing_forgets_the_person(people: Client) -> None:
    hold = people("PLACE HOLD FOR SUBJECT email = 'bob@x.org' REASON 'matter 18'")[0][0]
    people(f"CALL system.release('{hold}')")
    (found,) = all_holds(people.connection.session.journal)
    assert (found.subject_column, found.subject_value, found.is_active) == ("email", None, False)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("PLACE HOLD ON hr.people", "PAL-101"),
        ("PLACE HOLD REASON 'x'", "PAL-241"),
        ("PLACE HOLD ON hr.nobody REASON 'x'", "PAL-201"),
        ("PLACE HOLD ON hr.people WHERE salary > 1 REASON 'x'", "PAL-202"),
        ("PLACE HOLD ON hr.people WHERE id IN (SELECT 1) REASON 'x'", "PAL-110"),
        ("PLACE HOLD ON hr.people WHERE ds < 'never' REASON 'x'", "PAL-317"),
        ("PLACE HOLD FOR SUBJECT phone = '1' REASON 'x'", "PAL-202"),
        ("PLACE HOLD FOR SUBJECT phone REASON 'x'", "PAL-101"),
        ("CALL system.hold(table => 'hr.people', reason => ' ')", "PAL-241"),
        ("CALL system.hold(tabel => 'hr.people', reason => 'x')", "PAL-222"),
        ("RELEASE HOLD 'nothing'", "PAL-241"),
    ],
)
def test_wrong_holds_are_refused(people: Client, sql: str, code: str) -> None:
    assert people.error(sql)[0] == code


def test_a_hold_survives_a_restart(connect: object, people: Client) -> None:
    people("PLACE HOLD ON hr.people REASON 'matter 17'")
    people.close()
    again = connect()  # type: ignore[operator]
    assert again("SELECT reason FROM system.holds") == [("matter 17",)]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "change",
    [
        "RENAME COLUMN email TO mail",
        "DROP COLUMN email",
        "SET TBLPROPERTIES ('erasure' = 'tags[] AS email')",
    ],
)
def test_a_person_on_hold_is_not_lost_from_sight_by_a_change(run: Client, change: str) -> None:
    _identified(run)
    hold = run("PLACE HOLD FOR SUBJECT email = 'Ada@x' REASON 'm'")[0][0]
    assert run.error(f"ALTER TABLE t {change}") == ("PAL-241", "55000")
    run("ALTER TABLE t RENAME COLUMN tags TO words")
    run(f"RELEASE HOLD '{hold}'")
    if "COLUMN email" in change:
        run("ALTER TABLE t UNSET TBLPROPERTIES ('erasure')")
    run(f"ALTER TABLE t {change.replace('tags', 'words')}")


@pytest.mark.long
def test_what_a_condition_reads_stays_while_it_holds(run: Client) -> None:
    _identified(run)
    run("PLACE HOLD ON t WHERE n > 5 REASON 'm'")
    for change in ("DROP COLUMN n", "ALTER COLUMN n TYPE VARCHAR"):
        assert run.error(f"ALTER TABLE t {change}") == ("PAL-241", "55000")
    run("ALTER TABLE t RENAME COLUMN n TO number")
    run("CALL system.retain('t', now => '2024-01-01')")
    assert run("SELECT id FROM t") == [(3,)]


@pytest.mark.long
def test_a_person_is_held_as_an_erasure_would_find_them(run: Client) -> None:
    _identified(run)
    run("PLACE HOLD FOR SUBJECT email = 'ADA@x ' REASON 'm'")
    run("CALL system.retain('t', now => '2024-01-01')")
    assert run.sorted("SELECT id FROM t") == [(1,), (2,)]
    run("ERASE FROM t WHERE id = 2")
    ((*_, why, _report),) = run("CALL system.purge()")
    assert why.endswith("ON_HOLD")


def _identified(run: Client) -> None:
    run(
        "CREATE TABLE t (id INT PRIMARY KEY, email VARCHAR, tags VARCHAR[], n INT, ds DATE)"
        " WITH (erasure = 'email LOWER, tags[] AS email LOWER')"
    )
    run("ALTER TABLE t SET POLICY (RETENTION = 1 YEAR ON COLUMN ds)")
    run("INSERT INTO t VALUES (1, 'Ada@x', NULL, 1, '2020-01-01')")
    run("INSERT INTO t VALUES (2, NULL, ['q', ' ada@x'], 2, '2020-01-01')")
    run("INSERT INTO t VALUES (3, 'bob@x', [], 9, '2020-01-01')")
