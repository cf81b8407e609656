"""Rows that refer to erased ones: people, what is theirs, and what becomes of it on any store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.procedures.erasure_program import erasure_of
from journal.erasure import audit_check
from journal.erasure.erasure_spec import ErasureSpec, requests
from journal.erasure.requests import ErasureRequest, Outcome, State
from journal.model.dependents import Dependents
from journal.records.erasure_rows import load_audit
from spark_compaction.erasure import acceptance
from tests.support.client import Client
from tests.support.meanwhile import once_after
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
KINDS = (
    ("VARCHAR", "'a''b'", "'ä'"),
    ("TIMESTAMPTZ", "'2020-01-01 00:00:00.123456+02'", "'2021-01-01 00:00:00+00'"),
    ("DECIMAL(38,10)", "1234567890123456789012345678.0123456789", "2.5"),
    ("DOUBLE", "1.1", "'NaN'"),
    ("BLOB", "'\\xAA'::BLOB", "'b'::BLOB"),
)
"""Types, and two values of each as SQL."""
GOING = {"people": 1, "visits": 3, "stays": 3, "badges": 2}
"""How many keys go with the person."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A store with these tables.

    ``open`` gives further clients; ``holders`` tells where a text is found.
    """

    run: Client
    open: Callable[..., Client]
    holders: Callable[[str], list[str]]
    home: str

    def accept(self, dependents: Dependents | None, **more: Any) -> ErasureRequest:
        """A request about the person."""
        wanted = ErasureSpec({"email": [MAIL]}, dependents=dependents, **more)
        return erasure_of(self.run.connection.session).accept(wanted, "me")

    def requests(self) -> list[ErasureRequest]:
        """All requests."""
        return requests(erasure_of(self.run.connection.session).journal)

    def named(self, counts: dict[str, int]) -> dict[str, int]:
        """Counts by the full names of tables."""
        return {f"{self.home}.{name}": count for name, count in counts.items()}

    def check_clean(self) -> None:
        """The store is whole, and so is the audit log."""
        assert self.run.connection.session.executor.upkeep.verify().is_clean
        assert audit_check.verify(erasure_of(self.run.connection.session).journal).problems == ()


def keys_of(request: ErasureRequest) -> dict[str, int]:
    """The keys that a request takes, by the tables that were searched for it."""
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


def cascade_takes_whatever_referred_to_them_in_any_version(stage: Stage) -> None:
    """A dry run tells what the run does, at once nothing is seen, in the end nothing is left."""
    run, expected = stage.run, stage.named(GOING)
    before = others(run)
    erasure = erasure_of(run.connection.session)
    planned = erasure.dry_run(ErasureSpec({"email": [MAIL]}, dependents=Dependents.CASCADE))
    assert keys_of(planned) == expected
    assert stage.requests() == []
    request = stage.accept(Dependents.CASCADE)
    assert keys_of(request) == expected
    assert all(t.dangling == {} for t in request.targets)
    by_table = {t.table: t for t in request.targets}
    assert by_table[f"{stage.home}.stays"].why == "refers to what goes by stays_visit_fkey"
    seen = [run(f"SELECT count(*) FROM {table} FOR SYSTEM_TIME ALL")[0][0] for table in TABLES]
    assert seen == [len(rows) for rows in before], "unseen at once, at every time"
    assert run.error("INSERT INTO visits VALUES (30, 1, 'again')") == ("PAL-307", "23503")
    assert run.error("INSERT INTO stays VALUES (11, 2), (10, 1)")[0] in {"PAL-306", "PAL-307"}
    run("CALL system.purge()")
    (done,) = stage.requests()
    assert done.state is State.COMPLETED
    outcomes = {t.table: t.outcome for t in done.targets}
    assert outcomes == dict.fromkeys(expected, Outcome.ERASED)
    removed = [{t.table: t.versions_removed for t in r.targets} for r in (planned, done)]
    assert removed[0] == removed[1], "the dry run told it"
    assert others(run) == before
    assert stage.holders(TOKEN) == []
    stage.check_clean()
    with erasure.journal.reading_session() as session:
        log = {row.action: row.detail for row in load_audit(session)}
    assert json.loads(log["erase.accept"])["searched"] == list(expected)
    assert all(name in log["erase.purge"] for name in expected)


def refuse_names_tables_and_counts_and_changes_nothing(stage: Stage) -> None:
    """Until they are gone."""
    run, home = stage.run, stage.home
    sql = "ERASE FROM people WHERE id = 1 ON DEPENDENTS REFUSE REASON 'ticket'"
    with pytest.raises(gateway.Error, match=rf"2 of {home}\.visits \(visits_who_fkey\)") as raised:
        run(sql)
    assert (raised.value.code, raised.value.sqlstate) == ("PAL-307", "23503")
    assert f"1 of {home}.badges (badges_code_fkey)" in str(raised.value)
    assert run("SELECT count(*) FROM system.erasures") == [(0,)]
    assert run("SELECT count(*) FROM people") == [(3,)]
    run("DELETE FROM badges WHERE code = 'c-new'")
    run("DELETE FROM stays WHERE visit = 10")
    run("DELETE FROM visits WHERE who = 1")
    ((_, state, table, _, keys, *_),) = run(sql)
    assert state in {"ACCEPTED", "COMPLETED"}
    assert (table, keys) == (f"{home}.people", 1)


def a_table_says_it_and_a_request_otherwise(stage: Stage) -> None:
    """The property of a table is about those that refer to its own rows."""
    run = stage.run
    assert run.error("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'FORGET')") == (
        "PAL-222",
        "22023",
    )
    run("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'refuse')")
    assert run.error("ERASE FROM people WHERE id = 1")[0] == "PAL-307"
    assert run.error("ERASE FROM people WHERE id = 1 ON DEPENDENTS FORGET")[0] == "PAL-222"
    run("ALTER TABLE people SET TBLPROPERTIES ('erasure_dependents' = 'cascade')")
    told = erasure_of(run.connection.session).dry_run(ErasureSpec({"email": [MAIL]}))
    # What refers to visits is left: they say nothing of it.
    assert keys_of(told) == stage.named({n: k for n, k in GOING.items() if n != "stays"})
    assert {t.table: dict(t.dangling) for t in told.targets if t.dangling} == {
        f"{stage.home}.visits": {f"{stage.home}.stays (stays_visit_fkey)": 3}
    }
    rows = run("ERASE FROM people WHERE id = 1 ON DEPENDENTS REPORT")
    assert [row[4] for row in rows] == [1]


def a_condition_takes_dependents_along(stage: Stage) -> None:
    """As identifiers do."""
    rows = stage.run("ERASE FROM people WHERE email LIKE 'Qz7%' ON DEPENDENTS CASCADE REASON 'x'")
    assert {row[2]: row[4] for row in rows} == stage.named(GOING)


def a_hold_on_a_dependent_row_keeps_the_request_back(stage: Stage) -> None:
    """All of it, until it is released."""
    run = stage.run
    run("PLACE HOLD ON visits WHERE k = 10 REASON 'a trial'")
    stage.accept(Dependents.CASCADE)
    run("CALL system.purge()")
    assert [r.state for r in stage.requests()] == [State.ON_HOLD]
    assert stage.holders(TOKEN)
    (hold,) = run("SELECT id FROM system.holds")[0]
    run(f"RELEASE HOLD '{hold}'")
    run("CALL system.purge()")
    assert [r.state for r in stage.requests()] == [State.COMPLETED]
    assert stage.holders(TOKEN) == []


def cancelling_shows_them_again(stage: Stage) -> None:
    """Those that nobody named, too."""
    run = stage.run
    before = [run.sorted(f"SELECT * FROM {table}") for table in TABLES]
    request = stage.accept(Dependents.CASCADE)
    erasure_of(run.connection.session).cancel(request, "me")
    assert [run.sorted(f"SELECT * FROM {table}") for table in TABLES] == before
    run("INSERT INTO visits VALUES (31, 1, 'again')")


def tables_that_erasures_do_not_reach_stop_a_cascade(stage: Stage) -> None:
    """Nothing is changed."""
    from journal.erasure.scope import put_scope

    with erasure_of(stage.run.connection.session).journal.exclusive_session() as session:
        put_scope(session, ["*"], [f"{stage.home}.stays"])
        session.commit()
    with pytest.raises(gateway.Error, match=r"\.stays may refer to erased rows") as raised:
        stage.run("ERASE FROM people WHERE id = 1 ON DEPENDENTS CASCADE")
    assert raised.value.code == "PAL-510"
    assert stage.run("SELECT count(*) FROM people") == [(3,)]


def a_table_that_refers_to_itself_is_followed_to_the_end(stage: Stage) -> None:
    """A circle, too, of keys that Arrow has no type for."""
    run = stage.run
    run("CREATE TABLE staff (id UUID PRIMARY KEY, boss UUID REFERENCES staff (id))")
    ids = [f"00000000-0000-0000-0000-{n:012}" for n in range(30)]
    run(f"INSERT INTO staff VALUES ('{ids[0]}', NULL), ('{ids[29]}', NULL)")
    for boss, one in pairwise(ids[:29]):
        run(f"INSERT INTO staff VALUES ('{one}', '{boss}')")
    run(f"UPDATE staff SET boss = '{ids[28]}' WHERE id = '{ids[0]}'")
    sql = f"ERASE FROM staff WHERE id = '{ids[5]}' ON DEPENDENTS"
    with pytest.raises(gateway.IntegrityError, match=r"1 of .*\.staff \(staff_boss_fkey\)"):
        run(f"{sql} REFUSE")
    rows = run(f"{sql} CASCADE")
    assert [row[4] for row in rows if row[2] == f"{stage.home}.staff"] == [29]
    assert [str(row[0]) for row in run("SELECT id FROM staff")] == [ids[29]]


def names_keep_their_case(stage: Stage) -> None:
    """Those of keys, and of columns that refer."""
    run = stage.run
    run('CREATE TABLE p ("Id" INT, "Of" VARCHAR, "Tag" INT UNIQUE, PRIMARY KEY ("Id", "Of"))')
    run(
        'CREATE TABLE c (k INT PRIMARY KEY, "Up" INT, "At" VARCHAR, "By" INT REFERENCES p ("Tag"),'
        ' FOREIGN KEY ("Up", "At") REFERENCES p ("Id", "Of"))'
    )
    run("INSERT INTO p VALUES (1, 'x', 7), (1, 'y', 8), (2, 'x', NULL)")
    run("INSERT INTO c VALUES (1, 1, 'x', 8), (2, 1, 'y', 7), (3, 1, 'y', NULL), (4, 1, NULL, 8)")
    run("ERASE FROM p WHERE \"Of\" = 'x' ON DEPENDENTS CASCADE")
    assert run.sorted("SELECT k FROM c") == [(3,), (4,)]


def values_of_many_types_are_followed(stage: Stage) -> None:
    """To rows without a key, too; NULL refers to nothing."""
    for number, (kind, one, other) in enumerate(KINDS):
        run, p, c = stage.run, f"p{number}", f"c{number}"
        run(f"CREATE TABLE {p} (id {kind} PRIMARY KEY, u {kind} UNIQUE, n INT)")
        run(f"CREATE TABLE {c} (x {kind} REFERENCES {p}, y {kind} REFERENCES {p} (u), m INT)")
        run(f"INSERT INTO {p} VALUES ({one}, {other}, 1), ({other}, {one}, 2)")
        run(
            f"INSERT INTO {c} VALUES ({one}, NULL, 1), ({other}, NULL, 2), (NULL, {one}, 3),"
            f" (NULL, {other}, 4), (NULL, NULL, 5)"
        )
        run(f"ERASE FROM {p} WHERE n = 1 ON DEPENDENTS CASCADE")
        assert run.sorted(f"SELECT m FROM {c}") == [(2,), (3,), (5,)], kind


def who_began_before_cannot_add_a_row_that_refers_to_them(stage: Stage) -> None:
    """Neither to a table from which rows went as well, nor to one that had none."""
    run = stage.run
    run("CREATE TABLE notes (k INT PRIMARY KEY, who INT REFERENCES people)")
    late = ["INSERT INTO visits VALUES (40, 1, 'late')", "INSERT INTO notes VALUES (1, 1)"]
    clients = [stage.open(autocommit=False) for _ in late]
    for client, sql in zip(clients, late, strict=True):
        client(sql)
    run("ERASE FROM people WHERE id = 1 ON DEPENDENTS CASCADE")
    for client in clients:
        with pytest.raises(gateway.Error) as raised:
            client.connection.commit()
        assert raised.value.sqlstate == "40001"
        client.close()


def rows_that_come_while_it_is_accepted_go_as_well(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a new link of a chain, too, while compaction moves what was looked at."""
    other = stage.open()

    def write() -> None:
        other("INSERT INTO visits VALUES (50, 1, 'new')")
        other("CALL system.compact('visits')")
        other("INSERT INTO stays VALUES (50, 1), (50, 2)")
        other("UPDATE badges SET code = NULL WHERE b = 23")
        other("UPDATE people SET code = 'c-late' WHERE id = 1")
        other("INSERT INTO badges VALUES (51, 'c-late', 'new')")

    once_after(monkeypatch, acceptance, "_search", write)
    expected = {"people": 1, "visits": 4, "stays": 5, "badges": 3}
    assert keys_of(stage.accept(Dependents.CASCADE)) == stage.named(expected)
    assert stage.run.sorted("SELECT k FROM visits") == [(11,), (13,), (14,)]
    other.close()


def rows_that_only_backups_and_copies_hold_are_followed(stage: Stage, folder: Path) -> None:
    """From what nobody sees any more to what refers to that."""
    run, away = stage.run, f"file://{folder / 'away'}"
    run(f"CALL system.backup('badges', name => 'old', to => '{away}')")
    run("CALL system.backup('visits', name => 'here')")
    run("DELETE FROM badges WHERE b IN (20, 23)")
    run("DELETE FROM stays WHERE visit IN (10, 12)")
    run("DELETE FROM visits WHERE k IN (10, 12)")
    for table in TABLES:
        run(f"CALL system.compact('{table}')")
        run(f"ALTER TABLE {table} SET POLICY (VERSIONS = 1)")
        run(f"CALL system.retain('{table}')")
    request = stage.accept(Dependents.CASCADE)
    assert {n: k for n, k in keys_of(request).items() if not n.endswith("stays")} == stage.named(
        {"people": 1, "visits": 3, "badges": 2}
    )
    run("CALL system.purge()")
    assert [r.state for r in stage.requests()] == [State.COMPLETED]
    assert stage.holders(TOKEN) == holders(folder / "away", TOKEN) == []


def a_copy_out_of_reach_stops_what_depends_on_it(stage: Stage, folder: Path) -> None:
    """Of CASCADE and REFUSE."""
    stage.run(f"CALL system.backup('people', name => 'old', to => 'file://{folder / 'away'}')")
    (folder / "away").rename(folder / "gone")
    for word in ("CASCADE", "REFUSE"):
        sql = f"ERASE FROM people WHERE id = 1 ON DEPENDENTS {word}"
        with pytest.raises(gateway.Error, match="old") as raised:
            stage.run(sql)
        assert raised.value.code == "PAL-510"
    assert stage.run("SELECT count(*) FROM people") == [(3,)]


CHECKS: tuple[Callable[[Stage], None], ...] = (
    cascade_takes_whatever_referred_to_them_in_any_version,
    refuse_names_tables_and_counts_and_changes_nothing,
    a_table_says_it_and_a_request_otherwise,
    a_condition_takes_dependents_along,
    a_hold_on_a_dependent_row_keeps_the_request_back,
    cancelling_shows_them_again,
    tables_that_erasures_do_not_reach_stop_a_cascade,
    a_table_that_refers_to_itself_is_followed_to_the_end,
    names_keep_their_case,
    values_of_many_types_are_followed,
    who_began_before_cannot_add_a_row_that_refers_to_them,
)
"""What holds in every store."""
CHECKS_OF_COPIES: tuple[Callable[[Stage, Path], None], ...] = (
    rows_that_only_backups_and_copies_hold_are_followed,
    a_copy_out_of_reach_stops_what_depends_on_it,
)
"""What holds in every store of copies in a folder."""
