"""Adopting Parquet files into a warehouse, and ejecting a table as Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gateway
from gateway.errors import mapping
from gateway.shell.table_files import adopt_files, eject_files


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder of two Parquet files."""
    folder = tmp_path / "lake" / "depts"
    for number in range(2):
        (folder / f"part={number}").mkdir(parents=True)
        names = ["Sales", "Ops"]
        rows = pa.table({"deptno": [2 * number, 2 * number + 1], "name": names})
        pq.write_table(rows, folder / f"part={number}" / "rows.parquet")
    return folder


def test_a_folder_of_files_becomes_a_table_and_leaves_as_two(tmp_path: Path, lake: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        con.execute("CREATE SCHEMA hr")
        told = adopt_files(con, "hr.depts", lake, ["deptno"], run=False)
        assert any("4 rows" in step for step in told)
        assert con.execute("SHOW TABLES IN hr").fetchall() == []
        adopt_files(con, "hr.depts", lake, ["deptno"], run=True)
        con.execute("UPDATE hr.depts SET name = 'Service' WHERE deptno = 0")
        con.execute("DELETE FROM hr.depts WHERE deptno = 3")
        before = con.execute("SELECT deptno, name FROM hr.depts ORDER BY deptno").fetchall()
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO hr.depts (deptno) VALUES (1)")
        out = tmp_path / "out"
        assert eject_files(con, "hr.depts", out, run=False)
        assert not out.exists()
        eject_files(con, "hr.depts", out, run=True)
        assert con.execute("SHOW TABLES IN hr").fetchall() == []
        left = pq.read_table(out / "depts.parquet").select(["deptno", "name"]).sort_by("deptno")
        assert [tuple(row.values()) for row in left.to_pylist()] == before
        assert pq.read_table(out / "depts_history.parquet").num_rows == 4 + 2 + 2
        con.execute("UNDROP TABLE hr.depts")
        assert con.execute("SELECT deptno, name FROM hr.depts ORDER BY deptno").fetchall() == before


def test_what_cannot_be_adopted_or_ejected(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        (tmp_path / "empty").mkdir()
        with pytest.raises(gateway.Error) as raised, mapping():
            adopt_files(con, "t", tmp_path / "empty", [], run=True)
        assert "no Parquet files" in str(raised.value)
        with pytest.raises(gateway.Error, match="no file or folder"), mapping():
            adopt_files(con, "t", tmp_path / "missing", [], run=True)
        with pytest.raises(gateway.ProgrammingError), mapping():
            eject_files(con, "t", tmp_path / "out", run=True)


def _refusal(con: gateway.Connection, folder: Path) -> str:
    with pytest.raises(gateway.Error) as raised, mapping():
        adopt_files(con, "t", folder, ["id"], run=True)
    return str(raised.value)


def test_files_of_a_folder_must_agree(tmp_path: Path) -> None:
    """The first file decided the columns: those of others were left out, and values rounded."""
    folder = tmp_path / "lake"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "n": [1, 2]}), folder / "a.parquet")
    pq.write_table(pa.table({"id": [3], "more": ["x"]}), folder / "b.parquet")
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        adopt_files(con, "t", folder, ["id"], run=True)
        rows = con.execute("SELECT id, n, more FROM t ORDER BY id").fetchall()
        assert rows == [(1, 1, None), (2, 2, None), (3, None, "x")]
        con.execute("DROP TABLE t")
        pq.write_table(pa.table({"id": [4], "n": [1.5]}), folder / "c.parquet")
        said = _refusal(con, folder)
        assert "PAL-212" in said
        assert '"n" as different types: INT64' in said
        assert "DOUBLE" in said
        (folder / "c.parquet").write_text("no Parquet")
        assert "c.parquet is no Parquet file, or is damaged" in _refusal(con, folder)
        (folder / "c.parquet").rename(folder / "_c.parquet")
        adopt_files(con, "t", folder, ["id"], run=True)
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        ("metadata/00000-1.metadata.json", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
    ],
)
def test_a_table_format_is_not_a_folder_of_files(log: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    (folder / log).parent.mkdir(parents=True)
    (folder / log).write_text("{}")
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        assert f"is a table of {name}" in _refusal(con, folder)
