"""COPY .. TO files: what is written, what is refused, and that it is read back as it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gateway
from tests.support.prepared_warehouse import prepared_warehouse
from tests.support.repeatedly import repeatedly

ROWS = [(1, "007", 1.5), (2, None, None), (3, 'a,"b"', 2.0), (4, "", 0.0)]


TABLES = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE)",
    """INSERT INTO t VALUES (1, '007', 1.5), (2, NULL, NULL), (3, 'a,"b"', 2), (4, '', 0)""",
    "UPDATE t SET x = 3 WHERE id = 3",
    "UPDATE t SET x = 2 WHERE id = 3",
)


@pytest.fixture
def cursor(tmp_path: Path) -> Any:
    with gateway.connect(prepared_warehouse(tmp_path / "w", TABLES), autocommit=True) as connection:
        yield connection.cursor()


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with such a warehouse, and a cursor, for statements that change nothing."""
    folder = tmp_path_factory.mktemp("unchanged")
    os.mkfifo(folder / "pipe")
    with gateway.connect(prepared_warehouse(folder / "w", TABLES), autocommit=True) as connection:
        yield folder, connection.cursor()


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("rows.csv", "(HEADER)"),
        ("rows.csv", ""),
        ("rows.tsv", "(DELIMITER '\t', HEADER true)"),
        ("rows", "(FORMAT csv, NULL 'NA', QUOTE '$', ESCAPE '$')"),
        ("rows.parquet", ""),
        ("rows.bin", "(FORMAT parquet)"),
        ("rows.json", ""),
        ("rows.csv.gz", "(HEADER)"),
    ],
)
def test_what_is_written_is_read_again(
    cursor: Any, tmp_path: Path, file: str, options: str
) -> None:
    path = tmp_path / file
    cursor.execute(f"COPY t TO '{path}' {options}")
    assert cursor.rowcount == 4
    assert cursor.description is None
    assert [p.name for p in tmp_path.iterdir() if p.name != "w"] == [file]
    cursor.execute("CREATE TABLE again (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE)")
    cursor.execute(f"COPY again FROM '{path}' {options}")
    assert cursor.execute("SELECT * FROM again ORDER BY id").fetchall() == ROWS


def test_csv_text(cursor: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    cursor.execute(f"COPY (SELECT id, name FROM t ORDER BY id DESC LIMIT 2) TO '{path}' (HEADER)")
    assert path.read_text() == 'id,name\n4,""\n3,"a,""b"""\n'
    cursor.execute(f"COPY t (name, id) TO '{path}' (FORCE_QUOTE (id), DELIMITER ';')")
    assert sorted(path.read_text().splitlines()) == sorted(
        ['"";"4"', ';"2"', '007;"1"', '"a,""b""";"3"']
    )


def test_parquet_options(cursor: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    cursor.execute(f"COPY t TO '{path}' (COMPRESSION zstd, ROW_GROUP_SIZE 2048)")
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_partitions(cursor: Any, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    cursor.execute(f"COPY t TO '{folder}' (FORMAT parquet, PARTITION_BY (id))")
    assert cursor.rowcount == 4
    assert sorted(p.name for p in folder.iterdir()) == ["id=1", "id=2", "id=3", "id=4"]


def test_a_folder_takes_the_place_of_a_file(cursor: Any, tmp_path: Path) -> None:
    place = tmp_path / "parts"
    place.write_text("a file")
    copy = f"COPY (SELECT id % 2 AS odd, id FROM t) TO '{place}' (FORMAT parquet, PARTITION_BY "
    for options in ("('odd')", "('odd'), OVERWRITE false"):
        with pytest.raises(gateway.Error, match="it is not a folder"):
            cursor.execute(f"{copy}{options})")
        assert place.read_text() == "a file"
    cursor.execute(f"{copy}('odd'), OVERWRITE 1)")
    cursor.execute(f"SELECT DISTINCT odd FROM '{place}/*/*.parquet' ORDER BY odd")
    assert cursor.fetchall() == [(0,), (1,)]


def test_the_past_and_parameters(cursor: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    (before,) = cursor.execute("SELECT max(version) FROM system.transactions").fetchone()
    cursor.execute("DELETE FROM t WHERE id > 1")
    cursor.execute(f"COPY (SELECT id FROM t VERSION AS OF {before} WHERE id >= ?) TO '{path}'", [3])
    assert sorted(path.read_text().split()) == ["3", "4"]
    cursor.execute("SET as_of = '2001-01-01'")
    with pytest.raises(gateway.Error):
        cursor.execute(f"COPY t TO '{path}'")


def test_options_of_parquet_and_what_tells_of_files(cursor: Any, tmp_path: Path) -> None:
    path, text = tmp_path / "rows.parquet", tmp_path / "rows.csv"
    options = "ORDER_BY (id DESC), FIELD_IDS {id: 7}, KV_METADATA {by: 'me'}, WRITE_BLOOM_FILTER"
    cursor.execute(f"COPY (SELECT id FROM t) TO '{path}' ({options} false, ROW_GROUP_SIZE 2048)")
    assert cursor.rowcount == 4
    cursor.execute(f"SELECT field_id FROM parquet_schema('{path}') WHERE name = 'id'")
    assert cursor.fetchall() == [(7,)]
    cursor.execute(f"SELECT key, value FROM parquet_kv_metadata('{path}')")
    assert cursor.fetchall() == [(b"by", b"me")]
    cursor.execute(f"SELECT id, file_row_number, filename[:4] FROM '{path}' LIMIT 1")
    assert cursor.fetchall() == [(4, 0, str(path)[:4])]
    for described in (f"DESCRIBE '{path}'", f"FROM (DESCRIBE '{path}')"):
        cursor.execute(described)
        assert [row[:2] for row in cursor.fetchall()] == [("id", "INTEGER")]
    cursor.execute(f"COPY (SELECT id FROM t) TO '{text}' (HEADER)")
    cursor.execute(f"SELECT Delimiter, HasHeader FROM sniff_csv('{text}')")
    assert cursor.fetchall() == [(",", True)]
    lines = tmp_path / "rows.json"
    cursor.execute(f"COPY (SELECT id FROM t WHERE id = 1) TO '{lines}'")
    for function in ("read_json_objects", "read_ndjson_objects"):
        cursor.execute(f"SELECT json FROM {function}('{lines}')")
        assert cursor.fetchall() == [('{"id":1}',)]


def test_own_rows_and_read_only_transactions(cursor: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    cursor.execute("BEGIN")
    cursor.execute("INSERT INTO t VALUES (5, 'mine', 0)")
    cursor.execute(f"COPY t TO '{path}'")
    assert cursor.rowcount == 5
    cursor.execute("ROLLBACK")
    cursor.execute("BEGIN READ ONLY")
    cursor.execute(f"COPY t_journal TO '{path}'")
    assert cursor.rowcount > 4
    cursor.execute("COMMIT")


def test_the_spellings_of_postgresql(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with gateway.connect("palimpsest://", dialect="postgres", autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        cursor.execute("INSERT INTO t VALUES (1, 'x')")
        cursor.execute(f"COPY t TO '{path}' WITH (FORMAT csv, HEADER true, FORCE_QUOTE *)")
        assert path.read_text() == '"a","b"\n"1","x"\n' or path.read_text() == 'a,b\n"1","x"\n'
        cursor.execute(f"COPY t TO '{path}' DELIMITER '|' CSV HEADER")
        assert path.read_text() == "a|b\n1|x\n"
        for form in ("COPY t TO STDOUT", "COPY t TO PROGRAM 'cat'", "COPY t FROM STDIN"):
            with pytest.raises(gateway.Error) as caught:
                cursor.execute(form)
            assert caught.value.sqlstate in {"0A000", "42601"}


@pytest.mark.parametrize(
    ("sql", "state", "told"),
    [
        ("COPY t TO '{w}/main/t_journal/x.parquet'", "58P01", "inside the warehouse"),
        ("COPY t TO '{w}/palimpsest.duckdb' (FORMAT csv)", "58P01", "inside the warehouse"),
        ("COPY t TO '{w}/../w/x.csv'", "58P01", "inside the warehouse"),
        ("COPY t TO '{w}/x' (FORMAT parquet, PARTITION_BY (id))", "58P01", "inside the warehouse"),
        ("COPY t TO '/nowhere/x.csv'", "58P01", "folder does not exist"),
        ("COPY t TO '{w}/../pipe' (FORMAT csv)", "58P01", "not a regular file"),
        ("COPY t TO '{w}/..' (FORMAT csv)", "58P01", "it is a folder"),
        ("COPY t TO '{w}.xml'", "0A000", "format xml"),
        ("COPY t TO '{w}.csv' (FREEZE)", "0A000", "FREEZE"),
        ("COPY t TO '{w}.parquet' (HEADER)", "0A000", "HEADER"),
        ("COPY t TO '{w}.csv' (HEADER, HEADER false)", "0A000", "twice"),
        ("COPY t TO '{w}.csv' (NULL (SELECT 1))", "0A000", "constant"),
        ("COPY t TO '{w}.parquet' (KV_METADATA {{a: random()}})", "0A000", "constant"),
        ("COPY nope TO '{w}.csv'", "42P01", "nope"),
        ("COPY t (nope) TO '{w}.csv'", "42703", "nope"),
        ("COPY (WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d) TO '{w}.csv'", "0A000", ""),
        ("COPY (SELECT * FROM duckdb_secrets()) TO '{w}.csv'", "0A000", "duckdb_secrets"),
        ("COPY (SELECT getenv('HOME')) TO '{w}.csv'", "0A000", "getenv"),
        ("COPY (SELECT 1 / 0 AS x, CAST('a' AS INTEGER)) TO '{w}.csv'", "22P02", ""),
    ],
)
def test_refusals(unchanged: tuple[Path, Any], sql: str, state: str, told: str) -> None:
    folder, cursor = unchanged
    with pytest.raises(gateway.Error) as caught:
        cursor.execute(sql.format(w=folder / "w"))
    assert (caught.value.sqlstate, told in str(caught.value)) == (state, True)
    assert sorted(p.name for p in folder.iterdir()) == ["pipe", "w"]
    assert cursor.execute("SELECT count(*) FROM t").fetchone() == (4,)


def test_an_error_leaves_the_file_that_was_there(cursor: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")
    with pytest.raises(gateway.Error):
        cursor.execute(f"COPY (SELECT CAST(name AS INTEGER) FROM t) TO '{path}'")
    assert path.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv", "w"]


def test_a_cancelled_copy_leaves_no_file(cursor: Any, tmp_path: Path) -> None:
    cancelled = repeatedly(cursor.connection.cancel, 0.3)
    with pytest.raises(gateway.Error) as caught, cancelled:
        cursor.execute(
            "COPY (SELECT sum(hash(a.i, b.i)) OVER (ORDER BY a.i) FROM range(100000) a(i),"
            f" range(100000) b(i)) TO '{tmp_path}/rows.csv'"
        )
    assert caught.value.sqlstate == "57014"
    assert [p.name for p in tmp_path.iterdir()] == ["w"]


def test_a_link_stays_and_its_file_is_replaced(cursor: Any, tmp_path: Path) -> None:
    link, real = tmp_path / "rows.csv", tmp_path / "real.csv"
    link.symlink_to(real)
    for _ in range(2):
        cursor.execute(f"COPY (SELECT id FROM t WHERE id = 1) TO '{link}'")
    assert link.is_symlink()
    assert real.read_text().split() == ["1"]
