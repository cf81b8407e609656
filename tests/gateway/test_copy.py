"""COPY .. FROM files: what is read, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import pytest

import gateway

ROWS = [(1, "007", 1.5), (2, None, None), (3, "a,b", 2.0)]


def _cursor() -> gateway.dbapi.cursor.Cursor:
    cursor = gateway.connect("palimpsest://", autocommit=True).cursor()
    cursor.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE)")
    return cursor


def test_csv_fields_keep_their_text(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('id,name,x\n1,007,1.5\n2,,\n3,"a,b",2\n')
    cursor = _cursor()
    cursor.execute(f"COPY t FROM '{file}' (FORMAT csv, HEADER true)")
    assert cursor.rowcount == 3
    assert cursor.execute("SELECT * FROM t ORDER BY id").fetchall() == ROWS


def test_columns_and_delimiter(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x|7\ny|8\n")
    cursor = _cursor()
    cursor.execute(f"COPY t (name, id) FROM '{file}' (DELIMITER '|')")
    assert cursor.execute("SELECT id, name FROM t ORDER BY id").fetchall() == [(7, "x"), (8, "y")]


def test_parquet_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"], "x": [0.5, None]}), file)
    cursor = _cursor()
    cursor.execute(f"COPY t FROM '{file}'")
    assert cursor.execute("SELECT sum(id), count(x) FROM t").fetchall() == [(3, 1)]


def test_short_lines_and_compressed_files(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(gzip.compress(b"1,x,0.5\n2\n"))
    cursor = _cursor()
    cursor.execute(f"COPY t FROM '{file}' (FORMAT csv, NULL_PADDING, COMPRESSION 'gzip')")
    rows = cursor.execute("SELECT id, name, x FROM t ORDER BY id").fetchall()
    assert rows == [(1, "x", 0.5), (2, None, None)]
    file.write_text("3,y,0\nz\n")
    with pytest.raises(gateway.DataError, match="line 2, column id"):
        cursor.execute(f"COPY t FROM '{file}' (FORMAT csv, NULL_PADDING)")
    with pytest.raises(gateway.NotSupportedError, match="NULL_PADDING"):
        cursor.execute(f"COPY t FROM '{file}' (FORMAT csv, NULL_PADDING, ON_ERROR ignore)")


def test_dates_in_a_form_that_is_given_and_quoted_nulls(tmp_path: Path) -> None:
    file = tmp_path / "dates.csv"
    file.write_text('"",05/06/2019,12.03 30-06-03,7\n')
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE TABLE t (a VARCHAR, d DATE, m TIMESTAMP, n INTEGER)")
        forms = "DATEFORMAT '%d/%m/%Y', TIMESTAMPFORMAT '%H.%M %d-%m-%y'"
        con.execute(f"COPY t FROM '{file}' ({forms})")
        con.execute(f"COPY t FROM '{file}' ({forms}, ALLOW_QUOTED_NULLS)")
        read = (dt.date(2019, 6, 5), "2003-06-30 12:03:00", 7)
        rows = con.execute("SELECT a, d, m::VARCHAR, n FROM t ORDER BY a").fetchall()
        assert rows == [("", *read), (None, *read)]
        with pytest.raises(gateway.DataError, match="line 1, column m"):
            con.execute(f"COPY t FROM '{file}' (DATEFORMAT '%d/%m/%Y')")


def test_several_texts_are_null_and_defaults_stand_beside_rejects(tmp_path: Path) -> None:
    file = tmp_path / "nulls.csv"
    file.write_text("none,1\nnull,\nx,2\n")
    cursor = gateway.connect("palimpsest://", autocommit=True).cursor()
    cursor.execute("CREATE TABLE t (a VARCHAR, b INTEGER)")
    cursor.execute(f"COPY t FROM '{file}' (NULLSTR ['none', 'null', ''])")
    rows = cursor.execute("SELECT * FROM t ORDER BY a, b").fetchall()
    assert rows == [("x", 2), (None, 1), (None, None)]
    defaults = "ON_ERROR ignore, NULL_PADDING 0, AUTO_DETECT false, PARALLEL true"
    assert cursor.execute(f"COPY t FROM '{file}' ({defaults})").rowcount == 3
    for refused in (
        f"FROM '{file}' (NULLSTR ['a', 'b'], ON_ERROR ignore)",
        "TO 'x.csv' (NULL ['a'])",
    ):
        with pytest.raises(gateway.NotSupportedError, match="NULL"):
            cursor.execute(f"COPY t {refused}")


def test_json_fills_columns_by_name_and_keeps_its_values(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"doc": {"a": 1}, "id": 1, "felt": "ok", "tags": [1, null], "late": true}\n'
        '{"id": 2, "doc": {"b": [1.5, {"c": null}]}, "unknown": 1}\n{"id": 3, "doc": "x"}\n'
    )
    cursor = gateway.connect("palimpsest://", autocommit=True).cursor()
    cursor.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    cursor.execute(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, felt mood, doc JSON, tags INTEGER[],"
        " late BOOLEAN DEFAULT false)"
    )
    cursor.execute(f"COPY notes FROM '{file}'")
    assert cursor.execute("SELECT * FROM notes ORDER BY id").fetchall() == [
        (1, "ok", '{"a":1}', [1, None], True),
        (2, None, '{"b":[1.5,{"c":null}]}', None, None),
        (3, None, '"x"', None, None),
    ]
    cursor.execute("DELETE FROM notes")
    cursor.execute(f"COPY notes (doc, id) FROM '{file}'")
    assert cursor.execute("SELECT id, felt FROM notes ORDER BY id").fetchall() == [
        *((1, None), (2, None), (3, None))
    ]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("COPY t FROM 'x.xml'", "0A000"),
        ("COPY t FROM 'x.csv' (FORMAT csv, FREEZE true)", "0A000"),
        ("COPY t_journal FROM 'x.csv'", "42501"),
        ("COPY nope FROM 'x.csv'", "42P01"),
        ("COPY t FROM '/nowhere/x.csv'", "58P01"),
    ],
)
def test_refusals(sql: str, state: str) -> None:
    with pytest.raises(gateway.Error) as caught:
        _cursor().execute(sql)
    assert caught.value.sqlstate == state


def test_a_key_in_the_way_takes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("1,a,1\n1,b,2\n")
    cursor = _cursor()
    with pytest.raises(gateway.IntegrityError):
        cursor.execute(f"COPY t FROM '{file}'")
    assert cursor.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name,x\n1,a,1\n2,b,2,9\n", "rows.csv, line 3: Expected Number of Columns: 3 Found: 4"),
        (
            "id,name\n1,a\n",
            "the columns of .*rows.csv are 2, and those to be filled 3: id, name, x",
        ),
    ],
)
def test_another_number_of_columns_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(text)
    cursor = _cursor()
    with pytest.raises(gateway.ProgrammingError, match=message) as raised:
        cursor.execute(f"COPY t FROM '{file}' (HEADER)")
    assert "[PAL-213]" in str(raised.value)
