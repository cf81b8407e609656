"""Parameters in every style of PEP 249, repeated and reordered, in every dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection

DIALECTS = ("duckdb", "postgres", "mysql", "spark", "hive", "ansi")
STYLES: dict[str, tuple[str, Any]] = {
    "qmark": ("SELECT ? - ?, ?", (7, 2, "x?")),
    "format": ("SELECT %s - %s, %s", (7, 2, "x?")),
    "numeric": ("SELECT :2 - :1, :3", (2, 7, "x?")),
    "named": ("SELECT :a - :b, :c", {"c": "x?", "b": 2, "a": 7}),
    "pyformat": ("SELECT %(a)s - %(b)s, %(c)s", {"c": "x?", "b": 2, "a": 7, "unused": 0}),
}
DOLLARS: dict[str, tuple[str, Any]] = {
    "numeric": ("SELECT $2 - $1, $3", (2, 7, "x?")),
    "named": ("SELECT $a - $b, $c", {"c": "x?", "b": 2, "a": 7}),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("style", STYLES)
def test_every_style_in_every_dialect(
    connect: Callable[..., Connection], dialect: str, style: str
) -> None:
    text, values = STYLES[style]
    assert connect(dialect=dialect).execute(text, values).fetchall() == [(5, "x?")]


@pytest.mark.parametrize("style", DOLLARS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_numbered_dollar_parameters_are_bound(
    connect: Callable[..., Connection], dialect: str, style: str
) -> None:
    text, values = DOLLARS[style]
    assert connect(dialect=dialect).execute(text, values).fetchall() == [(5, "x?")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_repeated_and_reordered(connect: Callable[..., Connection], dialect: str) -> None:
    con = connect(dialect=dialect)
    row = con.execute("SELECT :b, :a, :b, :a", {"a": 1, "b": 2}).fetchone()
    assert row == (2, 1, 2, 1)
    row = con.execute("SELECT :2, :1, :2", [1, 2]).fetchone()
    assert row == (2, 1, 2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_changes_take_parameters_in_every_style(
    connect: Callable[..., Connection], dialect: str
) -> None:
    con = connect(dialect=dialect)
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(20))")
    con.execute("INSERT INTO t (a, id) VALUES (%s, %s)", ("one", 1))
    con.executemany("INSERT INTO t VALUES (:id, :a)", [{"a": "two", "id": 2}, {"a": "?", "id": 3}])
    con.execute("UPDATE t SET a = concat(:a, a) WHERE id = :i OR a = :a", {"i": 2, "a": "x"})
    con.execute("DELETE FROM t WHERE id = ? AND a = ?", (3, "?"))
    assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == [(1, "one"), (2, "xtwo")]


def test_literals_are_left_alone(con: Connection) -> None:
    row = con.execute(
        "SELECT '?', '%s', ':a', \"$1\", ? FROM (SELECT 4 AS \"$1\")", (5,)
    ).fetchone()
    assert row == ("?", "%s", ":a", 4, 5)


def test_without_parameters_nothing_is_a_placeholder(con: Connection) -> None:
    assert con.execute("SELECT 7 %2, 'a%s'").fetchall() == [(1, "a%s")]


def test_values_never_become_text(con: Connection) -> None:
    nasty = "'; DROP TABLE t; --"
    con.execute("CREATE TABLE t (a VARCHAR)")
    con.execute("INSERT INTO t VALUES (?)", (nasty,))
    assert con.execute("SELECT a FROM t WHERE a = ?", (nasty,)).fetchall() == [(nasty,)]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    ("cast", "values"),
    [
        ("?::INTEGER", ["4"]),
        ("?:: INTEGER", ["4"]),
        ("CAST(? AS INTEGER)", ["4"]),
        ("%s::INTEGER", ["4"]),
        ("$1::INTEGER", ["4"]),
        (":a::INTEGER", {"a": "4"}),
        ("%(a)s::INTEGER", {"a": "4"}),
    ],
)
def test_casts_behind_placeholders(
    connect: Callable[..., Connection], dialect: str, cast: str, values: Any
) -> None:
    con = connect(dialect=dialect)
    assert con.execute(f"SELECT {cast} + 1", values).fetchone() == (5,)
    with pytest.raises(gateway.ProgrammingError) as caught:
        con.execute(f"SELECT {cast} + nothing", values)
    assert caught.value.sqlstate == "42703"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT ?", ()),
        ("SELECT ?", (1, 2)),
        ("SELECT ?", None),
        ("SELECT ?", "x"),
        ("SELECT ?", 5),
        ("SELECT ?", {1}),
        ("SELECT ?, ?", {"a": 1}),
        ("SELECT :a", (1,)),
        ("SELECT :a, :b", {"a": 1}),
        ("SELECT 1", (1,)),
        ("SELECT $2", (1,)),
    ],
)
def test_what_does_not_fit_is_refused(con: Connection, text: str, values: Any) -> None:
    with pytest.raises(gateway.ProgrammingError):
        con.execute(text, values)


def test_any_iterable_will_do(con: Connection) -> None:
    assert con.execute("SELECT ?, ?", iter([1, 2])).fetchone() == (1, 2)
    assert con.execute("SELECT :a", {"a": 1, "more": 2}).fetchone() == (1,)
