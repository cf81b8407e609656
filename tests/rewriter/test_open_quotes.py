"""What the text itself gets wrong: open quotes and comments, and nothing behind a comma."""

from __future__ import annotations

import pytest

from journal.model.errors import Code, PalimpsestError
from rewriter.limits import Limits
from rewriter.syntax.parsing import parse


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("select 'abc", 1, 8, "a quote is not closed"),
        ("select 'it''s", 1, 8, "a quote is not closed"),
        ("select 'a',\n  'b", 2, 3, "a quote is not closed"),
        ('select "a', 1, 8, "a quote is not closed"),
        ("select 1 /* x", 1, 10, "a comment is not closed"),
        ("select a,, b from c", 1, 10, "nothing stands behind a comma"),
        ("insert into t (a,, b) values (1, 2)", 1, 18, "nothing stands behind a comma"),
    ],
)
def test_the_place_is_named(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(PalimpsestError, match=what) as raised:
        parse(text, "duckdb", Limits())
    assert raised.value.code is Code.SYNTAX
    assert raised.value.position is not None
    assert (raised.value.position.line, raised.value.position.column) == (line, column)


def test_a_comma_ends_a_list_in_duckdbs_dialect_alone() -> None:
    parse("SELECT [1, 2, ], (1, )", "duckdb", Limits())
    with pytest.raises(PalimpsestError, match="nothing stands behind a comma"):
        parse("CREATE TABLE t (i INTEGER DEFAULT (100, ))", "postgres", Limits())
