"""COPY of bytes with a stream of the postgres dialect: in and out as PostgreSQL writes them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.cursor import Cursor


@pytest.fixture
def cursor() -> Iterator[Cursor]:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        cursor = con.cursor()
        cursor.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, content BYTEA, name TEXT)")
        yield cursor


def _load(cursor: Cursor, text: str, options: str = "") -> None:
    with cursor.copy(f"COPY files FROM STDIN{options}") as copy:
        copy.write(text)


def test_hexadecimal_digits_are_bytes_and_come_back(cursor: Cursor) -> None:
    text = "1\t\\\\xdead\tx\n2\t\\N\ty\n3\t\\\\x\tz\n4\t\\\\x6162\tz\n"
    _load(cursor, text)
    cursor.execute("SELECT content FROM files ORDER BY id")
    assert cursor.fetchall() == [(b"\xde\xad",), (None,), (b"",), (b"ab",)]
    with cursor.copy("COPY (SELECT * FROM files ORDER BY id) TO STDOUT") as copy:
        assert b"".join(bytes(piece) for piece in copy).decode() == text


def test_a_csv_has_the_same_bytes(cursor: Cursor) -> None:
    _load(cursor, "1,\\xBEEF,x\n2,letters,y\n", " (FORMAT csv)")
    cursor.execute("SELECT content FROM files ORDER BY id")
    assert cursor.fetchall() == [(b"\xbe\xef",), (b"letters",)]


@pytest.mark.parametrize("content", ["\\\\xabc", "\\\\xzz", "\\\\001", "\\\\xDE\\\\xAD"])
def test_what_is_no_hexadecimal_digits_is_refused(cursor: Cursor, content: str) -> None:
    with pytest.raises(gateway.DataError, match="two hexadecimal digits"):
        _load(cursor, f"1\t{content}\tx\n")
    cursor.execute("SELECT count(*) FROM files")
    assert cursor.fetchall() == [(0,)]


def test_a_line_of_another_width_is_named(cursor: Cursor) -> None:
    with pytest.raises(gateway.ProgrammingError, match="the columns of STDIN are 2"):
        _load(cursor, "1\t\\\\xde\n")


def test_rows_that_no_column_takes_are_not_put_aside(cursor: Cursor) -> None:
    with pytest.raises(gateway.NotSupportedError, match="column content takes"):
        _load(cursor, "1\t\\\\xde\tx\n", " (ON_ERROR ignore)")


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
@pytest.mark.parametrize("options", ["", " (FORMAT csv)"])
def test_rows_of_python_may_have_bytes(dialect: str, options: str) -> None:
    with gateway.connect("palimpsest://", autocommit=True, dialect=dialect) as con:
        cursor = con.cursor()
        cursor.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, content BYTEA)")
        with cursor.copy(f"COPY files FROM STDIN{options}") as copy:
            copy.write_row((1, b"\xde\x00ab"))
            copy.write_row((2, None))
        cursor.execute("SELECT content FROM files ORDER BY id")
        assert cursor.fetchall() == [(b"\xde\x00ab",), (None,)]
