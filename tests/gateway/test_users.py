"""CURRENT_USER is whom the client named, wherever an expression of a statement comes from."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

import gateway


def test_the_user_is_the_connections(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, user="ann") as ann:
        cursor = ann.execute("SELECT current_user, session_user, lower(current_user) || '!'")
        assert [column[0] for column in cursor.description or []] == [
            *("current_user", "session_user", "(lower(current_user) || '!')")
        ]
        assert cursor.fetchall() == [("ann", "ann", "ann!")]


def test_stored_expressions_ask_who_runs_them(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, user="ann") as ann:
        ann.execute(
            "CREATE TABLE t (i INTEGER PRIMARY KEY, who VARCHAR DEFAULT current_user,"
            " CONSTRAINT only_bob CHECK (i < 100 OR current_user = 'bob'))"
        )
        ann.execute("CREATE VIEW mine AS SELECT i FROM t WHERE who = current_user")
        ann.execute("INSERT INTO t (i) VALUES (1)")
        with pytest.raises(gateway.IntegrityError):
            ann.execute("INSERT INTO t (i) VALUES (100)")
        with gateway.connect(url, autocommit=True, user="bob") as bob:
            bob.execute("INSERT INTO t (i) VALUES (100)")
            bob.execute("INSERT INTO t VALUES (2, current_user || ?)", ("by",))
            bob.cursor().executemany("INSERT INTO t (i) VALUES (?)", [(3,), (4,)])
            bob.cursor().executemany(
                "UPDATE t SET who = session_user || ? WHERE i = ?", [("-", 3), ("+", 4)]
            )
            assert bob.execute("SELECT i FROM mine ORDER BY i").fetchall() == [(100,)]
            bob.execute("UPDATE t SET who = DEFAULT WHERE i = 2 AND who LIKE current_user || '%'")
            bob.execute("ALTER TABLE t ADD COLUMN seen VARCHAR DEFAULT current_user")
        assert ann.execute("SELECT i FROM mine").fetchall() == [(1,)]
        assert ann.execute("SELECT i, who, seen FROM t ORDER BY i").fetchall() == [
            *((1, "ann", "bob"), (2, "bob", "bob"), (3, "bob-", "bob")),
            *((4, "bob+", "bob"), (100, "bob", "bob")),
        ]
    with gateway.connect(url, autocommit=True) as login:
        assert login.execute("SELECT current_user").fetchone() == (getpass.getuser(),)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql", "spark"])
def test_bare_words_name_the_user(tmp_path: Path, dialect: str) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, user="ann", dialect=dialect) as ann:
        ann.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, who VARCHAR(9) DEFAULT user)")
        ann.execute("INSERT INTO t (i) VALUES (1)")
        ann.execute("INSERT INTO t VALUES (2, user)")
        ann.execute("UPDATE t SET who = user WHERE who = user")
        cursor = ann.execute("SELECT user, current_role, user() FROM t WHERE who = session_user")
        # DuckDB quotes the word where it calls it.
        called = '"user"()' if dialect == "duckdb" else "user"
        named = [column[0] for column in cursor.description or ()]
        assert named == ["user", "current_role", called]
        assert cursor.fetchall() == [("ann", "ann", "ann")] * 2
        ann.execute("CREATE VIEW mine AS SELECT user AS me")
        assert ann.execute("SELECT me FROM mine").fetchall() == [("ann",)]


@pytest.mark.parametrize(("dialect", "found"), [("duckdb", "bob"), ("postgres", "ann")])
def test_a_column_is_meant_where_the_word_is_not_reserved(
    tmp_path: Path, dialect: str, found: str
) -> None:
    url = f"palimpsest:///{tmp_path}/w"
    with gateway.connect(url, autocommit=True, user="ann", dialect=dialect) as ann:
        ann.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, user VARCHAR)")
        ann.execute("INSERT INTO t VALUES (1, 'x')")
        ann.execute("UPDATE t SET user = 'bob' WHERE i = 1")
        assert ann.execute("SELECT user FROM t").fetchall() == [(found,)]
        assert ann.execute('SELECT "user", t.user FROM t').fetchall() == [("bob", "bob")]
        ann.execute("CREATE INDEX by_user ON t (user)")
        ann.execute("SELECT who.user FROM (SELECT user FROM t) AS who")


@pytest.mark.parametrize(
    ("sql", "advice"),
    [
        ("CREATE UNIQUE INDEX i ON t (a) NULLS NOT DISTINCT", "NULLs are distinct"),
    ],
)
def test_refusals_say_what_to_do(sql: str, advice: str) -> None:
    with (
        gateway.connect("palimpsest://", autocommit=True) as con,
        pytest.raises(gateway.NotSupportedError) as caught,
    ):
        con.execute(sql)
    assert advice in str(caught.value)
