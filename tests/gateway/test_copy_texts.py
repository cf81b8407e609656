"""COPY with a stream of the postgres dialect: values in and out as PostgreSQL writes them."""

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


@pytest.mark.parametrize("header", ["id,x", "a note on one line", 'one,"of\ntwo",lines,more'])
def test_the_first_line_never_hides_rows(cursor: Cursor, header: str) -> None:
    cursor.execute("CREATE TABLE noted (id INTEGER PRIMARY KEY, x TEXT, y TEXT)")
    with cursor.copy("COPY noted FROM STDIN (FORMAT csv, HEADER)") as copy:
        copy.write(f"{header}\n1,a,b\n2,c,d\n")
    assert cursor.execute("SELECT id FROM noted ORDER BY id").fetchall() == [(1,), (2,)]
    with pytest.raises(gateway.Error), cursor.copy("COPY noted FROM STDIN (FORMAT csv)") as copy:
        copy.write(f"{header}\n3,a,b\n")


def test_rows_that_no_column_takes_are_not_put_aside(cursor: Cursor) -> None:
    with pytest.raises(gateway.NotSupportedError, match="column content"):
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


def test_arrays_stand_in_braces_and_come_back(cursor: Cursor) -> None:
    cursor.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, t TEXT[], n INTEGER[][], b BOOL[])")
    text = (
        '1\t{a,"b c","d,{\\\\"e\\\\\\\\f"}\t{{1,2},{3,NULL}}\t{t,f,NULL}\n'
        '2\t{"",NULL,"NULL",null.x}\t{}\t\\N\n3\t\\N\t\\N\t{}\n'
    )
    with cursor.copy("COPY lists FROM STDIN") as copy:
        copy.write(text)
    cursor.execute("SELECT t, n, b FROM lists ORDER BY id")
    assert cursor.fetchall() == [
        (["a", "b c", 'd,{"e\\f'], [[1, 2], [3, None]], [True, False, None]),
        (["", None, "NULL", "null.x"], [], None),
        (None, None, []),
    ]
    with cursor.copy("COPY (SELECT * FROM lists ORDER BY id) TO STDOUT") as copy:
        assert b"".join(bytes(piece) for piece in copy).decode() == text


def test_arrays_in_csv_and_of_rows_of_python(cursor: Cursor) -> None:
    cursor.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, t TEXT[])")
    with cursor.copy("COPY lists FROM STDIN (FORMAT csv)") as copy:
        copy.write('1,"{a, ""b c"" }"\n')
        copy.write_row((2, ["x y", None]))
    cursor.execute("SELECT t FROM lists ORDER BY id")
    assert cursor.fetchall() == [(["a", "b c"],), (["x y", None],)]


@pytest.mark.parametrize("text", ["{a", "a,b", "{{a},b", "{a}}"])
def test_what_is_no_array_is_refused(cursor: Cursor, text: str) -> None:
    cursor.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, t TEXT[])")
    with pytest.raises(gateway.DataError), cursor.copy("COPY lists FROM STDIN") as copy:
        copy.write(f"1\t{text}\n")


def test_a_constant_of_an_array_needs_no_cast(cursor: Cursor) -> None:
    cursor.execute("CREATE TABLE lists (id INTEGER PRIMARY KEY, t TEXT[] DEFAULT '{}', n INT[])")
    cursor.execute("""INSERT INTO lists VALUES (1, '{a,"b c"}', '{1,NULL}')""")
    cursor.execute("INSERT INTO lists (id) VALUES (2)")
    cursor.execute("UPDATE lists SET n = '{7}' WHERE id = 2")
    cursor.execute("SELECT t, n FROM lists ORDER BY id")
    assert cursor.fetchall() == [(["a", "b c"], [1, None]), ([], [7])]


def test_truth_is_one_letter(cursor: Cursor) -> None:
    with cursor.copy("COPY (SELECT true, false, NULL::boolean) TO STDOUT") as copy:
        assert b"".join(bytes(piece) for piece in copy) == b"t\tf\t\\N\n"


def test_numbers_that_are_always_generated_may_be_loaded(cursor: Cursor) -> None:
    cursor.execute(
        "CREATE TABLE numbered (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v TEXT)"
    )
    for rows in ("", "10\ta\n11\tb\n"):
        with cursor.copy("COPY numbered (id, v) FROM STDIN") as copy:
            copy.write(rows)
    cursor.execute("SELECT id, v FROM numbered ORDER BY id")
    assert cursor.fetchall() == [(10, "a"), (11, "b")]
    with pytest.raises(gateway.Error, match="GENERATED ALWAYS"):
        cursor.execute("INSERT INTO numbered (id, v) VALUES (12, 'c')")


def test_values_are_sent(cursor: Cursor) -> None:
    with cursor.copy("COPY (VALUES (1, 'a b'), (2, NULL)) TO STDOUT (FORMAT csv, HEADER)") as copy:
        sent = b"".join(bytes(piece) for piece in copy)
    assert sent == b"column1,column2\n1,a b\n2,\n"
