"""What scripts change of their tables: columns that move, tables renamed, hidden columns."""

from __future__ import annotations

import pytest

from rewriter.lineage.scripts import trace_script
from rewriter.lineage.tables import KnownTables

_T, _U = "CREATE TABLE t (a INT, b INT, c INT)", "CREATE TABLE u (x INT, y INT)"
_READ_T = "CREATE TABLE n AS SELECT * FROM t"
_SWAPPED = ["t.x <- u.x", "t.y <- u.y", "u.a <- t.a", "u.b <- t.b", "u.c <- t.c"]
_OTHERS = {
    "Hive's default schema": (
        "hive",
        ["CREATE TABLE default.t (a INT, b INT)", "USE default", _READ_T],
        ["n.a <- t.a", "n.b <- t.b"],
    ),
    "a bare name after USE": (
        "hive",
        [_U, "USE other", "CREATE TABLE n AS SELECT x FROM default.u"],
        ["other.n.x <- u.x"],
    ),
    "tables that change their names": (
        "mysql",
        [_T, _U, "RENAME TABLE t TO old, u TO t", _READ_T],
        ["n.x <- t.x", "n.y <- t.y"],
    ),
    "a table that moves to another schema": (
        "mysql",
        ["CREATE TABLE d.t (a INT)", "RENAME TABLE d.t TO e.t", "CREATE TABLE n TABLE e.t"],
        ["n.a <- e.t.a"],
    ),
    "sp_rename of a table": (
        "tsql",
        [
            "CREATE TABLE dbo.t (a INT)",
            "EXEC sp_rename '[dbo].[t]', 'u'",
            "SELECT * INTO n FROM dbo.u",
        ],
        ["n.a <- dbo.u.a"],
    ),
    "sp_rename of a column": (
        "tsql",
        [_U, "sp_rename 'u.x', 'z', 'COLUMN'", "SELECT * INTO n FROM u"],
        ["n.z <- u.z", "n.y <- u.y"],
    ),
    "SWAP WITH": (
        "snowflake",
        [_T, _U, "ALTER TABLE t SWAP WITH u", _READ_T],
        [*_SWAPPED, "n.x <- t.x", "n.y <- t.y"],
    ),
    "EXCHANGE TABLES": (
        "clickhouse",
        [_T, _U, "EXCHANGE TABLES t AND u", _READ_T],
        [*_SWAPPED, "n.x <- t.x", "n.y <- t.y"],
    ),
    "SWAP WITH of tables that nobody has declared": (
        "snowflake",
        ["ALTER TABLE t SWAP WITH u"],
        ["t.* <- u.*", "u.* <- t.*"],
    ),
    "the file of a row": (
        "hive",
        [_T, "CREATE TABLE n AS SELECT INPUT__FILE__NAME AS f, q.row__id r FROM t q"],
        ["n.f <- t.input__file__name", "n.r <- t.row__id"],
    ),
    "hidden columns of a table, which a query over it does not have": (
        "postgres",
        [_U, "CREATE TABLE n AS SELECT ctid FROM (SELECT x FROM u) q"],
        ["n.ctid <- ?there is no column ctid in what the query reads"],
    ),
}


@pytest.mark.parametrize(
    ("dialect", "change", "columns"),
    [
        ("hive", "CHANGE COLUMN c x INT AFTER a", "a x b"),
        ("hive", "CHANGE c c INT COMMENT 'no AFTER' FIRST", "c a b"),
        ("hive", "CHANGE a z STRING", "z b c"),
        ("hive", "CHANGE a a STRING AFTER c", "b c a"),
        ("spark", "ALTER COLUMN c FIRST", "c a b"),
        ("spark", "ALTER COLUMN a AFTER b", "b a c"),
        ("spark", "ADD COLUMN x INT AFTER a", "a x b c"),
        ("mysql", "MODIFY COLUMN c BIGINT FIRST", "c a b"),
        ("mysql", "CHANGE c d BIGINT AFTER a", "a d b"),
        ("mysql", "ADD COLUMN x INT FIRST", "x a b c"),
    ],
)
def test_alter_table_moves_and_renames_columns(dialect: str, change: str, columns: str) -> None:
    script = ";".join([_T, f"ALTER TABLE t {change}", _READ_T])
    assert _written(dialect, script) == [f"n.{c} <- t.{c}" for c in columns.split()]


@pytest.mark.parametrize("name", _OTHERS)
def test_renamed_and_exchanged_tables_are_followed(name: str) -> None:
    dialect, script, expected = _OTHERS[name]
    assert _written(dialect, ";".join(script)) == expected


def _written(dialect: str, script: str) -> list[str]:
    lines = []
    for statement in trace_script(script, KnownTables(dialect)):
        assert statement.unknown is None
        for target in statement.targets:
            sources = " ".join(f"{s.table}.{s.column}" for s in target.sources)
            unknown = f"?{target.unknown}" if target.unknown is not None else ""
            lines.append(f"{target.table}.{target.column} <- {sources}{unknown}")
    return lines
