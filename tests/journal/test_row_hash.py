"""The checksum of rows tells values apart that look alike, and finds equal ones equal."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from journal.files.memory import memory_session
from journal.files.staging import open_folders
from journal.local_engine.hash import row_hash
from journal.model.plan import Query

PAIRS = [
    ("DOUBLE", "0.0", "'-0.0'"),
    ("FLOAT", "0.0", "'-0.0'"),
    ("DOUBLE", "'nan'", "0.0"),
    ("DOUBLE", "'nan'", "'-nan'"),
    ("DOUBLE", "'nan'", "'inf'"),
    ("DOUBLE", "NULL", "0.0"),
    ("VARCHAR", "NULL", "''"),
    ("VARCHAR", "''", "' '"),
    ("VARCHAR", "'a'", "'a '"),
    ("BLOB", "NULL", "''"),
    ("DOUBLE[]", "[0.0]", "['-0.0'::DOUBLE]"),
    ("VARCHAR[]", "NULL", "[]"),
    ("VARCHAR[]", "[]", "[NULL]"),
    ("VARCHAR[]", "[NULL]", "['']"),
    ("VARCHAR[]", "[NULL]", "['NULL']"),
    ("INTEGER[]", "[1, NULL]", "[NULL, 1]"),
    ("STRUCT(a VARCHAR)", "{'a': NULL}", "{'a': ''}"),
    ("STRUCT(a VARCHAR)", "{'a': NULL}", "NULL"),
    ("STRUCT(a DOUBLE)", "{'a': 0.0}", "{'a': '-0.0'::DOUBLE}"),
    ("MAP(VARCHAR, VARCHAR)", "MAP {'a': NULL}", "MAP {'a': ''}"),
    ("TIMESTAMP_NS", "'2024-01-01 00:00:00.000000001'", "'2024-01-01 00:00:00.000000002'"),
]


@pytest.mark.parametrize(("kind", "one", "other"), PAIRS)
def test_different_values_have_different_hashes(
    tmp_path: Path, kind: str, one: str, other: str
) -> None:
    found = _hashes(tmp_path, kind, one, other, one)
    assert found[0] == found[2]
    assert found[0] != found[1]


def _hashes(root: Path, kind: str, *values: str) -> list[int]:
    branches = [f"SELECT {n} AS n, ({v})::{kind} AS x" for n, v in enumerate(values)]
    source = sqlglot.parse_one(" UNION ALL ".join(branches), read="duckdb")
    open_folders(root, [folder := uuid.uuid4().hex])
    with memory_session(root, folder) as session:
        session.stage("rows_of", Query.of(source), {})
        rows = exp.select(row_hash([("x", kind)], [], "r")).from_("rows_of AS r").order_by("n")
        session.execute(Query.of(rows), {})
        return [row[0] for row in session.fetch_many(len(values))]
