"""What a row policy may read, what its names mean, and whom its statements tell nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.gateway.test_commit_groups import Waiting
from tests.support.prepared_warehouse import prepared_warehouse

SETUP = """
CREATE TABLE docs (id INTEGER PRIMARY KEY, owner VARCHAR, info STRUCT(city VARCHAR));
CREATE TABLE members (usr VARCHAR, org VARCHAR);
CREATE TABLE secret (org VARCHAR);
CREATE SEQUENCE numbers;
INSERT INTO docs VALUES (1, 'a', {'city': 'Rome'}), (2, 'b', {'city': 'Bonn'});
INSERT INTO members VALUES ('ann', 'a'), ('bob', 'Bonn');
INSERT INTO secret VALUES ('a');
CREATE ROLE ann;
CREATE ROLE bob;
GRANT SELECT, UPDATE ON docs TO ann, bob;
GRANT SELECT ON members TO ann, bob;
CREATE MACRO orgs_of(u) AS TABLE SELECT m.org FROM members m WHERE m.usr = u;
CREATE SCHEMA hr;
CREATE TABLE hr.members (usr VARCHAR, org VARCHAR)
"""
SET = "ALTER TABLE docs SET ROW POLICY "


@pytest.fixture
def con(tmp_path: Path) -> Connection:
    """A folder with documents and members."""
    url = prepared_warehouse(tmp_path / "w", SETUP.strip().split(";\n"))
    return gateway.connect(url, autocommit=True)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("id IN (SELECT 1 FROM docs_journal)", "cannot read main.docs_journal"),
        ("id IN (SELECT 1 FROM system.roles)", "cannot read system.roles"),
        ("id IN (SELECT 1 FROM information_schema.tables)", "cannot read information_schema"),
        ("id IN (SELECT x FROM range(3) r(x))", "functions that give rows"),
        ("id IN (SELECT 1 FROM read_csv('/etc/passwd'))", "functions that give rows|not supported"),
        ("id IN (SELECT id FROM table_history('docs'))", "functions that give rows"),
        ("id IN (SELECT 1 FROM members FOR SYSTEM_TIME ALL)", "at a point in time"),
        ("id IN (SELECT nextval('numbers') FROM members)", "sequence|not supported"),
        ("id IN (SELECT 1 FROM members WHERE usr = $1)", "parameter|cannot contain"),
        ("id IN (SELECT 1 FROM mine)", "ends with the session"),
        ("id IN (SELECT 1 FROM nowhere)", "does not exist"),
        ("EXISTS (SELECT 1 FROM members WHERE nothing = 1)", "nothing"),
        ("EXISTS (SELECT 1 FROM members _palimpsest_row)", "gateway's own"),
        ("EXISTS (WITH c AS (SELECT * FROM members) SELECT 1 FROM c WHERE owner = org)", "may be"),
        ("EXISTS (SELECT usr AS owner FROM members GROUP BY owner)", "may be a column"),
        ("id + (SELECT count(*) FROM members)", "gives BIGINT, not BOOLEAN"),
        ("count(*) > 1", "cannot contain"),
    ],
)
def test_what_nobody_could_rely_on_is_refused(
    con: Connection, condition: str, message: str
) -> None:
    con.execute("CREATE TEMP TABLE mine (k INTEGER)")
    with pytest.raises(gateway.Error, match=message):
        con.execute(f"{SET}({condition})")
    with pytest.raises(gateway.Error, match="cannot contain"):
        con.execute(
            "ALTER TABLE docs ALTER owner SET MASKING POLICY ((SELECT max(org) FROM secret))"
        )


@pytest.mark.parametrize(
    ("condition", "ann", "bob"),
    [
        # An inner name goes first, an outer one may be qualified, fields come after columns.
        ("EXISTS (SELECT 1 FROM members WHERE usr = CURRENT_USER AND org = owner)", [1], []),
        ("EXISTS (SELECT 1 FROM members docs WHERE docs.usr = CURRENT_USER)", [1, 2], [1, 2]),
        ("info.city IN (SELECT org FROM members WHERE usr = CURRENT_USER)", [], [2]),
        ("EXISTS (SELECT 1 FROM members m WHERE m.org = docs.info.city)", [2], [2]),
        ("EXISTS (SELECT 1 FROM members m WHERE m.org = main.docs.owner)", [1], [1]),
        ("owner IN (SELECT main.members.org FROM main.members)", [1], [1]),
        ("owner IN (SELECT org FROM hr.members)", [], []),
        ("owner IN (SELECT s.org FROM members s WHERE s.usr = 'ann' OR is_role('bob'))", [1], [1]),
        ("id <= (SELECT count(*) FROM members WHERE usr = CURRENT_USER)", [1], [1]),
        ("EXISTS (SELECT 1 FROM (SELECT org AS o FROM members) q WHERE q.o = owner)", [1], [1]),
    ],
)
def test_names_mean_what_they_meant_when_the_policy_was_set(
    con: Connection, condition: str, ann: list[int], bob: list[int]
) -> None:
    con.execute("GRANT USAGE ON SCHEMA hr TO PUBLIC")
    con.execute("GRANT SELECT ON hr.members TO PUBLIC")
    con.execute(f"{SET}({condition})")
    # Columns that come later take no name over.
    con.execute("ALTER TABLE members ADD COLUMN owner VARCHAR DEFAULT 'a'")
    con.execute("ALTER TABLE members ADD COLUMN city VARCHAR")
    for role, seen in (("ann", ann), ("bob", bob)):
        con.execute(f"SET ROLE {role}")
        assert sorted(k for (k,) in con.execute("SELECT id FROM docs").fetchall()) == seen, role
        con.execute("RESET ROLE")


def test_no_expression_of_a_client_sees_a_hidden_row(con: Connection) -> None:
    con.execute("INSERT INTO docs VALUES (7, 'b', NULL), (0, 'z', NULL)")
    con.execute(f"{SET}(owner IN (SELECT org FROM members WHERE usr = CURRENT_USER))")
    con.execute("CREATE MACRO told(x) AS CASE WHEN x <> 1 THEN error('saw ' || x) ELSE 1 END")
    con.execute("SET ROLE ann")
    for sql in (
        "SELECT id FROM docs WHERE 10 / id > 0",
        "SELECT id FROM docs WHERE CAST(replace(owner, 'a', '1') AS INTEGER) = 1",
        (
            "SELECT d.id FROM docs d JOIN members m"
            " ON CAST(replace(d.owner, 'a', '1') AS INTEGER) = 1 AND m.usr = 'ann'"
        ),
        "SELECT id FROM docs GROUP BY id HAVING min(CAST(replace(owner, 'a', '1') AS INTEGER)) = 1",
        "SELECT id FROM docs ORDER BY CAST(replace(owner, 'a', '1') AS INTEGER)",
    ):
        assert con.execute(sql).fetchall() == [(1,)], sql
    assert con.execute("UPDATE docs SET owner = 'a' WHERE 10 / id > 0").rowcount == 1


def test_whoever_may_not_read_a_table_sets_no_policy_by_it(con: Connection) -> None:
    con.execute("GRANT CREATE ON SCHEMA main TO ann")
    con.execute("SET ROLE ann")
    con.execute("CREATE TABLE own (k VARCHAR)")
    for condition in ("k IN (SELECT org FROM secret)", "k IN (SELECT x FROM no_such)"):
        with pytest.raises(gateway.Error) as refused:
            con.execute(f"ALTER TABLE own SET ROW POLICY ({condition})")
        assert refused.value.sqlstate == "42P01"
    con.execute("RESET ROLE")


def test_a_dropped_membership_leaves_no_door_open(con: Connection) -> None:
    con.execute(f"{SET}(owner IN (SELECT org FROM orgs_of(CURRENT_USER)))")
    con.execute("CREATE VIEW seen AS SELECT org FROM members WHERE usr = CURRENT_USER")
    con.execute("ALTER TABLE docs SET ROW POLICY (owner IN (SELECT org FROM seen))")
    con.execute("SET ROLE ann")
    with pytest.raises(gateway.Error, match="its row policy reads"):
        con.execute("SELECT * FROM docs")
    con.execute("RESET ROLE")
    con.execute("GRANT SELECT ON seen TO ann")
    con.execute("CREATE OR REPLACE VIEW seen AS SELECT 'b' AS org")
    for sql in ("DROP VIEW seen", "ALTER VIEW seen RENAME TO other", "DROP SCHEMA main CASCADE"):
        with pytest.raises(gateway.Error):
            con.execute(sql)
    con.execute("SET ROLE ann")
    assert con.execute("SELECT id FROM docs").fetchall() == [(2,)]


def test_whoever_commits_with_the_end_of_a_membership_has_lost(con: Connection) -> None:
    con.execute(f"{SET}(owner IN (SELECT org FROM members WHERE usr = CURRENT_USER))")
    waiting = Waiting(
        con,
        [
            ["DELETE FROM members WHERE usr = 'ann'"],
            ["SET ROLE ann", "UPDATE docs SET owner = 'a' WHERE id = 1"],
            ["INSERT INTO docs VALUES (8, 'b', NULL)"],
        ],
    )
    assert waiting.go() == ["ok", "40001", "ok"]


def test_what_a_policy_reads_decides_in_the_lineage_of_whoever_is_under_it(con: Connection) -> None:
    cursor = con.cursor()
    cursor.execute("CREATE TABLE copies (id INTEGER)")
    cursor.execute("GRANT SELECT, INSERT ON copies TO ann")
    cursor.execute(f"{SET}(owner IN (SELECT org FROM members WHERE usr = current_user))")
    filled = "INSERT INTO copies SELECT id FROM docs"
    read = (
        "SELECT source_table, subtype FROM system.column_lineage WHERE target_table = 'copies'"
        " ORDER BY ALL"
    )
    cursor.execute(filled)
    cursor.execute(read)
    before = cursor.fetchall()
    cursor.execute("SET ROLE ann")
    cursor.execute(filled)
    cursor.execute("RESET ROLE")
    cursor.execute(read)
    assert before == [("docs", "IDENTITY")]
    assert sorted(set(cursor.fetchall())) == [("docs", "IDENTITY"), ("members", "FILTER")]
