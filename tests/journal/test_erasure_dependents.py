"""What becomes of rows that refer to erased ones: they are left, stop it, or go with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.erasers import eraser_of
from gateway.procedures import embedded
from journal.dependents import Dependents
from journal.embedded.verification import verify
from journal.erasure import audit
from journal.erasure.requests import Outcome, Request, State
from journal.erasure.wanted import Wanted, requests
from journal.errors import Code, PalimpsestError
from spark_compaction import erasing
from spark_compaction.retention import Retention
from tests.support.client import Client
from tests.support.traces import holders

TOKEN = "Qz7-unmistakable-Xk9"
MAIL = f"{TOKEN}@x.example"
SETUP = (
    "SET job_engine = 'local'",
    (
        "CREATE TABLE people (id INT PRIMARY KEY, email VARCHAR, code VARCHAR UNIQUE)"
        " WITH (erasure = 'email LOWER')"
    ),
    "CREATE TABLE visits (k INT PRIMARY KEY, who INT REFERENCES people, note VARCHAR)",
    "CREATE TABLE stays (visit INT REFERENCES visits, n INT, PRIMARY KEY (visit, n))",
    "CREATE TABLE badges (b INT PRIMARY KEY, code VARCHAR REFERENCES people (code), note VARCHAR)",
    f"INSERT INTO people VALUES (1, '{MAIL}', 'c-old'), (2, 'bob@x', 'c2'), (3, 'eve@x', 'c3')",
    (
        f"INSERT INTO visits VALUES (10, 1, '{TOKEN}'), (11, 2, 'of bob'), (12, 1, '{TOKEN}'),"
        " (13, 3, 'of eve'), (14, NULL, 'of nobody')"
    ),
    "INSERT INTO stays VALUES (10, 1), (11, 1), (12, 1), (12, 2)",
    f"INSERT INTO badges VALUES (20, 'c-old', '{TOKEN}'), (21, 'c2', 'bob'), (22, NULL, '')",
    "CALL system.flush()",
    # A visit that was of the person once, and a badge of the code they had before.
    "UPDATE visits SET who = 2 WHERE k = 12",
    "UPDATE badges SET code = NULL WHERE b = 20",
    "UPDATE people SET code = 'c-new' WHERE id = 1",
    f"INSERT INTO badges VALUES (23, 'c-new', '{TOKEN}')",
    f"INSERT INTO visits VALUES (15, 1, '{TOKEN}')",
)
TABLES = ("people", "visits", "stays", "badges")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    for sql in SETUP:
        client(sql)
    yield client
    client.close()


def _accept(run: Client, dependents: Dependents | None, **more: Any) -> Request:
    eraser = eraser_of(run.connection.session)
    return eraser.accept(Wanted({"email": [MAIL]}, dependents=dependents, **more), "me")


def _keys(request: Request) -> dict[str, int]:
    return {t.table: t.keys for t in request.targets if t.outcome is not Outcome.NOT_SEARCHED}


def others(run: Client) -> list[Any]:
    """All that is told of others, at every time."""
    return [
        run.sorted(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL WHERE {others}")
        for table, others in (
            ("people", "id <> 1"),
            ("visits", "k NOT IN (10, 12, 15)"),
            ("stays", "visit NOT IN (10, 12, 15)"),
            ("badges", "b NOT IN (20, 23)"),
        )
    ]


EXPECTED = {"main.people": 1, "main.visits": 3, "main.stays": 3, "main.badges": 2}


def test_cascade_takes_whatever_referred_to_them_in_any_version(run: Client) -> None:
    before = others(run)
    eraser = eraser_of(run.connection.session)
    wanted = Wanted({"email": [MAIL]}, dependents=Dependents.CASCADE)
    assert _keys(eraser.dry_run(wanted)) == EXPECTED
    request = _accept(run, Dependents.CASCADE)
    assert _keys(request) == EXPECTED
    assert all(t.dangling == {} for t in request.targets)
    by_table = {t.table: t for t in request.targets}
    assert by_table["main.stays"].why == "refers to what goes by stays_visit_fkey"
    seen = [run(f"SELECT count(*) FROM {table} FOR SYSTEM_TIME ALL")[0][0] for table in TABLES]
    assert seen == [len(rows) for rows in before], "unseen at once, at every time"
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    assert run.error("INSERT INTO stays VALUES (11, 2), (10, 1)")[0] in {"PAL-306", "PAL-307"}
    run("CALL system.purge()")
    (done,) = requests(eraser.journal)
    assert done.state is State.COMPLETED
    outcomes = {t.table: t.outcome for t in done.targets}
    assert outcomes == dict.fromkeys(EXPECTED, Outcome.ERASED)
    assert others(run) == before
    assert holders(run.root, TOKEN) == []
    journal = embedded(run.connection.session, "the test")
    assert verify(journal).is_clean
    assert audit.verify(eraser.journal).problems == ()


def test_refuse_names_tables_and_counts_and_changes_nothing(run: Client) -> None:
    sql = "ERASE FROM people WHERE id = 1 ON DEPENDENTS REFUSE REASON 'ticket'"
    with pytest.raises(gateway.Error, match=r"2 of main\.visits \(visits_who_fkey\)") as raised:
        run(sql)
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-307", "23503")
    assert "1 of main.badges (badges_code_fkey)" in str(raised.value)
    assert run("SELECT count(*) FROM system.erasures") == [(0,)]
    assert run("SELECT count(*) FROM people") == [(3,)]
    run("DELETE FROM badges WHERE code = 'c-new'")
    run("DELETE FROM stays WHERE visit = 10")
    run("DELETE FROM visits WHERE who = 1")
    assert run(sql)[0][1:5] == ("ACCEPTED", "main.people", "PENDING", 1)


def test_a_table_says_it_and_a_request_otherwise(run: Client) -> None:
    assert run.error("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'FORGET')") == (
        "PAL-222",
        "22023",
    )
    run("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'refuse')")
    assert run.error("ERASE FROM people WHERE id = 1")[0] == "PAL-307"
    assert run.error("ERASE FROM people WHERE id = 1 ON DEPENDENTS FORGET")[0] == "PAL-222"
    run("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'cascade')")
    told = eraser_of(run.connection.session).dry_run(Wanted({"email": [MAIL]}))
    # What refers to visits is left: they say nothing of it.
    assert _keys(told) == {n: k for n, k in EXPECTED.items() if n != "main.stays"}
    assert {t.table: dict(t.dangling) for t in told.targets if t.dangling} == {
        "main.visits": {"main.stays (stays_visit_fkey)": 3}
    }
    rows = run("ERASE FROM people WHERE id = 1 ON DEPENDENTS REPORT")
    assert [row[4] for row in rows] == [1]


def test_a_condition_takes_dependents_along(run: Client) -> None:
    rows = run("ERASE FROM people WHERE email LIKE 'Qz7%' ON DEPENDENTS CASCADE REASON 'x'")
    assert {row[2]: row[4] for row in rows} == EXPECTED


def test_a_hold_on_a_dependent_row_keeps_the_request_back(run: Client) -> None:
    run("PLACE HOLD ON visits WHERE k = 10 REASON 'a trial'")
    _accept(run, Dependents.CASCADE)
    run("CALL system.purge()")
    eraser = eraser_of(run.connection.session)
    assert [r.state for r in requests(eraser.journal)] == [State.ON_HOLD]
    assert holders(run.root, TOKEN)
    (hold,) = run("SELECT id FROM system.holds")[0]
    run(f"RELEASE HOLD '{hold}'")
    run("CALL system.purge()")
    assert [r.state for r in requests(eraser.journal)] == [State.COMPLETED]
    assert holders(run.root, TOKEN) == []


def test_a_purge_that_fails_between_tables_goes_on_with_the_next_run(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = others(run)
    eraser = eraser_of(run.connection.session)
    _accept(run, Dependents.CASCADE)
    purge_table = erasing._purge_table

    def fail(*given: Any) -> Any:
        if given[2] == max(t.table_id for t in requests(eraser.journal)[0].targets if t.mask):
            raise PalimpsestError(Code.JOB_FAILED, "stopped")
        return purge_table(*given)

    monkeypatch.setattr(erasing, "_purge_table", fail)
    assert run.error("CALL system.purge()")[0] == "PAL-701"
    assert requests(eraser.journal)[0].state is State.ACCEPTED
    assert [run(f"SELECT count(*) FROM {t}")[0][0] for t in TABLES] == [2, 3, 1, 2]
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    monkeypatch.undo()
    run("CALL system.purge()")
    assert requests(eraser.journal)[0].state is State.COMPLETED
    assert others(run) == before
    assert holders(run.root, TOKEN) == []


def test_cancelling_shows_them_again(run: Client) -> None:
    before = [run.sorted(f"SELECT * FROM {table}") for table in TABLES]
    request = _accept(run, Dependents.CASCADE)
    eraser_of(run.connection.session).cancel(request, "me")
    assert [run.sorted(f"SELECT * FROM {table}") for table in TABLES] == before
    run("INSERT INTO visits VALUES (31, 1, 'again')")


def test_tables_that_erasures_do_not_reach_stop_a_cascade(run: Client) -> None:
    from journal.erasure.scope import put_scope

    journal = embedded(run.connection.session, "the test")
    with journal.exclusive_session() as session:
        put_scope(session, ["*"], ["main.stays"])
        session.commit()
    with pytest.raises(gateway.Error, match=r"main\.stays may refer to what goes") as raised:
        run("ERASE FROM people WHERE id = 1 ON DEPENDENTS CASCADE")
    assert raised.value.code == "PAL-510"
    assert run("SELECT count(*) FROM people") == [(3,)]


def test_a_table_that_refers_to_itself_is_followed_to_the_end(run: Client) -> None:
    run("CREATE TABLE staff (id UUID PRIMARY KEY, boss UUID REFERENCES staff (id))")
    ids = [f"00000000-0000-0000-0000-{n:012}" for n in range(30)]
    run(f"INSERT INTO staff VALUES ('{ids[0]}', NULL), ('{ids[29]}', NULL)")
    for boss, one in pairwise(ids[:29]):
        run(f"INSERT INTO staff VALUES ('{one}', '{boss}')")
    run(f"UPDATE staff SET boss = '{ids[28]}' WHERE id = '{ids[0]}'")
    rows = run(f"ERASE FROM staff WHERE id = '{ids[5]}' ON DEPENDENTS CASCADE")
    assert rows[0][4] == 29
    assert [str(row[0]) for row in run("SELECT id FROM staff")] == [ids[29]]


def test_who_began_before_cannot_add_a_row_that_refers_to_them(run: Client) -> None:
    other = Client(run.root, autocommit=False)
    other("INSERT INTO visits VALUES (40, 1, 'late')")
    run("ERASE FROM people WHERE id = 1 ON DEPENDENTS CASCADE")
    with pytest.raises(gateway.Error) as raised:
        other.connection.commit()
    assert raised.value.sqlstate == "40001"
    other.close()


def test_rows_that_only_backups_and_copies_hold_are_followed(run: Client, tmp_path: Path) -> None:
    away = f"file://{tmp_path / 'away'}"
    run(f"CALL system.backup('badges', name => 'old', to => '{away}')")
    run("CALL system.backup('visits', name => 'here')")
    run("DELETE FROM badges WHERE b IN (20, 23)")
    run("DELETE FROM stays WHERE visit IN (10, 12)")
    run("DELETE FROM visits WHERE k IN (10, 12)")
    for table in TABLES:
        run(f"CALL system.compact('{table}')")
        run(f"ALTER TABLE {table} SET POLICY (VERSIONS = 1)")
        run(f"CALL system.retain('{table}')")
    request = _accept(run, Dependents.CASCADE)
    assert {n: k for n, k in _keys(request).items() if n != "main.stays"} == {
        "main.people": 1,
        "main.visits": 3,
        "main.badges": 2,
    }
    run("CALL system.purge()")
    assert [r.state for r in requests(eraser_of(run.connection.session).journal)] == [
        State.COMPLETED
    ]
    assert holders(run.root, TOKEN) == holders(tmp_path / "away", TOKEN) == []


def test_a_copy_out_of_reach_stops_what_depends_on_it(run: Client, tmp_path: Path) -> None:
    run(f"CALL system.backup('people', name => 'old', to => 'file://{tmp_path / 'away'}')")
    (tmp_path / "away").rename(tmp_path / "gone")
    for word in ("CASCADE", "REFUSE"):
        sql = f"ERASE FROM people WHERE id = 1 ON DEPENDENTS {word}"
        with pytest.raises(gateway.Error, match="old") as raised:
            run(sql)
        assert raised.value.code == "PAL-510"
    assert run("SELECT count(*) FROM people") == [(3,)]


@pytest.mark.parametrize("seed", range(3))
def test_any_history_loses_what_ever_referred_to_them_and_nothing_else(
    tmp_path: Path, seed: int
) -> None:
    """Against a plain model: the same rule over all versions, by Python."""
    dice, run = random.Random(seed), Client(tmp_path / "warehouse")
    run("SET job_engine = 'local'")
    run("CREATE TABLE a (id INT PRIMARY KEY, x INT)")
    run("CREATE TABLE b (id INT PRIMARY KEY, x INT REFERENCES a)")
    run("CREATE TABLE c (id INT PRIMARY KEY, x INT REFERENCES b)")
    run("ALTER TABLE a ADD COLUMN y INT REFERENCES b (id)")
    run("INSERT INTO a SELECT i, 0, NULL FROM range(12) t(i)")
    for _ in range(60):
        table, one, other = dice.choice("abbcc"), dice.randrange(12), dice.randrange(12)
        column = dice.choice("xy") if table == "a" else "x"
        statement = dice.choice(
            [
                f"INSERT INTO {table} (id, x) VALUES ({one}, {other})",
                f"INSERT INTO {table} (id, x) VALUES ({one}, {other})",
                f"UPDATE {table} SET {column} = {other} WHERE id = {one}",
                f"DELETE FROM {table} WHERE id = {one}",
                f"CALL system.{dice.choice(['flush', 'compact'])}('{table}')",
            ]
        )
        try:
            run(statement)
        except gateway.IntegrityError:
            continue
    everything = {t: run(f"SELECT * FROM {t} FOR SYSTEM_TIME ALL") for t in "abc"}
    going: dict[str, set[int]] = {"a": {3}, "b": set(), "c": set()}
    for _ in range(40):
        going["b"] |= {row[0] for row in everything["b"] if row[1] in going["a"]}
        going["c"] |= {row[0] for row in everything["c"] if row[1] in going["b"]}
        going["a"] |= {row[0] for row in everything["a"] if row[2] in going["b"]}
    run("ERASE FROM a WHERE id = 3 ON DEPENDENTS CASCADE")
    for purged in (False, True):
        if purged:
            run("CALL system.purge()")
        for table, rows in everything.items():
            left = sorted((r for r in rows if r[0] not in going[table]), key=str)
            assert run.sorted(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL") == left
    run.close()


def test_retention_refuses_to_leave_rows_behind(run: Client) -> None:
    run("ALTER TABLE people ADD COLUMN ds DATE DEFAULT DATE '2020-01-01'")
    assert run.error("ALTER TABLE people SET POLICY (DEPENDENTS = CASCADE)")[0] == "PAL-240"
    run("ALTER TABLE people SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, DEPENDENTS = REFUSE)")
    for more in ("", ", dry_run => true"):
        with pytest.raises(gateway.Error, match=r"main\.visits") as raised:
            run(f"CALL system.retain('people', now => '2024-01-01'{more})")
        assert raised.value.code == "PAL-307"
    assert run("SELECT count(*) FROM people") == [(3,)]
    run("DELETE FROM badges WHERE TRUE")
    run("DELETE FROM stays WHERE TRUE")
    run("DELETE FROM visits WHERE TRUE")
    run("CALL system.retain('people', now => '2024-01-01')")
    assert run("SELECT count(*) FROM people") == [(0,)]


def test_retention_looks_again_before_it_takes_rows(
    run: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TABLE p (id INT PRIMARY KEY, ds DATE)")
    run("CREATE TABLE c (id INT PRIMARY KEY, p INT REFERENCES p)")
    run("INSERT INTO p VALUES (1, '2020-01-01')")
    run("ALTER TABLE p SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, DEPENDENTS = REFUSE)")
    verified = Retention.verify

    def beside(*given: Any) -> Any:
        run("INSERT INTO c VALUES (1, 1)")
        return verified(*given)

    monkeypatch.setattr(Retention, "verify", beside)
    other = Client(run.root)
    with pytest.raises(gateway.Error, match=r"main\.c ") as raised:
        other("CALL system.retain('p', now => '2024-01-01')")
    assert raised.value.code == "PAL-307"
    assert run("SELECT count(*) FROM p") == [(1,)]
    monkeypatch.undo()
    run("DELETE FROM c WHERE TRUE")
    late = Client(run.root, autocommit=False)
    late("INSERT INTO c VALUES (2, 1)")
    other("CALL system.retain('p', now => '2024-01-01')")
    with pytest.raises(gateway.Error) as lost:
        late.connection.commit()
    assert lost.value.sqlstate == "40001"
    late.close()
    other.close()
