"""Values and names on their way into Spark's SQL: nothing gets lost, nothing gets out."""

from __future__ import annotations

import json

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from journal.model.errors import PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import TableName
from journal.sql.builders import call
from journal.stores.hive.dialect.text import Template, literal, rendered
from journal.stores.hive.layout import Names, plain_name
from journal.stores.hive.rows import HeldRelation


def read_back(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, read="spark")


@given(st.text())
def test_a_text_is_one_literal_with_the_same_content(value: str) -> None:
    sql = rendered(exp.select(literal(value)))
    (found,) = read_back(sql).selects
    assert isinstance(found, exp.Literal)
    assert found.is_string
    assert found.this == value


def test_digits_after_a_nul_are_not_part_of_it() -> None:
    assert rendered(exp.select(literal("\x0000 a"))) == r"SELECT '\00000 a'"


@given(st.integers())
def test_a_number_is_itself(value: int) -> None:
    (found,) = read_back(rendered(exp.select(literal(value)))).selects
    assert int(found.sql()) == value


@given(st.lists(st.lists(st.one_of(st.none(), st.text()), min_size=2, max_size=2)))
def test_held_rows_are_one_literal_of_json(rows: list[list[str | None]]) -> None:
    columns = (ResultColumn("a", "VARCHAR"), ResultColumn("odd `name'", "VARCHAR"))
    sql = rendered(HeldRelation(columns, rows).query())
    call = next(
        node
        for node in read_back(sql).find_all(exp.Func)
        if node.sql_name().lower() == "from_json" or node.name.lower() == "from_json"
    )
    text = call.find(exp.Literal)
    assert text is not None
    assert json.loads(text.this) == rows


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_are_what_the_metastore_takes_and_do_not_meet(one: str, other: str) -> None:
    names = Names("company", "p_")
    first, second = (names.public_relation(TableName("hr", name)).name for name in (one, other))
    assert set(first) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert (first == second) == (one.casefold() == other.casefold())
    assert plain_name("depts") == "depts"


def test_a_cast_that_may_fail_stays_one() -> None:
    cast = exp.TryCast(this=exp.column("x"), to=exp.DataType.build("INT"))
    assert rendered(exp.select(cast)) == "SELECT TRY_CAST(`x` AS INT)"


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)


@pytest.mark.long
@given(_VALUES, _VALUES)
def test_a_text_with_gaps_filled_is_the_text_with_the_values(one: object, two: object) -> None:
    asked = "SELECT k, '\x01?' AS t FROM t WHERE k = $one AND $two <= v AND k IN ($one, $two, 3)"
    ast = sqlglot.parse_one(asked, read="duckdb")
    parameters = {"one": one, "two": two}
    template = Template.of(ast)
    assert template is not None
    assert template.filled(parameters) == rendered(ast, parameters)


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT 1 / $one FROM t",
        "SELECT k FROM t WHERE k > $one + 1",
        "SELECT k FROM t WHERE $one = $two",
        "SELECT k FROM t LIMIT $one",
        "SELECT '\x00' FROM t WHERE k = $one",
    ],
)
def test_where_a_value_matters_or_might_be_mistaken_no_text_is_kept(asked: str) -> None:
    assert Template.of(sqlglot.parse_one(asked, read="duckdb")) is None


def test_what_spark_does_not_cut_to_is_counted_in_years_or_refused() -> None:
    for unit, years in (("decade", 10), ("centuries", 100), ("millennium", 1000)):
        sql = rendered(exp.select(call("date_trunc", exp.Literal.string(unit), exp.column("x"))))
        assert (
            f"DATE_TRUNC('YEAR', `x`) - MAKE_YM_INTERVAL(CAST(YEAR(`x`) % {years} AS INT))" in sql
        )
    with pytest.raises(PalimpsestError, match="date_trunc to the unit nix"):
        rendered(exp.select(call("date_trunc", exp.Literal.string("nix"), exp.column("x"))))
