"""Which scope decides each rule of a table, on values; and the statements that say and show it."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.catalog import apply, change_from_json, change_to_json
from journal.model.effective_policy import effective_policy, effective_rules
from journal.model.policy_scope import PutScopedPolicy, ScopedPolicy, ScopeKind
from journal.model.schema import CatalogSnapshot, Column, Table, TableName

COLUMNS = (Column("id", "id", "INT"), Column("Day", "day_1", "DATE"), Column("n", "n", "INT"))


def _scope(kind: ScopeKind, name: str = "", pattern: str = "", **stated: str) -> ScopedPolicy:
    return ScopedPolicy(kind, name, tuple((f"policy_{k}", v) for k, v in stated.items()), pattern)


def _seen(*scopes: ScopedPolicy, **stated: str) -> tuple[CatalogSnapshot, Table]:
    own = tuple((f"policy_{k}", v) for k, v in stated.items())
    table = Table(1, TableName("Sales", "orders"), COLUMNS, ("id",), properties=own)
    catalog = CatalogSnapshot.empty().with_schema("Sales").with_relation(table)
    for scope in scopes:
        change = change_from_json(change_to_json(PutScopedPolicy(scope)))
        catalog = apply(catalog, change)
    return catalog, table


DATABASE = _scope(ScopeKind.DATABASE, history="1 year", versions="9", backup="3 days")
SCHEMA = _scope(
    ScopeKind.SCHEMA, "Sales", history="2 years", retention="90 days", retention_column="DAY"
)
DATASET = _scope(ScopeKind.DATASET, "all", "sales.*", versions="5")
NEAR = _scope(ScopeKind.DATASET, "some", "sales.ord*", versions="3")


def test_the_nearest_scope_decides_each_rule() -> None:
    catalog, table = _seen(DATABASE, SCHEMA, DATASET, NEAR, backup="1 week")
    found = effective_policy(catalog, table)
    assert [str(found.history), found.versions, str(found.backup)] == ["2 YEARS", 3, "1 WEEK"]
    assert (str(found.retention), found.column) == ("90 DAYS", "day_1")
    shown = {rule.name: (rule.scope, rule.source, rule.why) for rule in effective_rules(*_of(NEAR))}
    assert shown["VERSIONS"] == (
        ScopeKind.DATASET,
        "some",
        "stated by dataset some; it is nearer than dataset all (5), database (9)",
    )
    assert shown["REJECTS"][0] is None


def _of(near: ScopedPolicy) -> tuple[CatalogSnapshot, Table]:
    return _seen(DATABASE, SCHEMA, DATASET, near)


def test_none_stops_what_wider_scopes_state() -> None:
    catalog, table = _seen(DATABASE, SCHEMA, history="none", retention="NONE")
    found = effective_policy(catalog, table)
    assert (found.history, found.retention, found.column, found.versions) == (None, None, None, 9)


@pytest.mark.parametrize("column", ["gone", "n"])
def test_a_rule_that_does_not_fit_reaches_nothing_and_no_wider_one_does(column: str) -> None:
    wide = _scope(ScopeKind.DATABASE, retention="1 day", retention_column="day")
    near = _scope(ScopeKind.SCHEMA, "sales", retention="9 years", retention_column=column)
    catalog, table = _seen(wide, near)
    assert not effective_policy(catalog, table).removes
    rule = next(r for r in effective_rules(catalog, table) if r.name == "RETENTION")
    assert (rule.reaches, rule.source, column in rule.why) == (False, "sales", True)


def test_a_scope_of_another_schema_says_nothing() -> None:
    catalog, table = _seen(_scope(ScopeKind.SCHEMA, "hr", versions="1"))
    assert effective_policy(catalog, table).versions is None
    gone = _seen(SCHEMA)[0].without_schema("sales")
    assert not gone.policies


@pytest.fixture
def con() -> Connection:
    con = gateway.connect("palimpsest://", autocommit=True)
    con.execute("CREATE SCHEMA sales")
    con.execute("CREATE TABLE sales.o (id INT PRIMARY KEY, day DATE, who VARCHAR)")
    con.execute("CREATE TABLE sales.p (id INT PRIMARY KEY)")
    return con


def _rows(con: Connection, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in con.execute(statement).fetchall()]


def _effective(con: Connection, table: str = "sales.o") -> dict[object, tuple[object, ...]]:
    return {row[0]: row[1:4] for row in _rows(con, f"SHOW EFFECTIVE POLICY {table}")}


def test_policies_of_schema_and_database_are_set_shown_and_taken_away(con: Connection) -> None:
    con.execute("ALTER SCHEMA sales SET POLICY (RETENTION = 90 DAYS ON COLUMN day, HISTORY = NONE)")
    con.execute("ALTER DATABASE SET POLICY (HISTORY = 1 YEAR, BACKUP = 3 DAYS)")
    con.execute("ALTER WAREHOUSE palimpsest SET POLICY (SCHEDULE_compact = '0 3 * * *')")
    text = "90 DAYS ON COLUMN day ACTION = DELETE"
    assert _effective(con)["RETENTION"] == (text, "schema", "sales")
    assert _effective(con)["HISTORY"] == ("NONE", "schema", "sales")
    assert _effective(con)["BACKUP"] == ("3 DAYS", "database", None)
    assert _rows(con, "SHOW POLICY FOR SCHEMA sales") == [("RETENTION", text), ("HISTORY", "NONE")]
    assert len(_rows(con, "SHOW POLICY FOR DATABASE")) == 3
    assert ("schema sales", "HISTORY", "NONE") in _rows(con, "SHOW POLICIES")
    told = "SELECT schema, \"table\", scope, value FROM system.policies WHERE policy = 'HISTORY'"
    assert set(_rows(con, told)) == {
        ("sales", None, "schema", "NONE"),
        (None, None, "database", "1 YEAR"),
    }
    con.execute("ALTER SCHEMA sales UNSET POLICY (HISTORY)")
    assert _effective(con)["HISTORY"] == ("1 YEAR", "database", None)
    con.execute("ALTER SCHEMA sales UNSET POLICY")
    con.execute("ALTER DATABASE UNSET POLICY")
    assert _rows(con, "SHOW POLICIES") == []


def test_what_cannot_be_obeyed_is_refused_or_told(con: Connection) -> None:
    cursor = con.cursor()
    cursor.execute("ALTER SCHEMA sales SET POLICY (RETENTION = 90 DAYS ON COLUMN day)")
    told = [str(message[1]) for message in cursor.messages]
    assert told == ['RETENTION of schema sales does not reach sales.p: it has no column "day"']
    for statement, said in (
        ("ALTER TABLE sales.o DROP COLUMN day", "out of reach"),
        ("ALTER TABLE sales.o RENAME COLUMN day TO ds", "out of reach"),
        ("ALTER DATABASE SET POLICY (LATE_ARRIVAL = 1 YEAR)", "for sales.o RETENTION"),
        ("ALTER DATABASE SET POLICY (RETENTION = 1 DAY)", "needs the column"),
        ("ALTER SCHEMA sales SET POLICY (SCHEDULE_dance = '0 3 * * *')", "no job dance"),
        ("ALTER SCHEMA nowhere SET POLICY (HISTORY = 1 DAY)", "line 1, column 14"),
        ("ALTER DATABASE other SET POLICY (HISTORY = 1 DAY)", "not the database"),
        ("ALTER TABLE sales.o ALTER COLUMN who SET POLICY (RETENTION = 1 DAY)", "no POLICY"),
        ("ALTER SCHEMA sales SET POLICY (SPEED = 9)", 'no policy "SPEED"'),
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(statement)
        assert said in str(raised.value), statement
    con.execute("ALTER SCHEMA IF EXISTS nowhere SET POLICY (HISTORY = 1 DAY)")
    con.execute("ALTER TABLE sales.o SET POLICY (RETENTION = NONE)")
    con.execute("ALTER TABLE sales.o RENAME COLUMN day TO ds")


def test_holds_and_columns_are_explained(con: Connection) -> None:
    con.execute("ALTER TABLE sales.o ALTER COLUMN who SET MASKING POLICY ('x')")
    con.execute("ALTER TABLE sales.o ALTER COLUMN who SET TAG pii")
    con.execute("PLACE HOLD ON sales.o REASON 'matter 1'")
    found = _rows(con, "SHOW EFFECTIVE POLICY sales.o COLUMN who")
    assert [row[0] for row in found[:3]] == ["HOLD", "MASKING", "TAG"]
    assert "matter 1" in str(found[0])
    with pytest.raises(gateway.Error):
        con.execute("SHOW EFFECTIVE POLICY sales.o COLUMN nothing")


def test_a_change_that_is_rolled_back_was_none(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("ALTER SCHEMA sales SET POLICY (HISTORY = 1 DAY)")
    assert _effective(con)["HISTORY"][0] == "1 DAY"
    con.execute("ROLLBACK")
    assert _effective(con)["HISTORY"][0] is None


def test_only_owners_change_the_policy_of_a_schema_and_admins_that_of_the_database(
    con: Connection,
) -> None:
    con.execute("CREATE ROLE ann")
    con.execute("CREATE SCHEMA hers")
    con.execute("ALTER SCHEMA hers OWNER TO ann")
    con.execute("SET ROLE ann")
    con.execute("ALTER SCHEMA hers SET POLICY (HISTORY = 1 DAY)")
    for statement in (
        "ALTER SCHEMA sales SET POLICY (HISTORY = 1 DAY)",
        "ALTER DATABASE SET POLICY (HISTORY = 1 DAY)",
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(statement)
        assert raised.value.sqlstate == "42501"
