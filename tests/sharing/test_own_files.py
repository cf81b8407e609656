"""A client of an owner reads text and writes Parquet in its own process, as the owner would."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.shell.files import import_file
from tests.sharing.test_commands import run

pytestmark = pytest.mark.usefixtures("commands")
KINDS = """
    a INTEGER PRIMARY KEY, u UUID, d DECIMAL(38, 3), s VARCHAR, b BLOB, n DATE, m TIMESTAMP,
    z TIMESTAMP WITH TIME ZONE, i INTERVAL, j JSON, l INTEGER[], f DOUBLE, e ENUM('x', 'y')
"""
ROWS = """
    (1, '00000000-0000-0000-0000-000000000001', 12345678901234567890.125, 'x', 'ab'::BLOB,
     DATE '2024-05-01', TIMESTAMP '2024-05-01 10:00:00.123456',
     TIMESTAMPTZ '2024-05-01 10:00:00+02', INTERVAL '1 month 2 days', '{"a": [1]}', [1, NULL, 3],
     'nan', 'y'),
    (2, NULL, NULL, 'long', NULL, NULL, 'infinity', NULL, NULL, NULL, [], '-inf', NULL)
"""


def test_rows_that_a_client_writes_are_those_that_the_owner_writes(
    root: Path, owner: Connection, tmp_path: Path
) -> None:
    owner.execute(f"CREATE TABLE v ({KINDS}, h HUGEINT DEFAULT 7)")
    owner.execute(f"INSERT INTO v BY POSITION SELECT *, 8 FROM (VALUES {ROWS}) AS r")
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    assert run(root, "export", "SELECT * FROM v ORDER BY a", str(ours))[0] == 0
    owner.execute(f"COPY (SELECT * FROM v ORDER BY a) TO '{theirs}' (FORMAT parquet)")
    with duckdb.connect() as reader:
        for query in ("DESCRIBE FROM '{0}'", "SELECT * REPLACE (f::VARCHAR AS f) FROM '{0}'"):
            found = [reader.execute(query.format(path)).fetchall() for path in (ours, theirs)]
            assert found[0] == found[1]


@pytest.mark.first(1)
@pytest.mark.parametrize("further", ["", ", h HUGEINT"])
def test_rows_that_a_client_reads_are_those_that_the_owner_reads(
    root: Path, owner: Connection, tmp_path: Path, further: str
) -> None:
    """With a type that Parquet does not keep, too: the owner reads the file then."""
    file = tmp_path / "v.csv"
    with duckdb.connect() as writer:
        writer.execute(f"CREATE TABLE v ({KINDS}{further})")
        given = ", 170141183460469231731687303715884105727" if further else ""
        writer.execute(f"INSERT INTO v SELECT *{given} FROM (VALUES {ROWS}) AS r")
        writer.execute(f"COPY v TO '{file}' (HEADER)")
    for name in ("ours", "theirs"):
        owner.execute(f"CREATE TABLE {name} ({KINDS}{further})")
    code, said = run(root, "import", str(file), "ours")
    assert code == 0, said
    import_file(owner, str(file), "theirs")
    found = [
        owner.execute(f"SELECT * REPLACE (f::VARCHAR AS f) FROM {name} ORDER BY a").fetchall()
        for name in ("ours", "theirs")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 2


@pytest.mark.long
def test_a_wrong_value_is_named_with_its_line(
    root: Path, owner: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text("a,b\n3,z\nfour,w\n")
    code, ours = run(root, "import", str(file), "t")
    with pytest.raises(gateway.Error) as theirs:
        import_file(owner, str(file), "t")
    assert code == 1
    assert theirs.value.args[0].partition(" Hint")[0].partition("] ")[2] in ours
    assert owner.execute("SELECT count(*) FROM t").fetchone() == (2,)
