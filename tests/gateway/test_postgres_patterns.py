"""Patterns of texts, and calls and names that PostgreSQL spells in ways of its own.

The values are PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gateway
from gateway.dbapi.cursor import Cursor
from rewriter.reading.regexp_shapes import shape_of


@pytest.fixture(scope="module")
def cursor() -> Iterator[Cursor]:
    with gateway.connect("palimpsest://", autocommit=True, dialect="postgres") as con:
        yield con.cursor()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("trim(both from 'yxTomxx', 'xyz')", "Tom"),
        ("trim(leading from 'yxTomxx', 'xyz')", "Tomxx"),
        ("trim(trailing from trim(from ' yxTomxx'), 'xyz')", "yxTom"),
        ("substring('abcdefg' SIMILAR 'a#\"%#\"g' ESCAPE '#')", "bcdef"),
        ("substring('abcdefg' SIMILAR '#\"(b_d)#\"%' ESCAPE '#')", None),
        ("substring('abcdefg' FROM '%#\"(b_d)#\"%' FOR '#')", "bcd"),
        ("substring('a1b22' SIMILAR '%#\"[0-9]+#\"%' ESCAPE '#')", "1"),
        ("substring('abc12d' SIMILAR 'a|b#\"%#\"d' ESCAPE '#')", "bc12"),
        ("substring('abc' SIMILAR '%' ESCAPE NULL)", None),
        ("substring('abc' FROM 2 FOR 1)", "b"),
        ("'a' SIMILAR TO 'a' ESCAPE NULL", None),
        ("'1b' SIMILAR TO '#db' ESCAPE '#'", True),
        ("regexp_match('foobarbequebaz', '(bar)(x)?(beque)')", ["bar", None, "beque"]),
        ("regexp_match('abc', '(x)|(b)')", [None, "b"]),
        ("regexp_match('http://a/b', '^(https?)://([^/:]+)(:\\d+)?$')", None),
        ("regexp_match('http://a', '^(https?)://([^/:]+)(:\\d+)?$')", ["http", "a", None]),
        ("regexp_match('a/b', '^([^/]+?)(?:/([^/]+?))(/.+?)?$')", ["a", "b", None]),
        ("substring('abc' FROM '(x)?b')", None),
        ("regexp_substr('abc', '(x)?(b)', 1, 1, '', 1)", None),
        ("regexp_match('foobar', 'foo|foobar')", ["foobar"]),
        ("regexp_split_to_array('a  bc ', '\\s*')", ["a", "b", "c", ""]),
        ("regexp_split_to_array('ababx', '(ab)?')", ["", "", "x"]),
        ("regexp_split_to_array('', 'x*')", [""]),
        ("regexp_split_to_array('ab', '(?:)')", ["a", "b"]),
    ],
)  # fmt: skip
def test_calls_give_what_they_give_in_postgresql(
    cursor: Cursor, expression: str, value: object
) -> None:
    assert cursor.execute(f"SELECT {expression}").fetchall() == [(value,)]


def test_patterns_of_similar_to_may_be_computed(cursor: Cursor) -> None:
    pairs = (
        ("abc", "a%", True), ("abc", "(a|x)_c", True), ("abc", "a.c", False), ("a.c", "a.c", True),
        ("", "", True), ("a\\", "a\\\\", True), ("a%", "a\\%", True), ("ab", "a\\%", False),
        ("a%", "a[%]", True), ("x^", "x^", True), ("aab", "a{2}b", True), (None, "a", None),
        ("a", None, None),
    )  # fmt: skip
    for text, pattern, matches in pairs:
        rows = cursor.execute("SELECT %s::text SIMILAR TO %s::text", (text, pattern)).fetchall()
        assert rows == [(matches,)], (text, pattern)
    query = (
        "SELECT s NOT SIMILAR TO p ESCAPE '#' FROM (VALUES ('a%', 'a#%'), ('a\\', 'a\\')) v(s, p)"
    )
    assert cursor.execute(query).fetchall() == [(False,), (False,)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "SELECT regexp_matches('1-2 3', '(\\d)(?:-(\\d))?', 'g')",
            [(["1", "2"],), (["3", None],)],
        ),
        ("SELECT t FROM regexp_split_to_table('a b', '\\s*') AS t", [("a",), ("b",)]),
        (
            "SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['x'])) AS t(a, b)",
            [(1, "x"), (2, None)],
        ),
        (
            """SELECT * FROM ROWS FROM (unnest(ARRAY[7]), generate_series(4, 5)) WITH ORDINALITY
            AS t(a, b, n) ORDER BY n""",
            [(7, 4, 1), (None, 5, 2)],
        ),
        (
            """SELECT v.n, t.* FROM (VALUES (1), (2)) v(n), ROWS FROM (generate_series(2, v.n),
            generate_series(v.n, v.n)) AS t(a, b) ORDER BY 1""",
            [(1, None, 1), (2, 2, 2)],
        ),
        ("SELECT n FROM ROWS FROM (generate_series(3, 3)) AS n", [(3,)]),
        ("SELECT a, rows FROM (VALUES (1, 2)) AS v(a, rows)", [(1, 2)]),
        (
            """SELECT U&"d\\0061t" + U&"d!0061t!!" UESCAPE '!'
            FROM (VALUES (1, 2)) v(dat, "dat!")""",
            [(3,)],
        ),
    ],
)
def test_sources_and_names(cursor: Cursor, query: str, rows: list[Any]) -> None:
    assert cursor.execute(query).fetchall() == rows


@pytest.mark.parametrize(
    "expression",
    [
        "regexp_match('ab', '(a)?(ab)?')",
        "regexp_match('b', '(a*)?b')",
        "regexp_match('ab', '((a)|b)*')",
        "regexp_split_to_array('ab', 'a*b*')",
        "substring(x SIMILAR x ESCAPE '#') FROM (VALUES ('a')) v(x)",
        "'1'::bit varying(3)",
        "1 FROM ROWS FROM (jsonb_each('{}'), unnest(ARRAY[1]))",
    ],
)
def test_what_cannot_be_told_is_refused(cursor: Cursor, expression: str) -> None:
    with pytest.raises(gateway.NotSupportedError, match="PAL-110"):
        cursor.execute(f"SELECT {expression}")


@pytest.mark.parametrize(
    "expression",
    ["substring('a' SIMILAR 'a#\"b#\"c#\"' ESCAPE '#')", "'a' SIMILAR TO 'a' ESCAPE '##'"],
)
def test_patterns_that_are_none_are_refused(cursor: Cursor, expression: str) -> None:
    with pytest.raises(gateway.DataError, match="PAL-312"):
        cursor.execute(f"SELECT {expression}")


def test_shapes_of_expressions_tell_what_decides() -> None:
    for pattern in ("(cat|car)s?", "(a+?)(b+)?$", "[[:digit:]]+([a-z])?", "(a*)?b"):
        assert shape_of(pattern) is not None, pattern
    for pattern in ("(a)?(ab)?", "(a|ab)(c)", "(a+?)b+", "(?=a)b", "(a", "a)", "(x)?[[:foo:]]"):
        assert shape_of(pattern) is None, pattern


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "a(?!b)"])
def test_what_no_pattern_of_the_engine_says_is_refused(pattern: str) -> None:
    with gateway.connect("palimpsest://", dialect="postgres", autocommit=True) as con:
        for call in (f"'aa' ~ '{pattern}'", f"regexp_replace('aa', '{pattern}', 'x')"):
            with pytest.raises(gateway.NotSupportedError, match="back reference or lookaround"):
                con.execute(f"SELECT {call}")
