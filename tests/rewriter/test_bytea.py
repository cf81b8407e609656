"""Bytes in the postgres dialect: what its literals mean there, and nowhere else."""

from __future__ import annotations

import pytest

import gateway

WANTED = {
    r"'\xdead'": b"\xde\xad",
    r"'\xDE AD'": b"\xde\xad",
    r"'\x'": b"",
    r"'a\\b\000\377'": b"a\\b\x00\xff",
    "'plain'": b"plain",
    "'it''s'": b"it's",
}


@pytest.mark.parametrize("literal", WANTED)
def test_literals_of_postgres(literal: str) -> None:
    with gateway.connect("palimpsest://", dialect="postgres", autocommit=True) as con:
        con.execute(
            f"CREATE TABLE t (id INTEGER PRIMARY KEY, b BYTEA, v TEXT, d BYTEA DEFAULT {literal})"
        )
        con.execute(f"INSERT INTO t VALUES (1, {literal}, {literal})")
        con.execute(f"INSERT INTO t VALUES (2, NULL, {literal})")
        con.execute(f"UPDATE t SET b = {literal} WHERE id = 2")
        text = literal[1:-1].replace("''", "'")
        expected = [(n, WANTED[literal], text, WANTED[literal]) for n in (1, 2)]
        assert con.execute("SELECT * FROM t ORDER BY id").fetchall() == expected
        for cast in (f"{literal}::bytea", f"bytea {literal}", f"CAST({literal} AS BYTEA)"):
            assert con.execute(f"SELECT {cast}").fetchall() == [(WANTED[literal],)]


@pytest.mark.parametrize("literal", [r"'\xdea'", r"'\xzz'", r"'a\b'", r"'\400'"])
def test_what_is_no_bytea(literal: str) -> None:
    with gateway.connect("palimpsest://", dialect="postgres", autocommit=True) as con:
        with pytest.raises(gateway.DataError, match="is not a bytea value"):
            con.execute(f"SELECT {literal}::bytea")


def test_other_dialects_keep_theirs() -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        assert con.execute(r"SELECT '\xDE\xAD'::BLOB, 'a\\b'").fetchall() == [
            (b"\xde\xad", r"a\\b")
        ]
