"""COPY FROM STDIN and TO STDOUT: formats, all rows or none, and what errors say."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from gateway.session.copies.copy_text import CopyFormat, rows_of_text, text_line
from gateway.shell.shell import Shell

ROWS = [(1, "x\ty", 1.5), (2, None, None), (3, "a\nb\\", None), (4, "", 0.0)]


def _cursor() -> gateway.dbapi.cursor.Cursor:
    cursor = gateway.connect("palimpsest://", autocommit=True).cursor()
    cursor.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE)")
    return cursor


@pytest.mark.parametrize("options", ["", "(FORMAT csv, HEADER)", "(FORMAT text, DELIMITER '|')"])
def test_what_goes_out_comes_in_again(options: str) -> None:
    cursor = _cursor()
    with cursor.copy(f"COPY t FROM STDIN {options}") as copy:
        if "HEADER" in options:
            copy.write("id,name,x\n")
        for row in ROWS:
            copy.write_row(row)
    assert cursor.rowcount == len(ROWS)
    assert cursor.execute("SELECT * FROM t ORDER BY id").fetchall() == ROWS
    with cursor.copy(f"COPY (SELECT * FROM t ORDER BY id) TO STDOUT {options}") as copy:
        written = b"".join(copy)
    cursor.execute("TRUNCATE t")
    with cursor.copy(f"COPY t FROM STDIN {options}") as copy:
        copy.write(written)
    assert cursor.execute("SELECT * FROM t ORDER BY id").fetchall() == ROWS


def test_the_direction_is_from_or_to_whichever_stream_is_named() -> None:
    """PHP's pgsqlCopyToArray copies TO STDIN, which PostgreSQL takes."""
    cursor = _cursor()
    with cursor.copy("COPY t (id, name) FROM STDOUT") as copy:
        copy.write("1\ta\n")
    with cursor.copy("COPY t (id, name) TO STDIN") as copy:
        assert b"".join(copy) == b"1\ta\n"


def test_postgres_text() -> None:
    cursor = _cursor()
    with cursor.copy("COPY t (id, name) FROM STDIN") as copy:
        copy.write("1\ta\\tb\\\\\\x41\n2\t\\N\n3\t\\\\N\n\\.\nnot read\n")
    assert cursor.execute("SELECT id, name FROM t ORDER BY id").fetchall() == [
        (1, "a\tb\\A"),
        (2, None),
        (3, "\\N"),
    ]


def test_single_column_of_null() -> None:
    cursor = gateway.connect("palimpsest://", autocommit=True).cursor()
    cursor.execute("CREATE TABLE one (a VARCHAR)")
    with cursor.copy("COPY one FROM STDIN") as copy:
        copy.write("\\N\n\nx\n")
    assert cursor.rowcount == 3
    found = cursor.execute("SELECT a FROM one ORDER BY a NULLS FIRST").fetchall()
    assert found == [(None,), ("",), ("x",)]


def test_text_lines_are_read_as_written() -> None:
    form = CopyFormat(delimiter="|")
    rows = [["a|b", None, "\\", "\r\n\x08"], ["", "\\N", "|", "x"]]
    lines = [text_line(row, form).encode() for row in rows]
    assert list(rows_of_text(lines, form)) == rows


def test_all_rows_or_none() -> None:
    cursor = _cursor()
    with (
        pytest.raises(gateway.errors.DataError, match="STDIN, line 2, column x"),
        cursor.copy("COPY t FROM STDIN WITH CSV") as copy,
    ):
        copy.write("1,a,1.5\n2,b,much\n")
    with suppress(ZeroDivisionError), cursor.copy("COPY t FROM STDIN") as copy:
        copy.write("1\ta\t1\n")
        raise ZeroDivisionError
    with (
        pytest.raises(gateway.errors.ProgrammingError, match="line 2: 2 values"),
        cursor.copy("COPY t FROM STDIN") as copy,
    ):
        copy.write("1\ta\t1\n2\tb\n")
    assert cursor.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_errors() -> None:
    cursor = _cursor()
    with (
        pytest.raises(gateway.errors.ProgrammingError, match="PAL-201"),
        cursor.copy("COPY nowhere FROM STDIN"),
    ):
        pass
    with pytest.raises(gateway.errors.InterfaceError, match="PAL-605"):
        cursor.copy("SELECT 1")
    with pytest.raises(gateway.errors.NotSupportedError, match="binary"):
        cursor.copy("COPY t FROM STDIN (FORMAT binary)")
    with pytest.raises(gateway.errors.NotSupportedError, match=r"cursor\.copy"):
        cursor.execute("COPY t FROM STDIN")
    with (
        pytest.raises(gateway.errors.InterfaceError, match="PAL-605"),
        cursor.copy("COPY t TO STDOUT") as copy,
    ):
        copy.write("x")


def test_copy_of_a_file_names_the_value(tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text('id,name,x\n1,"two\nlines",1\n2,b,much\n')
    with pytest.raises(gateway.errors.DataError) as caught:
        _cursor().execute(f"COPY t FROM '{file}' (HEADER)")
    for part in (str(file), "column x", "much"):
        assert part in str(caught.value)


def test_a_script_holds_its_data() -> None:
    connection = gateway.connect("palimpsest://", autocommit=True)
    out = io.StringIO()
    Shell(connection, interactive=False, out=out).run_script(
        "CREATE TABLE t (id INTEGER, a VARCHAR);\n"
        "COPY t FROM STDIN;\n1\tx;y\n2\t\\N\n\\.\n"
        "\\copy t from stdin (format csv)\n3,z\n\\.\n"
        "COPY (SELECT * FROM t ORDER BY id) TO STDOUT;\n"
    )
    assert out.getvalue().endswith("1\tx;y\n2\t\\N\n3\tz\n")


def test_the_command_line_reads_standard_input(tmp_path: Path) -> None:
    place = str(tmp_path / "w")
    run = CliRunner()
    assert run.invoke(main, ["init", place]).exit_code == 0
    query = ["query", "-w", place]
    run.invoke(main, [*query, "CREATE TABLE t (id INTEGER, a VARCHAR)"])
    assert run.invoke(main, [*query, "COPY t FROM STDIN"], input="1\tx\n").exit_code == 0
    csv = run.invoke(main, ["import", "-w", place, "-", "t"], input="id,a\n2,y\n")
    assert csv.exit_code == 0, csv.output
    json = ["import", "-w", place, "-", "t", "--format", "json"]
    assert run.invoke(main, json, input='{"id": 3, "a": "z"}\n').exit_code == 0
    found = run.invoke(main, [*query, "COPY (SELECT * FROM t ORDER BY id) TO STDOUT"])
    assert found.output == "1\tx\n2\ty\n3\tz\n"
    bad = run.invoke(main, ["import", "-w", place, "-", "t"], input="id,a\n4,y\nx,y\n")
    assert bad.exit_code != 0
    assert "STDIN, line 3" in bad.output


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ("CSV HEADER NULL 'N'", "id,name\n1,x\n2,N\n3,a|b\n"),
        ("WITH CSV NULL AS 'N' DELIMITER AS '|'", '1|x\n2|N\n3|"a|b"\n'),
        ("DELIMITER ',' CSV", "1,x\n2,\n3,a|b\n"),
        ("CSV QUOTE '$' ESCAPE '!' FORCE QUOTE name", "1,$x$\n2,\n3,$a|b$\n"),
        ("WITH CSV FORCE QUOTE id, name", '"1","x"\n"2",\n"3","a|b"\n'),
        ("(FORMAT csv, HEADER, FORCE_QUOTE *)", 'id,name\n"1","x"\n"2",\n"3","a|b"\n'),
        ("(FORMAT csv, FORCE_QUOTE (name), ENCODING 'utf8')", '1,"x"\n2,\n3,"a|b"\n'),
        ("WITH NULL AS '' DELIMITER '|'", "1|x\n2|\n3|a\\|b\n"),
    ],
)
def test_old_spellings_of_options(options: str, written: str) -> None:
    cursor = _cursor()
    cursor.execute("INSERT INTO t (id, name) VALUES (1, 'x'), (2, NULL), (3, 'a|b')")
    query = "(SELECT id, name FROM t ORDER BY id)"
    with cursor.copy(f"COPY {query} TO STDOUT {options}") as copy:
        assert b"".join(copy).decode() == written
    with pytest.raises(gateway.ProgrammingError, match="FORCE_QUOTE names"):
        with cursor.copy("COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (other))") as copy:
            list(copy)


@pytest.mark.parametrize(("form", "mark"), [("csv", ","), ("text", "\t")])
def test_a_header_that_must_match_is_compared(form: str, mark: str) -> None:
    cursor = _cursor()
    for columns, header, taken in (
        ("(name, id)", ("name", "id"), True),
        ("", ("id", "name", "x"), True),
        ("(id, name)", ("name", "id"), False),
        ("", ("id", "name"), False),
    ):
        rows = f"{mark.join(header)}\n{mark.join('8' for _ in header)}\n"
        cursor.execute("TRUNCATE t")
        sql = f"COPY t {columns} FROM STDIN (FORMAT {form}, HEADER match)"
        if taken:
            with cursor.copy(sql) as copy:
                copy.write(rows)
        else:
            with (
                pytest.raises(gateway.DataError, match="the header says"),
                cursor.copy(sql) as copy,
            ):
                copy.write(rows)
        assert cursor.execute("SELECT count(*) FROM t").fetchall() == [(int(taken),)]
    with pytest.raises(gateway.NotSupportedError, match="HEADER match in COPY TO"):
        with cursor.copy(f"COPY t TO STDOUT (FORMAT {form}, HEADER match)") as copy:
            list(copy)


def test_null_may_stand_in_quotes_where_the_copy_says_so() -> None:
    """As dlt loads files of CSV, of which each value may be quoted."""
    cursor = _cursor()
    lines = '1,"a",""\n2,"",1.5\n3,,\n'
    with cursor.copy("COPY t FROM STDIN (FORMAT csv, FORCE_NULL (id, name, x))") as copy:
        copy.write(lines)
    found = cursor.execute("SELECT * FROM t ORDER BY id").fetchall()
    assert found == [(1, "a", None), (2, None, 1.5), (3, None, None)]
    for columns, code in (("name", "PAL-110"), ("id, name, x, y", "PAL-202")):
        with pytest.raises(gateway.Error, match=code):
            with cursor.copy(f"COPY t FROM STDIN (FORMAT csv, FORCE_NULL ({columns}))") as copy:
                copy.write(lines)
