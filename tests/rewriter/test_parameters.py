"""Parameters in a text: numbered ones without blanks, and the types of their places."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.session.description import describe
from gateway.session.session import Session
from rewriter.limits import Limits
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import parse

_TEXTS = {
    "INSERT INTO t(a) VALUES ($1,$2)": (0, 1),
    "SELECT $1,$2,$3 FROM t WHERE a IN($1,$4)": (0, 1, 2, 3),
    "UPDATE t SET a=$1 WHERE b='$1,$2' /* $3,$4 */": (0,),
    'SELECT $1,$$ $2,$3 $$,$x$b$x$, "a$1,$2"': (0,),
    "SELECT $1::integer+$2::integer": (0, 1),
    "UPDATE t SET a = $1 WHERE b = $2 AND c = ''": (0, 1),
    "DELETE FROM t WHERE a = $key AND c = ''": ("key",),
}


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize(("text", "places"), _TEXTS.items())
def test_numbered_parameters_need_no_blanks(
    dialect: str, text: str, places: tuple[int | str, ...]
) -> None:
    (found,) = parse(text, dialect, Limits())
    assert found.parameters == places
    assert isinstance(found.statement, SqlStatement)


def test_quoted_texts_keep_their_dollars() -> None:
    text = "SELECT '$1,$2', $$ $2,$3 $$, \"a$1,$2\", $1,$2 FROM t"
    (found,) = parse(text, "duckdb", Limits())
    assert isinstance(found.statement, SqlStatement)
    kept = [node.name for node in found.statement.ast.expressions[:3]]
    assert kept == ["$1,$2", " $2,$3 ", "a$1,$2"]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT * FROM t WHERE a = $1 AND b LIKE $2", ("INT", "VARCHAR")),
        ("SELECT * FROM t AS x WHERE x.c BETWEEN $1 AND $2", ("DECIMAL(10, 2)",) * 2),
        (
            "INSERT INTO t VALUES ($1, $2, $3), ($4, 'x', -$5)",
            ("INT", "TEXT", "DECIMAL(10, 2)", "INT", "DECIMAL(10, 2)"),
        ),
        ("INSERT INTO t (c, a) VALUES ($1, $2)", ("DECIMAL(10, 2)", "INT")),
        ("UPDATE t SET b = $1 WHERE a IN ($2, $3)", ("TEXT", "INT", "INT")),
        ("SELECT $1::DATE, $2 FROM t LIMIT $3", ("DATE", None, "BIGINT")),
        ("DELETE FROM t WHERE c * 2 > $1 RETURNING a", ("DECIMAL",)),
        ("SELECT make_interval(days => $1)", ("INTEGER",)),
    ],
)
def test_a_parameter_has_the_type_of_its_place(
    tmp_path: Path, text: str, types: tuple[str | None, ...]
) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, dialect="postgres") as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c DECIMAL(10, 2))")
        session = connection.session
        assert isinstance(session, Session)
        found = describe(session, session.parse(text)[0])
    wanted = types[: len(found.parameters)]
    assert tuple(kind and kind.replace(", ", ",") for kind in found.parameters) == tuple(
        kind and kind.replace(", ", ",") for kind in wanted
    )


@pytest.mark.timeout(60)
@pytest.mark.first(1)
@pytest.mark.parametrize("beside", ["ARRAY[{}]", "coalesce({})", "CASE WHEN TRUE THEN {} END"])
def test_many_parameters_are_looked_at_once_each(tmp_path: Path, beside: str) -> None:
    many = 1500
    places = (" WHEN TRUE THEN " if "CASE" in beside else ", ").join(
        f"${place}" for place in range(1, many + 1)
    )
    with gateway.connect(
        f"palimpsest:///{tmp_path}/w", autocommit=True, dialect="postgres"
    ) as connection:
        session = connection.session
        assert isinstance(session, Session)
        found = describe(session, session.parse(f"SELECT {beside.format(places)}")[0])
    assert len(found.parameters) == many


def test_columns_are_known_before_a_statement_runs(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, dialect="postgres") as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
        session = connection.session

        def columns(text: str) -> list[tuple[str, str]] | None:
            found = describe(session, session.parse(text)[0]).columns
            return None if found is None else [(c.name, c.type) for c in found]

        assert columns("INSERT INTO t VALUES ($1, $2)") is None
        returned = [("a", "INTEGER"), ("n", "INTEGER")]
        assert columns("INSERT INTO t VALUES ($1, $2) RETURNING a, a + 1 AS n") == returned
        assert columns("UPDATE t SET b = $1 RETURNING a, a AS n") == returned
        assert columns("SELECT a, a AS n FROM t WHERE a = $1") == returned
        assert columns("SELECT name FROM system.settings WHERE name = $1") == [("name", "VARCHAR")]
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
