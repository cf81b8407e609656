"""The relations of ``system`` are found by every list of them, and documented column by column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gateway
from gateway.shell import describing
from rewriter.reading.system import system_names

PAGE = Path(__file__).parents[2] / "docs" / "system.md"
SECTIONS = {
    part.split("\n")[0].strip(): set(re.findall(r"`(\w+)`", part))
    for part in PAGE.read_text().split("## system.")[1:]
}


@pytest.mark.parametrize("name", system_names("system"))
def test_each_column_is_documented(name: str) -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        columns = {row[0] for row in con.execute(f"DESCRIBE system.{name}").fetchall()}
    assert columns <= SECTIONS[name]


def test_no_relation_is_documented_that_is_not_there() -> None:
    assert sorted(SECTIONS) == system_names("system")


@pytest.mark.parametrize("schema", ["system", "information_schema"])
def test_they_are_listed_where_their_schema_is_named(schema: str) -> None:
    with gateway.connect("palimpsest://", autocommit=True) as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        listed = con.execute(f"SHOW TABLES FROM {schema}").fetchall()
        assert [name for (name,) in listed] == system_names(schema)
        shown = describing.relations(con, "table", f"{schema}.*")
        assert [row[1] for row in shown.rows] == system_names(schema)
        assert [row[1] for row in describing.relations(con, "all", None).rows] == ["t"]
        assert describing.system_columns(con, f"{schema}.tables") is not None
        assert describing.system_columns(con, "t") is None
