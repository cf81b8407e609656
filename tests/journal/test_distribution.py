"""What the property ``distributed_by`` says, and what servers answer of what they can do."""

from __future__ import annotations

import pytest

from journal.model.distribution import column_list, distribution_of, with_distribution
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Table, TableName
from journal.stores.postgres.errors import translate
from journal.stores.postgres.server import GREENPLUM, POSTGRESQL, abilities, distributed_by
from tests.support.client import Client

COLUMNS = (Column("id", "id", "BIGINT"), Column("Of", "c2", "TEXT"), Column('q"', 'q"', "TEXT"))


def _table(text: str | None) -> Table:
    properties = () if text is None else (("distributed_by", text),)
    return Table(1, TableName("main", "t"), COLUMNS, ("id",), properties=properties)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (None, ("id",)),
        ("of", ("c2",)),
        ("OF, id", ("c2", "id")),
        ('"q""", "of", of', ('q"', "c2")),
    ],
)
def test_rows_are_spread_as_the_table_says(text: str | None, columns: tuple[str, ...]) -> None:
    made = with_distribution(_table(text))
    assert distribution_of(made) == columns
    assert with_distribution(made, made) == made


@pytest.mark.parametrize("text", ["", "gone", "id;", "id id", '"id'])
def test_what_is_no_list_of_columns_is_refused(text: str) -> None:
    with pytest.raises(PalimpsestError, match="the distribution cannot be used") as raised:
        with_distribution(_table(text))
    assert raised.value.code is Code.INVALID_DEFINITION


def test_a_store_on_one_machine_takes_no_notice(run: Client) -> None:
    run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) WITH (distributed_by = 'b')")
    run("INSERT INTO t VALUES (1, 'x')")
    run("ALTER TABLE t SET TBLPROPERTIES ('distributed_by' = 'a, b')")
    refused = run.error("ALTER TABLE t SET TBLPROPERTIES ('distributed_by' = 'c')")
    assert refused == (Code.INVALID_DEFINITION.value.code, "42P16")


def test_names_as_the_database_has_them() -> None:
    assert distributed_by(["A", 'q"']) == ' DISTRIBUTED BY ("a", "q""")'
    assert column_list(["a", 'q"']) == '"a", "q"""'


def test_what_servers_can_do() -> None:
    assert abilities((False, 150_000, "PostgreSQL 15")) == POSTGRESQL
    assert abilities((True, 120_012, "PostgreSQL 12.12 (Greenplum Database 7.1.0)")) == GREENPLUM
    for old in ("PostgreSQL 9.4.26 (Greenplum Database 6.25.3)", "PostgreSQL 8.2.15 (HAWQ 2.4)"):
        with pytest.raises(PalimpsestError, match="older than PostgreSQL 12") as raised:
            abilities((True, 90_426, old))
        assert raised.value.code is Code.NOT_SUPPORTED


@pytest.mark.parametrize(
    "place", ["(seg1 slice2 10.0.0.7:6001 pid=44)", "(entry db h:1 pid=4)", ""]
)
def test_where_in_a_cluster_an_error_arose_is_not_said(place: str) -> None:
    assert translate("22012", f"division by zero  {place}").message == "division by zero"
