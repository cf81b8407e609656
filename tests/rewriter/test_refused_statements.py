"""Statements of other databases are refused as what they are, at their place, with advice."""

import gc
import time

import pytest

from journal.model.errors import Code, PalimpsestError, Position
from rewriter.limits import Limits
from rewriter.syntax.parsing import parse

LIMITS = Limits(16_000_000, 100, 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "LOCK TABLE t",
        "LOCK TABLE t IN EXCLUSIVE MODE",
        "LISTEN x",
        "EXPORT DATABASE 'x'",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql", "spark", "ansi"])
def test_refused_as_not_supported(text: str, dialect: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse(f"\n  {text}", dialect, LIMITS)
    error = raised.value
    assert error.code is Code.NOT_SUPPORTED
    assert text.split()[0] in error.message
    assert error.advice
    assert error.position is not None
    assert (error.position.line, error.position.column) == (2, 3)


@pytest.mark.parametrize(
    ("text", "named", "advice"),
    [
        ("CREATE VIEW v AS SELECT 1 WITH CHECK OPTION", "CREATE VIEW", "leave WITH CHECK OPTION"),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1 WITH LOCAL CHECK OPTION;", "CREATE VIEW", ""),
        ("CREATE TABLE t OF u", "CREATE TABLE", "docs/grammar.md has the forms of CREATE TABLE"),
        ("ALTER VIEW v FOO", "ALTER VIEW", "docs/grammar.md has the forms of ALTER VIEW"),
    ],
)
def test_a_form_is_refused_as_such_where_others_are_taken(
    text: str, named: str, advice: str
) -> None:
    with pytest.raises(PalimpsestError, match=f"this form of {named} is not supported") as raised:
        parse(text, "postgres", LIMITS)
    assert raised.value.advice.startswith(advice)


@pytest.mark.parametrize("text", ['"vacuum" x y', "SELEC 1 2", "SELECT lock 1"])
def test_other_text_is_a_syntax_error(text: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse(text, "duckdb", LIMITS)
    assert raised.value.code is Code.SYNTAX


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELEC 1", "did you mean SELECT?"),
        ("UPDTE t SET a = 1", "did you mean UPDATE?"),
        ("CREAT TABLE t (a INTEGER)", "did you mean CREATE?"),
        ("SELECT * FORM t", "did you mean FROM?"),
        ("SELECT a FROM t WHER a = 1", "did you mean WHERE?"),
        ("SELECT * FROM orders o p", "check the statement at this place"),
        ("SELECT orders 1", "check the statement at this place"),
        (
            "SELECT * FROM t AS OF TIMESTAMP '2024-01-01'",
            "write t TIMESTAMP AS OF '2024-05-01 12:00', or t VERSION AS OF 7",
        ),
        ("\\d t", "commands with a backslash are the shell's: palimpsest shell -c '\\d t'"),
        ("SELECT FROM WHERE", "check the statement at this place"),
        ("UPDATE t SETT a = 1", "did you mean SET?"),
        ("CREATE TABEL t (a INTEGER)", "did you mean TABLE?"),
        ("DROP VEIW v", "did you mean VIEW?"),
        ("selec a", "did you mean SELECT?"),
        ("nonsense", "statements begin with SELECT, INSERT, CREATE and the like: see docs/sql.md"),
        ("1 + 1", "statements begin with SELECT, INSERT, CREATE and the like: see docs/sql.md"),
    ],
)
def test_a_misspelled_keyword_is_told(text: str, advice: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse(text, "duckdb", LIMITS)
    assert (raised.value.code, raised.value.advice) == (Code.SYNTAX, advice)


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("SELEC 1", 1, 1, "SELEC"),
        ("  CREAT TABLE t (a INTEGER)", 1, 3, "CREAT"),
        ("SELECT * FORM t", 1, 10, "FORM"),
        ("SELECT a\nFROM t\n WHER a = 1", 3, 2, "WHER"),
        ("\n  UPDTE t\nSET a = 1", 2, 3, "UPDTE"),
        ("UPDATE t SETT a = 1", 1, 10, "SETT"),
        ("CREATE\n TABEL t (a INTEGER)", 2, 2, "TABEL"),
        ("SELECT a b c FROM t", 1, 12, "c"),
        ("\n not a command", 2, 2, "not"),
    ],
)
def test_message_and_place_are_of_the_misspelled_keyword(
    text: str, line: int, column: int, word: str
) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse(text, "duckdb", LIMITS)
    assert raised.value.position == Position(line, column)
    assert f'near "{word}"' in raised.value.message


def test_words_of_statements_are_names_elsewhere() -> None:
    (parsed,) = parse("SELECT lock, show, t.vacuum FROM load AS t", "duckdb", LIMITS)
    assert parsed.text.startswith("SELECT")


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("statement", "dialect"),
    [("REPLACE INTO t VALUES (1);", "mysql"), ("CALL system.flush('a;b');", "duckdb")],
)
def test_a_long_script_takes_time_in_proportion(statement: str, dialect: str) -> None:
    def once(text: str, count: int) -> float:
        # What other tests left is a lot to look through for a collection of garbage.
        gc.disable()
        started = time.thread_time()
        assert len(parse(text, dialect, LIMITS, placeholders=False)) == count
        needed = time.thread_time() - started
        gc.enable()
        return needed

    def seconds(count: int) -> float:
        return min(once(statement * count, count) for _ in range(3))

    seconds(100)
    # Twenty times the statements; each in quadratic time would take four hundred times as long.
    assert seconds(4000) < 100 * max(seconds(200), 0.002)


@pytest.mark.parametrize(
    "text", ["mod(7, 4, 2)", "any_value(a, b)", "hex(a, 2)", "array_agg(a, b)", "uuid(2, 3)"]
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql", "spark"])
def test_an_argument_that_the_parser_leaves_out_is_refused(text: str, dialect: str) -> None:
    with pytest.raises(PalimpsestError) as raised:
        parse(f"SELECT {text} FROM t", dialect, LIMITS)
    assert raised.value.code in {Code.UNKNOWN_FUNCTION, Code.SYNTAX}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT date_trunc('day', a), mod(7, 4), round(a, 2), hex(a), lpad(a, 3, 'x') FROM t",
        "SELECT coalesce(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), concat(a, b, 'c')",
        "SELECT count(DISTINCT a), string_agg(a, ',' ORDER BY b), cast(a AS DECIMAL(9, 2)) FROM t",
        "INSERT INTO hex (a, b, c) VALUES (1, 2, 3)",
        "WITH hex (a, b, c) AS (SELECT 1, 2, 3) SELECT a FROM hex",
        "SELECT a FROM (VALUES (1, 2, 3)) AS hex (a, b, c)",
    ],
)
def test_names_and_calls_with_all_their_arguments_are_taken(text: str) -> None:
    for dialect in ("duckdb", "postgres"):
        parse(text, dialect, LIMITS)


def test_a_call_that_the_generator_fails_on_without_arguments_is_taken() -> None:
    parse("SELECT initcap(a) FROM t", "duckdb", LIMITS)


@pytest.mark.parametrize("text", ["current_timestamp(0)", "current_time(2)"])
def test_digits_of_the_clock_are_for_the_dialects_that_have_them(text: str) -> None:
    parse(f"SELECT {text}", "postgres", LIMITS)
    with pytest.raises(PalimpsestError, match="no function current_time"):
        parse(f"SELECT {text}", "duckdb", LIMITS)
