"""Previews without a store: shapes, steps, parameters, and what is supposed of unknown tables."""

from __future__ import annotations

import pytest
import sqlglot

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot
from rewriter.dialect_semantics import DIALECTS
from rewriter.limits import DEFAULT_LIMITS
from rewriter.preview.preview import (
    Assumptions,
    Preview,
    parse_one,
    without_store,
)
from rewriter.preview.synthetic_catalog import catalog_of, keyed_catalog
from rewriter.syntax.parsing import parse

SCHEMA = """CREATE TABLE hr.depts (deptno INTEGER PRIMARY KEY, name TEXT NOT NULL, budget INTEGER);
CREATE VIEW rich AS SELECT deptno, name FROM hr.depts WHERE budget > 100;"""


def previewed(sql: str, *, to: str = "duckdb", uncompacted: bool = False) -> Preview:
    """The preview of a statement over the schema above."""
    catalog = catalog_of(parse(SCHEMA, "duckdb", DEFAULT_LIMITS), "duckdb")
    assumed = Assumptions(catalog, uncompacted)
    return without_store(parse_one(sql, "duckdb"), assumed, "duckdb", to)


def keyed(sql: str, keys: dict[str, list[str]]) -> Preview:
    """The preview of a statement over tables of which only keys are known."""
    parsed = parse_one(sql, "duckdb")
    catalog, notes = keyed_catalog(keys, parsed, CatalogSnapshot.empty())
    return without_store(parsed, Assumptions(catalog, notes=notes))


def test_a_query_names_what_it_reads_and_why() -> None:
    found = previewed("SELECT * FROM hr.depts")
    assert found.reads == ("hr.depts",)
    assert found.writes == ()
    assert [(s.shape, s.reason) for s in found.shapes] == [("base", "nothing is uncompacted")]
    assert "_palimpsest.t1_base" in found.sql
    assert found.relations == (
        ("_palimpsest.t1_base", "base: current rows, each key once of hr.depts_journal"),
    )


def test_uncompacted_changes_ask_for_another_shape() -> None:
    found = previewed("SELECT * FROM hr.depts", uncompacted=True)
    assert found.shapes[0].shape == "anti-join"
    assert "t1_delta" in found.sql
    assert "ANTI JOIN" in found.sql


def test_aggregates_of_each_row_around_them_are_split_where_joins_make_them_one() -> None:
    query = (
        "SELECT name, (SELECT sum(d.budget) FROM hr.depts AS d WHERE d.deptno % 7 = length({}))"
        " AS s FROM rich AS r"
    )
    unlike = query.format("r.name"), query.format("'seven'")
    inside = [
        [s.shape for s in previewed(q, to=to, uncompacted=True).shapes]
        for to in ("postgres", "duckdb")
        for q in unlike
    ]
    assert [shapes.count("split aggregate") for shapes in inside] == [0, 1, 1, 1]


def test_views_are_opened() -> None:
    assert previewed("SELECT * FROM rich").reads == ("hr.depts", "main.rich")


def test_a_write_shows_its_steps_in_order() -> None:
    found = previewed("UPDATE hr.depts SET name = ? WHERE deptno = ?")
    assert found.writes == ("hr.depts",)
    actions = [step.action for step in found.steps]
    assert actions[-1] in {"row count", "append to hr.depts_journal"}
    assert any(a.startswith("append to hr.depts_journal") for a in actions)
    assert [p for p in found.parameters if p[1] == "the client's"] == [
        ("1", "the client's"), ("2", "the client's"),
    ]  # fmt: skip
    assert "p_version" in dict(found.parameters)


def test_checks_say_which_error_they_raise() -> None:
    found = previewed("INSERT INTO hr.depts VALUES (1, 'a', 2)")
    notes = [step.note for step in found.steps if step.action == "check"]
    assert any(n.startswith("PAL-302 (23502)") for n in notes)


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"ansi"}))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name, count(*) FROM hr.depts GROUP BY name",
        "UPDATE hr.depts SET budget = budget + 1 WHERE deptno = $id",
        "DELETE FROM hr.depts WHERE budget IS NULL",
    ],
)
def test_every_dialect_can_be_shown_and_parsed_again(sql: str, dialect: str) -> None:
    for step in previewed(sql, to=dialect, uncompacted=True).steps:
        if step.sql is not None:
            assert sqlglot.parse_one(step.sql, read=DIALECTS[dialect]) is not None


def test_session_statements_have_no_steps_in_the_store() -> None:
    (step,) = previewed("BEGIN").steps
    assert step.sql is None


def test_definitions_change_the_catalog() -> None:
    found = previewed("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    assert [s.action for s in found.steps][-1] == (
        "change the catalog: table main.t (key a) with its journal main.t_journal"
    )


def test_of_keyed_tables_the_statement_tells_the_columns() -> None:
    found = keyed("UPDATE hr.t SET b = c + 1 WHERE a = 1", {"hr.t": ["a"]})
    (note,) = found.notes
    assert "names: a, b, c" in note
    assert "UNKNOWN" not in found.sql


def test_unqualified_columns_of_two_keyed_tables_are_refused() -> None:
    with pytest.raises(PalimpsestError) as caught:
        keyed("SELECT b FROM t JOIN u ON t.a = u.a", {"t": ["a"], "u": ["a"]})
    assert caught.value.code is Code.AMBIGUOUS_COLUMN
    assert caught.value.position is not None


def test_a_schema_file_describes_and_does_nothing_else() -> None:
    with pytest.raises(PalimpsestError) as caught:
        catalog_of(
            parse("CREATE TABLE t (a INT); DELETE FROM t", "duckdb", DEFAULT_LIMITS), "duckdb"
        )
    assert caught.value.code is Code.WRONG_OBJECT


def test_unknown_tables_are_refused_as_ever() -> None:
    with pytest.raises(PalimpsestError) as caught:
        previewed("SELECT * FROM hr.dept")
    assert caught.value.code is Code.UNKNOWN_TABLE
    assert "hr.depts" in caught.value.advice


def flat(sql: str, schema: str = SCHEMA) -> Preview:
    """The preview of a statement over adopted journals of the classic convention."""
    catalog = catalog_of(parse(schema, "duckdb", DEFAULT_LIMITS), "duckdb")
    return without_store(parse_one(sql, "duckdb"), Assumptions(catalog, flat=True))


def test_flat_says_what_stands_for_an_adopted_journal() -> None:
    found = flat("DELETE FROM hr.depts WHERE deptno = 3")
    assert "append to hr.depts_journal" in [step.action for step in found.steps]
    assert found.relations == (
        (
            "_palimpsest.t1_base",
            "base: the latest row of each key that is no tombstone, of hr.depts_journal",
        ),
    )


def test_flat_refuses_what_an_adopted_journal_refuses() -> None:
    with pytest.raises(PalimpsestError, match="adopted journal") as caught:
        flat("ALTER TABLE hr.depts RENAME TO divisions")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_flat_needs_a_key() -> None:
    with pytest.raises(PalimpsestError, match="has no key") as caught:
        flat("SELECT * FROM t", "CREATE TABLE t (a INTEGER)")
    assert caught.value.code is Code.NOT_SUPPORTED
