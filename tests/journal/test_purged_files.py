"""G10, G16: the files that a purge writes: where they lie, their schema, and their filters."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import gateway
from journal.files.filters.sidecar import read_sidecar

KINDS = (
    "id INTEGER PRIMARY KEY, email VARCHAR, price DECIMAL(12, 3), at TIMESTAMP, seen TIMESTAMPTZ,"
    " tags VARCHAR[], home STRUCT(zip VARCHAR, n BIGINT), data BLOB, flag BOOLEAN"
)
VALUES = (
    "1.250, TIMESTAMP '2024-02-29 12:00:00.123456', TIMESTAMPTZ '2024-02-29 12:00:00+02',"
    " ['a', NULL], {'zip': '007', 'n': NULL}, '\\x00ab'::BLOB, NULL"
)


def test_g10_g16_files_are_written_beside_with_schema_and_filters(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        con.execute(f"CREATE TABLE t ({KINDS}) WITH (erasure = 'email LOWER')")
        con.execute(f"INSERT INTO t SELECT i, concat('p', i, '@x'), {VALUES} FROM range(9) r(i)")
        con.execute("CALL system.flush()")
        kept = "SELECT * FROM t WHERE id <> 3 ORDER BY id"
        before = con.execute(kept).fetchall()
        (old,) = _files(root)
        schema = pq.read_schema(old)
        con.execute("ERASE FROM t WHERE id = 3")
        con.execute("CALL system.purge('t')")
        assert con.execute(kept).fetchall() == before
    (new,) = _files(root)
    assert (new.parent.parent, new.parent != old.parent) == (old.parent.parent, True)
    made = pq.read_schema(new)
    assert [(f.name, f.type) for f in made] == [(f.name, f.type) for f in schema]
    assert pq.read_metadata(new).num_rows == 8
    filters = read_sidecar(new.parent, ["email lower"])
    assert list(filters) == [new.name]


def _files(root: Path) -> list[Path]:
    """The data files of a warehouse."""
    return [p for p in root.rglob("*.parquet") if "_palimpsest" not in p.parts]
